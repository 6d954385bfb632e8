package verdicts

import (
	"slices"
	"strings"
	"time"
)

// answerTime is how long a source may leave a challenge unanswered until that
// counts as NoAnswer. Services with a limit of their own have a shorter one.
const answerTime = 80 * time.Second

// step returns how far a round has come when a service notes v, 0 if v is not a
// step. A round is an attempt of a server to be listed.
func (v Verdict) step() uint8 {
	switch v {
	case Heard:
		return 1
	case ChallengeSent:
		return 2
	case Asked:
		return 3
	default:
		return 0
	}
}

// stray reports whether v is about a packet that is no part of a round, so that it
// does not end one.
func (v Verdict) stray() bool {
	return v.text().elsewhere || v == SpeaksOther || v == SpeaksCDKey || v == TooLong || v == KeepaliveAlone || v == NotUnderstood
}

// kept is a verdict in a record.
type kept struct {
	game, detail        string
	first, last, logged time.Time // logged: its last line; zero: none yet
	times               int
	port                uint16
	verdict             Verdict
	reached             uint8 // step of the round that it ended; 0: none
	owed                bool  // a line of it was left out
}

func (k *kept) is(v Verdict, game string) bool { return k.verdict == v && k.game == game }

func (k *kept) good() bool { return k.verdict.text().Good }

// record holds the verdicts on one source. Its methods are functions of the
// record, a verdict and a time; Log.mu is held.
//
// The outcomes of rounds are in entries. An outcome that comes again is folded into
// its entry, unless one of the opposite kind, good or not, came between: a server
// that was listed in the meantime fails for a new reason, even if it is the same
// one. Players share an address, so their outcomes fold regardless of others.
//
// The step that the present round has reached is not an entry. The outcome of the
// round replaces it, and NoAnswer does if there is none in time.
type record struct {
	source  source
	entries []kept  // in the order of their last times, at most PerAddr
	round   kept    // the present round; times 0: there is none
	line    Verdict // of the last line in the log

	host  *host
	links [2]link // in the chains of the log and of the host
}

// take takes a verdict and returns the entry, or step, that has to be logged if its
// time has come. It is valid until the next call, and nil if nothing has changed that
// a log shows. folded reports whether it was a repetition.
func (r *record) take(v Verdict, game, detail string, port uint16, now time.Time) (k *kept, folded bool) {
	if v.step() == 0 {
		return r.conclude(kept{verdict: v, game: game, detail: detail, port: port, first: now, last: now, times: 1})
	}
	if over := r.overdue(now); over.times > 0 {
		k, _ = r.conclude(over)
	}
	if r.round.times > 0 && r.round.game == game {
		switch {
		case r.round.verdict == v:
			r.round.last = now
			r.round.times++
			return k, true
		case r.round.verdict == ChallengeSent && v == Heard:
			return k, true // its challenge was forgotten in a crowd
		}
	}
	r.round = kept{verdict: v, game: r.name(game), first: now, last: now, times: 1}
	if k == nil && !r.repeats() {
		k = &r.round
	}
	return k, false
}

// overdue returns the outcome of a round whose challenge had no answer in time; times
// is 0 if that is not so.
func (r *record) overdue(now time.Time) kept {
	if r.round.times == 0 || r.round.verdict != ChallengeSent || now.Sub(r.round.first) < answerTime {
		return kept{}
	}
	return kept{verdict: NoAnswer, game: r.round.game, first: r.round.first, last: r.round.last, times: 1}
}

// conclude adds an outcome to the entries, or folds it into the one that is there.
func (r *record) conclude(o kept) (k *kept, folded bool) {
	if !o.verdict.stray() {
		if r.round.game == o.game {
			o.reached = r.round.verdict.step()
		}
		r.round = kept{}
	}
	if i := r.sameSpell(&o); i >= 0 {
		e := r.entries[i]
		e.last, e.detail, e.reached = o.last, o.detail, max(e.reached, o.reached)
		e.times += o.times
		copy(r.entries[i:], r.entries[i+1:])
		k = &r.entries[len(r.entries)-1]
		*k = e
		return k, true
	}
	o.game = r.name(o.game)
	if len(r.entries) == PerAddr {
		r.entries = slices.Delete(r.entries, 0, 1)
	}
	r.entries = append(r.entries, o)
	return &r.entries[len(r.entries)-1], false
}

// sameSpell returns the place of the entry into which an outcome is folded, -1 if
// there is none.
func (r *record) sameSpell(o *kept) int {
	byDetail := o.verdict == UnknownRequest || o.verdict == StorageRefused
	for i := len(r.entries) - 1; i >= 0; i-- {
		e := &r.entries[i]
		if e.is(o.verdict, o.game) && (!byDetail || e.detail == o.detail) {
			return i
		}
		if e.good() != o.good() && r.source.addr.Port() != 0 {
			break
		}
	}
	return -1
}

// name returns a copy of the name of a game, or one that the record has already. The
// argument may be part of something longer.
func (r *record) name(game string) string {
	if n := len(r.entries); n > 0 && r.entries[n-1].game == game {
		return r.entries[n-1].game
	}
	if r.round.game == game {
		return r.round.game
	}
	return strings.Clone(game)
}

// repeats reports whether the present round has not come further than the last one,
// which failed: it has no news then.
func (r *record) repeats() bool {
	if len(r.entries) == 0 {
		return false
	}
	last := &r.entries[len(r.entries)-1]
	return !last.good() && r.round.game == last.game && r.round.verdict.step() <= last.reached
}

// due reports whether an entry, or a step, gets a line in the log at now: the first
// time, and later while it fails, or after lines about others, once per repeatAfter.
func (r *record) due(k *kept, now time.Time) bool {
	switch {
	case k.logged.IsZero():
		return true
	case now.Sub(k.logged) < repeatAfter:
		return false
	default:
		return !k.good() || r.line != k.verdict
	}
}

// view returns the verdicts as they are at now, in the order of their last times. The
// record stays as it is.
func (r *record) view(now time.Time) []kept {
	v := *r
	v.entries = slices.Clone(r.entries)
	if over := v.overdue(now); over.times > 0 {
		v.conclude(over)
	}
	if v.round.times > 0 && !v.repeats() {
		v.entries = append(v.entries, v.round)
	}
	slices.SortStableFunc(v.entries, func(a, b kept) int { return a.last.Compare(b.last) })
	return v.entries
}

// newest returns the last of view. A packet that is no part of a round may be forged
// and does not replace a good verdict.
func (r *record) newest(now time.Time) kept {
	list := r.entries
	if r.round.times > 0 {
		list = r.view(now)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !list[i].verdict.stray() {
			if list[i].good() {
				return list[i]
			}
			break
		}
	}
	return list[len(list)-1]
}
