package replica

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/master"
)

// version is that of items.
const version = 3

var errMalformed = errors.New("malformed server")

// listed is an item: a server as other nodes list it.
type listed struct {
	server *master.Server
	claim  uint32
}

// Flags of an item.
const (
	flagNATNeg = 1 << iota
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
	maxItem = 250 << 10
)

// appendServer appends a server: as its unread report if lazy.
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
	b = appendAddr(append(b, flags), s.Key.Source)
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
		return append(b, text...)
	}
	b = appendRules(b, s.Rules)
	plain := len(b)
	b = appendTable(appendTable(b, s.Players), s.Teams)
	if len(b)-start > maxItem {
		b = appendTable(appendTable(b[:plain], master.Table{}), master.Table{})
	}
	return b
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

func parseAddr(b []byte) (netip.AddrPort, error) {
	r := reader{b: b}
	a := r.addr()
	return a, r.err()
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

// decoder makes records of items. It is not safe for concurrent use.
type decoder struct {
	registry *master.Registry
	origins  master.Origins
	sources  map[*master.Origin]*master.Source
	report   master.Report
}

// item decodes a server of a node. Its report is copied.
func (d *decoder) item(b []byte, node string, now time.Time) (it listed, err error) {
	r := reader{b: b}
	flags := r.uint8()
	s := new(master.Server)
	it.server = s
	s.Key.Source = r.addr()
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
