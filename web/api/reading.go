package api

import (
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/master"
)

// reading holds the values of a record that answers need repeatedly. Snapshots
// share it as long as the record is listed. Apart from its text it is
// immutable.
type reading struct {
	*master.Server
	Title      string // of its game
	Name, Map  string // cleaned host and map name, the first without colour codes
	Colours    colour.Family
	LowerName  string
	LowerMap   string
	Type       string // its rule gametype
	Count      int    // players
	MaxPlayers int
	GamePort   uint16 // that players connect to; 0: it names none
	Password   bool   // it reports that it requires one
	join       joinForm
	Rank       uint64 // see rankOf

	found               found
	nameSlot, scoreSlot int // columns of its table of players; -1: there is none

	text atomic.Pointer[written] // nil: it was not written yet, or is not kept
}

// NameParts returns the name in its colours, at most n characters of it.
func (r *Row) NameParts(n int) []colour.Part {
	name, _ := r.Rules.Get("hostname")
	return colour.Parts(r.Colours, name, n)
}

// matches reports whether the name or the map has the text, which is in lower case.
func (r *reading) matches(lower string) bool {
	return strings.Contains(r.LowerName, lower) || strings.Contains(r.LowerMap, lower)
}

// reader reads records. It belongs to one list, because it caches values that
// many servers share.
type reader struct {
	lister   *lister
	slots    map[*master.Names]slots
	titles   map[string]string        // by game
	played   map[*master.Names][2]int // columns of tables of players: names, scores
	families map[string]colour.Family // the same
	joins    map[string]joinForm      // the same
}

// slots are the indexes of the rules that have a meaning here, for all servers
// that report the same names. -1: not reported.
type slots struct {
	host, area, kind, max, password, port int
}

func newReader(l *lister) *reader {
	return &reader{lister: l, slots: make(map[*master.Names]slots), played: make(map[*master.Names][2]int), titles: make(map[string]string), families: make(map[string]colour.Family), joins: make(map[string]joinForm)}
}

func (rd *reader) read(s *master.Server) *reading {
	at := rd.slotsOf(s.Rules.Names())
	rule := func(slot int) string {
		if slot < 0 {
			return ""
		}
		return s.Rules.Value(slot)
	}
	family := colour.OfServer(s.Origin, rd.colours(s.Game))
	r := &reading{
		Server: s, Title: rd.title(s.Game), Name: clean.Text(colour.Strip(family, rule(at.host))), Colours: family, Map: clean.Text(rule(at.area)), Type: rule(at.kind),
		Count: s.Population(), GamePort: parsePort(rule(at.port)), Password: master.IsYes(rule(at.password)),
	}
	r.nameSlot, r.scoreSlot = rd.slotsOfPlayers(s.Players.Names())
	r.index()
	if !r.Password && (r.GamePort != 0 || isGamePort(s.QueryProtocol())) { // no known link takes a password
		r.join = rd.join(s.Game)
	}
	r.MaxPlayers, _ = master.ParsePopulation(rule(at.max))
	r.Rank = rankOf(r.Count, s.Public)
	return r
}

func (rd *reader) colours(game string) colour.Family {
	family, ok := rd.families[game]
	if !ok {
		family = colour.OfGame(rd.lister.catalog, game)
		rd.families[game] = family
	}
	return family
}

func (rd *reader) title(game string) string {
	title, ok := rd.titles[game]
	if !ok {
		title = rd.lister.title(game)
		rd.titles[game] = title
	}
	return title
}

func (rd *reader) slotsOf(names *master.Names) slots {
	at, ok := rd.slots[names]
	if ok {
		return at
	}
	find := func(name string) int {
		if i, ok := names.Index(name); ok {
			return i
		}
		return -1
	}
	at = slots{
		host: find("hostname"), area: find("mapname"), kind: find("gametype"),
		max: find("maxplayers"), password: find("password"), port: find("hostport"),
	}
	rd.slots[names] = at
	return at
}

// parsePort parses a port, 0 if it is invalid.
func parsePort(value string) uint16 {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
