package probe

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/ssq"
)

// Errors of questions.
var (
	// ErrNoAnswer is returned for a server that did not answer in time.
	ErrNoAnswer = errors.New("probe: no answer")
	// ErrForbidden is returned for an address that is never queried.
	ErrForbidden = errors.New("this address is never asked")
	// ErrTooMuch is returned for a server that sends packets without end.
	ErrTooMuch = errors.New("probe: too many packets")
	// ErrTooSoon means that a server denied a query because it came too soon
	// after another one from this address.
	ErrTooSoon = errors.New("the server was asked too soon after another query from here")
	// ErrBanned means that a server denied a query because this address is
	// banned.
	ErrBanned = errors.New("the server says that this address is banned")
)

// denies reports whether a server denied a query.
func denies(err error) bool {
	return errors.Is(err, ErrTooSoon) || errors.Is(err, ErrBanned) || errors.Is(err, ErrManyServers) || errors.Is(err, ssq.ErrRefused)
}

// Times and bounds of a visit.
const (
	// QuestionTime is how long a server has for the whole answer to a question.
	QuestionTime = 3 * time.Second

	heldTime   = 200 * time.Millisecond // for the rest of an answer that may be complete
	askAgain   = time.Second            // after a question without a whole answer
	maxTries   = 3                      // of one question
	maxPackets = 96                     // taken during one visit, useless ones included
	maxBytes   = 256 << 10              // taken during one visit
)

// talk is the exchange with a server during one visit: question after question,
// until all data of its protocol is received. It knows no time and no
// addresses.
type talk interface {
	// question returns the packet to send now, and to repeat if no answer
	// comes.
	question() []byte
	// stage grows with each new request; a repetition with a challenge does not
	// count.
	stage() int
	// take handles a packet of the server and returns the next step. After an
	// error the talk continues as if the packet had not come, unless the step
	// is Done: then the server denied the query (see denies).
	take(packet []byte) (query.Step, error)
	// silence is called when no whole answer came. Ask: there is another
	// question, at most a few times. Done: the earlier answers are enough.
	// Wait: nothing is known of the server.
	silence() query.Step
	// held reports whether silence would not return Wait although the answer to
	// the present question is not whole, so that a short wait is enough.
	held() bool
	// status returns the result, once it is Done.
	status() query.Status
	// partial reports whether status lacks the data that changes rarely,
	// because it was not requested or not received.
	partial() bool
}

// newTalk begins a talk. extras requests also the data that changes rarely.
func newTalk(p Protocol, extras bool) talk {
	switch p {
	case GS1:
		return newGameSpyTalk(query.Text)
	case GS3:
		return newGameSpyTalk(query.BinaryChallenged, query.Binary)
	case A2S:
		return newA2STalk(extras)
	case SSQ:
		return newSSQTalk(extras)
	case Zandronum:
		return newZandronumTalk()
	case Quake3:
		return newQuake3Talk()
	case IDTech4:
		return newIDTech4Talk()
	case NWN:
		return &nwnTalk{}
	case Quake2:
		return newQuake2Talk()
	case QuakeWorld:
		return newQuakeWorldTalk()
	case Unreal2:
		return &unreal2Talk{}
	case ASE:
		return &aseTalk{}
	case Battlefield:
		return &battlefieldTalk{}
	default:
		return nil
	}
}

// visit is an open talk, with its counts and times.
type visit struct {
	talk     talk
	protocol Protocol
	tries    int // of the present question
	packets  int
	bytes    int
	again    time.Time // when to repeat the question, or to give up after all tries
	end      time.Time // of the present question
}

func newVisit(t talk, p Protocol, now time.Time) *visit {
	v := &visit{talk: t, protocol: p}
	v.begin(now)
	return v
}

// begin starts a question.
func (v *visit) begin(now time.Time) {
	v.tries, v.end = 0, now.Add(QuestionTime)
}

// ask returns the present question, to send now.
func (v *visit) ask(now time.Time) []byte {
	v.tries++
	v.again = now.Add(askAgain)
	if v.tries >= v.protocol.tries() || v.again.After(v.end) {
		v.again = v.end
	}
	return v.talk.question()
}

// look is called at v.again. It returns a packet to send, or over; then err is
// nil if the server answered enough.
func (v *visit) look(now time.Time) (packet []byte, over bool, err error) {
	if now.Before(v.end) {
		return v.ask(now), false, nil
	}
	switch v.talk.silence() {
	case query.Ask:
		v.begin(now)
		return v.ask(now), false, nil
	case query.Done:
		return nil, true, nil
	default:
		return nil, true, ErrNoAnswer
	}
}

// take handles a packet of the server. useless reports that it was not part of
// an answer. At the end err is nil if the server answered.
func (v *visit) take(data []byte, now time.Time) (packet []byte, over, useless bool, err error) {
	v.packets++
	v.bytes += len(data)
	if v.packets > maxPackets || v.bytes > maxBytes {
		return nil, true, true, enough(v.talk, ErrTooMuch)
	}
	stage := v.talk.stage()
	step, err := v.talk.take(data)
	switch {
	case step == query.Done && (err == nil || denies(err)):
		return nil, true, false, err
	case step == query.Ask:
		if v.talk.stage() != stage {
			v.begin(now)
		} else if v.tries > 0 {
			v.tries-- // the server responded; the same question follows with a challenge
		}
		return v.ask(now), false, err != nil, nil
	}
	if v.talk.held() && v.end.Sub(now) > heldTime {
		v.end = now.Add(heldTime)
		v.again = v.end
	}
	return nil, false, err != nil, nil
}

// enough ends a talk early. It returns err unless the server answered enough.
func enough(t talk, err error) error {
	for {
		switch t.silence() {
		case query.Ask:
		case query.Done:
			return nil
		default:
			return err
		}
	}
}

// gameSpyTalk sends the status queries of GameSpy's protocols, in turn if the
// server may support several.
type gameSpyTalk struct {
	kinds []query.Kind
	asked int
	ex    *query.Exchange
}

func newGameSpyTalk(kinds ...query.Kind) *gameSpyTalk { return &gameSpyTalk{kinds: kinds} }

func (t *gameSpyTalk) question() []byte {
	fresh := t.ex == nil
	if !fresh && len(t.kinds) > 1 && !t.ex.Begun() {
		fresh = true
	}
	if fresh {
		t.ex = query.NewExchange(t.kinds[t.asked%len(t.kinds)], rand.Uint32()) // it only distinguishes answers; the address is checked
		t.asked++
	}
	return t.ex.Question()
}

func (t *gameSpyTalk) stage() int { return 0 }

func (t *gameSpyTalk) take(packet []byte) (query.Step, error) {
	if t.ex == nil {
		return query.Wait, query.ErrForeign
	}
	return t.ex.Take(packet)
}

func (t *gameSpyTalk) silence() query.Step { return query.Wait }

func (t *gameSpyTalk) status() query.Status { return t.ex.Status() }

func (t *gameSpyTalk) partial() bool { return false }

func (t *gameSpyTalk) held() bool { return false }
