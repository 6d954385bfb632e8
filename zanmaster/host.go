package zanmaster

import (
	"crypto/subtle"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// maxVerification is the length of the longest verification string that is
	// taken. Those of real servers have 32 digits.
	maxVerification = 64

	pendingLife = unproved.Slot // from the last challenge until it is forgotten
	maxWrong    = 4             // wrong numbers until it is forgotten
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

// claim identifies a server that has not answered its challenge yet. Its
// verification string is random, so packets with a forged source do not have it.
type claim struct {
	addr         netip.AddrPort
	verification string // in lower case
}

func claimOf(a netip.AddrPort, verification []byte) claim {
	var text [maxVerification]byte
	verification = verification[:min(len(verification), len(text))]
	return claim{a, string(ascii.AppendLower(text[:0], verification))}
}

// pending is what is kept of a game server that has not answered its challenge yet.
type pending struct {
	via          netip.Addr
	verification string
	enforces     bool
	revision     uint32
	budget       unproved.Budget // of its address
}

// slackBytes more may be sent to a server that has sent little: no server of an old
// build could register otherwise.
const slackBytes = 8

// hostTable holds both kinds. Server.mu guards it.
type hostTable struct {
	known   uplink.Hosts[*host]
	behind  map[netip.AddrPort]*host // known ones that may lack the present ban list
	pending uplink.Waiting[claim, pending]
}

func newHostTable() hostTable {
	return hostTable{
		uplink.NewHosts[*host](), make(map[netip.AddrPort]*host), uplink.NewWaiting[claim, pending](uplink.Terms{Wrong: maxWrong, Last: true}),
	}
}

func (t *hostTable) addHost(h *host) {
	t.known.Put(h.addr, h)
	t.behind[h.addr] = h
}

func (t *hostTable) removeHost(a netip.AddrPort) {
	t.known.Remove(a)
	delete(t.behind, a)
}

// refusal returns why a source may not become known. limit bounds the servers of
// an address; 0: no bound. Unverified ones do not count: they may be forged.
func (t *hostTable) refusal(a netip.AddrPort, limit int) uplink.Drop {
	if _, known := t.known.Get(a); known {
		return uplink.NotDropped
	}
	return t.known.Refusal(a.Addr(), limit)
}

// bounds are the limits of the servers of an address.
type bounds struct {
	servers  int               // known ones at it; 0: no bound
	pending  int               // of all addresses
	requests *netserve.Limiter // of requests that are longer than the challenge; nil: no bound
}

// maxRequest is the size of the longest coded request.
const maxRequest = maxVerification + 8 + 1

// introduce handles the challenge of an unknown server, and appends the
// verification request to b, or returns the reason if there is none. gone is
// the number of others removed for it. A request that is no longer than the
// challenge cannot be used to flood others, so it uses no allowance, which a
// real server at that address might need.
func (t *hostTable) introduce(b []byte, p netserve.Packet, c zandronum.Challenge, most bounds, now time.Time) (request []byte, gone int, dropped uplink.Drop) {
	if t.refusal(p.From, most.servers) == uplink.TooMany {
		return nil, 0, uplink.TooMany
	}
	k := claimOf(p.From, c.Verification)
	v, _, gone := t.pending.Hear(k, p.From, k.verification, most.pending, now)
	v.Expires = now.Add(pendingLife)
	v.Of.take(c, p.To)
	v.Of.budget.In += len(p.Data)
	var plain [maxRequest]byte
	request = zandronum.Encode(b, zandronum.AppendVerificationRequest(plain[:0], zandronum.Verification{Verification: c.Verification, Number: uint32(v.Number)}))
	switch {
	case len(request) > len(p.Data) && most.requests != nil && !most.requests.Allow(p.From.Addr(), now):
		return nil, gone, uplink.Limited
	case !v.Of.budget.Spend(len(request), v.Of.budget.In+slackBytes):
		return nil, gone, uplink.NoBudget
	default:
		return request, gone, uplink.NotDropped
	}
}

// answer takes the answer of a server to its verification request, and returns the
// server that is known from now on; the caller adds it. limit is as for room.
func (t *hostTable) answer(from netip.AddrPort, via netip.Addr, got zandronum.Verification, limit int, now time.Time, n *notes) (*host, uplink.Drop) {
	v, dropped := t.pending.Answer(claimOf(from, got.Verification), func(number uint64) bool {
		return subtle.ConstantTimeEq(int32(got.Number), int32(uint32(number))) == 1
	}, now)
	if dropped == uplink.NotDropped {
		dropped = t.refusal(from, limit)
	}
	if dropped != uplink.NotDropped {
		n.drop(from, dropped)
		return nil, dropped
	}
	h := &host{addr: from, via: via, verification: v.Of.verification, enforces: v.Of.enforces, revision: v.Of.revision, first: now, seen: now}
	if old, known := t.known.Get(from); known {
		h.first, h.listed = old.first, old.listed
		n.add(from, verdicts.Restarted)
	}
	return h, uplink.NotDropped
}

// expire removes the servers that were silent for a timeout, and expired
// verifications. It returns the servers that are still listed.
func (t *hostTable) expire(now time.Time, timeout time.Duration, n *notes) (listed []*host) {
	for a, h := range t.known.All() {
		if now.Sub(h.seen) < timeout {
			continue
		}
		t.removeHost(a)
		if h.listed {
			listed = append(listed, h)
		}
		n.add(a, verdicts.Expired)
	}
	for _, v := range t.pending.Expire(now) {
		n.add(v.Source, verdicts.NoAnswer)
	}
	return listed
}

// sameVerification compares verification strings as the original does, without
// regard to case.
func sameVerification(a string, b []byte) bool {
	if len(a) != len(b) || len(a) > maxVerification {
		return false
	}
	var x, y [maxVerification]byte
	for i := range len(a) {
		x[i], y[i] = ascii.Lower(a[i]), ascii.Lower(b[i])
	}
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// take replaces the data from a challenge of the server.
func (v *pending) take(c zandronum.Challenge, via netip.Addr) {
	if string(c.Verification) != v.verification {
		v.verification = string(c.Verification)
	}
	v.enforces, v.revision, v.via = c.Enforces, c.Revision, via
}

// Host is a game server that has verified its address, for the operator.
type Host struct {
	Addr        netip.AddrPort
	Revision    uint32
	Enforces    bool // it claims to enforce the ban list
	Listed      bool
	First, Seen time.Time
	BanList     bool // it has acknowledged the ban list that is in force
}

// Hosts returns the servers that have verified their address, hidden ones
// included, ordered by address.
func (s *Server) Hosts() []Host {
	version := s.access.Load().version
	s.mu.Lock()
	list := make([]Host, 0, s.hosts.known.Len())
	for _, h := range s.hosts.known.All() {
		list = append(list, Host{h.addr, h.revision, h.enforces, h.listed, h.first, h.seen, h.push.has == version})
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b Host) int { return a.Addr.Compare(b.Addr) })
	return list
}
