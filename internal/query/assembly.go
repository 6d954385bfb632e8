package query

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
)

// Bounds of one answer.
const (
	// MaxPackets is the most packets of an answer.
	MaxPackets = 32
	// MaxAnswer is the most bytes of an answer, over all its packets.
	MaxAnswer = 32 << 10
)

var (
	// ErrTooMuch reports an answer of more than MaxPackets or MaxAnswer.
	ErrTooMuch = errors.New("query: answer too long")

	// ErrMalformed reports a packet that is not part of an answer.
	ErrMalformed = errors.New("query: not an answer")
)

const (
	statusPrefix = `\statusresponse\`
	eofSuffix    = `\eof\`
)

// Assembly puts the packets of one text answer together. The zero value is
// ready; it holds at most MaxAnswer bytes of packets.
type Assembly struct {
	query int // Q of the packets that are held
	last  int // number of the last packet, 0: not seen yet
	size  int
	parts [][]byte // by number; nil: not seen yet
}

// Size returns how many bytes of packets are held.
func (a *Assembly) Size() int { return a.size }

// Reset forgets all packets.
func (a *Assembly) Reset() { *a = Assembly{} }

// Add takes a packet, which is copied, and reports whether the answer is whole.
// A packet of another query replaces the packets held: the server was queried
// again. After an error nothing has changed.
func (a *Assembly) Add(packet []byte) (whole bool, err error) {
	p, err := readPart(packet)
	if err != nil {
		return false, err
	}
	if p.number >= MaxPackets || len(p.text) > MaxAnswer {
		return false, ErrTooMuch
	}
	if p.query != a.query {
		a.Reset()
		a.query = p.query
	}
	for len(a.parts) <= p.number {
		a.parts = append(a.parts, nil)
	}
	size := a.size - len(a.parts[p.number]) + len(p.text)
	if size > MaxAnswer {
		return false, ErrTooMuch
	}
	a.parts[p.number], a.size = bytes.Clone(p.text), size
	if p.final {
		a.last = p.number
	}
	return a.whole(), nil
}

// whole reports whether all packets are there and not all are empty.
func (a *Assembly) whole() bool {
	if a.size == 0 || a.last == 0 || a.last >= len(a.parts) {
		return false
	}
	return !slices.ContainsFunc(a.parts[1:a.last+1], func(p []byte) bool { return p == nil })
}

// Status reads the answer, or the packets that came if it is not whole. The
// error is gamespy.ErrTooManyFields.
func (a *Assembly) Status() (Status, error) {
	text := make([]byte, 0, a.size)
	for i, p := range a.parts {
		if a.last == 0 || i <= a.last {
			text = append(text, p...)
		}
	}
	return ParseText(text)
}

// part is one packet of a text answer.
type part struct {
	query  int
	number int // from 1
	final  bool
	text   []byte // begins with a backslash
}

// maxFirstKey is the maximum length of the key that a text may begin with.
const maxFirstKey = 32

// IsText reports whether a packet looks like text of this protocol: it begins
// with a backslash or, as netPanzer's, with a key of letters, digits and
// underscores that a backslash ends.
func IsText(packet []byte) bool {
	at := bytes.IndexByte(packet, '\\')
	if at < 0 || at > maxFirstKey {
		return false
	}
	return !slices.ContainsFunc(packet[:at], func(c byte) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

func readPart(packet []byte) (part, error) {
	if IsText(packet) && packet[0] != '\\' {
		packet = append([]byte{'\\'}, packet...)
	}
	start := bytes.IndexByte(packet, '\\')
	if start < 0 {
		return part{}, ErrMalformed
	}
	text, _, _ := bytes.Cut(packet[start:], []byte{0})
	text = bytes.TrimRight(text, "\r\n")
	if bytes.HasPrefix(text, []byte(statusPrefix)) {
		return readNumberedPart(text)
	}
	p := part{text: text, number: 1, final: true}
	fields := 0
	for s := gamespy.ScanFields(text); s.Next(); fields++ {
		switch {
		case ascii.EqualFold(s.Key(), "queryid"):
			if query, number, ok := readQueryID(s.Value()); ok {
				p.query, p.number, p.final = query, number, hasFinal(text)
			}
		case isBare(s.Key()) && len(s.Value()) > 0:
			s.DropValue()
		}
	}
	if fields == 0 {
		return part{}, ErrMalformed
	}
	return p, nil
}

// readNumberedPart reads a packet of the statusresponse form, whose number
// counts from 0 and precedes the data.
func readNumberedPart(text []byte) (part, error) {
	digits := text[len(statusPrefix):]
	end := bytes.IndexByte(digits, '\\')
	if end < 0 {
		return part{}, ErrMalformed
	}
	n, err := strconv.ParseUint(string(digits[:end]), 10, 8)
	if err != nil {
		return part{}, ErrMalformed
	}
	body := bytes.TrimSuffix(digits[end:], []byte(eofSuffix))
	return part{number: int(n) + 1, final: hasFinal(body), text: body}, nil
}

func hasFinal(text []byte) bool {
	for s := gamespy.ScanFields(text); s.Next(); {
		if ascii.EqualFold(s.Key(), "final") {
			return true
		}
		// A cut packet begins with a value, so keys and values may be swapped.
		if ascii.EqualFold(s.Value(), "final") {
			return true
		}
	}
	return false
}

// isBare reports whether a key never has a value.
func isBare(key []byte) bool { return ascii.EqualFold(key, "final") || ascii.EqualFold(key, "eof") }

// readQueryID reads Q.P or P. ok is false for other texts.
func readQueryID(value []byte) (query, number int, ok bool) {
	q, p, both := bytes.Cut(value, []byte{'.'})
	if !both {
		q, p = []byte("0"), q
	}
	a, errA := strconv.ParseUint(string(q), 10, 31)
	b, errB := strconv.ParseUint(string(p), 10, 16)
	if errA != nil || errB != nil {
		return 0, 0, false
	}
	return int(a), max(int(b), 1), true
}
