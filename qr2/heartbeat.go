package qr2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/master"
)

// Reasons for which a heartbeat is refused.
var (
	errNoGame   = errors.New("no game name")
	errTooMuch  = errors.New("too many keys")
	errTooShort = errors.New("too short")
)

// maxLocal is how many local addresses a host reports.
const maxLocal = 5

// state is the value of the rule statechanged.
type state byte

const (
	statePeriodic state = 0
	stateChanged  state = 1
	stateLeaving  state = 2
	stateStarting state = 3
)

// fixed are the rules that mean something to us. The slices lie in the packet.
type fixed struct {
	game      []byte
	state     state
	natNeg    bool
	localIP   [maxLocal][]byte
	localIPs  int
	localPort []byte
}

// note remembers a rule if it is one of the fixed ones. The first value counts.
func (f *fixed) note(name, value []byte) {
	switch string(name) {
	case "gamename":
		if f.game == nil {
			f.game = value
		}
	case "natneg":
		f.natNeg = len(value) == 1 && value[0] == '1'
	case "statechanged":
		if len(value) == 1 && value[0] >= '0' && value[0] <= '3' {
			f.state = state(value[0] - '0')
		}
	case "localport":
		f.localPort = value
	case "localip0", "localip1", "localip2", "localip3", "localip4":
		if f.localIPs < maxLocal {
			f.localIP[f.localIPs] = value
			f.localIPs++
		}
	}
}

// local returns the reported local addresses, in old's memory if they are the
// same.
func (f *fixed) local(old []netip.AddrPort) []netip.AddrPort {
	port, err := strconv.ParseUint(string(f.localPort), 10, 16)
	if err != nil || port == 0 {
		return nil
	}
	var found [maxLocal]netip.AddrPort
	n := 0
	for _, text := range f.localIP[:f.localIPs] {
		if a, ok := parseIPv4(text); ok {
			found[n] = netip.AddrPortFrom(a, uint16(port))
			n++
		}
	}
	if n == len(old) && [maxLocal]netip.AddrPort(found) == padded(old) {
		return old
	}
	return append([]netip.AddrPort(nil), found[:n]...)
}

func padded(list []netip.AddrPort) (out [maxLocal]netip.AddrPort) {
	copy(out[:], list)
	return out
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

// peek reads only the fixed rules of a heartbeat. That is all that is done for
// an address that has proved nothing.
func peek(p []byte) (f fixed, err error) {
	if len(p) < header {
		return f, errTooShort
	}
	rest := p[header:]
	for pairs := 0; ; pairs++ {
		name, value, next, ok := cutPair(rest)
		if !ok {
			break
		}
		if pairs == master.MaxNames {
			return f, errTooMuch
		}
		f.note(name, value)
		rest = next
	}
	if len(f.game) == 0 {
		return f, errNoGame
	}
	return f, nil
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

// A parser turns heartbeats into reports. It keeps its memory from one packet
// to the next; it is not safe for concurrent use.
type parser struct {
	registry *master.Registry
	report   master.Report
	fixed    fixed
	names    []string
	values   [][]byte
}

// parse reads a whole heartbeat into p.fixed and p.report. old is the record of
// the same server, if there is one: its names are expected to come again, and
// then nothing is allocated.
func (p *parser) parse(packet []byte, old *master.Server) error {
	p.report.Reset()
	p.fixed = fixed{}
	if len(packet) < header {
		return errTooShort
	}
	var rules, players, teams *master.Names
	if old != nil {
		rules, players, teams = old.Rules.Names(), old.Players.Names(), old.Teams.Names()
	}
	rest, whole, err := p.rules(packet[header:], rules)
	if err != nil {
		return err
	}
	if len(p.fixed.game) == 0 {
		return errNoGame
	}
	if !whole {
		return nil
	}
	if rest, whole = p.table(rest, players, teams, false); whole {
		p.table(rest, players, teams, true)
	}
	return nil
}

// rules reads the first section. whole is false if the packet was cut in it;
// what was complete is kept.
func (p *parser) rules(b []byte, hint *master.Names) (rest []byte, whole bool, err error) {
	if rest, ok := p.expectedRules(b, hint); ok {
		return rest, true, nil
	}
	p.report.Reset()
	p.fixed = fixed{}
	p.names, p.values = p.names[:0], p.values[:0]
	for {
		name, value, next, ok := cutPair(b)
		if !ok {
			break
		}
		if len(p.names) == master.MaxNames {
			return nil, false, errTooMuch
		}
		p.fixed.note(name, value)
		p.names, p.values = append(p.names, string(name)), append(p.values, value)
		b = next
	}
	names := p.registry.Names(p.names)
	for i, value := range p.values {
		if _, slot := names.ReportedName(i); slot >= 0 {
			p.report.Rule(value)
		}
	}
	p.report.SetRules(names)
	if len(b) > 0 && b[0] == 0 {
		return b[1:], true, nil
	}
	return nil, false, nil
}

// expectedRules reads the section on the guess that it names what the last one
// named. It gives up at the first difference.
func (p *parser) expectedRules(b []byte, names *master.Names) (rest []byte, ok bool) {
	for i := range names.Reported() {
		name, slot := names.ReportedName(i)
		n := len(name)
		if len(b) < n+2 || b[n] != 0 || string(b[:n]) != name || n == 0 {
			return nil, false
		}
		j := bytes.IndexByte(b[n+1:], 0)
		if j < 0 {
			return nil, false
		}
		value := b[n+1 : n+1+j]
		p.fixed.note(b[:n], value)
		if slot >= 0 {
			p.report.Rule(value)
		}
		b = b[n+j+2:]
	}
	if names == nil || len(b) == 0 || b[0] != 0 {
		return nil, false
	}
	p.report.SetRules(names)
	return b[1:], true
}

// table reads one table: players first, then teams. A table whose columns all
// end in _t is one of teams wherever it stands. whole is false if there is no
// table or the packet was cut in it; the table is left out then.
func (p *parser) table(b []byte, players, teams *master.Names, second bool) (rest []byte, whole bool) {
	if len(b) < 2 {
		return nil, false
	}
	rows := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	names, isTeams, b, ok := p.columns(b, players, teams, second)
	if !ok {
		return nil, false
	}
	columns := names.Reported()
	if columns == 0 {
		return b, true
	}
	if rows*columns > len(b) || !complete(b, rows*columns) {
		return nil, false // not even a NUL for each value
	}
	add, set := p.report.Player, p.report.SetPlayers
	if isTeams {
		add, set = p.report.Team, p.report.SetTeams
	}
	for range rows {
		for c := range columns {
			end := bytes.IndexByte(b, 0)
			if _, slot := names.ReportedName(c); slot >= 0 {
				add(b[:end])
			}
			b = b[end+1:]
		}
	}
	set(names, rows)
	return b, true
}

// complete reports whether b holds n NUL-terminated values.
func complete(b []byte, n int) bool {
	if n == 0 {
		return true
	}
	return bytes.Count(b, []byte{0}) >= n
}

// columns reads the column names of a table.
func (p *parser) columns(b []byte, players, teams *master.Names, second bool) (names *master.Names, isTeams bool, rest []byte, ok bool) {
	hint := players
	if second {
		hint = teams
	}
	if rest, ok := expectedColumns(b, hint); ok {
		return hint, second, rest, true
	}
	p.names = p.names[:0]
	teamColumns := 0
	for {
		name, next, ok := cutText(b)
		if !ok || len(p.names) == master.MaxNames {
			return nil, false, nil, false
		}
		b = next
		if len(name) == 0 {
			break
		}
		if bytes.HasSuffix(name, []byte("_t")) {
			teamColumns++
		}
		p.names = append(p.names, string(name))
	}
	isTeams = second || (len(p.names) > 0 && teamColumns == len(p.names))
	return p.registry.Names(p.names), isTeams, b, true
}

func expectedColumns(b []byte, names *master.Names) (rest []byte, ok bool) {
	for i := range names.Reported() {
		name, _ := names.ReportedName(i)
		n := len(name)
		if len(b) <= n || b[n] != 0 || string(b[:n]) != name {
			return nil, false
		}
		b = b[n+1:]
	}
	if names == nil || len(b) == 0 || b[0] != 0 {
		return nil, false
	}
	return b[1:], true
}
