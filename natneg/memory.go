package natneg

import (
	"bytes"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
)

// playerID is a player: its public address, the local one, which distinguishes the players of a
// household, and whether its router is loose. The local address is zero for clients that do not
// send it.
type playerID struct {
	public, local [4]byte
	loose         bool
}

// pairID is two players, whichever of them joins the other. Their next negotiation has
// another cookie and other ports.
type pairID [2]playerID

// pairOf returns the ID of two clients.
func pairOf(a, b *side) pairID {
	id := pairID{a.id(), b.id()}
	if id[0].after(id[1]) {
		id[0], id[1] = id[1], id[0]
	}
	return id
}

func (s *side) id() playerID {
	return playerID{s.public().ip, s.local.ip, s.tests.filter() == filterLoose}
}

// routerOf returns the ID of the router of a public address: a player without a partner.
func routerOf(public [4]byte) pairID { return pairID{{public: public}} }

func (p playerID) after(q playerID) bool {
	if c := bytes.Compare(p.public[:], q.public[:]); c != 0 {
		return c > 0
	}
	if c := bytes.Compare(p.local[:], q.local[:]); c != 0 {
		return c > 0
	}
	return p.loose && !q.loose
}

// lesson is the stored result of the last negotiation of two players, or the kind of a router.
type lesson uint8

const (
	lessonNone    lesson = iota // they met, or there is nothing to remember
	lessonTried                 // they were introduced; it is not known how it went
	lessonFailed                // they could not meet
	lessonRelayed               // they met through the relay, after they could not meet
	lessonOnce                  // the router has one port for all destinations, strangers' early packets or not
	lessonEach                  // it has another port for each

	lessons = 6
)

// How long negotiations and their outcomes are remembered.
const (
	// A pair that is introduced again so soon, without a report of success, has failed:
	// retryAfter is how long a client tries at least, so that a game with several
	// connections to its partner does not count as a retry.
	retryAfter  = 5 * time.Second
	retryWithin = time.Minute
	// failedLife and relayedLife are how long players get the relay at once.
	failedLife  = 15 * time.Minute
	relayedLife = time.Hour
	// routerLife is how long the kind of a router counts.
	routerLife = 24 * time.Hour
)

// maxRemembered bounds the pairs of the memory. Beyond it the oldest is forgotten.
const maxRemembered = 1 << 15

// memory remembers which players could not meet, and the kinds of their routers. It is not safe for concurrent use and
// has no clock.
type memory struct {
	pairs          map[pairID]*memo
	oldest, newest *memo
}

// memo is an entry of the memory, in a list by age.
type memo struct {
	id           pairID
	lesson       lesson
	at           time.Duration
	older, newer *memo
}

func newMemory() memory { return memory{pairs: make(map[pairID]*memo)} }

// note remembers a lesson in place of an earlier one. Players who were relayed at their first
// meeting need none: next time they are sent to each other if their routers allow it.
func (m *memory) note(now time.Duration, id pairID, l lesson) {
	if l == lessonRelayed && !m.failed(now, id) {
		l = lessonNone
	}
	if old := m.pairs[id]; old != nil {
		m.drop(old)
	}
	for m.oldest != nil && (len(m.pairs) >= maxRemembered || now-m.oldest.at >= routerLife) {
		m.drop(m.oldest)
	}
	if l == lessonNone {
		return
	}
	one := &memo{id: id, lesson: l, at: now, older: m.newest}
	if m.newest != nil {
		m.newest.newer = one
	} else {
		m.oldest = one
	}
	m.newest = one
	m.pairs[id] = one
}

func (m *memory) drop(one *memo) {
	if one.older != nil {
		one.older.newer = one.newer
	} else {
		m.oldest = one.newer
	}
	if one.newer != nil {
		one.newer.older = one.older
	} else {
		m.newest = one.older
	}
	delete(m.pairs, one.id)
}

// failed reports whether two players could not meet before.
func (m *memory) failed(now time.Duration, id pairID) bool {
	one := m.pairs[id]
	if one == nil {
		return false
	}
	age := now - one.at
	switch one.lesson {
	case lessonTried:
		return retryAfter <= age && age < retryWithin
	case lessonFailed:
		return age < failedLife
	case lessonRelayed:
		return age < relayedLife
	case lessonNone, lessonOnce, lessonEach:
	}
	return false
}

// router returns the kind of the router of a public address, which the relay saw; Unknown: it did not.
func (m *memory) router(now time.Duration, public [4]byte) meeting.Kind {
	one := m.pairs[routerOf(public)]
	switch {
	case one == nil || now-one.at >= routerLife:
		return meeting.Unknown
	case one.lesson == lessonOnce:
		return meeting.Cone
	default:
		return meeting.Symmetric
	}
}

// learnt is a lesson about a pair.
type learnt struct {
	id     pairID
	lesson lesson
}
