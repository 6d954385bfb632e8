package serverbrowse

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// How long a list may be used after its game changed: longer for a long list,
// so that building lists never takes more than a few thousandths of a processor
// per view, and never longer than maxHold. A short list is built again after
// every change, which costs less than sending it, so a new server is visible at
// once.
const (
	maxHold       = 100 * time.Millisecond
	holdPerServer = 100 * time.Microsecond // for each one beyond shortList
	shortList     = 100                    // servers of the game, listed or not
)

// errTooExpensive is the refusal of a filter that ran out of steps.
var errTooExpensive = errors.New("filter too expensive")

// viewKey is equal for requests that can share a list.
type viewKey struct {
	game   string
	port   uint16 // the game's default query port
	filter string // canonical text
	fields string // canonical list
	all    bool   // fields for directly reachable servers too
	rooms  bool   // rooms in place of servers
	asker  advertise.Asker
}

// view is a list at one moment. It is immutable; any number of connections send
// from it concurrently.
type view struct {
	clear   []byte   // key list, popular values, entries, end marker
	first   uint32   // where the entries begin
	ends    []uint32 // end of each entry
	listed  []uint64 // packed addresses under which they are listed; nil: those of the entries
	sharing []string // games whose servers it shows; nil: one
	serial  uint64   // of the list's last change that it shows
	changes uint64   // of the list's last change before it was built
	built   time.Time
	took    time.Duration
	servers int // of the game, those that the filter kept out included
	whole   *whole
	views.Sending
}

// Size returns the memory of the view in bytes.
func (v *view) Size() int { return cap(v.clear) + 4*cap(v.ends) + 8*cap(v.listed) + v.whole.Size() }

func (v *view) entries() int { return len(v.ends) }

// cut returns the bytes of the first n entries and all that is before them, n
// <= entries(). The end marker is not part of it.
func (v *view) cut(n int) []byte {
	if n == 0 {
		return v.clear[:v.first]
	}
	return v.clear[:v.ends[n-1]]
}

// hold returns how long the view may be used after the game changed.
func (v *view) hold() time.Duration {
	return min(maxHold, holdPerServer*time.Duration(max(0, v.servers-shortList)))
}

// addresses calls yield with the packed address under which the server of every
// entry is listed.
func (v *view) addresses(port uint16, yield func(packed uint64)) {
	if v.listed != nil {
		for _, packed := range v.listed {
			yield(packed)
		}
		return
	}
	at := v.first
	for _, end := range v.ends {
		e := v.clear[at:end]
		p := port
		if Flag(e[0])&FlagPort != 0 {
			p = binary.BigEndian.Uint16(e[5:])
		}
		yield(uint64(binary.BigEndian.Uint32(e[1:]))<<16 | uint64(p))
		at = end
	}
}

// pack makes a map key of an IPv4 address and port that holds no pointer.
func pack(a netip.AddrPort) uint64 {
	b := a.Addr().As4()
	return uint64(binary.BigEndian.Uint32(b[:]))<<16 | uint64(a.Port())
}

// unpack is the inverse of pack.
func unpack(p uint64) netip.AddrPort {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(p>>16))
	return netip.AddrPortFrom(netip.AddrFrom4(b), uint16(p))
}

// shown reports whether lists include a server: its address is listable, and
// browsers can query it.
func shown(s *master.Server) bool { return listable(s.Public) && s.SpeaksGameSpy() }

// listable reports whether a list can hold an address: it must be IPv4 and not
// the one that ends the list.
func listable(a netip.AddrPort) bool {
	return a.Addr().Is4() && a.Addr() != unlistable
}

// serverFlags returns the flags of an entry and the private address for
// FlagLocal. port is the game's default query port.
func serverFlags(s *master.Server, port uint16, asker advertise.Asker) (flags Flag, local netip.AddrPort) {
	if s.Public.Port() != port {
		flags |= FlagPort
	}
	if at, ok := asker.Local(s.Local); ok {
		local = at
		flags |= FlagLocal
		if local.Port() != port && local.Port() != 0 {
			flags |= FlagLocalPort
		}
	}
	switch {
	case s.Direct():
		flags |= FlagReachable
	case s.NATNeg:
		flags |= FlagNATNeg
	}
	return flags, local
}

// column holds the statistics of one column while a list is built.
type column struct {
	number bool    // it is sent as numbers: every value so far is a canonical one, or stated says so
	stated KeyType // the least type of numbers that the game's record states; 0: none
	max    uint32  // largest number
	last   uint32  // number of the text before
	seen   int     // texts counted, and how many of them were new
	fresh  int
	unique bool // hardly any text repeats: they are no longer counted
}

// A column is unique when, after this many texts, more than three quarters of
// them occurred once. Host names are like that.
const uniqueAfter = 256

// uncounted stands for a text that has no number.
const uncounted = ^uint32(0)

// builder builds views. It reuses its memory and is used by one goroutine at a
// time.
type builder struct {
	key    viewKey
	wanted columns // the columns of the list
	asked  columns // the columns that the filter reads
	row    row

	snapshot []*master.Server
	listed   []*master.Server
	rows     []*master.Server // those of listed whose values are sent
	columns  []column
	cells    []uint32 // row by row: the number, or the number of the text in table
	table    valueTable
	keys     []Key
	out      []byte
	ends     []uint32
	packed   []uint64 // addresses under which the servers of listed are listed
	moved    bool     // the asker gets other addresses for some of them

	picker picker
	texts  valueTable // of a column of a whole list
}

type builders struct{ pool sync.Pool }

func (p *builders) get() *builder {
	if b, ok := p.pool.Get().(*builder); ok {
		return b
	}
	return new(builder)
}

// put returns a builder, without references to records.
func (p *builders) put(b *builder) {
	clear(b.snapshot)
	clear(b.listed)
	clear(b.rows)
	b.snapshot, b.listed, b.rows = b.snapshot[:0], b.listed[:0], b.rows[:0]
	b.row = row{}
	b.wanted.reset(nil)
	b.asked.reset(nil)
	b.table.reset()
	b.texts.reset()
	p.pool.Put(b)
}

// build makes the present list of the servers of a game. keys are those whose
// types the record of the game states.
func (b *builder) build(reg *master.Registry, key viewKey, names []string, f *filter.Filter, keys []games.Key) (*view, error) {
	start := time.Now()
	b.key = key
	b.beginColumns(names, keys)
	b.wanted.reset(names)
	b.asked.reset(f.Names())
	changes, sharing := reg.LastSerial(), reg.Sharing(key.game)
	var serial uint64
	b.snapshot, serial = reg.Snapshot(key.game, b.snapshot[:0])
	defer readAhead(b.snapshot)()
	if err := b.choose(f); err != nil {
		return nil, err
	}
	b.encode()
	v := &view{
		clear:   append(make([]byte, 0, len(b.out)), b.out...),
		first:   b.ends[0],
		ends:    append(make([]uint32, 0, len(b.ends)-1), b.ends[1:]...),
		sharing: sharing,
		serial:  serial,
		changes: max(serial, changes),
		built:   start,
	}
	if b.moved {
		v.listed = slices.Clone(b.packed)
	}
	v.took, v.servers = time.Since(start), len(b.snapshot)
	return v, nil
}

// choose finds the servers that pass the filter and adds their values to the
// statistics.
func (b *builder) choose(f *filter.Filter) error {
	b.listed, b.rows, b.cells = b.listed[:0], b.rows[:0], b.cells[:0]
	b.table.reset()
	budget := filter.ListBudget(len(b.snapshot))
	for _, s := range b.snapshot {
		if !shown(s) {
			continue
		}
		if !f.Trivial() {
			b.row.server, b.row.slots = s, b.asked.of(s.Rules.Names())
			if !f.Match(&b.row, &budget) {
				if budget.Exhausted() {
					return errTooExpensive
				}
				continue
			}
		}
		b.listed = append(b.listed, s)
		if b.sendsValues(s) {
			b.learn(s)
		}
	}
	b.table.choose()
	return nil
}

// beginColumns makes the columns of a list. Nothing is known of one that keys does
// not name: it is a number until a value says otherwise.
func (b *builder) beginColumns(names []string, keys []games.Key) {
	b.columns = b.columns[:0]
	for _, name := range names {
		c := column{number: true, last: uncounted}
		if i := slices.IndexFunc(keys, func(k games.Key) bool { return ascii.EqualFold(k.Name, name) }); i >= 0 {
			c.stated = KeyType(keys[i].Type)
			c.number = c.stated != KeyString
		}
		b.columns = append(b.columns, c)
	}
}

// sendsValues reports whether an entry carries its values: browsers query
// reachable servers themselves.
func (b *builder) sendsValues(s *master.Server) bool {
	return len(b.wanted.names) > 0 && (b.key.all || !s.Direct())
}

// learn adds a row to the statistics of the columns.
func (b *builder) learn(s *master.Server) {
	slots := b.wanted.of(s.Rules.Names())
	for i := range b.columns {
		c := &b.columns[i]
		v := columnValue(s, slots[i])
		if c.number {
			n, ok := canonical(v)
			if c.stated != KeyString {
				n, ok = leadingNumber(v), true
			}
			if ok {
				c.max = max(c.max, n)
				b.cells = append(b.cells, n)
				continue
			}
			b.recount(i)
		}
		b.cells = append(b.cells, b.count(c, v))
	}
	b.rows = append(b.rows, s)
}

// count counts a text of a column and returns its number.
func (b *builder) count(c *column, v string) uint32 {
	if c.last != uncounted && b.table.texts[c.last] == v {
		b.table.counts[c.last]++
		c.seen++
		return c.last
	}
	if c.unique {
		return uncounted
	}
	n, fresh := b.table.add(v)
	c.last = n
	c.seen++
	if fresh {
		c.fresh++
	}
	c.unique = c.seen >= uniqueAfter && 4*c.fresh > 3*c.seen
	return n
}

// recount changes a column that looked like numbers to one of texts.
func (b *builder) recount(i int) {
	c := &b.columns[i]
	c.number = false
	for r, s := range b.rows {
		slots := b.wanted.of(s.Rules.Names())
		b.cells[r*len(b.columns)+i] = b.count(c, columnValue(s, slots[i]))
	}
}

// encode writes the list into b.out and where its parts end into b.ends; the
// first of these is offset of the entries.
func (b *builder) encode() {
	b.keys = b.keys[:0]
	for i, name := range b.wanted.names {
		b.keys = append(b.keys, Key{b.columns[i].keyType(len(b.rows)), name})
	}
	b.out = appendKeys(b.out[:0], b.keys)
	b.out = appendPopular(b.out, b.table.popular)
	b.ends = append(b.ends[:0], uint32(len(b.out)))
	b.packed, b.moved = b.packed[:0], false
	cells := b.cells
	for _, s := range b.listed {
		flags, local := serverFlags(s, b.key.port, b.key.asker)
		given := b.key.asker.Given(s.Public)
		b.packed, b.moved = append(b.packed, pack(s.Public)), b.moved || given != s.Public
		var row []uint32
		if b.sendsValues(s) {
			flags |= FlagValues
			row, cells = cells[:len(b.keys)], cells[len(b.keys):]
		}
		start := len(b.out)
		b.out = appendEntryHead(b.out, flags, given, local, netip.Addr{})
		head := len(b.out)
		b.out = b.appendRow(b.out, s, row)
		if len(b.out)-start > maxElement {
			b.out = b.appendTrimmed(b.out[:head], s, row, maxElement-(head-start))
		}
		b.ends = append(b.ends, uint32(len(b.out)))
	}
	b.out = append(b.out, listEnd...)
}

// keyType is the shortest type that all values of a column allow, and at least the
// one that the game's record states.
func (c *column) keyType(rows int) KeyType {
	switch {
	case !c.number || rows == 0 && c.stated == KeyString:
		return KeyString
	case c.max <= 0xFF:
		return max(KeyByte, c.stated)
	}
	return KeyShort
}

// appendRow appends the values of a server, given their cells.
func (b *builder) appendRow(dst []byte, s *master.Server, cells []uint32) []byte {
	for i, n := range cells {
		switch t := b.keys[i].Type; {
		case t != KeyString:
			dst = appendNumber(dst, t, n)
		case n == uncounted:
			dst = appendLiteral(dst, columnValue(s, b.wanted.of(s.Rules.Names())[i]))
		case b.table.indices[n] != literal:
			dst = append(dst, b.table.indices[n])
		default:
			dst = appendLiteral(dst, b.table.texts[n])
		}
	}
	return dst
}

// appendTrimmed is appendRow for a row that does not fit: it shortens the
// longest texts. room is always enough for a row of empty texts.
func (b *builder) appendTrimmed(dst []byte, s *master.Server, cells []uint32, room int) []byte {
	slots := b.wanted.of(s.Rules.Names())
	texts := make([]string, len(cells))
	size := 0
	for i, n := range cells {
		switch {
		case b.keys[i].Type == KeyByte:
			size++
		case b.keys[i].Type == KeyShort:
			size += 2
		case n != uncounted && b.table.indices[n] != literal:
			size++
		default:
			texts[i] = columnValue(s, slots[i])
			size += len(texts[i]) + 2
		}
	}
	trim(texts, size-room)
	for i, n := range cells {
		switch t := b.keys[i].Type; {
		case t != KeyString:
			dst = appendNumber(dst, t, n)
		case n != uncounted && b.table.indices[n] != literal:
			dst = append(dst, b.table.indices[n])
		default:
			dst = appendLiteral(dst, texts[i])
		}
	}
	return dst
}

// trim cuts excess bytes from the longest texts.
func trim(texts []string, excess int) {
	for excess > 0 {
		longest := 0
		for i, t := range texts {
			if len(t) > len(texts[longest]) {
				longest = i
			}
		}
		t := texts[longest]
		if len(t) == 0 {
			return
		}
		keep := max(0, len(t)-excess)
		texts[longest] = t[:keep]
		excess -= len(t) - keep
	}
}
