package zandronum

import (
	"bytes"
	"encoding/binary"
)

// MaxString is the number of bytes of a string that a reader keeps. The rest up
// to its NUL is skipped.
const MaxString = 2047

// reader reads a message from its front. Beyond the end it returns all ones or
// empty strings, and sets short.
type reader struct {
	b     []byte
	short bool
}

// take returns the next n bytes; if there are fewer, it returns nil and
// discards the rest.
func (r *reader) take(n int) []byte {
	if len(r.b) < n {
		r.b, r.short = nil, true
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) byte() uint8 {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0xFF
}

func (r *reader) uint16() uint16 {
	if p := r.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0xFFFF
}

func (r *reader) uint32() uint32 {
	if p := r.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0xFFFFFFFF
}

// text returns the bytes of a string; they are part of the message.
func (r *reader) text() []byte {
	p, rest, found := bytes.Cut(r.b, []byte{0})
	r.b = rest
	if !found {
		r.short = true
	}
	return p[:min(len(p), MaxString)]
}

func (r *reader) string() string { return string(r.text()) }

// The methods below return zero for missing values: a launcher shows them, and
// all ones would look like a value.

func (r *reader) number() uint8 {
	if v := r.byte(); !r.short {
		return v
	}
	return 0
}

func (r *reader) bool() bool { return r.number() != 0 }

func (r *reader) int16() int16 {
	if v := r.uint16(); !r.short {
		return int16(v)
	}
	return 0
}

func (r *reader) long() uint32 {
	if v := r.uint32(); !r.short {
		return v
	}
	return 0
}

func (r *reader) strings(n int) (texts []string) {
	for range n {
		t := r.string()
		if r.short {
			return texts
		}
		texts = append(texts, t)
	}
	return texts
}

func (r *reader) longs(n int) (list []uint32) {
	for range n {
		v := r.uint32()
		if r.short {
			return list
		}
		list = append(list, v)
	}
	return list
}

// appendString appends text and its NUL. The text is cut at its first NUL.
func appendString[T string | []byte](dst []byte, text T) []byte {
	for i := range len(text) {
		if text[i] == 0 {
			text = text[:i]
			break
		}
	}
	return append(append(dst, text[:min(len(text), MaxString)]...), 0)
}

func appendUint16(dst []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(dst, v) }
func appendUint32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
