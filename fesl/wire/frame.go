package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// HeaderSize is the length of the header of a frame, in bytes.
const HeaderSize = 12

// maxNumber is the highest number of a request.
const maxNumber = 1<<24 - 1

// Kind is the kind of a frame.
type Kind uint8

// The kinds. The server's own messages and the answers to them are replies with the
// number 0.
const (
	Request     Kind = 0xC0
	RequestPart Kind = 0xF0
	Reply       Kind = 0x80
	ReplyPart   Kind = 0xB0
)

// partBits are those that a part of a long message has more than a whole one.
const partBits Kind = 0x30

// IsPart reports whether the frame is a part of a long message.
func (k Kind) IsPart() bool { return k == RequestPart || k == ReplyPart }

// Kinds of frames of Theater, which share the layout. Their numbers are 0: a line TID is the number.
const (
	TheaterRequest Kind = 0x40
	TheaterReply   Kind = 0
)

// Failure returns the header of an error of Theater: a word of four letters is kind and number.
func Failure(service, word string) Header {
	n := binary.BigEndian.Uint32([]byte(word))
	return Header{service, Kind(n >> 24), n & maxNumber}
}

// Word returns the word of a Failure, empty for other headers.
func (h Header) Word() string {
	if h.Kind < 'a' || h.Kind > 'z' {
		return ""
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(h.Kind)<<24|h.Number))
}

// Header is the header of a frame without its length.
type Header struct {
	Service string // four letters
	Kind    Kind
	Number  uint32 // of the request
}

// Frame is one frame.
type Frame struct {
	Header
	Payload []byte
}

// Errors of frames.
var (
	ErrFrame   = errors.New("not a frame")
	ErrTooLong = errors.New("the frame or message is too long")
)

// parseHeader reads a header and returns the length of the payload.
func parseHeader(b *[HeaderSize]byte) (h Header, payload int, err error) {
	for _, c := range b[:4] {
		if (c|0x20) < 'a' || (c|0x20) > 'z' {
			return h, 0, ErrFrame
		}
	}
	word := binary.BigEndian.Uint32(b[4:])
	length := binary.BigEndian.Uint32(b[8:])
	if length < HeaderSize {
		return h, 0, ErrFrame
	}
	if length > 1<<30 {
		return h, 0, ErrTooLong
	}
	return Header{string(b[:4]), Kind(word >> 24), word & maxNumber}, int(length) - HeaderSize, nil
}

// Append appends the frame.
func (f *Frame) Append(b []byte) []byte {
	b = append(b, f.Service...)
	b = binary.BigEndian.AppendUint32(b, uint32(f.Kind)<<24|f.Number&maxNumber)
	b = binary.BigEndian.AppendUint32(b, uint32(HeaderSize+len(f.Payload)))
	return append(b, f.Payload...)
}

// ParseFrame reads a datagram, which is one frame. Its payload is part of b.
func ParseFrame(b []byte) (Frame, error) {
	if len(b) < HeaderSize {
		return Frame{}, ErrFrame
	}
	h, size, err := parseHeader((*[HeaderSize]byte)(b))
	if err == nil && size != len(b)-HeaderSize {
		err = ErrFrame
	}
	return Frame{h, b[HeaderSize:]}, err
}

// Inbox reads frames from a stream. The zero value is empty and holds no memory but a header.
type Inbox struct {
	head [HeaderSize]byte
	n    int    // bytes of the header that have arrived
	body []byte // of the payload
}

// firstBody is how much memory a payload has before any of it has arrived, in bytes.
const firstBody = 512

// Begun reports whether a part of a frame has arrived.
func (i *Inbox) Begun() bool { return i.n > 0 }

// Next returns the next frame, reading from r if necessary; it belongs to the caller. A frame of
// more than most bytes is ErrTooLong, before it is read. Memory grows only with what has
// arrived. After another error of r, such as that of a deadline, Next may be called again.
func (i *Inbox) Next(r io.Reader, most int) (Frame, error) {
	for i.n < HeaderSize {
		n, err := r.Read(i.head[i.n:])
		if i.n += n; n == 0 && err != nil {
			return Frame{}, err
		}
	}
	h, size, err := parseHeader(&i.head)
	if err != nil {
		return Frame{}, err
	}
	if HeaderSize+size > most {
		return Frame{}, ErrTooLong
	}
	for len(i.body) < size {
		if len(i.body) == cap(i.body) {
			i.body = slices.Grow(i.body, min(size-len(i.body), max(firstBody, len(i.body))))
		}
		n, err := r.Read(i.body[len(i.body):min(size, cap(i.body))])
		if i.body = i.body[:len(i.body)+n]; n == 0 && err != nil {
			return Frame{}, err
		}
	}
	f := Frame{h, i.body}
	i.n, i.body = 0, nil
	return f, nil
}
