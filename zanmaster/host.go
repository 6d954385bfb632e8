package zanmaster

import (
	"container/list"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// maxVerification is the length of the longest verification string that is
	// taken. Those of real servers have 32 digits.
	maxVerification = 64

	pendingLife  = 60 * time.Second // from the last challenge until it is forgotten
	pendingStale = 2 * time.Second  // unanswered for so long, it makes room for another of its address
	maxWrong     = 4                // wrong numbers until it is forgotten

	// maxHosts bounds the servers that are known, hidden ones included.
	maxHosts = 1 << 17
)

// host is a game server that has verified its address.
type host struct {
	addr         netip.AddrPort
	via          netip.Addr // our address that it talks to
	verification string     // as it wrote it
	enforces     bool
	revision     uint32
	first, seen  time.Time
	listed       bool // in the registry
	push         push
}

// pending is a game server that has not answered its challenge yet.
type pending struct {
	addr         netip.AddrPort
	via          netip.Addr
	verification string
	number       uint32
	enforces     bool
	revision     uint32
	expires      time.Time
	last         time.Time // its last challenge
	wrong        int       // wrong numbers
	in, out      int       // bytes from and to its address
	place        *list.Element
}

// spareBytes more may be sent to a server that has said little: nobody of an old
// build could register otherwise.
const spareBytes = 8

// spend reports whether n more bytes may be sent to the unproved address, and
// counts them.
func (v *pending) spend(n int) bool {
	if v.out+n > v.in && (v.out > 0 || n > v.in+spareBytes) {
		return false
	}
	v.out += n
	return true
}

// hostTable holds both kinds. Server.mu guards it.
type hostTable struct {
	known   map[netip.AddrPort]*host
	pending map[netip.AddrPort]*pending
	order   *list.List // of *pending, the one that waited longest in front
	byAddr  map[netip.Addr]*address
	behind  map[netip.AddrPort]*host // those known that may lack the ban list that is in force
}

// address is what an address has in either map.
type address struct {
	ports   int
	pending []*pending
}

func newHostTable() hostTable {
	return hostTable{
		known:   make(map[netip.AddrPort]*host),
		pending: make(map[netip.AddrPort]*pending),
		order:   list.New(),
		byAddr:  make(map[netip.Addr]*address),
		behind:  make(map[netip.AddrPort]*host),
	}
}

// has reports whether a source is in either map.
func (t *hostTable) has(a netip.AddrPort) bool {
	return t.known[a] != nil || t.pending[a] != nil
}

// came is called before a source is put into either map.
func (t *hostTable) came(a netip.AddrPort) *address {
	n := t.byAddr[a.Addr()]
	if n == nil {
		n = &address{}
		t.byAddr[a.Addr()] = n
	}
	if !t.has(a) {
		n.ports++
	}
	return n
}

// went is called after a source was taken out of either map.
func (t *hostTable) went(a netip.AddrPort) {
	if t.has(a) {
		return
	}
	if n := t.byAddr[a.Addr()]; n.ports > 1 {
		n.ports--
	} else {
		delete(t.byAddr, a.Addr())
	}
}

func (t *hostTable) addHost(h *host) {
	t.came(h.addr)
	t.known[h.addr] = h
	t.behind[h.addr] = h
}

func (t *hostTable) removeHost(a netip.AddrPort) {
	if t.known[a] != nil {
		delete(t.known, a)
		delete(t.behind, a)
		t.went(a)
	}
}

// addPending makes room for a new verification among at most limit, and returns
// how many others had to go.
func (t *hostTable) addPending(v *pending, limit int) (gone int) {
	for len(t.pending) >= limit {
		t.removePending(t.order.Front().Value.(*pending).addr)
		gone++
	}
	n := t.came(v.addr)
	n.pending = append(n.pending, v)
	v.place = t.order.PushBack(v)
	t.pending[v.addr] = v
	return gone
}

func (t *hostTable) removePending(a netip.AddrPort) {
	v := t.pending[a]
	if v == nil {
		return
	}
	t.order.Remove(v.place)
	delete(t.pending, a)
	n := t.byAddr[a.Addr()]
	n.pending = slices.DeleteFunc(n.pending, func(o *pending) bool { return o == v })
	t.went(a)
}

// room reports whether another port of an address is taken in, and makes room
// if it can: a server that left its challenge unanswered may never have
// existed. limit bounds the ports of an address; negative: no bound.
func (t *hostTable) room(a netip.AddrPort, limit int, now time.Time) bool {
	n := t.byAddr[a.Addr()]
	if limit < 0 || n == nil || n.ports < limit || t.has(a) {
		return true
	}
	for _, v := range n.pending {
		if t.known[v.addr] == nil && now.Sub(v.last) >= pendingStale {
			t.removePending(v.addr)
			return n.ports < limit
		}
	}
	return false
}

// newNumber returns a verification number that nobody can guess.
func newNumber() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return binary.LittleEndian.Uint32(b[:])
}

// sameVerification compares verification strings as the original does, without
// regard to case.
func sameVerification(a string, b []byte) bool {
	if len(a) != len(b) || len(a) > maxVerification {
		return false
	}
	var x, y [maxVerification]byte
	for i := range len(a) {
		x[i], y[i] = lower(a[i]), lower(b[i])
	}
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// take replaces what a challenge says about the server. A server that was
// restarted meanwhile gets another number.
func (v *pending) take(c zandronum.Challenge, via netip.Addr, now time.Time) {
	if v.verification != string(c.Verification) || v.place == nil {
		v.verification, v.number, v.wrong = string(c.Verification), newNumber(), 0
	}
	v.enforces, v.revision = c.Enforces, c.Revision
	v.via, v.last, v.expires = via, now, now.Add(pendingLife)
}
