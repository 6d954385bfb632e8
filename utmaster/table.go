package utmaster

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"

	"github.com/respawnd/respawnd/internal/uplink"
)

// table holds the connections of game servers. Server.mu guards it.
type table struct {
	hosts uplink.Hosts[*session]      // by the source of the record
	codes map[int32]*session          // by the code of the probes
	asked map[netip.AddrPort]*session // by the address whose status was asked for
}

func newTable() table {
	return table{
		hosts: uplink.NewHosts[*session](), codes: make(map[int32]*session), asked: make(map[netip.AddrPort]*session),
	}
}

// enter gives a connection a code that no other one has.
func (t *table) enter(x *session) (code int32) {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never returns an error
		code = int32(binary.LittleEndian.Uint32(b[:]) >> 1)
		if _, taken := t.codes[code]; !taken && code != 0 {
			t.codes[code] = x
			return code
		}
	}
}

// leave forgets a connection.
func (t *table) leave(x *session) {
	delete(t.codes, x.link.code)
	t.unask(x)
	t.unclaim(x)
}

// ask notes the address whose status a connection asked for.
func (t *table) ask(x *session, at netip.AddrPort) {
	t.unask(x)
	t.asked[at], x.askedAt = x, at
}

func (t *table) unask(x *session) {
	if t.asked[x.askedAt] == x {
		delete(t.asked, x.askedAt)
	}
}

// claim makes a connection the one of a server. The connection that was it before is
// returned.
func (t *table) claim(x *session, at netip.AddrPort) (before *session) {
	before, _ = t.hosts.Get(at)
	if before == x {
		return nil
	}
	t.unclaim(x)
	if before != nil {
		t.unclaim(before)
	}
	t.hosts.Put(at, x)
	x.source = at
	return before
}

// unclaim forgets the server of a connection, if it has one.
func (t *table) unclaim(x *session) {
	if h, _ := t.hosts.Get(x.source); h == x {
		t.hosts.Remove(x.source)
		x.source = netip.AddrPort{}
	}
}
