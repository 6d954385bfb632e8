package onehost

import "bytes"

// Bounds of a header that is repaired. Beyond them it is passed on as it is.
const (
	maxLine    = 4 << 10 // bytes of a line
	maxRemoved = 4       // lines that are removed
)

// header passes on the lines of a header but for repetitions of its Host line. It keeps
// back the line that has not ended, and a repetition until the line after it shows that it
// does not continue there.
type header struct {
	over     bool // everything else passes
	repaired func()

	started bool   // the request line has passed
	host    []byte // value of the first Host line; nil: there was none
	held    []byte // a repetition of it
	partial []byte // a line that has not ended
	removed int
}

// take returns the bytes that can be passed on: those kept back, then those of b. The result may
// share the memory of b.
func (h *header) take(b []byte) []byte {
	if h.over {
		return b
	}
	if len(h.partial) > 0 {
		b = append(h.partial, b...)
		h.partial = nil
	}
	var out []byte
	for !h.over {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			break
		}
		out = append(out, h.line(b[:end])...)
		b = b[end:]
	}
	switch {
	case h.over:
		return append(out, b...)
	case len(b) > maxLine:
		return append(append(out, h.flush()...), b...)
	}
	h.partial = bytes.Clone(b)
	return out
}

// flush ends the repair and returns the bytes that were kept back.
func (h *header) flush() []byte {
	b := append(h.held, h.partial...)
	h.over, h.held, h.partial = true, nil, nil
	return b
}

// line returns the output for a line, which includes its end.
func (h *header) line(line []byte) []byte {
	if !h.started {
		h.started = true
		return line
	}
	if line[0] == ' ' || line[0] == '\t' || len(line) > maxLine { // it continues the line before, or is too long
		return append(h.flush(), line...)
	}
	if h.held != nil {
		h.held = nil
		h.removed++
		if h.repaired != nil {
			h.repaired()
		}
	}
	if len(bytes.TrimRight(line, "\r\n")) == 0 {
		h.over = true
		return line
	}
	value, ok := hostOf(line)
	switch {
	case !ok:
		return line
	case h.host == nil:
		h.host = append([]byte{}, value...)
		return line
	case h.removed < maxRemoved && bytes.Equal(value, h.host):
		h.held = bytes.Clone(line)
		return nil
	}
	return append(h.flush(), line...)
}

// hostOf returns the value of a Host line.
func hostOf(line []byte) (value []byte, ok bool) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) != len("host") || !bytes.EqualFold(name, []byte("host")) {
		return nil, false
	}
	return bytes.Trim(value, " \t\r\n"), true
}
