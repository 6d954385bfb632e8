package fesl

import (
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/clean"
)

// title is a game that signs in here.
type title struct {
	client    string // as it names itself
	game      string // in the catalogue; empty: not there
	port      uint16 // built into it; 0: not known
	subDomain string // in the answer to its Hello
	features  []string
	nothing   string // what a search that found no games says; empty: NOSERVER
	stats     bool   // players' games report statistics, as there are no servers that do
}

// titles are those that are known. Others are served too, by the general rule.
var titles = []title{
	{client: "bf2142-pc", game: "stella", port: 18300, subDomain: "bf2142", features: []string{"2590"}},
	{client: "cnc3-pc", game: "cc3tibwars", subDomain: "cnc3", features: []string{"2588"}},
	{client: "cnc3-ep1-pc", game: "cc3xp1", port: 18760, subDomain: "cnc3ep1"},
	{client: "cncra3-pc", game: "redalert3pc", port: 18840, subDomain: "CNCRA3", features: []string{"6014"}},
	{client: "bfme2", game: "lotrbme2r", port: 18160, subDomain: "bfme2"},
	{client: "mercs2-pc", game: "mercs2", port: 18710, subDomain: "MERCS2", features: []string{"6014"}, nothing: "LIST", stats: true},
	{client: "mohair-pc", game: "mohairborne", port: 18240, subDomain: "MOHAIR", nothing: "NOMATCH", stats: true},
	{client: "lotr-pandemic-pc", game: "lotrconquest", port: 18880, subDomain: "LOTR", stats: true},
}

// maxClient is how much of the name of an unknown game is kept, in bytes.
const maxClient = 32

// titleOf returns the game that a client names.
func titleOf(client string) title {
	i := slices.IndexFunc(titles, func(t title) bool { return ascii.EqualFold(t.client, client) })
	if i >= 0 {
		return titles[i]
	}
	client = clean.UTF8(client[:min(len(client), maxClient)])
	head, _, _ := strings.Cut(client, "-")
	return title{client: client, subDomain: strings.ToUpper(head)}
}

// PortOf returns the port that is built into a game of the catalogue, 0 if it is not
// known.
func PortOf(game string) uint16 {
	i := slices.IndexFunc(titles, func(t title) bool { return t.game == game })
	if i < 0 {
		return 0
	}
	return titles[i].port
}
