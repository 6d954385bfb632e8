package fesl

import "time"

// stage is how far a client has come.
type stage uint8

// The stages, each of which includes the ones before.
const (
	stageNew     stage = iota // nothing but Hello
	stageReady                // may sign in
	stageAccount              // is signed in to an account
	stagePersona              // plays as one of its profiles
)

// Times of a connection.
const (
	helloTime = 30 * time.Second // until Hello
	partTime  = 30 * time.Second // for a frame, or the parts of a long message, to arrive
	tlsTime   = 10 * time.Second // for a handshake
)

// event is what a client is due for.
type event uint8

// The events.
const (
	nothing event = iota
	memCheck
	ping
	tooSlow // it has not said Hello, or not completed a message
	silent  // it has answered nothing for too long
)

// life is the clock of a connection. Its methods are functions of its fields and of the
// time.
type life struct {
	stage   stage
	every   time.Duration // between two MemChecks
	began   time.Time
	heard   time.Time // the last complete frame
	partial time.Time // when an incomplete message began to arrive; zero: there is none
	check   time.Time // when the next MemCheck is due
	ping    time.Time
}

// hello puts the clock of sign of life requests in motion. The first MemCheck goes with the
// answer to Hello. A Ping never falls on a MemCheck.
func (l *life) hello(now time.Time) {
	l.stage = max(l.stage, stageReady)
	l.check, l.ping = now.Add(l.every), now.Add(2*l.every+l.every/2)
}

// next returns when something is due.
func (l *life) next() time.Time {
	by := l.began.Add(helloTime)
	if l.stage > stageNew {
		by = l.end()
		for _, t := range []time.Time{l.check, l.ping} {
			if t.Before(by) {
				by = t
			}
		}
	}
	if t := l.partial.Add(partTime); !l.partial.IsZero() && t.Before(by) {
		by = t
	}
	return by
}

// end returns when a silent client is disconnected: two rounds of MemCheck and Ping were not
// answered.
func (l *life) end() time.Time { return l.heard.Add(5 * l.every) }

// due returns what is due at now, and advances the clock past it.
func (l *life) due(now time.Time) event {
	switch {
	case !l.partial.IsZero() && !now.Before(l.partial.Add(partTime)):
		return tooSlow
	case l.stage == stageNew && !now.Before(l.began.Add(helloTime)):
		return tooSlow
	case l.stage == stageNew:
		return nothing
	case !now.Before(l.end()):
		return silent
	case !now.Before(l.check):
		l.check = now.Add(l.every)
		return memCheck
	case !now.Before(l.ping):
		l.ping = now.Add(2 * l.every)
		return ping
	}
	return nothing
}
