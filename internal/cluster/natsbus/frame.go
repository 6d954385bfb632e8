package natsbus

import (
	"encoding/binary"
	"errors"
	"time"
)

// frameVersion is the first byte of each frame. A receiver drops frames of other versions.
const frameVersion = 1

var (
	errShort   = errors.New("message too short")
	errVersion = errors.New("message of another version")
)

// frame is the header of a message.
//
//	offset size
//	     0    1  version
//	     1    8  incarnation of the sender
//	     9    8  number of the message in its stream, from 1: all published ones of a
//	             sender, or those that it sent to this node
//	    17    -  payload
type frame struct {
	incarnation uint64
	number      uint64
}

const frameSize = 17

func (f frame) encode(payload []byte) []byte {
	b := make([]byte, frameSize, frameSize+len(payload))
	b[0] = frameVersion
	binary.BigEndian.PutUint64(b[1:], f.incarnation)
	binary.BigEndian.PutUint64(b[9:], f.number)
	return append(b, payload...)
}

// decode returns the payload of a message, which shares its memory.
func (f *frame) decode(b []byte) ([]byte, error) {
	if len(b) < frameSize {
		return nil, errShort
	}
	if b[0] != frameVersion {
		return nil, errVersion
	}
	f.incarnation, f.number = binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])
	return b[frameSize:], nil
}

// question is the header of a request.
//
//	offset size
//	     0    1  version
//	     1    8  incarnation of the sender
//	     9    4  milliseconds that the sender waits
//	    13    -  payload
type question struct {
	incarnation uint64
	wait        time.Duration
}

const questionSize = 13

func (q question) encode(payload []byte) []byte {
	b := make([]byte, questionSize, questionSize+len(payload))
	b[0] = frameVersion
	binary.BigEndian.PutUint64(b[1:], q.incarnation)
	binary.BigEndian.PutUint32(b[9:], uint32(min(max(q.wait.Milliseconds(), 1), requestTime.Milliseconds())))
	return append(b, payload...)
}

func (q *question) decode(b []byte) ([]byte, error) {
	if len(b) < questionSize {
		return nil, errShort
	}
	if b[0] != frameVersion {
		return nil, errVersion
	}
	q.incarnation = binary.BigEndian.Uint64(b[1:])
	q.wait = min(time.Duration(binary.BigEndian.Uint32(b[9:]))*time.Millisecond, requestTime)
	return b[questionSize:], nil
}

// outcome is the second byte of an answer, after the version.
type outcome byte

const (
	answered outcome = iota
	failed           // the payload is the text of the error
	unhandled
	busy
)

func (o outcome) encode(payload []byte) []byte {
	return append([]byte{frameVersion, byte(o)}, payload...)
}

func (o *outcome) decode(b []byte) ([]byte, error) {
	if len(b) < 2 {
		return nil, errShort
	}
	if b[0] != frameVersion || b[1] > byte(busy) {
		return nil, errVersion
	}
	*o = outcome(b[1])
	return b[2:], nil
}
