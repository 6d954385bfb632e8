package api

import (
	"cmp"
	"encoding/binary"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// MaxNames is the length in bytes of the names of a server's players that are
// searched and listed, enough for a hundred players. Names behind it are not found.
const MaxNames = 2 << 10

// found holds the searchable texts: those of a record in lower case,
// each on a line of its own, which no query can have.
type found struct {
	texts   string // name, map, title, game, address, players
	players int    // where the players begin in texts
	count   int    // of these players
	grams   grams  // of texts and the address
}

// slotsOfPlayers returns the columns of a table of players that hold their names and
// scores; -1: there is none.
func (rd *reader) slotsOfPlayers(names *master.Names) (name, score int) {
	if at, ok := rd.played[names]; ok {
		return at[0], at[1]
	}
	first := func(of []string) int {
		for _, n := range of {
			if i, ok := names.Index(n); ok {
				return i
			}
		}
		return -1
	}
	name, score = first(query.PlayerNames()), first([]string{"score_", "frags_", "score", "frags"})
	rd.played[names] = [2]int{name, score}
	return name, score
}

// index fills the searchable texts. A private address is not in it, because
// it is shown to some visitors only.
func (r *reading) index() {
	var head, players strings.Builder
	for _, text := range []string{r.Name, r.Map, r.Title, r.Game} {
		head.WriteString(text)
		head.WriteByte('\n')
	}
	if !master.IsPrivate(r.Public.Addr()) {
		head.WriteString(r.Public.String())
		head.WriteByte('\n')
	}
	n := 0
	for ; r.nameSlot >= 0 && n < r.Players.Rows(); n++ {
		name := strings.ToLower(r.PlayerName(n))
		if players.Len()+len(name)+1 > MaxNames {
			break
		}
		players.WriteString(name)
		players.WriteByte('\n') // no cleaned text has one, so no text is found across names
	}
	texts := strings.ToLower(head.String())
	r.found = found{texts: texts + players.String(), players: len(texts), count: n}
	r.found.grams.add(r.found.texts)
	r.found.grams.add(r.Public.String())
	name, rest, _ := strings.Cut(r.found.texts, "\n")
	area, _, _ := strings.Cut(rest, "\n")
	r.LowerName, r.LowerMap = name, area
}

// PlayerCount returns the number of players that the server names within
// MaxNames.
func (r *reading) PlayerCount() int { return r.found.count }

// playerNames returns the names of the players in lower case, a line each.
func (r *reading) playerNames() string { return r.found.texts[r.found.players:] }

// HasPlayer reports whether the name of a player has the text, which is in lower case.
func (r *reading) HasPlayer(lower string) bool { return strings.Contains(r.playerNames(), lower) }

// PlayerName returns the name of a player below PlayerCount. It may be empty.
func (r *reading) PlayerName(i int) string {
	return clean.Text(colour.Strip(r.Colours, r.Players.Value(i, r.nameSlot)))
}

// PlayerParts returns the name of a player below PlayerCount in its colours, at most n
// characters of it.
func (r *reading) PlayerParts(i, n int) []colour.Part {
	return colour.Parts(r.Colours, r.Players.Value(i, r.nameSlot), n)
}

// PlayerScore returns the score of a player below PlayerCount, "" if it is unknown.
func (r *reading) PlayerScore(i int) string {
	if r.scoreSlot < 0 {
		return ""
	}
	return clean.Text(r.Players.Value(i, r.scoreSlot))
}

// finds reports whether a visitor finds the server with a text in lower case, which has
// those pairs: in its name, map, game or the names of its players. address is true if the
// text may be part of an address.
func (r *Row) finds(lower string, pairs *grams, asker advertise.Asker, address bool) bool {
	may := r.brief.grams.mayHave(pairs)
	if may && strings.Contains(r.found.texts, lower) {
		return true
	}
	if !address || !r.brief.private || !may && r.brief.same(asker) {
		return false
	}
	var room [64]byte
	return strings.Contains(string(asker.Given(r.Public).AppendTo(room[:0])), lower)
}

// same reports whether an asker is certain to get the public address as it is.
func (b *brief) same(asker advertise.Asker) bool {
	if b.six {
		return false
	}
	at := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, b.public)))
	return asker.Given(netip.AddrPortFrom(at, 0)).Addr() == at
}

// inAddress reports whether an IPv4 address with a port can have the text.
func inAddress(text string) bool { return strings.Trim(text, "0123456789.:") == "" }

// PlayersFound returns the players below PlayerCount whose name has a text in lower
// case; all, if it is empty.
func (r *reading) PlayersFound(lower string) iter.Seq[int] {
	return func(yield func(int) bool) {
		rest, line := r.playerNames(), 0
		for rest != "" {
			at := strings.Index(rest, lower)
			if at < 0 {
				return
			}
			line += strings.Count(rest[:at], "\n")
			if !yield(line) {
				return
			}
			_, rest, _ = strings.Cut(rest[at:], "\n")
			line++
		}
	}
}

// Search returns the rows in the list of a game (all, if game is empty) that a visitor
// finds with a text in the name, the map, the game, the address or the name of a player,
// in an order. The slice may be the snapshot's own.
func (s *Snapshot) Search(game, text string, o Order, asker advertise.Asker) []*Row {
	rows := s.Choose(game, "", o)
	if text == "" {
		return rows
	}
	text = strings.ToLower(text)
	address := inAddress(text)
	var pairs grams
	pairs.add(text)
	var out []*Row
	for _, r := range rows {
		if r.finds(text, &pairs, asker, address) {
			out = append(out, r)
		}
	}
	return out
}

// CountryCount is a country with servers.
type CountryCount struct {
	Code    string // ISO 3166 alpha-2
	Servers int
}

// countries caches the countries of a snapshot.
type countries struct {
	once sync.Once
	list []CountryCount
}

// Countries returns the countries that have servers, sorted by code. The slice is
// shared.
func (s *Snapshot) Countries() []CountryCount {
	s.countries.once.Do(func() {
		counts := make(map[string]int)
		for _, r := range s.Rows {
			if r.Country != "" {
				counts[r.Country]++
			}
		}
		for code, n := range counts {
			s.countries.list = append(s.countries.list, CountryCount{code, n})
		}
		slices.SortFunc(s.countries.list, func(a, b CountryCount) int { return cmp.Compare(a.Code, b.Code) })
	})
	return s.countries.list
}
