package wire

import (
	"bytes"
	"strings"
)

// Length returns the length of the first frame of b; 0: it has not arrived as a whole. Bytes that are
// no frame are all of b.
func Length(b []byte) int {
	if len(b) < HeaderSize {
		return 0
	}
	_, size, err := parseHeader((*[HeaderSize]byte)(b))
	switch {
	case err != nil:
		return len(b)
	case len(b) < HeaderSize+size:
		return 0
	}
	return HeaderSize + size
}

// Blot calls overwrite with values in a frame: those whose key is secret, given in lower case and
// without its structure or list, and e-mail addresses. Pieces of long messages, which have no keys,
// and what is no text are secret as a whole.
func Blot(frame []byte, secret func(key string) bool, overwrite func([]byte)) {
	f, err := ParseFrame(frame)
	if err != nil {
		overwrite(frame)
		return
	}
	text, rest, _ := bytes.Cut(f.Payload, []byte{0})
	overwrite(rest)
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		key, value, ok := bytes.Cut(line, []byte{'='})
		if !ok {
			overwrite(line)
			continue
		}
		name := strings.ToLower(string(key[bytes.LastIndexByte(key, '.')+1:]))
		if f.Kind.IsPart() && name == "data" || secret(name) || strings.Contains(Unescape(string(value)), "@") {
			overwrite(value)
		}
	}
}

// Shape returns what two answers to the same request have in common: service, request and error of
// FESL, word and error of Theater.
func Shape(frame []byte) string {
	f, err := ParseFrame(frame)
	if err != nil {
		return ""
	}
	t, _ := ParseText(f.Payload, MaxLines)
	return strings.Join(strings.Fields(strings.Join([]string{f.Service, f.Word(), t.TXN(), t.Get("errorCode")}, " ")), " ")
}
