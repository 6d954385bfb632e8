package ssq

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/master"
)

// tableName is a virtual table: where the rows of an answer come from.
type tableName string

// The tables. Columns of info go with those of one other table but x-games.
const (
	infoTable    tableName = "info"
	playersTable tableName = "players"
	rulesTable   tableName = "rules"
	teamsTable   tableName = "x-teams"
	gamesTable   tableName = "x-games"
)

// kind determines how the values of a column are written and compared.
type kind uint8

const (
	textKind     kind = iota // without regard to the case of ASCII letters
	mixedKind                // as numbers if both sides are, else as text
	numberKind               // as numbers
	boolKind                 // 0 or 1
	timeKind                 // written as seconds since 1970
	durationKind             // written as HHMMSS
	addressKind              // by address, then port
)

// column is a column of the virtual database. One of its three functions is set:
// text for the kinds of texts and of numbers that servers report, address for
// addresses, number for all others (seconds since 1970, seconds).
type column struct {
	name    string
	table   tableName
	kind    kind
	private bool // for those with a token of AUTH
	about   string

	text    func(*cursor) string
	number  func(*cursor) (n float64, known bool)
	address func(*cursor) netip.AddrPort
}

// cursor is at one row of an answer.
type cursor struct {
	row      *row // nil in x-games
	index    int  // of the player, rule or team
	columns  *tableSlots
	verdicts map[netip.AddrPort]string
	game     *gameRow
	asker    advertise.Asker
}

// gameRow is a row of x-games.
type gameRow struct {
	name, title      string
	servers, players int
}

// aliases are other names that the draft has for its columns.
var aliases = map[string]string{
	"name": "playername", "ping": "playerping", "pings": "playerping", "players": "numplayers", "max": "maxplayers",
}

func alias(name string) string { return cmp.Or(aliases[name], name) }

const (
	rulePrefix   = "x-"
	playerPrefix = "x-player-"
	teamPrefix   = "x-team-"
)

// fixedColumns returns the columns that are always there, in the order in which
// CL lists them.
func fixedColumns() []column {
	return slices.Concat(infoColumns(), privateColumns(), playerColumns(), []column{
		{
			name: "rulename", table: rulesTable, about: "name of a rule of the server",
			text: func(c *cursor) string { return c.row.Rules.Names().Name(c.index) },
		},
		{
			name: "rulevalue", table: rulesTable, kind: mixedKind, about: "value of the rule",
			text: func(c *cursor) string { return c.row.Rules.Value(c.index) },
		},
		{
			name: "x-teamname", table: teamsTable, about: "name of a team",
			text: func(c *cursor) string { return c.team(c.columns.name) },
		},
		{
			name: "x-teamscore", table: teamsTable, kind: numberKind, about: "score of the team",
			text: func(c *cursor) string { return c.team(c.columns.score) },
		},
	}, gameColumns())
}

func infoColumns() []column {
	flag := func(name, about string, get func(*row) bool) column {
		return column{name: name, table: infoTable, kind: boolKind, about: about, number: func(c *cursor) (float64, bool) {
			if get(c.row) {
				return 1, true
			}
			return 0, true
		}}
	}
	text := func(name, about string, get func(*row) string) column {
		return column{name: name, table: infoTable, about: about, text: func(c *cursor) string { return get(c.row) }}
	}
	number := func(name string, k kind, about string, get func(*row) float64) column {
		return column{name: name, table: infoTable, kind: k, about: about, number: func(c *cursor) (float64, bool) { return get(c.row), true }}
	}
	return []column{
		{
			name: "hostip", table: infoTable, kind: addressKind, about: "address and port where the server answers queries",
			address: func(c *cursor) netip.AddrPort { return c.asker.Given(c.row.Public) },
		},
		text("hostname", "name of the server", func(r *row) string { return r.rule(r.names.host) }),
		number("numplayers", numberKind, "players on the server", func(r *row) float64 { return float64(r.players) }),
		number("maxplayers", numberKind, "most players it takes; 0: unknown", func(r *row) float64 { return float64(r.maxPlayers) }),
		text("map", "map being played", func(r *row) string { return r.rule(r.names.area) }),
		text("game", "game, by its name in the catalogue", func(r *row) string { return r.Game }),
		{
			name: "ip", table: infoTable, kind: addressKind, about: "address of hostip",
			address: func(c *cursor) netip.AddrPort { return netip.AddrPortFrom(c.asker.Given(c.row.Public).Addr(), 0) },
		},
		number("port", numberKind, "port of hostip", func(r *row) float64 { return float64(r.Public.Port()) }),
		{
			name: "x-gameport", table: infoTable, kind: numberKind, about: "port that players connect to, if the server says so",
			text: func(c *cursor) string { return c.row.rule(c.row.names.port) },
		},
		flag("x-password", "players need a password", func(r *row) bool { return master.IsYes(r.rule(r.names.password)) }),
		text("x-country", "country of the address, ISO 3166", func(r *row) string { return r.Country }),
		text("x-region", "number of its region", func(r *row) string { return r.Region }),
		text("x-origin", "how the server came into the list", func(r *row) string { return r.Origin.String() }),
		flag("x-natneg", "it can be reached through NAT negotiation", func(r *row) bool { return r.NATNeg }),
		flag("x-reachable", "it answered an address that it never talked to", func(r *row) bool { return r.Direct() }),
		flag("x-restored", "known from before a restart, not heard since", func(r *row) bool { return r.Restored }),
		number("x-first", timeKind, "when it came into the list", func(r *row) float64 { return float64(r.First.Unix()) }),
		number("x-seen", timeKind, "when it was heard last", func(r *row) float64 { return float64(r.LastSeen.Unix()) }),
	}
}

// privateColumns are those of info that need a token.
func privateColumns() []column {
	text := func(name, about string, get func(*cursor) string) column {
		return column{name: name, table: infoTable, private: true, about: about, text: get}
	}
	return []column{
		{
			name: "x-source", table: infoTable, kind: addressKind, private: true, about: "address that its reports come from; private",
			address: func(c *cursor) netip.AddrPort { return c.row.Key.Source },
		},
		{
			name: "x-instance", table: infoTable, kind: numberKind, private: true, about: "instance key of its reports; private",
			number: func(c *cursor) (float64, bool) { return float64(c.row.Key.Instance), true },
		},
		text("x-local", "its addresses behind a router; private", func(c *cursor) string {
			var b []byte
			for i, a := range c.row.Local {
				if i > 0 {
					b = append(b, ',')
				}
				b = a.AppendTo(b)
			}
			return string(b)
		}),
		text("x-via", "our address that it talks to; private", func(c *cursor) string {
			if !c.row.Via.IsValid() {
				return ""
			}
			return c.row.Via.String()
		}),
		text("x-verdict", "last decision about its source; private", func(c *cursor) string { return c.verdicts[c.row.Key.Source] }),
	}
}

func playerColumns() []column {
	text := func(name string, k kind, about string, slot func(*tableSlots) int) column {
		return column{name: name, table: playersTable, kind: k, about: about, text: func(c *cursor) string { return c.player(slot(c.columns)) }}
	}
	return []column{
		text("playername", textKind, "name of a player", func(t *tableSlots) int { return t.name }),
		text("frags", numberKind, "kills or score of the player", func(t *tableSlots) int { return t.score }),
		text("deaths", numberKind, "deaths of the player", func(t *tableSlots) int { return t.deaths }),
		text("playerping", numberKind, "ping of the player, in ms", func(t *tableSlots) int { return t.ping }),
		{
			name: "playertime", table: playersTable, kind: durationKind, about: "how long the player has been connected, HHMMSS",
			number: (*cursor).connected,
		},
		text("x-playerteam", mixedKind, "team of the player", func(t *tableSlots) int { return t.team }),
	}
}

func gameColumns() []column {
	text := func(name, about string, get func(*gameRow) string) column {
		return column{name: name, table: gamesTable, about: about, text: func(c *cursor) string { return get(c.game) }}
	}
	number := func(name, about string, get func(*gameRow) int) column {
		return column{name: name, table: gamesTable, kind: numberKind, about: about, number: func(c *cursor) (float64, bool) { return float64(get(c.game)), true }}
	}
	return []column{
		text("x-gamename", "name of a game in the catalogue", func(g *gameRow) string { return g.name }),
		text("x-gametitle", "title of the game", func(g *gameRow) string { return g.title }),
		number("x-gameservers", "listed servers of the game", func(g *gameRow) int { return g.servers }),
		number("x-gameplayers", "players on them", func(g *gameRow) int { return g.players }),
	}
}

// tableSlots are the places of the columns of players or teams, for all servers
// that report the same. -1: not reported.
type tableSlots struct {
	names                                          *master.Names
	name, score, deaths, ping, team, time, seconds int
}

func newTableSlots(n *master.Names) *tableSlots {
	first := func(names ...string) int {
		for _, name := range names {
			if i := slotOf(n, name); i >= 0 {
				return i
			}
		}
		return -1
	}
	return &tableSlots{
		names: n,
		name:  first("player_", "playername_", "name_", "team_t", "teamname_", "name_t"),
		score: first("frags_", "kills_", "score_", "score_t"), deaths: first("deaths_"), ping: first("ping_"),
		team: first("team_"), time: first("time_", "playertime_"), seconds: first("seconds_"),
	}
}

func (c *cursor) player(slot int) string {
	if slot < 0 {
		return ""
	}
	return c.row.Players.Value(c.index, slot)
}

func (c *cursor) team(slot int) string {
	if slot < 0 {
		return ""
	}
	return c.row.Teams.Value(c.index, slot)
}

// connected returns the seconds for which the player has been on the server.
// Servers that the daemon queries are listed with minutes, and with seconds if
// their protocol has them; all others are assumed to report seconds.
func (c *cursor) connected() (seconds float64, known bool) {
	read := func(slot int) (uint64, bool) {
		n, err := strconv.ParseUint(strings.TrimSpace(c.player(slot)), 10, 31)
		return n, err == nil
	}
	unit := 60.0
	if c.row.Origin.Seconds {
		unit = 1
	} else if n, ok := read(c.columns.seconds); ok {
		return float64(n), true
	}
	n, ok := read(c.columns.time)
	return unit * float64(n), ok
}

// reportedColumn returns the column for a name that servers report; ok is false
// for other names. The column is for one answer: it caches the index of the
// name.
func reportedColumn(name string) (col column, ok bool) {
	if own, found := strings.CutPrefix(name, playerPrefix); found && own != "" {
		return column{
			name: name, table: playersTable, kind: mixedKind, private: isSensitive(own), about: "reported for players",
			text: func(c *cursor) string { return c.player(anySlot(c.columns.names, playerNames(own))) },
		}, true
	}
	if own, found := strings.CutPrefix(name, teamPrefix); found && own != "" {
		return column{
			name: name, table: teamsTable, kind: mixedKind, about: "reported for teams",
			text: func(c *cursor) string { return c.team(anySlot(c.columns.names, teamNames(own))) },
		}, true
	}
	own, found := strings.CutPrefix(name, rulePrefix)
	if !found || own == "" || name == wire.ErrorColumn || name == wire.TokenColumn {
		return column{}, false
	}
	var names *master.Names // of the server before; most report the same
	slot := -1
	return column{
		name: name, table: infoTable, kind: mixedKind, about: "rule of the server",
		text: func(c *cursor) string {
			if n := c.row.Rules.Names(); n != names {
				names, slot = n, slotOf(n, own)
			}
			return c.row.rule(slot)
		},
	}, true
}

// playerNames and teamNames return how servers may spell a column.
func playerNames(own string) []string { return []string{own + "_", own} }
func teamNames(own string) []string   { return []string{own + "_t", own + "_", own} }

func anySlot(n *master.Names, names []string) int {
	for _, name := range names {
		if i := slotOf(n, name); i >= 0 {
			return i
		}
	}
	return -1
}

// isSensitive reports whether a column of players reveals their addresses.
func isSensitive(own string) bool {
	switch strings.Trim(own, "_") {
	case "ip", "addr", "address":
		return true
	}
	return false
}

// has reports whether a column of reportedColumn is there at all: a listed
// server has it.
func (s *snapshot) has(col *column) bool {
	switch own := col.name; {
	case strings.HasPrefix(own, playerPrefix):
		return reported(s.players(), playerNames(own[len(playerPrefix):])...)
	case strings.HasPrefix(own, teamPrefix):
		return reported(s.teams(), teamNames(own[len(teamPrefix):])...)
	default:
		return reported(s.rules, own[len(rulePrefix):])
	}
}

// maxCell is the longest text of a cell, in bytes. No server needs more, and a
// longer text must not keep other servers out of an answer.
const maxCell = 1024

// appendCell appends the value of a column as a cell. cut reports whether it was
// longer than maxCell.
func (col *column) appendCell(b []byte, c *cursor) (out []byte, cut bool) {
	switch {
	case col.text != nil:
		text := col.text(c)
		if cut = len(text) > maxCell; cut {
			text = text[:maxCell]
		}
		return wire.AppendCell(b, text), cut
	case col.address != nil:
		a := col.address(c)
		if a.Port() == 0 {
			return append(a.Addr().AppendTo(b), 0), false
		}
		return append(a.AppendTo(b), 0), false
	}
	n, known := col.number(c)
	switch {
	case !known:
	case col.kind == timeKind:
		b = wire.AppendEpoch(b, time.Unix(int64(n), 0))
	case col.kind == durationKind:
		b = wire.AppendDuration(b, time.Duration(n)*time.Second)
	default:
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, 0), false
}
