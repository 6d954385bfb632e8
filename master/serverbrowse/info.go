package serverbrowse

import (
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
)

// appendInfo appends all data of a server: its rules, country and region, then
// teams and players, until one message is full. The rest is left out, players
// from the end. port is the default query port of the connection, public the
// address under which the asker knows the server.
func appendInfo(dst []byte, s *master.Server, port uint16, public netip.AddrPort, asker advertise.Asker) []byte {
	flags, local := serverFlags(s, port, asker)
	start := len(dst)
	dst = beginPush(dst, PushServer)
	dst = appendEntryHead(dst, flags|FlagRules, public, local, netip.Addr{})
	limit := start + maxMessage - 1 // the NUL after the last rule
	for name, value := range s.Rules.All() {
		if !mastersOwn(name) {
			dst = appendRule(dst, limit, name, value)
		}
	}
	if s.Country != "" {
		dst = appendRule(dst, limit, "country", s.Country)
	}
	if s.Region != "" {
		dst = appendRule(dst, limit, "region", s.Region)
	}
	dst = appendTable(dst, limit, s.Teams)
	dst = appendTable(dst, limit, s.Players)
	return endPush(append(dst, 0), start)
}

// mastersOwn reports whether only the master may set a name.
func mastersOwn(name string) bool {
	return strings.EqualFold(name, "country") || strings.EqualFold(name, "region")
}

// appendRule appends a name and its value unless dst would grow over limit.
func appendRule(dst []byte, limit int, name, value string) []byte {
	if name == "" || name[0] == 0 || len(dst)+len(name)+len(value)+2 > limit {
		return dst
	}
	return gamespy.AppendString(gamespy.AppendString(dst, name), value)
}

// appendTable appends the rows of a table, each value under the name of its
// column with the number of its row, until the first row that does not fit.
func appendTable(dst []byte, limit int, t master.Table) []byte {
	for r := range t.Rows() {
		whole := len(dst)
		for c := range t.Columns() {
			name := t.Names().Name(c)
			if name == "" || strings.IndexByte(name, 0) >= 0 {
				continue
			}
			dst = appendIndexed(dst, name, r)
			dst = gamespy.AppendString(dst, t.Value(r, c))
			if len(dst) > limit {
				return dst[:whole]
			}
		}
	}
	return dst
}

// appendUnknown appends the answer about a server that is not listed: an entry
// without data, which the client reports as a failed update. Without an answer
// it would wait for ever.
func appendUnknown(dst []byte, asked netip.AddrPort, port uint16) []byte {
	var flags Flag
	if asked.Port() != port {
		flags = FlagPort
	}
	start := len(dst)
	dst = beginPush(dst, PushServer)
	dst = appendEntryHead(dst, flags, asked, netip.AddrPort{}, netip.Addr{})
	return endPush(dst, start)
}

// appendPushServer appends a server with plain values, as in pushes. For a
// client that requested no fields it appends all rules: the client would report
// an update without data as failed.
func appendPushServer(dst []byte, s *master.Server, port uint16, asker advertise.Asker, slots []int16, scratch *[]string) []byte {
	public := asker.Given(s.Public)
	if len(slots) == 0 {
		return appendInfo(dst, s, port, public, asker)
	}
	flags, local := serverFlags(s, port, asker)
	flags |= FlagValues
	start := len(dst)
	dst = beginPush(dst, PushServer)
	dst = appendEntryHead(dst, flags, public, local, netip.Addr{})
	values := (*scratch)[:0]
	size := len(dst) - start
	for _, slot := range slots {
		v := columnValue(s, slot)
		values = append(values, v)
		size += len(v) + 1
	}
	trim(values, size-maxMessage)
	for _, v := range values {
		dst = gamespy.AppendString(dst, v)
	}
	clear(values)
	*scratch = values
	return endPush(dst, start)
}
