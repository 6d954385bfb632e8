package history

import "time"

// Away is the number of a step in which a server was not in the list, or no daemon
// ran.
const Away = -1

// Span is one of the times for which numbers are kept, up to now.
type Span uint8

// The spans.
const (
	Day   Span = iota // in steps of an Interval
	Week              // in steps of an hour
	Month             // 30 days in steps of four hours
	spans
)

// Spans returns all spans.
func Spans() []Span { return []Span{Day, Week, Month} }

const (
	daySteps   = 288
	weekSteps  = 168
	monthSteps = 180
	slots      = daySteps + weekSteps + monthSteps
	longest    = monthSteps * 48 // rounds after which nothing is left
)

// String returns the span as the API spells it.
func (s Span) String() string { return [spans]string{"24h", "7d", "30d"}[s] }

// ParseSpan is the inverse of String.
func ParseSpan(text string) (Span, bool) {
	for s := range spans {
		if s.String() == text {
			return s, true
		}
	}
	return 0, false
}

// Step is the time between two numbers of the span.
func (s Span) Step() time.Duration { return time.Duration(s.rounds()) * Interval }

// Steps is the number of numbers.
func (s Span) Steps() int { return [spans]int{daySteps, weekSteps, monthSteps}[s] }

// Length is the whole time.
func (s Span) Length() time.Duration { return time.Duration(s.Steps()) * s.Step() }

// rounds is the number of samples in a step.
func (s Span) rounds() int64 { return [spans]int64{1, 12, 48}[s] }

// slot is the index of a step, which has the number step since 1970.
func (s Span) slot(step int64) int {
	return [spans]int{0, daySteps, daySteps + weekSteps}[s] + int(step%int64(s.Steps()))
}

// Series are the numbers of a server, of a game, or of all.
type Series struct {
	First   time.Time     // begin of the first step
	Step    time.Duration // between two numbers
	Players []int         // oldest first, Away where there is none; at most Span.Steps
	Servers []int         // the same for servers; nil for a single server
}

// End is the end of the last step, which may not be over yet.
func (s Series) End() time.Time { return s.First.Add(time.Duration(len(s.Players)) * s.Step) }

// ring has the numbers of all spans: that of step n of a span is at n modulo the
// number of its steps.
type ring[T uint16 | uint32] [slots]T

// absent is Away as a ring stores it.
func absent[T uint16 | uint32]() T { return ^T(0) }

// reset removes all numbers.
func (r *ring[T]) reset() {
	for i := range r {
		r[i] = absent[T]()
	}
}

// clear removes the numbers of the steps that begin after round from, up to round to.
func (r *ring[T]) clear(from, to int64) {
	for s := range spans {
		last := to / s.rounds()
		for i := range min(last-from/s.rounds(), int64(s.Steps())) {
			r[s.slot(last-i)] = absent[T]()
		}
	}
}

// put sets the number of a round. In steps of several rounds the largest one stays.
func (r *ring[T]) put(round int64, n int) {
	v := T(min(uint64(n), uint64(absent[T]()-1)))
	for s := range spans {
		at := &r[s.slot(round/s.rounds())]
		if s == Day || *at == absent[T]() || v > *at {
			*at = v
		}
	}
}

// read returns the numbers of a span, from the first one that is there.
func (r *ring[T]) read(s Span, first, round int64) (begin time.Time, numbers []int) {
	last := round / s.rounds()
	from := max(first/s.rounds(), last-int64(s.Steps())+1)
	for from <= last && r[s.slot(from)] == absent[T]() {
		from++
	}
	numbers = make([]int, 0, max(last-from+1, 0))
	for step := from; step <= last; step++ {
		v := int(r[s.slot(step)])
		if r[s.slot(step)] == absent[T]() {
			v = Away
		}
		numbers = append(numbers, v)
	}
	return time.Unix(0, from*int64(s.Step())).UTC(), numbers
}

// newTotal returns a total without numbers.
func newTotal(round int64) *total {
	t := &total{first: uint32(round), last: uint32(round)}
	t.players.reset()
	t.servers.reset()
	return t
}

func (t *total) clear(from, to int64) {
	t.players.clear(from, to)
	t.servers.clear(from, to)
}

func (t *total) put(round int64, c count) {
	t.players.put(round, c.players)
	t.servers.put(round, c.servers)
}

// plus adds up two series of one span, which end at the same time.
func plus(a, b Series) Series {
	if len(a.Players) < len(b.Players) {
		a, b = b, a
	}
	shift := len(a.Players) - len(b.Players)
	for i := range b.Players {
		a.Players[shift+i] = addNumbers(a.Players[shift+i], b.Players[i])
		a.Servers[shift+i] = addNumbers(a.Servers[shift+i], b.Servers[i])
	}
	return a
}

// addNumbers adds up two numbers, each of which may be Away.
func addNumbers(a, b int) int {
	switch {
	case a == Away:
		return b
	case b == Away:
		return a
	}
	return a + b
}

// Memory of a server and a game, with their entries in the maps.
const (
	trackBytes = 1280 + 128
	totalBytes = 3824 + 128
)
