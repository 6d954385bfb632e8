package ssl3

import "io"

// maxIdleRecords is how many records without data may follow each other: they cost
// time and bring nothing.
const maxIdleRecords = 16

// role is one side of the handshake. Its methods are called in the order of the
// records, and append their answers to state.flight.
type role interface {
	// message handles a whole handshake message, whose header is already checked
	// by limit. before are the handshake messages before it.
	message(k kind, body, before []byte) error
	// limit returns the shortest and the longest body of the message that is
	// expected now. The error is that of a message that is not.
	limit(k kind) (least, most int, err error)
	// changed handles the peer's ChangeCipherSpec.
	changed() error
	// oldHello handles a hello in the form of SSL 2.
	oldHello(body []byte) error
}

// state is one side of a connection without its socket: it takes records and returns
// data.
type state struct {
	role    role
	in, out half
	// flight holds the messages to send to the peer.
	flight []byte
	// open reports that the handshake is complete.
	open bool

	partial    []byte // of a handshake message
	transcript []byte // all handshake messages so far; nil when open
	secrets    secrets
	idle       int  // records without data in succession
	old        bool // the peer's first record may be a hello of SSL 2
	spoken     bool
}

// handle handles one record and returns the application data in it, which shares its
// memory. The error is io.EOF for the regular end of the data.
func (s *state) handle(r record) (data []byte, err error) {
	if s.spoken && r.version != version {
		return nil, violation(AlertIllegalParameter, "unknown version of record")
	}
	s.spoken = true
	payload, err := s.in.open(r.typ, r.payload)
	if err != nil {
		return nil, err
	}
	if len(payload) == 0 && r.typ != typeData {
		return nil, violation(AlertUnexpectedMessage, "empty record")
	}
	switch r.typ {
	case typeHandshake:
		return nil, s.handshake(payload)
	case typeChangeCipherSpec:
		if len(s.partial) > 0 || len(payload) != 1 || payload[0] != 1 {
			return nil, violation(AlertUnexpectedMessage, "malformed change of the cipher")
		}
		return nil, s.role.changed()
	case typeAlert:
		return nil, s.alert(payload)
	case typeData:
		return s.data(payload)
	case typeOldHello:
		s.transcript = append(s.transcript, payload...)
		return nil, s.role.oldHello(payload)
	}
	return nil, violation(AlertUnexpectedMessage, "unknown type of record")
}

func (s *state) data(payload []byte) ([]byte, error) {
	if !s.open {
		return nil, violation(AlertUnexpectedMessage, "data before the end of the handshake")
	}
	if len(payload) == 0 {
		return nil, s.idled()
	}
	s.idle = 0
	return payload, nil
}

// idled counts a record without data.
func (s *state) idled() error {
	if s.idle++; s.idle > maxIdleRecords {
		return violation(AlertUnexpectedMessage, "too many records without data")
	}
	return nil
}

func (s *state) alert(payload []byte) error {
	if len(payload) != 2 {
		return violation(AlertIllegalParameter, "malformed alert")
	}
	level, a := payload[0], Alert(payload[1])
	switch {
	case a == AlertCloseNotify:
		return io.EOF
	case level == levelWarning:
		return s.idled()
	default:
		return &PeerError{a}
	}
}

// handshake handles a part of the stream of handshake messages.
func (s *state) handshake(part []byte) error {
	if s.open {
		return violation(AlertUnexpectedMessage, "handshake message after the handshake")
	}
	s.partial = append(s.partial, part...)
	for len(s.partial) > 0 {
		size, whole, err := s.complete()
		if err != nil || !whole {
			return err
		}
		message := s.partial[:size]
		before := s.transcript
		s.transcript = append(s.transcript, message...)
		if err := s.role.message(kind(message[0]), message[messageHeader:], before); err != nil {
			return err
		}
		if s.open {
			return s.done(len(s.partial) > size)
		}
		s.partial = s.partial[size:]
	}
	s.partial = nil
	return nil
}

// complete returns the size of the next message, and whether all of it is there. The
// length is checked before the body has come.
func (s *state) complete() (size int, whole bool, err error) {
	p := s.partial
	least, most, err := s.role.limit(kind(p[0]))
	if err != nil || len(p) < messageHeader {
		return 0, false, err
	}
	n := int(p[1])<<16 | int(p[2])<<8 | int(p[3])
	if n < least || n > most {
		return 0, false, violation(AlertIllegalParameter, "handshake message of a wrong length")
	}
	return messageHeader + n, len(p) >= messageHeader+n, nil
}

// done releases memory that only the handshake needs. left reports that more messages came
// with the last one.
func (s *state) done(left bool) error {
	s.partial, s.transcript, s.secrets = nil, nil, secrets{}
	if left {
		return violation(AlertUnexpectedMessage, "handshake message after the handshake")
	}
	return nil
}

// send adds a handshake message to the flight and to the transcript.
func (s *state) send(messages []byte) {
	s.transcript = append(s.transcript, messages...)
	s.flight = s.out.seal(s.flight, typeHandshake, messages)
}

// change adds a ChangeCipherSpec to the flight; later records are encrypted.
func (s *state) change(macKey, key []byte) {
	s.flight = s.out.seal(s.flight, typeChangeCipherSpec, []byte{1})
	s.out.protect(macKey, key)
}

// unexpected is the error for a message that the state does not allow.
func unexpected() error {
	return violation(AlertUnexpectedMessage, "handshake message out of order")
}
