package query

import "errors"

// Kind is a kind of query: its protocol and the data that it requests.
type Kind uint8

// The kinds of queries.
const (
	// Text asks for everything in backslash text.
	Text Kind = iota
	// TextInfo asks for the sections basic and info in backslash text.
	TextInfo
	// Binary asks for everything in one binary packet.
	Binary
	// BinaryChallenged asks for a challenge first and then for everything in up
	// to 8 packets. It is used only for servers that are known to support it.
	BinaryChallenged
)

// String returns the kind's name as logs spell it.
func (k Kind) String() string {
	switch k {
	case Text:
		return "text"
	case TextInfo:
		return "text info"
	case Binary:
		return "binary"
	case BinaryChallenged:
		return "binary challenged"
	default:
		return "unknown"
	}
}

// ErrUnknownProtocol is returned for a server that is not asked: nothing here speaks its protocol.
var ErrUnknownProtocol = errors.New("query: this server speaks another protocol")

// ErrForeign reports a packet that is not an answer to the request: it has
// another key or is of another protocol. More packets may come.
var ErrForeign = errors.New("query: not the answer to this question")

// Step is the next action for the caller after a packet.
type Step uint8

// The steps.
const (
	Wait Step = iota // wait for more packets
	Ask              // send Question, which has changed
	Done             // the answer is whole
)

// Exchange is one query and its answer. It is not safe for concurrent use.
// Packets passed to Take must come from the address that was queried.
type Exchange struct {
	kind Kind
	key  uint32
	step Step

	challenged bool // the challenge has come
	challenge  uint32
	text       Assembly
	split      splitAnswer
	status     Status
}

// NewExchange starts an exchange. key should be random; in the binary kinds the
// server repeats it.
func NewExchange(kind Kind, key uint32) *Exchange { return &Exchange{kind: kind, key: key} }

// Question returns the packet to send now, and to repeat if nothing comes.
func (e *Exchange) Question() []byte {
	switch {
	case e.kind == Text:
		return []byte(`\status\`)
	case e.kind == TextInfo:
		return []byte(`\basic\\info\`)
	case e.kind == BinaryChallenged && !e.challenged:
		return AppendChallengeQuery(nil, e.key)
	default:
		return AppendQuery(nil, e.key, e.challenge, e.kind == BinaryChallenged)
	}
}

// Take handles a packet of the server and returns the next step. After an error
// the exchange continues as if the packet had not come; the error is
// ErrForeign, ErrMalformed, ErrTooMuch or gamespy.ErrTooManyFields.
func (e *Exchange) Take(packet []byte) (Step, error) {
	if e.step == Done {
		return Done, ErrForeign
	}
	var whole bool
	var err error
	switch e.kind {
	case Text, TextInfo:
		whole, err = e.takeText(packet)
	default:
		before := e.challenged
		if whole, err = e.takeBinary(packet); err == nil && e.challenged != before {
			return Ask, nil
		}
	}
	if whole && err == nil {
		e.step = Done
	}
	return e.step, err
}

func (e *Exchange) takeText(packet []byte) (whole bool, err error) {
	if !IsText(packet) {
		return false, ErrForeign
	}
	if whole, err = e.text.Add(packet); whole {
		e.status, err = e.text.Status()
	}
	return whole, err
}

func (e *Exchange) takeBinary(packet []byte) (whole bool, err error) {
	kind, key, body, ok := CutAnswer(packet)
	if !ok || key != e.key {
		return false, ErrForeign
	}
	waits := e.kind == BinaryChallenged && !e.challenged
	switch {
	case waits != (kind == kindChallenge):
		return false, ErrForeign
	case waits:
		if e.challenge, e.challenged = parseChallenge(body); !e.challenged {
			return false, ErrMalformed
		}
		return false, nil
	case len(body) > len(splitMark) && string(body[:len(splitMark)]) == string(splitMark):
		if whole, err = e.split.add(body); whole {
			e.status, err = e.split.status()
		}
		return whole, err
	default:
		e.status, err = ParseAnswer(body)
		return true, err
	}
}

// Begun reports whether an answer of the server has begun to arrive.
func (e *Exchange) Begun() bool {
	return e.step == Done || e.challenged || e.text.Size() > 0 || e.split.begun()
}

// Status returns the answer; it is empty before Take returned Done.
func (e *Exchange) Status() Status { return e.status }
