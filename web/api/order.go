package api

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// Order is an order in which the list is given out. In all of them the address
// decides between servers that are equal.
type Order uint8

// The orders.
const (
	ByGame    Order = iota // by game, then players, most first
	ByPlayers              // most players first
	ByName                 // by name, ignoring case
	ByAge                  // newest in the list first
)

// orderNames are the orders as the parameter sort spells them.
func orderNames() []string { return []string{"game", "players", "name", "added"} }

// parseOrder reads the parameter sort; empty means ByGame.
func parseOrder(text string) (Order, bool) {
	if text == "" {
		return ByGame, true
	}
	i := slices.Index(orderNames(), text)
	return Order(max(i, 0)), i >= 0
}

// maxNameKey is the number of bytes of a name that determine its position.
const maxNameKey = 64

// position is a position in one of the orders of the list, whether a server is
// there or not. So a cursor stays valid while servers come and go. Only the
// fields that the order uses are set.
type position struct {
	order   Order
	game    string
	players int
	name    string // at most maxNameKey bytes, in lower case
	first   int64  // Unix nanoseconds
	public  netip.AddrPort
}

func positionOf(o Order, r *Row) position {
	p := position{order: o, public: r.Public}
	switch o {
	case ByGame:
		p.game, p.players = r.Game, r.Count
	case ByPlayers:
		p.players = r.Count
	case ByName:
		p.name = nameKey(r.Name)
	case ByAge:
		p.first = r.First.UnixNano()
	}
	return p
}

func nameKey(name string) string {
	if len(name) > maxNameKey {
		name = name[:maxNameKey]
	}
	name = strings.ToLower(name)
	for len(name) > maxNameKey || !utf8.ValidString(name) { // a character was cut, or grew
		name = name[:len(name)-1]
	}
	return name
}

// comparePositions compares two positions in one order.
func comparePositions(a, b position) int {
	return cmp.Or(
		strings.Compare(a.game, b.game),
		cmp.Compare(b.players, a.players),
		strings.Compare(a.name, b.name),
		cmp.Compare(b.first, a.first),
		a.public.Compare(b.public),
	)
}

// SortKey determines the position of a row: the number, then the text, then the
// rank. Sorting is fast because it is computed once per row.
type SortKey struct {
	Number int64
	Text   string
	Rank   uint64
}

// addressRank are the bits of a rank that stand for the address.
const addressRank = 1<<48 - 1

// rankOf returns the position of a server among all others by players, most
// first, then by address: smaller is earlier. Ranks of IPv6 addresses are equal
// and after those of IPv4.
//
//	bits   63-48              47-16         15-0
//	      MaxPopulation  |  IPv4 address  |  port
//	      less players
func rankOf(players int, public netip.AddrPort) uint64 {
	address := uint64(addressRank)
	if public.Addr().Is4() {
		b := public.Addr().As4()
		address = uint64(binary.BigEndian.Uint32(b[:]))<<16 | uint64(public.Port())
	}
	return uint64(master.MaxPopulation-players)<<48 | address
}

// key is the position of a row, as comparePositions sees it.
func (o Order) key(r *Row) SortKey {
	switch o {
	case ByGame:
		return SortKey{Text: r.Game, Rank: r.Rank}
	case ByPlayers:
		return SortKey{Rank: r.Rank}
	case ByName:
		return SortKey{Text: nameKey(r.Name), Rank: r.Rank & addressRank}
	default:
		return SortKey{Number: -r.First.UnixNano(), Rank: r.Rank & addressRank}
	}
}

type keyed struct {
	SortKey
	row *Row
}

// compare compares two rows. Reverse does not apply to the ranks.
func (k keyed) compare(other keyed, reverse bool) int {
	c := cmp.Compare(k.Number, other.Number)
	if c == 0 {
		c = strings.Compare(k.Text, other.Text)
	}
	switch {
	case c != 0 && reverse:
		return -c
	case c != 0:
		return c
	case k.Rank != other.Rank:
		return cmp.Compare(k.Rank, other.Rank)
	}
	return k.row.Public.Compare(other.row.Public)
}

// Sorted returns the rows sorted by their keys.
func Sorted(rows []*Row, reverse bool, key func(*Row) SortKey) []*Row {
	list := make([]keyed, len(rows))
	for i, r := range rows {
		list[i] = keyed{key(r), r}
	}
	slices.SortFunc(list, func(a, b keyed) int { return a.compare(b, reverse) })
	out := make([]*Row, len(list))
	for i := range list {
		out[i] = list[i].row
	}
	return out
}

// sortedByRank returns the rows by their ranks, as Sorted does by the key of
// ByPlayers. It is the order of the first page, made for each snapshot.
func sortedByRank(rows []*Row) []*Row {
	type ranked struct {
		rank uint64
		row  *Row
	}
	list := make([]ranked, len(rows))
	for i, r := range rows {
		list[i] = ranked{r.Rank, r}
	}
	slices.SortFunc(list, func(a, b ranked) int { return compareRanks(a.rank, b.rank, a.row, b.row) })
	out := make([]*Row, len(list))
	for i := range list {
		out[i] = list[i].row
	}
	return out
}

func compareRanks(a, b uint64, one, other *Row) int {
	if c := cmp.Compare(a, b); c != 0 {
		return c
	}
	return one.Public.Compare(other.Public)
}

// mergedByRank returns all rows of two lists, both sorted by their ranks.
func mergedByRank(a, b []*Row) []*Row {
	out := make([]*Row, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compareRanks(a[0].Rank, b[0].Rank, a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// merged returns all rows of two lists by game. Both are in that order, and the
// second one is short as a rule.
func merged(long, short []*Row) []*Row {
	if len(long) == 0 {
		return short
	}
	out := make([]*Row, 0, len(long)+len(short))
	for _, r := range short {
		at := keyed{ByGame.key(r), r}
		i, _ := slices.BinarySearchFunc(long, at, func(a *Row, to keyed) int { return keyed{ByGame.key(a), a}.compare(to, false) })
		out = append(append(out, long[:i]...), r)
		long = long[i:]
	}
	return append(out, long...)
}

// cursor returns the position as "next" shows it.
func (p position) cursor() string {
	parts := []string{orderNames()[p.order], p.public.String()}
	switch p.order {
	case ByGame:
		parts = append(parts, strconv.Itoa(p.players), p.game)
	case ByPlayers:
		parts = append(parts, strconv.Itoa(p.players), "")
	case ByName:
		parts = append(parts, "0", p.name)
	case ByAge:
		parts = append(parts, strconv.FormatInt(p.first, 10), "")
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "~")))
}

// parseCursor is the inverse of cursor.
func parseCursor(text string) (p position, ok bool) {
	if len(text) > maxCursor {
		return p, false
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return p, false
	}
	parts := strings.SplitN(string(plain), "~", 4)
	if len(parts) != 4 || parts[0] == "" {
		return p, false
	}
	if p.order, ok = parseOrder(parts[0]); !ok {
		return p, false
	}
	if p.public, err = netip.ParseAddrPort(parts[1]); err != nil {
		return position{}, false
	}
	number, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || !p.set(number, parts[3]) {
		return position{}, false
	}
	return p, true
}

// set sets the fields that the order uses from the number and the text of a
// cursor. It returns false if they are invalid.
func (p *position) set(number int64, text string) bool {
	stated := number >= 0 && number <= master.MaxPopulation
	switch p.order {
	case ByGame:
		p.game, p.players = text, int(number)
		return stated && games.ValidName(text)
	case ByPlayers:
		p.players = int(number)
		return stated && text == ""
	case ByName:
		p.name = text
		return number == 0 && len(text) <= maxNameKey
	default:
		p.first = number
		return text == ""
	}
}

// orders caches the rows of a snapshot in the requested orders, ByGame
// excepted.
type orders [ByAge + 1]struct {
	once sync.Once
	rows []*Row
	done atomic.Bool // rows is set
}

// inOrder returns all rows in an order. The slice is the snapshot's own.
func (s *Snapshot) inOrder(o Order) []*Row {
	if o == ByGame {
		return s.Rows
	}
	in := &s.orders[o]
	in.once.Do(func() {
		if o == ByPlayers {
			in.rows = sortedByRank(s.Rows)
		} else {
			in.rows = Sorted(s.Rows, false, o.key)
		}
		in.done.Store(true)
	})
	return in.rows
}

// rankAs makes the order by players from that of the last snapshot, if that has it, and
// rows that are not in it.
func (s *Snapshot) rankAs(last *Snapshot, m *matches, fresh []*Row) {
	in := &last.orders[ByPlayers]
	if !in.done.Load() {
		return
	}
	kept := make([]*Row, 0, m.n)
	for _, r := range in.rows {
		if next := m.next[r.at]; next != nil {
			kept = append(kept, next)
		}
	}
	out := &s.orders[ByPlayers]
	out.once.Do(func() {
		out.rows = mergedByRank(kept, sortedByRank(fresh))
		out.done.Store(true)
	})
}
