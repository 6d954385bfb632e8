package theater

import (
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
)

// Each client has one lobby, with the number that Mercenaries 2 expects.
const (
	lobbyID  = "257"
	maxGames = 10_000 // that the lobby states to have room for
	maxList  = 500    // games in an answer

	maxAnswer = maxWaiting / 2 // bytes of the answers to one request: what hosts say must not make a client slow
)

// place returns the index of the game with a number, or the one that it would have.
func (s *Server) place(id int) (i int, ok bool) {
	return slices.BinarySearchFunc(s.games, id, func(g *game, id int) int { return g.id - id })
}

// game returns the game with a number, nil if there is none.
func (s *Server) game(id int) *game {
	if i, ok := s.place(id); ok {
		return s.games[i]
	}
	return nil
}

// visible returns the games of the client's lobby that pass.
func (x *session) visible(passes func(*game) bool) iter.Seq[*game] {
	return func(yield func(*game) bool) {
		for _, g := range x.server.games {
			if x.sees(g) && passes(g) && !yield(g) {
				return
			}
		}
	}
}

// sees reports whether the client may see a game.
func (x *session) sees(g *game) bool {
	return g.host.player.Client == x.player.Client && x.server.shows(g, x.server.opt.Addresses.Asker(x.peer.Addr()).IsTrial())
}

// lobbies lists the lobby.
func (x *session) lobbies(r *request) {
	games := strconv.Itoa(x.games())
	x.reply("LLST", r.id(), "NUM-LOBBIES", "1")
	x.reply("LDAT", r.id(), "LID", lobbyID, "PASSING", games, "NAME", lobbyName(x.player.Client), "LOCALE", "en_US",
		"MAX-GAMES", strconv.Itoa(maxGames), "NUM-GAMES", games, "FAVORITE-GAMES", "0", "FAVORITE-PLAYERS", "0")
}

// games returns the number of games in the lobby.
func (x *session) games() (n int) {
	for range x.visible(func(*game) bool { return true }) {
		n++
	}
	return n
}

// lobbyName returns the name of the lobby of a client: mercs2PC01 for mercs2-pc.
func lobbyName(client string) string {
	head, _, _ := strings.Cut(client, "-")
	return head + strings.ToUpper(platform(client)) + "01"
}

// filter is what the games of a list must have.
type filter struct {
	notFull, notClosed bool
	least              int // players that it takes
	after              int // games up to this one are left out
	values             []lobby.Condition
}

// filterOf reads a filter. Filters by favourites are for games of friends, which are not kept.
func filterOf(t wire.Text) (f filter) {
	f = filter{
		notFull: t.Get("FILTER-NOT-FULL") == "1", notClosed: t.Get("FILTER-NOT-CLOSED") == "1",
		least: number(t.Get("FILTER-MIN-SIZE")), after: number(t.Get("GID")),
	}
	for _, line := range t {
		if name, ok := strings.CutPrefix(line.Key, "FILTER-ATTR-U-"); ok && line.Value != "" {
			f.values = append(f.values, lobby.Condition{Key: "B-U-" + name, Value: line.Value})
		}
	}
	return f
}

// passes reports whether a game passes.
func (f *filter) passes(g *game) bool {
	join := g.values.Get("JOIN")
	switch {
	case g.id <= f.after, f.notFull && g.free() == 0, f.notClosed && join != "" && join != "O", g.max() < f.least:
		return false
	}
	return !slices.ContainsFunc(f.values, func(c lobby.Condition) bool { return !g.meets(c) })
}

// list lists games.
func (x *session) list(r *request) {
	if id := number(r.Get("LID")); id > 0 && strconv.Itoa(id) != lobbyID {
		x.refuse(r.Service, r.id(), noLobby)
		return
	}
	most, f := maxList, filterOf(r.Text)
	if n := number(r.Get("COUNT")); n >= 0 {
		most = min(n, maxList)
	}
	var list [][]byte
	size := 0
	for g := range x.visible(f.passes) {
		b := answer("GDAT", r.id(), x.describe(g)...)
		if size += len(b); len(list) == most || size > maxAnswer { // the client asks for those after the last one
			break
		}
		list = append(list, b)
	}
	x.reply("GLST", r.id(), "LID", lobbyID, "LOBBY-NUM-GAMES", strconv.Itoa(x.games()), "LOBBY-MAX-GAMES", strconv.Itoa(maxGames),
		"NUM-GAMES", strconv.Itoa(len(list)), "FAVORITE-GAMES", "0", "FAVORITE-PLAYERS", "0")
	for _, b := range list {
		x.queue(b)
	}
}

// data describes one game, with its players if it has details.
func (x *session) data(r *request) {
	g, why := x.found(r)
	if g == nil {
		x.refuse(r.Service, r.id(), why)
		return
	}
	if g.node != "" {
		x.dataFar(r, g)
		return
	}
	x.reply("GDAT", r.id(), x.describe(g)...)
	if len(g.details.Text) == 0 {
		return
	}
	x.reply("GDET", r.id(), append(append(g.ids(), "UGID", g.identity), pairs(g.details.Text)...)...)
	size := 0
	for _, s := range g.players() {
		who := append(g.ids(), "PID", strconv.Itoa(s.pid), "UID", s.uid, "NAME", s.name)
		b := answer("PDAT", r.id(), append(who, pairs(s.values.Text, "P-")...)...)
		if size += len(b); size > maxAnswer {
			b = answer("PDAT", r.id(), who...)
		}
		x.queue(b)
	}
}

// pairs returns the lines whose keys begin with one of the prefixes, all without one, as keys and values.
func pairs(t wire.Text, prefixes ...string) (list []string) {
	for _, f := range t {
		if len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Key, p) }) {
			list = append(list, f.Key, f.Value)
		}
	}
	return list
}

// describe returns the lines about a game.
func (x *session) describe(g *game) []string {
	at := x.given(g.at())
	or := func(key, otherwise string) string {
		if v := g.values.Get(key); v != "" {
			return v
		}
		return otherwise
	}
	list := append(g.ids(), "HU", g.host.uid(), "HN", g.host.player.Name, "I", at.Addr().String(), "P", strconv.Itoa(int(at.Port())),
		"N", strings.Trim(g.values.Get("NAME"), `"`), "AP", strconv.Itoa(len(g.players())), "MP", strconv.Itoa(g.max()), "JP", "0", "QP", strconv.Itoa(len(g.queue)),
		"PL", platform(g.host.player.Client), "PW", "0", "TYPE", or("TYPE", "G"), "J", or("JOIN", "O"), "V", or("B-version", "1.0"), "F", "0", "NF", "0")
	return append(list, pairs(g.values.Text, "B-")...)
}

// count answers how many players are in the lobby.
func (x *session) count(r *request) {
	n := 0
	for _, p := range x.server.players {
		if p.player.Client == x.player.Client {
			n++
		}
	}
	x.reply("PCNT", r.id(), "COUNT", strconv.Itoa(n))
}

// local returns the addresses of a game in the network of its host.
func (g *game) local() []netip.AddrPort {
	if g.intern.Port() == 0 || g.intern.Addr() == g.host.peer.Addr() {
		return nil
	}
	return []netip.AddrPort{g.intern}
}
