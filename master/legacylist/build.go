package legacylist

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// infoFields are the columns of a table of servers. The first one is the
// address; the others are rules that hosts of the time report.
var infoFields = [...]string{
	"ip", "hostname", "gamever", "location", "hostport", "mapname", "gametype", "gamemode", "numplayers", "maxplayers", "password",
}

// serverRow is a server as a filter sees it.
type serverRow struct {
	server *master.Server
	names  []string // of the filter
}

// Field implements filter.Row.
func (r *serverRow) Field(i int) (string, bool) { return r.server.Field(r.names[i]) }

// buildServers makes the present list of the servers of a game, of all origins,
// without those that clients of this list cannot query.
func buildServers(reg *master.Registry, key viewKey, f *filter.Filter) (*view, error) {
	servers, serial := reg.Snapshot(key.game, nil)
	v := &view{views.Text{Serial: serial}}
	row := serverRow{names: f.Names()}
	budget := filter.ListBudget(len(servers))
	var appendServer func([]byte, *master.Server, netip.AddrPort) []byte
	switch key.mode {
	case Compact:
		v.Bytes = make([]byte, 0, compactSize*len(servers)+len(gamespy.Final))
		appendServer = appendCompact
	case Info:
		v.Bytes = appendFieldNames(nil, infoFields[:])
		appendServer = appendInfo
	default:
		appendServer = appendPlain
	}
	for _, s := range servers {
		given := key.asker.Given(s.Public)
		if !listable(given) || !s.SpeaksGameSpy() {
			continue
		}
		if !f.Trivial() {
			row.server = s
			if !f.Match(&row, &budget) {
				if budget.Exhausted() {
					return nil, endedExpensive
				}
				continue
			}
		}
		v.Bytes = appendServer(v.Bytes, s, given)
		v.Rows++
	}
	v.finish()
	return v, nil
}

// finish ends the text. A table without rows is only the end mark.
func (v *view) finish() {
	if v.Rows == 0 {
		v.Bytes = v.Bytes[:0]
	}
	v.Bytes = append(v.Bytes, gamespy.Final...)
}

// compactSize is the size of a server in a compact list.
const compactSize = 6

// listable reports whether a list can hold an address: it must be IPv4, and in
// a compact list it must not look like the end mark.
func listable(a netip.AddrPort) bool {
	if !a.Addr().Is4() {
		return false
	}
	b := packed(a)
	return string(b[:]) != gamespy.Final[:compactSize]
}

func packed(a netip.AddrPort) (b [compactSize]byte) {
	ip := a.Addr().As4()
	copy(b[:], ip[:])
	binary.BigEndian.PutUint16(b[len(ip):], a.Port())
	return b
}

func appendCompact(dst []byte, _ *master.Server, given netip.AddrPort) []byte {
	b := packed(given)
	return append(dst, b[:]...)
}

func appendPlain(dst []byte, _ *master.Server, given netip.AddrPort) []byte {
	return given.AppendTo(append(dst, `\ip\`...))
}

func appendInfo(dst []byte, s *master.Server, given netip.AddrPort) []byte {
	dst = given.AppendTo(append(dst, '\\'))
	for _, name := range infoFields[1:] {
		value, _ := s.Field(name)
		dst = appendValue(dst, value)
	}
	return dst
}

// appendFieldNames appends the head of a table.
func appendFieldNames(dst []byte, names []string) []byte {
	dst = appendNumber(append(dst, `\fieldcount`...), len(names))
	for _, name := range names {
		dst = append(append(dst, '\\'), name...)
	}
	return dst
}

// appendValue appends a value of a table. A backslash cannot be written in it,
// and a value equal to the end mark would end the list.
func appendValue(dst []byte, value string) []byte {
	dst = append(dst, '\\')
	if strings.EqualFold(value, "final") {
		return append(append(dst, value...), '.')
	}
	start := len(dst)
	dst = append(dst, value...)
	for i := start; i < len(dst); i++ {
		if dst[i] == '\\' || dst[i] == 0 {
			dst[i] = '.'
		}
	}
	return dst
}
