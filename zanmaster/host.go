package zanmaster

import (
	"crypto/subtle"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// maxVerification is the length of the longest verification string that is
	// taken. Those of real servers have 32 digits.
	maxVerification = 64

	pendingLife = unproved.Slot // from the last challenge until it is forgotten
	maxWrong    = 4             // wrong numbers until it is forgotten

	// maxHosts bounds the known servers, hidden ones included.
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

// pending is a game server that has not answered its challenge yet.
type pending struct {
	claim        claim
	via          netip.Addr
	verification string
	number       uint32
	enforces     bool
	revision     uint32
	expires      time.Time
	wrong        int // wrong numbers
	in, out      int // bytes from and to its address
}

// slackBytes more may be sent to a server that has sent little: no server of an old
// build could register otherwise.
const slackBytes = 8

// spend reports whether n more bytes may be sent to the unproved address, and
// counts them.
func (v *pending) spend(n int) bool {
	if v.out+n > v.in && (v.out > 0 || n > v.in+slackBytes) {
		return false
	}
	v.out += n
	return true
}

// hostTable holds both kinds. Server.mu guards it.
type hostTable struct {
	known      map[netip.AddrPort]*host
	perAddr    map[netip.Addr]int       // of those known
	behind     map[netip.AddrPort]*host // known ones that may lack the present ban list
	pending    *unproved.Table[claim, *pending]
	challenges *unproved.Challenges
}

func newHostTable() hostTable {
	return hostTable{
		known:      make(map[netip.AddrPort]*host),
		perAddr:    make(map[netip.Addr]int),
		behind:     make(map[netip.AddrPort]*host),
		pending:    unproved.NewTable[claim, *pending](),
		challenges: unproved.NewChallenges(),
	}
}

func (t *hostTable) addHost(h *host) {
	if t.known[h.addr] == nil {
		t.perAddr[h.addr.Addr()]++
	}
	t.known[h.addr] = h
	t.behind[h.addr] = h
}

func (t *hostTable) removeHost(a netip.AddrPort) {
	if t.known[a] == nil {
		return
	}
	delete(t.known, a)
	delete(t.behind, a)
	if t.perAddr[a.Addr()]--; t.perAddr[a.Addr()] == 0 {
		delete(t.perAddr, a.Addr())
	}
}

// room reports whether a source may become known. limit bounds the servers of
// an address; 0: no bound. Unverified ones do not count: they may be forged.
func (t *hostTable) room(a netip.AddrPort, limit int) bool {
	return limit == 0 || t.perAddr[a.Addr()] < limit || t.known[a] != nil
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
func (t *hostTable) introduce(b []byte, p netserve.Packet, c zandronum.Challenge, most bounds, now time.Time) (request []byte, gone int, dropped drop) {
	if !t.room(p.From, most.servers) {
		return nil, 0, dropTooMany
	}
	v, gone := t.pend(claimOf(p.From, c.Verification), most.pending, now)
	v.take(c, p.To, now)
	v.in += len(p.Data)
	var plain [maxRequest]byte
	request = zandronum.Encode(b, zandronum.AppendVerificationRequest(plain[:0], zandronum.Verification{Verification: c.Verification, Number: v.number}))
	switch {
	case len(request) > len(p.Data) && most.requests != nil && !most.requests.Allow(p.From.Addr(), now):
		return nil, gone, dropLimited
	case !v.spend(len(request)):
		return nil, gone, dropNoBudget
	default:
		return request, gone, notDropped
	}
}

// pend returns the verification of a server, a new one if it is missing, and
// the number of others removed for it, since there are at most limit.
func (t *hostTable) pend(c claim, limit int, now time.Time) (v *pending, gone int) {
	if v, ok := t.pending.Get(c); ok {
		return v, 0
	}
	for {
		other, full := t.pending.Full(c.addr, limit)
		if !full {
			break
		}
		t.pending.Remove(other)
		gone++
	}
	v = &pending{claim: c, number: uint32(t.challenges.Current(c.addr, []byte(c.verification), now))}
	t.pending.Add(c, c.addr, v)
	return v, gone
}

// right reports whether number is the one of a server's verification, or of its
// previous one.
func (t *hostTable) right(v *pending, number uint32, now time.Time) bool {
	last := uint32(t.challenges.Last(v.claim.addr, []byte(v.claim.verification), now))
	return subtle.ConstantTimeEq(int32(number), int32(v.number))|subtle.ConstantTimeEq(int32(number), int32(last)) == 1
}

// finish ends a verification, after which its number is no longer accepted.
func (t *hostTable) finish(v *pending) {
	t.pending.Remove(v.claim)
	t.challenges.Use(v.claim.addr, []byte(v.claim.verification))
}

// answer takes the answer of a server to its verification request, and returns the
// server that is known from now on; the caller adds it. limit is as for room. A
// right answer ends the verification, and so do too many wrong ones.
func (t *hostTable) answer(from netip.AddrPort, via netip.Addr, got zandronum.Verification, limit int, now time.Time, n *notes) (*host, drop) {
	v, ok := t.pending.Get(claimOf(from, got.Verification))
	if !ok {
		return nil, dropUnexpected
	}
	if !t.right(v, got.Number, now) {
		if v.wrong++; v.wrong >= maxWrong {
			t.finish(v)
		}
		n.add(from, verdicts.WrongResponse)
		return nil, dropWrong
	}
	t.finish(v) // used once
	if !t.room(from, limit) {
		n.add(from, verdicts.TooManyHere)
		return nil, dropTooMany
	}
	h := &host{addr: from, via: via, verification: v.verification, enforces: v.enforces, revision: v.revision, first: now, seen: now}
	if old := t.known[from]; old != nil {
		h.first, h.listed = old.first, old.listed
		n.add(from, verdicts.Restarted)
	} else if len(t.known) >= maxHosts {
		n.add(from, verdicts.ListFull)
		return nil, dropFull
	}
	return h, notDropped
}

// expire removes the servers that were silent for a timeout, and expired
// verifications. It returns the servers that are still listed.
func (t *hostTable) expire(now time.Time, timeout time.Duration, n *notes) (listed []*host) {
	for a, h := range t.known {
		if now.Sub(h.seen) < timeout {
			continue
		}
		t.removeHost(a)
		if h.listed {
			listed = append(listed, h)
		}
		n.add(a, verdicts.Expired)
	}
	for c, v := range t.pending.All() {
		if !now.Before(v.expires) {
			t.pending.Remove(c)
			n.add(c.addr, verdicts.NoAnswer)
		}
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
func (v *pending) take(c zandronum.Challenge, via netip.Addr, now time.Time) {
	if string(c.Verification) != v.verification {
		v.verification = string(c.Verification)
	}
	v.enforces, v.revision = c.Enforces, c.Revision
	v.via, v.expires = via, now.Add(pendingLife)
}
