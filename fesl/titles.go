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
	subDomain string // in the answer to its Hello; empty: by the general rule
	features  []string
	nothing   string // what a search that found no games says; empty: NOSERVER
	stats     bool   // players' games report statistics, as there are no servers that do
	records   bool   // players' games write records
	owned     []entitlement
}

// titles are those that are known. Others are served too, by the general rule. Of a game that has several
// copies in the catalogue, the first is the one that this program plays.
var titles = []title{
	{client: "bf2142-pc", game: "stella", port: 18300, subDomain: "bf2142", features: []string{"2590"}},
	{client: "cnc3-pc", game: "cc3tibwars", subDomain: "cnc3", features: []string{"2588"}},
	{client: "cnc3-ep1-pc", game: "cc3xp1", port: 18760, subDomain: "cnc3ep1"},
	{client: "cncra3-pc", game: "redalert3pc", port: 18840, features: []string{"6014"}},
	{client: "cncra3-ps3", game: "redalert3ps3", port: 18290},
	{client: "bfme2", game: "lotrbme2r", port: 18160, subDomain: "bfme2"},
	{client: "mercs2-pc", game: "mercs2", port: 18710, features: []string{"6014"}, nothing: "LIST", stats: true},
	{client: "mercs2-ps3", game: "mercs2", port: 18720, nothing: "LIST"},
	{client: "mohair-pc", game: "mohairborne", port: 18240, nothing: "NOMATCH", stats: true, records: true},
	{client: "mohair-ps3", game: "mohairborne", port: 18260, nothing: "NOMATCH"},
	{client: "lotr-pandemic-pc", game: "lotrconquest", port: 18880, stats: true},
	{client: "lotr-pandemic-ps3", game: "lotrconquest", port: 18870}, // or 18271
	{client: "bfbc2-pc", game: "bfbc2", port: 18390, records: true, owned: badCompany2},
	{client: "bfbc2-pc-server", game: "bfbc2", port: 18321},
	{client: "bfbc2-ps3", game: "bfbc2", port: 18121},
	{client: "bfbc2-ps3-server", game: "bfbc2", port: 18331},
	{client: "bfbc-ps3", game: "bfbc", port: 18800},
	{client: "beach-ps3", game: "bf1943", port: 18231},
	{client: "godfather2-ps3", game: "godfather2", port: 18990},
	{client: "godfather2-pc", game: "godfather2", port: 18080},
	{client: "ao2-ps3", game: "armyoftwo", port: 18340},
	{client: "ao3-ps3", game: "armyoftwo40", port: 18141},
	// Of these nothing is known but their ports.
	{client: "nfs-pc", port: 18210},
	{client: "nfs-ps3", port: 18230},
	{client: "nfsps-pc", port: 18580},
	{client: "nfsps-ps3", port: 18600},
	{client: "nfsps2-pc", port: 18201},
	{client: "nfsps2-ps3", port: 18221},
	{client: "nfsmw2-pc", port: 18940},
	{client: "nfsmw2-ps3", port: 18930},
	{client: "mysims-pc", port: 18130},
	{client: "dragonage-pc", port: 18081},
	{client: "skate-ps3", port: 18420},
	{client: "skate2-ps3", port: 18040},
	{client: "hl2-ps3", port: 18450},
	{client: "simpsons-ps3", port: 18550},
}

// maxClient is how much of the name of an unknown game is kept, in bytes.
const maxClient = 32

// titleOf returns the game that a client names.
func titleOf(client string) title {
	i := slices.IndexFunc(titles, func(t title) bool { return ascii.EqualFold(t.client, client) })
	t := title{client: clean.UTF8(client[:min(len(client), maxClient)])}
	if i >= 0 {
		t = titles[i]
	}
	if t.subDomain == "" { // the general rule
		head, _, _ := strings.Cut(t.client, "-")
		t.subDomain = strings.ToUpper(head)
	}
	return t
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

// clientsAt returns the games that have a port built in, as they name themselves.
func clientsAt(port uint16) (clients []string) {
	for _, t := range titles {
		if t.port == port {
			clients = append(clients, t.client)
		}
	}
	return clients
}
