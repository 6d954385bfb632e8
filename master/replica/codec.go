package replica

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/master"
)

// version is the first byte of each message.
const version = 2

// message is the head of a batch of changes, of a request for a part of the complete list, or of
// that part.
//
//	offset size
//	     0    1  version
//	     1    1  1: a batch; 2: the first part is requested; 3: the next one is; 4: a part; 5: the last part
//	     2    8  number of the batch, from 1; in a request one that the node chose; in a part that of the last batch before it
//	    10    -  items of a batch or a part, each with its length in 4 bytes before it
type message struct {
	kind   byte
	number uint64
}

// Kinds of messages.
const (
	kindBatch = iota + 1
	kindFirst
	kindNext
	kindPart
	kindLast
)

const headSize = 10

var (
	errVersion   = errors.New("message of another version")
	errMalformed = errors.New("malformed message")
)

func (m message) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, version, m.kind), m.number)
}

// parseMessage parses a message of one of two kinds.
func parseMessage(b []byte, one, other byte) (m message, items []byte, err error) {
	switch {
	case len(b) > 0 && b[0] != version:
		return m, nil, errVersion
	case len(b) < headSize || b[1] != one && b[1] != other:
		return m, nil, errMalformed
	}
	return message{b[1], binary.BigEndian.Uint64(b[2:])}, b[headSize:], nil
}

// nextItem returns the first item of a list and the rest.
func nextItem(b []byte) (item, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errMalformed
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, errMalformed
	}
	return b[4 : 4+n], b[4+n:], nil
}

// endItem writes the length of the item that began at start.
func endItem(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// Flags of an item.
const (
	flagRemoved = 1 << iota // only the source follows
	flagNATNeg
	flagRestored
	flagVouched
	flagText // the content is the report as it came, which its reader parses
	flagRelayed
)

// Limits of an item.
const (
	maxLocal = 64
	maxWord  = 255     // bytes of a game, country, region, protocol or name of a master
	maxText  = 1 << 16 // bytes of a report
	maxRows  = 256
	// maxItem is the length of the longest item. A longer server is published without
	// its players.
	maxItem = 256 << 10
)

// appendRemoved appends the item of a server that left.
func appendRemoved(b []byte, source netip.AddrPort) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, flagRemoved)
	return endItem(appendAddr(b, source), start)
}

// appendServer appends the item of a server.
func appendServer(b []byte, s *master.Server, claim uint32, now time.Time, lazy bool) []byte {
	start := len(b)
	var text []byte
	unread := false
	if lazy {
		text, unread = s.AppendUnread(nil)
		unread = unread && len(text) <= maxText
	}
	var flags byte
	if s.NATNeg {
		flags |= flagNATNeg
	}
	if s.Restored {
		flags |= flagRestored
	}
	if s.Vouched {
		flags |= flagVouched
	}
	if unread {
		flags |= flagText
	}
	if s.Findings.Relayed {
		flags |= flagRelayed
	}
	b = append(b, 0, 0, 0, 0, flags)
	b = appendAddr(b, s.Key.Source)
	b = appendAddr(b, s.Public)
	b = binary.BigEndian.AppendUint32(b, s.Key.Instance)
	b = binary.BigEndian.AppendUint32(b, claim)
	b = append(b, s.Origin.Number-1, byte(s.Findings.Reached))
	b = binary.BigEndian.AppendUint64(b, uint64(s.First.UnixNano()))
	age := min(max(now.Sub(s.Seen).Milliseconds(), 0), math.MaxUint32)
	b = binary.BigEndian.AppendUint32(b, uint32(age)) // clocks may differ
	for _, word := range []string{s.Game, s.Country, s.Region, s.Query, s.Told} {
		b = appendWord(b, word)
	}
	if s.Origin.Number == 0 {
		b = appendWord(b, s.Origin.Name)
	}
	local := s.Local[:min(len(s.Local), maxLocal)]
	b = append(b, byte(len(local)))
	for _, a := range local {
		b = appendAddr(b, a)
	}
	if unread {
		return endItem(append(b, text...), start)
	}
	b = appendRules(b, s.Rules)
	plain := len(b)
	b = appendTable(appendTable(b, s.Players), s.Teams)
	if len(b)-start > maxItem {
		b = appendTable(appendTable(b[:plain], master.Table{}), master.Table{})
	}
	return endItem(b, start)
}

func appendWord(b []byte, word string) []byte {
	word = word[:min(len(word), maxWord)]
	return append(append(b, byte(len(word))), word...)
}

// An address is the length of the IP, the IP and the port.
func appendAddr(b []byte, a netip.AddrPort) []byte {
	ip := a.Addr().Unmap().AsSlice()
	b = append(append(b, byte(len(ip))), ip...)
	return binary.BigEndian.AppendUint16(b, a.Port())
}

func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), math.MaxUint16)]
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

func appendRules(b []byte, f master.Fields) []byte {
	n := min(f.Len(), master.MaxNames)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	for i := range n {
		b = appendText(appendText(b, f.Names().Name(i)), f.Value(i))
	}
	return b
}

func appendTable(b []byte, t master.Table) []byte {
	columns, rows := min(t.Columns(), master.MaxNames), min(t.Rows(), maxRows)
	b = binary.BigEndian.AppendUint16(b, uint16(columns))
	b = binary.BigEndian.AppendUint16(b, uint16(rows))
	for c := range columns {
		b = appendText(b, t.Names().Name(c))
	}
	for r := range rows {
		for c := range columns {
			b = appendText(b, t.Value(r, c))
		}
	}
	return b
}

// reader takes values off an item. After the first missing one all values are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) addr() netip.AddrPort {
	ip, ok := netip.AddrFromSlice(r.take(int(r.uint8())))
	port := r.uint16()
	if !ok || ip.Is4In6() {
		r.bad = true
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, port)
}

func (r *reader) word() string { return string(r.take(int(r.uint8()))) }

func (r *reader) text() []byte { return r.take(int(r.uint16())) }

// item is the content of an item.
type item struct {
	server  master.Server
	claim   uint32
	removed bool // only server.Key.Source is set
}

// decoder makes records of items. It is not safe for concurrent use.
type decoder struct {
	registry *master.Registry
	origins  master.Origins
	sources  map[*master.Origin]*master.Source
	report   master.Report
}

// item decodes an item. The report of a server is copied.
func (d *decoder) item(b []byte, node string, now time.Time) (it item, err error) {
	r := reader{b: b}
	flags := r.uint8()
	s := &it.server
	s.Key.Source = r.addr()
	if it.removed = flags&flagRemoved != 0; it.removed {
		return it, r.err()
	}
	s.Node, s.NATNeg, s.Restored = node, flags&flagNATNeg != 0, flags&flagRestored != 0
	s.Vouched, s.Findings.Relayed = flags&flagVouched != 0, flags&flagRelayed != 0
	s.Public = r.addr()
	s.Key.Instance, it.claim = r.uint32(), r.uint32()
	number := r.uint8() + 1
	s.Findings.Reached = master.Reached(r.uint8())
	s.First = time.Unix(0, int64(r.uint64()))
	s.Seen = now.Add(-time.Duration(r.uint32()) * time.Millisecond)
	s.Game, s.Country, s.Region, s.Query, s.Told = r.word(), r.word(), r.word(), r.word(), r.word()
	if s.Origin = d.origins.Numbered(number); number == 0 {
		s.Origin = d.origins.Named(r.word())
	}
	local := int(r.uint8())
	if local > maxLocal || s.Game == "" || s.Origin == nil || s.Findings.Reached > master.ReachedDirect ||
		!s.Public.IsValid() || s.Public.Port() == 0 || it.claim == math.MaxUint32 {
		return it, errMalformed
	}
	for range local {
		s.Local = append(s.Local, r.addr())
	}
	if r.bad {
		return it, errMalformed
	}
	if flags&flagText != 0 {
		source := d.sources[s.Origin]
		if source == nil || len(r.b) > maxText {
			return it, errMalformed
		}
		source.Into(s, source.Text(r.b))
		return it, nil
	}
	return it, d.content(&r, s)
}

// content decodes rules and tables.
func (d *decoder) content(r *reader, s *master.Server) error {
	d.report.Reset()
	n := int(r.uint16())
	if n > master.MaxNames {
		return errMalformed
	}
	names, values := make([]string, 0, min(n, len(r.b)/4)), make([][]byte, 0, min(n, len(r.b)/4))
	for range n {
		if r.bad {
			return errMalformed
		}
		names, values = append(names, string(r.text())), append(values, r.text())
	}
	shared := d.registry.Names(names)
	for i, value := range values {
		if _, slot := shared.ReportedName(i); slot >= 0 {
			d.report.Rule(value)
		}
	}
	d.report.SetRules(shared)
	players, rows, err := d.table(r, d.report.Player)
	if err != nil {
		return err
	}
	d.report.SetPlayers(players, rows)
	teams, rows, err := d.table(r, d.report.Team)
	if err != nil {
		return err
	}
	d.report.SetTeams(teams, rows)
	if err := r.err(); err != nil {
		return err
	}
	return d.report.Into(s)
}

func (d *decoder) table(r *reader, add func([]byte)) (*master.Names, int, error) {
	columns, rows := int(r.uint16()), int(r.uint16())
	if columns > master.MaxNames || rows > maxRows || columns*rows > len(r.b)/2 {
		return nil, 0, errMalformed
	}
	names := make([]string, 0, min(columns, len(r.b)/2))
	for range columns {
		if r.bad {
			return nil, 0, errMalformed
		}
		names = append(names, string(r.text()))
	}
	shared := d.registry.Names(names)
	for range rows {
		for c := range columns {
			value := r.text()
			if _, slot := shared.ReportedName(c); slot >= 0 {
				add(value)
			}
		}
	}
	if shared.Len() == 0 {
		rows = 0
	}
	return shared, rows, nil
}

// err reports an item that is too short or too long.
func (r *reader) err() error {
	if r.bad || len(r.b) > 0 {
		return errMalformed
	}
	return nil
}
