package a2s

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// MaxChallenges is the number of challenges that a server may answer one
// request with.
const MaxChallenges = 3

// ErrChallenges reports a server that answers every question with yet another
// challenge. Repeating the question is useless.
var ErrChallenges = errors.New("a2s: endless challenges")

// Step is the next action for the caller of an Exchange.
type Step uint8

// The steps.
const (
	Wait Step = iota // wait for more packets
	Ask              // send Question, which has changed
	Done             // read Answer
)

// Known holds the facts known about a server before it is queried. The zero value is
// nothing.
type Known struct {
	App      App   // of its Info
	Protocol uint8 // of its Info
	// Challenge is the last one that the server issued, for any request; 0:
	// none. It saves a round trip.
	Challenge uint32
}

// Answer is the answer of a server. Kind determines which of the other fields
// is set.
type Answer struct {
	Kind    Kind
	Info    Info    // KindInfo and, taken from Old, KindOldInfo
	Old     OldInfo // KindOldInfo
	Players Players
	Rules   Rules
	Ping    string
}

// Exchange is one request to one server and its answer. It is not safe for
// concurrent use. Packets passed to Take must come from the address that was
// asked.
//
// Its states are: request sent without challenge or with that of Known;
// ChallengeRequest sent (some games); request sent with the challenge received;
// done.
type Exchange struct {
	request Kind
	known   Known
	parts   Assembly
	step    Step

	challenge  uint32 // NoChallenge: none
	given      bool   // the challenge came from the server in this exchange
	challenges int    // received so far
	getting    bool   // waiting for the answer to a ChallengeRequest
	switched   bool   // from one way to request it to the other
	old        bool   // answer holds a KindOldInfo
	answer     Answer
}

// NewExchange starts an exchange. request is one of the kinds of requests; a
// ChallengeRequest is done when the challenge has arrived.
func NewExchange(request Kind, known Known) *Exchange {
	e := &Exchange{request: request, known: known, challenge: NoChallenge}
	e.parts.Sizeless = Sizeless(known.App, known.Protocol)
	if known.Challenge != 0 && request != ChallengeRequest {
		e.challenge = known.Challenge
	}
	e.getting = e.canGet() && e.challenge == NoChallenge
	return e
}

// canGet reports whether the server is of a game that answers a
// ChallengeRequest, and the question needs a challenge.
func (e *Exchange) canGet() bool {
	switch e.known.App {
	case AppAgeOfChivalry, AppDIPRIP, AppEmpires, AppEternalSilence, AppInsurgency:
		return e.request == PlayersRequest || e.request == RulesRequest
	default:
		return false
	}
}

// Question returns the packet to send now, and to repeat if nothing comes.
func (e *Exchange) Question() []byte {
	if e.getting || e.request == ChallengeRequest {
		return AppendRequest(nil, Request{Kind: ChallengeRequest, Challenge: NoChallenge})
	}
	return AppendRequest(nil, Request{Kind: e.request, Challenge: e.challenge})
}

// Take handles a packet of the server and returns the next step. After an error
// the exchange continues as if the packet had not come; the error is
// ErrForeign, ErrMalformed, ErrTooMuch, ErrChecksum or ErrChallenges.
func (e *Exchange) Take(packet []byte) (Step, error) {
	if e.step == Done {
		return Done, ErrForeign
	}
	m, whole, err := e.parts.Add(packet)
	if err != nil || !whole {
		return Wait, err
	}
	if m.Kind == KindChallenge && e.request != ChallengeRequest {
		return e.takeChallenge(m.Body)
	}
	if err := e.takeAnswer(m); err != nil {
		return Wait, err
	}
	if m.Kind == KindOldInfo {
		return Wait, nil // some servers send the new form as well
	}
	e.step = Done
	return Done, nil
}

func (e *Exchange) takeChallenge(body []byte) (Step, error) {
	c, err := ParseChallenge(body)
	switch {
	case err != nil:
		return Wait, err
	case e.given && c == e.challenge:
		return Wait, nil // the answer to a repeated question
	case e.challenges == MaxChallenges:
		return Wait, ErrChallenges
	}
	e.challenge, e.given, e.getting = c, true, false
	e.challenges++
	return Ask, nil
}

// takeAnswer keeps a message that answers the question.
func (e *Exchange) takeAnswer(m Message) (err error) {
	a := Answer{Kind: m.Kind}
	switch {
	case m.Kind == KindInfo && e.request == InfoRequest:
		a.Info, err = ParseInfo(m.Body)
	case m.Kind == KindOldInfo && e.request == InfoRequest:
		if a.Old, err = ParseOldInfo(m.Body); err == nil {
			a.Info, e.old = a.Old.Info(), true
		}
	case m.Kind == KindPlayers && e.request == PlayersRequest:
		a.Players, err = ParsePlayers(m.Body, e.known.App)
	case m.Kind == KindRules && e.request == RulesRequest:
		a.Rules, err = ParseRules(m.Body)
	case m.Kind == KindPing && e.request == PingRequest:
		a.Ping = ParsePing(m.Body)
	case m.Kind == KindChallenge && e.request == ChallengeRequest:
		var c uint32
		if c, err = ParseChallenge(m.Body); err == nil {
			e.challenge, e.given = c, true
		}
	default:
		err = ErrForeign
	}
	if err == nil {
		e.answer = a
	}
	return err
}

// Expire is called when the time set for an answer has passed, and returns the
// next step: Done if an Info of the old form, which came before, is now
// accepted as the answer; Ask if there is another form of request to try, at
// most twice; Wait if the caller can only repeat the question or give up.
func (e *Exchange) Expire() Step {
	switch {
	case e.Held():
		e.step = Done
		return Done
	case e.challenge != NoChallenge && !e.given: // it may be too old
		e.challenge = NoChallenge
		e.getting = e.canGet()
		return Ask
	case e.canGet() && !e.given && !e.switched:
		e.getting, e.switched = !e.getting, true
		return Ask
	default:
		return Wait
	}
}

// Held reports whether Expire would return Done, so that the caller can shorten
// the wait.
func (e *Exchange) Held() bool { return e.step == Done || e.old }

// Answer returns the answer; its Kind is 0 before Take or Expire returned Done.
func (e *Exchange) Answer() Answer {
	if e.step != Done {
		return Answer{}
	}
	return e.answer
}

// Challenge returns the challenge of the server, for the Known of the next
// exchange; 0 if it has given none.
func (e *Exchange) Challenge() uint32 {
	if e.challenge == NoChallenge {
		return 0
	}
	return e.challenge
}

// unpack reads size, CRC-32 and bzip2 stream of a compressed message. A stated
// size above MaxMessage is an error, and no more than the stated size is
// decompressed. The error is ErrTooMuch, ErrChecksum or ErrMalformed.
func unpack(data []byte) ([]byte, error) {
	if len(data) < compressedHead+len(bzip2Magic)+1 {
		return nil, ErrMalformed
	}
	size, sum := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	if size > MaxMessage {
		return nil, ErrTooMuch
	}
	stream := bytes.Clone(data[compressedHead:])
	// The digit states the size of the blocks, in 100,000 bytes, and the decoder
	// takes 400,000 bytes of memory for each. No block of a message that may be
	// read is larger than one.
	stream[len(bzip2Magic)] = '1'

	message := make([]byte, size)
	r := bzip2.NewReader(bytes.NewReader(stream))
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, ErrMalformed
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || err != io.EOF || crc32.ChecksumIEEE(message) != sum {
		return nil, ErrChecksum
	}
	return message, nil
}
