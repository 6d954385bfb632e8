package uplink

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/unproved"
)

const (
	// maxHosts bounds the servers that are listed, hidden ones included.
	maxHosts = 1 << 17
	// PendingLife is the time from a heartbeat until its server is no longer
	// waited for.
	PendingLife = 5 * time.Second
	// ListedLife is PendingLife of a listed server, which may be loading a map. It
	// leaves the list then.
	ListedLife = 25 * time.Second
	// askAgain is the time until a listed server is asked again; it doubles with each
	// time.
	askAgain = 3 * time.Second
	// maxWrong is the number of wrong answers until a server is no longer waited
	// for.
	maxWrong = 3
	// ChallengeSize is the length of every Challenge, in bytes.
	ChallengeSize = 11
)

// Challenge is the text that the answer of a server must contain: visible characters without
// a meaning in protocols of text.
type Challenge [ChallengeSize]byte

// letters are those of challenges: none has a meaning in the protocol.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// newChallenge writes a number as text, of which one letter holds six bits.
func newChallenge(n uint64) (c Challenge) {
	for i := range c {
		c[i] = letters[n%64]
		n /= 64
	}
	return c
}

// pending is a server that has not answered its challenge yet.
type pending struct {
	about     string
	via       netip.Addr // our address that it talks to
	port      uint16     // further one of the protocol that it talks to; 0: the first
	challenge Challenge
	expires   time.Time
	wrong     int

	again time.Time     // a listed server is asked once more; zero: others are not
	pause time.Duration // until then
}

// host is a server that is listed.
type host struct {
	net  netip.Prefix // counted for its address
	game string       // of the list, if it is not in the catalogue
}

// hostTable holds both kinds. Server.mu guards it.
type hostTable struct {
	known      map[netip.AddrPort]host
	perAddr    map[netip.Prefix]int
	games      map[string]int // servers of games that are not in the catalogue
	pending    *unproved.Table[netip.AddrPort, *pending]
	challenges *unproved.Challenges
}

func newHostTable() hostTable {
	return hostTable{
		known: make(map[netip.AddrPort]host), perAddr: make(map[netip.Prefix]int), games: make(map[string]int),
		pending: unproved.NewTable[netip.AddrPort, *pending](), challenges: unproved.NewChallenges(),
	}
}

// countedAs returns the network that counts as one address: of IPv6 a network of /64.
func countedAs(a netip.Addr) netip.Prefix {
	bits := 32
	if !a.Is4() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // of a valid address, there is no error
	return p
}

// hear begins to wait for the answer of a server, or continues, and returns its
// challenge: the same one until it is answered, for about a minute. At most limit
// servers are waited for; gone is the number of others that made way.
func (t *hostTable) hear(a netip.AddrPort, port uint16, via netip.Addr, about string, limit int, now time.Time) (c Challenge, gone int) {
	v, waiting := t.pending.Get(a)
	if !waiting {
		for {
			crowded, full := t.pending.Full(a, limit)
			if !full {
				break
			}
			t.pending.Remove(crowded)
			gone++
		}
		v = &pending{}
		t.pending.Add(a, a, v)
	}
	if !waiting || v.about != about {
		v.challenge, v.about = newChallenge(t.challenges.Current(a, []byte(about), now)), about
	}
	if !waiting { // a repeated heartbeat does not prolong it
		v.expires = now.Add(PendingLife)
		if _, listed := t.known[a]; listed {
			v.expires, v.again, v.pause = now.Add(ListedLife), now.Add(askAgain), askAgain
		}
	}
	v.port, v.via = port, via
	return v.challenge, gone
}

// answer ends the waiting for a server that brings its challenge back, and returns its known state.
func (t *hostTable) answer(a netip.AddrPort, proves func(Challenge) bool, now time.Time) (v pending, dropped Drop) {
	p, waiting := t.pending.Get(a)
	switch {
	case !waiting || !now.Before(p.expires):
		return pending{}, Unexpected
	case proves(p.challenge):
		t.pending.Remove(a)
		t.challenges.Use(a, []byte(p.about))
		return *p, NotDropped
	}
	if p.wrong++; p.wrong >= maxWrong {
		t.pending.Remove(a)
		t.challenges.Use(a, []byte(p.about))
	}
	return pending{}, Wrong
}

// question is a challenge to send.
type question struct {
	addr netip.AddrPort
	pending
}

// expire removes the servers that did not answer and returns them, and the
// questions to listed ones that are due again.
func (t *hostTable) expire(now time.Time) (gone []netip.AddrPort, again []question) {
	for a, v := range t.pending.All() {
		switch {
		case !now.Before(v.expires):
			t.pending.Remove(a)
			gone = append(gone, a)
		case !v.again.IsZero() && !now.Before(v.again):
			v.pause *= 2
			v.again = now.Add(v.pause)
			again = append(again, question{a, *v})
		}
	}
	return gone, again
}

// room returns why a server of a game cannot be added. The game is empty if it is
// in the catalogue; limit bounds the servers of an address, 0: no bound.
func (t *hostTable) room(a netip.Addr, limit int, game string, maxGames int) Drop {
	switch {
	case len(t.known) >= maxHosts:
		return Full
	case limit > 0 && t.perAddr[countedAs(a)] >= limit:
		return TooMany
	case game != "" && t.games[game] == 0 && len(t.games) >= maxGames:
		return UnknownGame
	default:
		return NotDropped
	}
}

// add adds a listed server. One that is known already may change its game.
func (t *hostTable) add(a netip.AddrPort, game string) {
	t.remove(a)
	h := host{countedAs(a.Addr()), game}
	t.known[a] = h
	t.perAddr[h.net]++
	if game != "" {
		t.games[game]++
	}
}

// remove forgets a server that left the list.
func (t *hostTable) remove(a netip.AddrPort) {
	h, known := t.known[a]
	if !known {
		return
	}
	delete(t.known, a)
	count(t.perAddr, h.net)
	if h.game != "" {
		count(t.games, h.game)
	}
}

// count counts one down.
func count[K comparable](m map[K]int, k K) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}
