package a2s

import (
	"encoding/binary"
	"strings"
)

// reader reads a message from its front. Beyond the end it returns zeros and
// empty strings, and sets short. The strings that it returns share the memory
// of s.
type reader struct {
	s     string
	short bool
}

// take returns the next n bytes; if there are fewer, it returns nothing and
// discards the rest.
func (r *reader) take(n int) string {
	if len(r.s) < n {
		r.s, r.short = "", true
		return ""
	}
	p := r.s[:n]
	r.s = r.s[n:]
	return p
}

func (r *reader) byte() uint8 {
	if p := r.take(1); p != "" {
		return p[0]
	}
	return 0
}

func (r *reader) bool() bool { return r.byte() != 0 }

func (r *reader) uint16() uint16 {
	if p := r.take(2); p != "" {
		return uint16(p[0]) | uint16(p[1])<<8
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if p := r.take(4); p != "" {
		return uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
	}
	return 0
}

func (r *reader) uint64() uint64 {
	low := r.uint32()
	high := r.uint32()
	return uint64(low) | uint64(high)<<32
}

func (r *reader) text() string {
	end := strings.IndexByte(r.s, 0)
	if end < 0 {
		r.s, r.short = "", true
		return ""
	}
	p := r.s[:end]
	r.s = r.s[end+1:]
	return p
}

// appendText appends text and its NUL. The text is cut at its first NUL.
func appendText(dst []byte, text string) []byte {
	if end := strings.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return append(append(dst, text...), 0)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendUint16(dst []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(dst, v) }
func appendUint32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
func appendUint64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }
