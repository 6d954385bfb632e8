package qr2

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/respawnd/respawnd/master"
)

// Reasons for which a heartbeat is refused.
var (
	errNoGame   = errors.New("no game name")
	errTooMuch  = errors.New("too many keys")
	errTooShort = errors.New("too short")
)

// maxLocal is the maximum number of local addresses that a host reports.
const maxLocal = 5

// stateName is the only rule that describes the heartbeat and not the server.
// It is not in every heartbeat, so it is left out of the names that a server
// reports.
const stateName = "statechanged"

// state is the value of the rule statechanged.
type state byte

const (
	statePeriodic state = 0
	stateChanged  state = 1
	stateLeaving  state = 2
	stateStarting state = 3
)

// fixedLengths has the bits of the lengths that names of fixed rules have.
const fixedLengths = 1<<len("natneg") | 1<<len("gamename") | 1<<len("localip0") | 1<<len("localport") | 1<<len(stateName)

// fixed are the rules that mean something to us. The slices lie in the packet;
// those of rules that did not come are nil.
type fixed struct {
	game      []byte
	state     state
	natNeg    bool
	localIP   [maxLocal][]byte
	localPort []byte

	hasState, hasNATNeg bool
	// Where the rule statechanged lies in the sections, both 0 if it did not come;
	// stateAgain if it came more than once.
	stateFrom, stateEnd int
	stateAgain          bool
}

// note remembers a rule if it is one of the fixed ones. The first value counts.
// at is where it begins in the sections.
func (f *fixed) note(at int, name, value []byte) {
	switch string(name) {
	case "gamename":
		first(&f.game, value)
	case "natneg":
		if !f.hasNATNeg {
			f.hasNATNeg, f.natNeg = true, len(value) == 1 && value[0] == '1'
		}
	case stateName:
		if f.hasState {
			f.stateAgain = true
			return
		}
		f.hasState = true
		f.stateFrom, f.stateEnd = at, at+len(name)+len(value)+2
		if len(value) == 1 && value[0] >= '0' && value[0] <= '3' {
			f.state = state(value[0] - '0')
		}
	case "localport":
		first(&f.localPort, value)
	case "localip0", "localip1", "localip2", "localip3", "localip4":
		first(&f.localIP[name[len(name)-1]-'0'], value)
	}
}

func first(slot *[]byte, value []byte) {
	if *slot == nil {
		*slot = value
	}
}

// local returns the reported local addresses that can be joined, in old's memory
// if they are the same. A host that does not know its address reports 0.0.0.0: then it is the
// source of its packets, if that is private.
func (f *fixed) local(source netip.Addr, old []netip.AddrPort) []netip.AddrPort {
	port, err := strconv.ParseUint(string(f.localPort), 10, 16)
	if err != nil || port == 0 {
		return nil
	}
	var found [maxLocal]netip.AddrPort
	n, unknown := 0, false
	for _, text := range f.localIP {
		a, ok := parseIPv4(text)
		if ok && joinable(a) {
			found[n] = netip.AddrPortFrom(a, uint16(port))
			n++
		}
		unknown = unknown || ok && a.IsUnspecified()
	}
	if n == 0 && unknown && source.IsPrivate() {
		found[0], n = netip.AddrPortFrom(source, uint16(port)), 1
	}
	if slices.Equal(found[:n], old) {
		return old
	}
	return append([]netip.AddrPort(nil), found[:n]...)
}

// parseIPv4 reads a dotted quad without allocating.
func parseIPv4(b []byte) (netip.Addr, bool) {
	var ip [4]byte
	part, digits, value := 0, 0, 0
	for _, c := range b {
		switch {
		case c == '.' && digits > 0 && part < 3:
			ip[part] = byte(value)
			part, digits, value = part+1, 0, 0
		case c >= '0' && c <= '9' && digits < 3:
			value = value*10 + int(c-'0')
			digits++
			if value > 255 {
				return netip.Addr{}, false
			}
		default:
			return netip.Addr{}, false
		}
	}
	if part != 3 || digits == 0 {
		return netip.Addr{}, false
	}
	ip[3] = byte(value)
	return netip.AddrFrom4(ip), true
}

// peek parses only the fixed rules of a heartbeat, for unproved addresses as
// for listed servers: the rest is parsed when a value is read. The fixed rules
// usually come first, but all names are checked, so that any order is accepted.
func peek(p []byte) (f fixed, err error) {
	if len(p) < header {
		return f, errTooShort
	}
	b := p[header:]
	pairs, from, middle := 0, 0, -1 // where the name begins and ends
scan:
	for at := 0; at < len(b); at += 8 {
		for marks := nuls(b[at:]); marks != 0; marks &= marks - 1 {
			end := at + bits.TrailingZeros64(marks)/8
			if middle < 0 {
				if end == from {
					break scan // the empty name after the last rule
				}
				middle = end
				continue
			}
			if pairs++; pairs > master.MaxNames {
				return f, errTooMuch
			}
			if fixedLengths>>(middle-from)&1 != 0 {
				f.note(from, b[from:middle], b[middle+1:end])
			}
			from, middle = end+1, -1
		}
	}
	if len(f.game) == 0 {
		return f, errNoGame
	}
	return f, nil
}

// nuls marks the NULs in the first eight bytes of a text: the high bit of each,
// the first byte being the lowest. Finding the ends of names and values is most
// of the work on the heartbeat of a listed server, and they are so short that
// this takes less than half the time of bytes.IndexByte.
func nuls(b []byte) uint64 {
	const low = 0x7F7F7F7F7F7F7F7F
	if len(b) < 8 {
		return lastNuls(b)
	}
	w := binary.LittleEndian.Uint64(b)
	return ^((w&low + low) | w | low)
}

// lastNuls is nuls for fewer than eight bytes.
func lastNuls(b []byte) (marks uint64) {
	for i, c := range b {
		if c == 0 {
			marks |= 0x80 << (8 * i)
		}
	}
	return marks
}

// appendStateless appends the sections of the heartbeat without the rule
// statechanged, so that unchanged reports are equal.
func (f *fixed) appendStateless(b, sections []byte) []byte {
	b = append(b, sections[:f.stateFrom]...)
	rest := sections[f.stateEnd:]
	for f.stateAgain {
		name, _, next, ok := cutPair(rest)
		if !ok {
			break
		}
		if string(name) != stateName {
			b = append(b, rest[:len(rest)-len(next)]...)
		}
		rest = next
	}
	return append(b, rest...)
}

// reported is the content of a heartbeat, in memory of its own.
type reported struct {
	text   []byte // the sections without the rule statechanged; never empty
	natNeg bool
	local  []netip.AddrPort
}

// reported returns the content of the heartbeat with these sections.
func (f *fixed) reported(source netip.Addr, sections []byte) reported {
	return reported{f.appendStateless(make([]byte, 0, len(sections)), sections), f.natNeg, f.local(source, nil)}
}

// cutPair cuts one name and value. ok is false at the empty name that ends the
// section and where the packet was cut.
func cutPair(p []byte) (name, value, rest []byte, ok bool) {
	i := bytes.IndexByte(p, 0)
	if i <= 0 {
		return nil, nil, nil, false
	}
	j := bytes.IndexByte(p[i+1:], 0)
	if j < 0 {
		return nil, nil, nil, false
	}
	return p[:i], p[i+1 : i+1+j], p[i+j+2:], true
}

// A parser turns the sections of heartbeats into reports. It keeps its memory
// from one to the next; it is not safe for concurrent use.
type parser struct {
	registry *master.Registry
	report   *master.Report // the report being filled
	names    []string
	values   [][]byte
	last     master.Shape // names of the reports before, probably of the same game
}

// decoder parses the reports of listed servers on demand. It implements
// master.Decoder.
type decoder struct{ parsers sync.Pool } // of *parser

// NewDecoder returns the decoder of reports as the intake keeps them: the
// sections of a heartbeat without the rule statechanged.
func NewDecoder(r *master.Registry) master.Decoder { return newDecoder(r) }

func newDecoder(r *master.Registry) *decoder {
	return &decoder{sync.Pool{New: func() any { return &parser{registry: r} }}}
}

// Decode implements master.Decoder.
func (d *decoder) Decode(text []byte, expected master.Shape, into *master.Report) {
	p := d.parsers.Get().(*parser)
	defer d.parsers.Put(p)
	p.parse(text, expected, into)
}

// parse reads the sections of a heartbeat without the rule statechanged. Sections
// that were cut are left out. The names of the last report are expected to come again,
// and then nothing is allocated. A first report probably has the names of the one
// that was parsed before: all servers of a game are read for its list.
func (p *parser) parse(sections []byte, expected master.Shape, into *master.Report) {
	p.report = into
	expected.Rules = cmp.Or(expected.Rules, p.last.Rules)
	expected.Players = cmp.Or(expected.Players, p.last.Players)
	expected.Teams = cmp.Or(expected.Teams, p.last.Teams)
	if rest, whole := p.rules(sections, expected.Rules); whole {
		p.tables(rest, expected.Players, expected.Teams)
	}
	p.report = nil
}

// rules reads the first section. whole is false if the packet was cut in it;
// complete rules are kept.
func (p *parser) rules(b []byte, hint *master.Names) (rest []byte, whole bool) {
	if rest, ok := p.expectedRules(b, hint); ok {
		return rest, true
	}
	p.report.Reset()
	p.names, p.values = p.names[:0], p.values[:0]
	for len(p.names) < master.MaxNames {
		name, value, next, ok := cutPair(b)
		if !ok {
			break
		}
		b = next
		p.names, p.values = append(p.names, string(name)), append(p.values, value)
	}
	names := p.registry.Names(p.names)
	for i, value := range p.values {
		if name, slot := names.ReportedName(i); slot >= 0 {
			p.report.Rule(localValue(name, value))
		}
	}
	p.last.Rules = names
	p.report.SetRules(names)
	if len(b) > 0 && b[0] == 0 {
		return b[1:], true
	}
	return nil, false
}

// expectedRules parses the section on the assumption that its names equal those
// of the last one. It gives up at the first difference.
func (p *parser) expectedRules(b []byte, names *master.Names) (rest []byte, ok bool) {
	for i := range names.Reported() {
		name, slot := names.ReportedName(i)
		if !begins(b, name) {
			return nil, false
		}
		n := len(name)
		j := bytes.IndexByte(b[n+1:], 0)
		if j < 0 {
			return nil, false
		}
		if slot >= 0 {
			p.report.Rule(localValue(name, b[n+1:n+1+j]))
		}
		b = b[n+j+2:]
	}
	if names == nil || len(b) == 0 || b[0] != 0 {
		return nil, false
	}
	p.report.SetRules(names)
	return b[1:], true
}

// begins reports whether b begins with a name, which is not empty, and its NUL.
func begins(b []byte, name string) bool {
	n := len(name)
	return n > 0 && len(b) > n && b[n] == 0 && string(b[:n]) == name
}

// tables reads players, then teams. If all columns of the first table end in
// _t, it is the one of the teams.
func (p *parser) tables(b []byte, players, teams *master.Names) {
	t, ok := p.table(b, players)
	if !ok {
		return
	}
	swapped := t.ofTeams()
	if swapped {
		b = t.each(p.report.Team)
		p.report.SetTeams(t.names, t.rows)
		t, ok = p.table(b, players)
	} else {
		b = t.each(p.report.Player)
		p.report.SetPlayers(t.names, t.rows)
		p.last.Players = t.names
		t, ok = p.table(b, teams)
		p.last.Teams = t.names
	}
	switch {
	case !ok, swapped && t.ofTeams():
	case swapped:
		t.each(p.report.Player)
		p.report.SetPlayers(t.names, t.rows)
	default:
		t.each(p.report.Team)
		p.report.SetTeams(t.names, t.rows)
	}
}

// tableText is a table as it lies in a packet.
type tableText struct {
	names  *master.Names // nil: it has no columns
	rows   int
	values []byte // rows times names.Reported() of them, and the rest
}

// ofTeams reports whether there are columns and all their names end in _t.
func (t *tableText) ofTeams() bool {
	for i := range t.names.Reported() {
		if name, _ := t.names.ReportedName(i); !strings.HasSuffix(name, "_t") {
			return false
		}
	}
	return t.names != nil
}

// each yields the kept values and returns the data after the table.
func (t *tableText) each(add func([]byte)) (rest []byte) {
	b := t.values
	for range t.rows {
		for column := range t.names.Reported() {
			end := bytes.IndexByte(b, 0)
			if _, slot := t.names.ReportedName(column); slot >= 0 {
				add(b[:end])
			}
			b = b[end+1:]
		}
	}
	return b
}

// table reads the head of a table. ok is false if there is none or the packet
// was cut in it: the table is left out then.
func (p *parser) table(b []byte, hint *master.Names) (t tableText, ok bool) {
	if len(b) < 2 {
		return t, false
	}
	rows := int(binary.BigEndian.Uint16(b))
	names, b, ok := p.columns(b[2:], hint)
	if !ok {
		return t, false
	}
	if names == nil {
		rows = 0
	}
	if bytes.Count(b, []byte{0}) < rows*names.Reported() {
		return t, false
	}
	return tableText{names, rows, b}, true
}

// columns reads the column names of a table, which are probably those of hint.
func (p *parser) columns(b []byte, hint *master.Names) (names *master.Names, rest []byte, ok bool) {
	if rest, ok := expectedColumns(b, hint); ok {
		return hint, rest, true
	}
	p.names = p.names[:0]
	for {
		name, next, ok := cutText(b)
		if !ok {
			return nil, nil, false
		}
		b = next
		if len(name) == 0 {
			return p.registry.Names(p.names), b, true
		}
		if len(p.names) == master.MaxNames {
			return nil, nil, false
		}
		p.names = append(p.names, string(name))
	}
}

func expectedColumns(b []byte, names *master.Names) (rest []byte, ok bool) {
	for i := range names.Reported() {
		name, _ := names.ReportedName(i)
		if !begins(b, name) {
			return nil, false
		}
		b = b[len(name)+1:]
	}
	if names == nil || len(b) == 0 || b[0] != 0 {
		return nil, false
	}
	return b[1:], true
}
