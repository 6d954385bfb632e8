package natneg

import (
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// result is how a negotiation ended.
type result uint8

const (
	resultConnected  result = iota // both report success, or one does and the other nothing
	resultOneSided                 // one reports success, the other failure
	resultGaveUp                   // all reports are of failure
	resultSilent                   // both confirmed their connect, none reported; usual before version 3
	resultUnanswered               // a connect was never confirmed
	resultNoPartner                // one came, the other did not
	resultHalfWay                  // the inits of one stopped before all that matter had come

	results = 7
)

// kinds are the results: their label in metrics, the verdict on both addresses, and the words for
// the operator, which the pair of NATs may follow.
var kinds = [results]struct {
	label   string
	verdict verdicts.Verdict
	words   string
	pair    bool
}{
	resultConnected:  {"connected", verdicts.Met, "connected", false},
	resultOneSided:   {"one_sided", verdicts.NotMet, "connected on one side only: ", true},
	resultGaveUp:     {"gave_up", verdicts.NotMet, "gave up: ", true},
	resultSilent:     {"no_report", verdicts.Introduced, "introduced, no report came", false},
	resultUnanswered: {"unanswered", verdicts.Unconfirmed, "introduced, not confirmed by both", false},
	resultNoPartner:  {"no_partner", verdicts.NoPartner, "partner never came", false},
	resultHalfWay:    {"half_way", verdicts.HalfWay, "packets of one stopped half-way", false},
}

// outcome is a negotiation that has ended.
type outcome struct {
	game    string // name in the catalogue, or empty
	result  result
	nats    [2]meeting.Kind
	clients [2]endpoint // as seen, the lower index first; zero: never came
	near    bool        // both are in one network
	relayed bool
	took    time.Duration
}

// way returns how the two players of a pair reached each other. ok is false if there
// was no pair.
func (o *outcome) way() (w meeting.Way, ok bool) {
	switch o.result {
	case resultConnected:
		if o.relayed {
			return meeting.Relayed, true
		}
		if o.near || o.nats[0] == meeting.Open || o.nats[1] == meeting.Open {
			return meeting.Direct, true
		}
		return meeting.Negotiated, true
	case resultOneSided, resultGaveUp:
		return meeting.Failed, true
	case resultSilent, resultUnanswered:
		return meeting.Unreported, true
	case resultNoPartner, resultHalfWay:
	}
	return 0, false
}

// words returns a description of the outcome for the operator.
func (o *outcome) words() string {
	k := &kinds[o.result]
	switch {
	case o.relayed && o.result == resultConnected:
		return "connected through the relay"
	case k.pair:
		return k.words + o.pair()
	}
	return k.words
}

// pair names the kinds of the two NATs, the lower kind first.
func (o *outcome) pair() string {
	a, b := o.nats[0], o.nats[1]
	return min(a, b).String() + " x " + max(a, b).String()
}

// result returns how it stands between two partners.
func (n *negotiation) result(a, b *side) result {
	success := a.report == reportSuccess || b.report == reportSuccess
	failure := a.report == reportFailure || b.report == reportFailure
	switch {
	case success && failure:
		return resultOneSided
	case success:
		return resultConnected
	case failure:
		return resultGaveUp
	case !a.waits() && !b.waits():
		return resultSilent
	default:
		return resultUnanswered
	}
}

// end adds the outcome of each pair to the effects, and those of clients that
// met no other.
func (n *negotiation) end(now time.Duration, e *effects) {
	if n.phase == phaseWaiting {
		n.endWaiting(now, e)
		return
	}
	for i := range n.size() {
		s := n.side(i)
		for k := range i {
			if p := n.side(k); p.met.has(i) && s.met.has(k) {
				n.note(now, k, i, e)
			}
		}
		if s.present() && s.met == 0 {
			o := outcome{game: n.game, result: resultNoPartner, took: now - n.opened}
			o.add(s, i)
			e.ended = append(e.ended, o)
		}
	}
}

// endOf adds the outcomes of the pairs of one client.
func (n *negotiation) endOf(now time.Duration, i int, e *effects) {
	s := n.side(i)
	for k := range n.size() {
		if p := n.side(k); p.met.has(i) && s.met.has(k) {
			n.note(now, min(i, k), max(i, k), e)
		}
	}
}

// endWaiting adds the outcome of clients none of which has met another.
func (n *negotiation) endWaiting(now time.Duration, e *effects) {
	o := outcome{game: n.game, result: resultNoPartner, took: now - n.opened}
	for i := range n.size() {
		if s := n.side(i); s.present() {
			o.add(s, i)
		}
	}
	e.ended = append(e.ended, o)
}

// add names a client that met no other.
func (o *outcome) add(s *side, index int) {
	if !s.needed() {
		o.result = resultHalfWay
	}
	if i := min(index, 1); !o.clients[i].known() {
		o.nats[i], o.clients[i] = s.nat(), s.public()
	}
}

// note adds the outcome of a pair, and the lesson from it.
func (n *negotiation) note(now time.Duration, low, high int, e *effects) {
	a, b := n.side(low), n.side(high)
	result, relayed := n.result(a, b), n.relays.ready(low, high)
	switch {
	case result == resultConnected && relayed:
		e.learnt = append(e.learnt, learnt{pairOf(a, b), lessonRelayed})
	case result == resultConnected, result == resultGaveUp && relayed: // measures without success are not repeated
		e.learnt = append(e.learnt, learnt{pairOf(a, b), lessonNone})
	case result == resultGaveUp:
		e.learnt = append(e.learnt, learnt{pairOf(a, b), lessonFailed})
	}
	e.ended = append(e.ended, outcome{
		game: n.game, result: result, relayed: relayed, took: now - n.opened,
		nats: [2]meeting.Kind{a.nat(), b.nat()}, clients: [2]endpoint{a.public(), b.public()},
		near: a.public().ip == b.public().ip,
	})
}

const name = "natneg"

// verdict returns the verdict on the two addresses, for operators.
func (o *outcome) verdict() verdicts.Verdict {
	if o.relayed && o.result == resultConnected {
		return verdicts.Relayed
	}
	return kinds[o.result].verdict
}

// tell notes the outcome of a negotiation for the participating addresses.
func (s *Server) tell(o *outcome) {
	if way, ok := o.way(); ok {
		s.metrics.pairs.WithLabelValues(o.pair(), way.String()).Inc()
		s.opt.Meetings.Note(meeting.Outcome{
			Game: o.game, KindA: o.nats[0], KindB: o.nats[1], Way: way, Server: o.clients[1].addrPort(),
		})
	}
	for i, c := range o.clients {
		if c.known() {
			s.opt.Meetings.Saw(c.addrPort().Addr(), o.nats[i])
			s.opt.Verdicts.NotePlayer(name, c.addrPort().Addr(), o.game, o.verdict())
			if s.opt.Met != nil && o.result == resultConnected && !o.relayed {
				s.opt.Met(c.addrPort())
			}
		}
	}
}

// Outcomes that are logged at level info: strangers must not fill the log. The
// others are logged at level debug, and all are in the metrics.
const (
	logRate  = 10 // lines per second
	logBurst = 100
)

// journal logs how negotiations ended.
type journal struct {
	log   zerolog.Logger
	lines *rate.Limiter
}

func newJournal(log zerolog.Logger) journal {
	return journal{log, rate.NewLimiter(logRate, logBurst)}
}

// trial reports whether it was a negotiation of a self-test.
func (o *outcome) trial() bool {
	return slices.ContainsFunc(o.clients[:], func(c endpoint) bool { return c.known() && master.IsTrial(c.addrPort().Addr()) })
}

func (j *journal) note(o *outcome) {
	level := zerolog.DebugLevel
	if !o.trial() && j.lines.Allow() {
		level = zerolog.InfoLevel
	}
	line := j.log.WithLevel(level)
	if o.game != "" {
		line = line.Str("game", o.game)
	}
	for i, field := range [...]string{"client", "host"} {
		if o.clients[i].known() {
			line = line.Stringer(field, o.clients[i].addrPort())
		}
	}
	line.Stringer("took", o.took.Round(time.Millisecond)).Str("result", o.words()).Msg("negotiation finished")
}
