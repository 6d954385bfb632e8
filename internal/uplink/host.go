package uplink

import (
	"net/netip"
	"time"
)

const (
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

// pending is what is kept of a server that has not answered its challenge yet.
type pending struct {
	via   netip.Addr    // our address that it talks to
	port  uint16        // further one of the protocol that it talks to; 0: the first
	again time.Time     // a listed server is asked once more; zero: others are not
	pause time.Duration // until then
	step  int           // posts at which it answered the challenge
	of    uint64        // that challenge
}

type waiting = Asked[netip.AddrPort, pending]

// hostTable holds the listed servers, by the game of the list if that is not in the
// catalogue, and those that are waited for. Keeper.mu guards it.
type hostTable struct {
	known   Hosts[string]
	games   map[string]int // servers of games that are not in the catalogue
	pending Waiting[netip.AddrPort, pending]
}

func newHostTable(wrong int) hostTable {
	return hostTable{NewHosts[string](), make(map[string]int), NewWaiting[netip.AddrPort, pending](Terms{Wrong: wrong})}
}

// hear begins to wait for the answer of a server, or continues. A repeated heartbeat does
// not prolong it.
func (t *hostTable) hear(a netip.AddrPort, port uint16, via netip.Addr, about string, limit int, now time.Time) (asked waiting, gone int) {
	v, fresh, gone := t.pending.Hear(a, a, about, limit, now)
	if fresh {
		v.Expires = now.Add(PendingLife)
		if _, listed := t.known.Get(a); listed {
			v.Expires, v.Of.again, v.Of.pause = now.Add(ListedLife), now.Add(askAgain), askAgain
		}
	}
	if v.Of.of != v.Number {
		v.Of.of, v.Of.step = v.Number, 0
	}
	v.Of.port, v.Of.via = port, via
	return *v, gone
}

// expire removes the servers that did not answer and returns them, and the
// listed ones to which the question is due again.
func (t *hostTable) expire(now time.Time) (gone []*waiting, again []waiting) {
	gone = t.pending.Expire(now)
	for _, v := range t.pending.All() {
		if o := &v.Of; !o.again.IsZero() && !now.Before(o.again) {
			o.pause *= 2
			o.again = now.Add(o.pause)
			again = append(again, *v)
		}
	}
	return gone, again
}

// refusal returns why a server of a game cannot be added. The game is empty if it is
// in the catalogue; limit bounds the servers of an address, 0: no bound.
func (t *hostTable) refusal(a netip.Addr, limit int, game string, maxGames int) Drop {
	if dropped := t.known.Refusal(a, limit); dropped != NotDropped {
		return dropped
	}
	if game != "" && t.games[game] == 0 && len(t.games) >= maxGames {
		return UnknownGame
	}
	return NotDropped
}

// add adds a listed server. One that is known already may change its game.
func (t *hostTable) add(a netip.AddrPort, game string) {
	t.remove(a)
	t.known.Put(a, game)
	if game != "" {
		t.games[game]++
	}
}

// remove forgets a server that left the list.
func (t *hostTable) remove(a netip.AddrPort) {
	if game, _ := t.known.Get(a); t.known.Remove(a) && game != "" {
		count(t.games, game)
	}
}
