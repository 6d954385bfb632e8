package wire

import (
	"encoding/base64"
	"strconv"
)

// Bounds of long messages, in bytes.
const (
	MaxLong = 256 << 10 // of the base64 text

	// MinFragment and MaxFragment bound the longest frame that a client can name.
	MinFragment = 1 << 10
	MaxFragment = 8096

	spare    = 32   // a frame that is not cut is so much shorter than the longest one
	overhead = 648  // of a part, generously
	maxPiece = 6000 // of the base64 text; a third of it could be escapes
)

// AppendMessage appends the frames of a payload: one, or the parts of a long message if it does
// not fit in fragment bytes.
func AppendMessage(b []byte, h Header, payload []byte, fragment int) []byte {
	fragment = min(max(fragment, MinFragment), MaxFragment)
	if HeaderSize+len(payload) <= fragment-spare {
		return (&Frame{h, payload}).Append(b)
	}
	h.Kind |= partBits
	rest := base64.StdEncoding.EncodeToString(payload)
	size := len(rest)
	for len(rest) > 0 {
		n := min(len(rest), maxPiece, fragment-overhead)
		part := Text{{"decodedSize", strconv.Itoa(len(payload))}, {"size", strconv.Itoa(size)}, {"data", rest[:n]}}
		b = (&Frame{h, part.Append(nil, ServerEnd)}).Append(b)
		rest = rest[n:]
	}
	return b
}

// Parts puts a long message together. The zero value has no part.
type Parts struct {
	head    Header
	size    int // of the base64 text
	decoded int // bytes of the payload; negative: not stated
	text    []byte
}

// Begun reports whether parts have arrived and others are missing.
func (p *Parts) Begun() bool { return p.size > 0 }

// Add takes the next part, and returns the message as one frame if it was the last.
// The parts of two messages cannot be mixed. After an error nothing is left of the message.
func (p *Parts) Add(f Frame) (whole Frame, done bool, err error) {
	whole, done, err = p.add(f)
	if done || err != nil {
		*p = Parts{}
	}
	return whole, done, err
}

func (p *Parts) add(f Frame) (Frame, bool, error) {
	t, err := parseText(f.Payload, MaxLines, len(f.Payload)) // a piece is longer than other values
	if err != nil {
		return Frame{}, false, err
	}
	size, decoded, ok := sizes(t)
	switch {
	case !ok:
		return Frame{}, false, ErrFrame
	case size > MaxLong:
		return Frame{}, false, ErrTooLong
	case !p.Begun():
		p.head, p.size, p.decoded = f.Header, size, decoded
	case f.Header != p.head || size != p.size || decoded != p.decoded:
		return Frame{}, false, ErrFrame
	}
	data := t.Get("data")
	if data == "" || len(p.text)+len(data) > p.size {
		return Frame{}, false, ErrFrame
	}
	p.text = append(p.text, data...)
	if len(p.text) < p.size {
		return Frame{}, false, nil
	}
	payload, err := base64.StdEncoding.AppendDecode(nil, p.text)
	if err != nil || p.decoded >= 0 && len(payload) != p.decoded {
		return Frame{}, false, ErrFrame
	}
	h := p.head
	h.Kind &^= partBits
	return Frame{h, payload}, true, nil
}

// sizes returns the sizes that a part states; decoded is negative if it states none.
func sizes(t Text) (size, decoded int, ok bool) {
	size, err := strconv.Atoi(t.Get("size"))
	if err != nil || size <= 0 {
		return 0, 0, false
	}
	text, stated := t.Look("decodedSize")
	if !stated {
		return size, -1, true
	}
	decoded, err = strconv.Atoi(text)
	return size, decoded, err == nil && decoded >= 0
}
