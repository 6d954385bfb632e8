package natneg

import (
	"bytes"
	"time"
)

// playerID is a player: its public address, and the local one, which distinguishes the players of a
// household. It is zero for clients that do not send it.
type playerID struct{ public, local [4]byte }

// pairID is two players, whichever of them joins the other. Their next negotiation has
// another cookie and other ports.
type pairID [2]playerID

// pairOf returns the ID of two clients.
func pairOf(a, b *side) pairID {
	id := pairID{{a.public().ip, a.local.ip}, {b.public().ip, b.local.ip}}
	if id[0].after(id[1]) {
		id[0], id[1] = id[1], id[0]
	}
	return id
}

func (p playerID) after(q playerID) bool {
	if c := bytes.Compare(p.public[:], q.public[:]); c != 0 {
		return c > 0
	}
	return bytes.Compare(p.local[:], q.local[:]) > 0
}

// lesson is the stored result of the last negotiation of two players.
type lesson uint8

const (
	lessonNone    lesson = iota // they met, or there is nothing to remember
	lessonTried                 // they were introduced; it is not known how it went
	lessonFailed                // they could not meet
	lessonRelayed               // they met through the relay

	lessons = 4
)

// Times of the memory.
const (
	// A pair that is introduced again so soon, without a report of success, has failed:
	// retryAfter is how long a client tries at least, so that a game with several
	// connections to its partner does not count as a retry.
	retryAfter  = 5 * time.Second
	retryWithin = time.Minute
	// failedLife and relayedLife are how long players get the relay at once.
	failedLife  = 15 * time.Minute
	relayedLife = time.Hour
)

// maxRemembered bounds the pairs of the memory. Beyond it the oldest is forgotten.
const maxRemembered = 1 << 15

// memory remembers which players could not meet. It is not safe for concurrent use and
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

// note remembers a lesson in place of an earlier one.
func (m *memory) note(now time.Duration, id pairID, l lesson) {
	if old := m.pairs[id]; old != nil {
		m.drop(old)
	}
	for m.oldest != nil && (len(m.pairs) >= maxRemembered || now-m.oldest.at >= relayedLife) {
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
	case lessonNone:
	}
	return false
}

// learnt is a lesson about a pair.
type learnt struct {
	id     pairID
	lesson lesson
}
