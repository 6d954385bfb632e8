package query

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// The kinds of the binary packets that this package writes and reads.
const (
	kindQuery     = 0x00
	kindChallenge = 0x09

	answerHeader = 5 // kind, key
	maxSplit     = 8 // packets of a split answer
)

// AppendChallengeQuery appends the request for a challenge.
func AppendChallengeQuery(b []byte, key uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0xFE, 0xFD, kindChallenge), key)
}

// AppendQuery appends a binary query for the complete status. A challenge of 0
// is not sent; split allows an answer of several packets.
func AppendQuery(b []byte, key, challenge uint32, split bool) []byte {
	b = binary.BigEndian.AppendUint32(append(b, 0xFE, 0xFD, kindQuery), key)
	if challenge != 0 {
		b = binary.BigEndian.AppendUint32(b, challenge)
	}
	b = append(b, 0xFF, 0xFF, 0xFF)
	if split {
		b = append(b, 1)
	}
	return b
}

// CutAnswer cuts the header off a binary answer. ok is false for other packets.
func CutAnswer(packet []byte) (kind byte, key uint32, body []byte, ok bool) {
	if len(packet) < answerHeader || (packet[0] != kindQuery && packet[0] != kindChallenge) {
		return 0, 0, nil, false
	}
	return packet[0], binary.BigEndian.Uint32(packet[1:]), packet[answerHeader:], true
}

// IsChallenge reports whether a packet has the header of a challenge.
func IsChallenge(packet []byte) bool {
	return len(packet) >= answerHeader && packet[0] == kindChallenge
}

// ParseChallenge reads the answer to the request for a challenge.
func ParseChallenge(packet []byte) (key, challenge uint32, ok bool) {
	kind, key, body, ok := CutAnswer(packet)
	if !ok || kind != kindChallenge {
		return 0, 0, false
	}
	challenge, ok = parseChallenge(body)
	return key, challenge, ok
}

// parseChallenge reads the decimal number of a challenge, signed or not.
func parseChallenge(body []byte) (uint32, bool) {
	text, _, _ := bytes.Cut(body, []byte{0})
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < -1<<31 || n >= 1<<32 {
		return 0, false
	}
	return uint32(n), true
}

var splitMark = []byte("splitnum\x00")

// ParseAnswer reads the body of an answer that is not split. A last value that
// was cut is left out. The error is ErrMalformed, ErrTooMuch or
// gamespy.ErrTooManyFields.
func ParseAnswer(body []byte) (Status, error) {
	if len(body) > MaxAnswer {
		return Status{}, ErrTooMuch
	}
	if bytes.HasPrefix(body, splitMark) {
		return Status{}, ErrMalformed
	}
	var st Status
	pairs := gamespy.Pairs(body)
	for pairs.Next() {
		if len(st.Rules) == gamespy.MaxFields {
			return Status{}, gamespy.ErrTooManyFields
		}
		st.Rules = append(st.Rules, Field{string(pairs.Key()), string(pairs.Value())})
	}
	if rest, whole := pairs.Rest(); whole {
		if st.Players, rest = readTable(rest); rest != nil {
			st.Teams, _ = readTable(rest)
		}
	}
	return st, nil
}

// readTable reads a table row by row. rest is nil if the packet was cut in it.
func readTable(b []byte) (Table, []byte) {
	t, rest, whole := gamespy.ParseTable(b)
	columns := 0
	for range t.Columns() {
		columns++
	}
	if columns > MaxColumns || t.Rows() > MaxRows {
		return Table{}, nil
	}
	var build tableBuilder
	for c := range t.Cells() {
		build.set(string(c.Column), c.Row, string(c.Value))
	}
	if !whole {
		rest = nil
	}
	return build.table(), rest
}

// splitAnswer puts the packets of a split answer together.
type splitAnswer struct {
	parts [maxSplit][]byte
	count int // packets of the answer, 0: not known yet
}

// add takes the body of a packet, which is copied, and reports whether all are
// there.
func (s *splitAnswer) add(body []byte) (whole bool, err error) {
	body, ok := bytes.CutPrefix(body, splitMark)
	if !ok || len(body) == 0 {
		return false, ErrMalformed
	}
	number := int(body[0] & 0x7F)
	if number >= maxSplit || len(body) > MaxAnswer/maxSplit {
		return false, ErrTooMuch
	}
	s.parts[number] = bytes.Clone(body)
	if body[0]&0x80 != 0 {
		s.count = number + 1
	}
	for _, p := range s.parts[:s.count] {
		if p == nil {
			return false, nil
		}
	}
	return s.count > 0, nil
}

func (s *splitAnswer) begun() bool {
	return slices.ContainsFunc(s.parts[:], func(p []byte) bool { return p != nil })
}

// status reads all packets in their order.
func (s *splitAnswer) status() (Status, error) {
	r := splitReader{index: make(map[string]int)}
	for _, p := range s.parts[:s.count] {
		r.sections(p[1:])
	}
	if len(r.st.Rules) > gamespy.MaxFields {
		return Status{}, gamespy.ErrTooManyFields
	}
	r.st.Players, r.st.Teams = r.players.table(), r.teams.table()
	return r.st, nil
}

// The kinds of sections of a split answer.
const (
	sectionRules   = 0
	sectionPlayers = 1
	sectionTeams   = 2
)

// splitReader reads the sections of a split answer. A value that was cut at the
// end of a packet comes again in the next one, so later values win.
type splitReader struct {
	st             Status
	index          map[string]int // rule by name
	players, teams tableBuilder
}

func (r *splitReader) sections(b []byte) {
	for len(b) > 0 {
		kind := b[0]
		switch b = b[1:]; kind {
		case sectionRules:
			b = r.rules(b)
		case sectionPlayers:
			b = columns(b, &r.players)
		case sectionTeams:
			b = columns(b, &r.teams)
		default:
			return
		}
	}
}

// rules reads pairs up to an empty name. rest is nil if the packet was cut in
// them. Original servers leave the empty name out after an empty value, so that
// the kind of the next section stands where a name would.
func (r *splitReader) rules(b []byte) (rest []byte) {
	for {
		if len(b) > 0 && (b[0] == sectionPlayers || b[0] == sectionTeams) {
			return b
		}
		name, after, ok := gamespy.CutString(b)
		if !ok || len(name) == 0 {
			return after
		}
		value, after, ok := gamespy.CutString(after)
		if !ok {
			return nil
		}
		b = after
		i, known := r.index[string(name)]
		if !known {
			i = len(r.st.Rules)
			r.index[string(name)] = i
			r.st.Rules = append(r.st.Rules, Field{Name: string(name)})
		}
		r.st.Rules[i].Value = string(value)
	}
}

// columns reads columns up to an empty name: name, first row, values up to an
// empty one. rest is nil if the packet was cut in them.
func columns(b []byte, t *tableBuilder) (rest []byte) {
	for {
		name, after, ok := gamespy.CutString(b)
		if !ok || len(name) == 0 {
			return after
		}
		if len(after) == 0 {
			return nil
		}
		row := int(after[0])
		for b = after[1:]; ; row++ {
			value, after, ok := gamespy.CutString(b)
			if !ok {
				return nil
			}
			if b = after; len(value) == 0 && endsColumn(b) {
				break
			}
			if row < MaxRows && len(value) > 0 {
				t.set(string(name), row, string(value))
			}
		}
	}
}

// endsColumn reports whether the empty string before b ends the values. An
// empty value looks the same; but after the end follows the name of a column,
// which ends in _ or _t, or nothing.
func endsColumn(b []byte) bool {
	next, _, ok := gamespy.CutString(b)
	return !ok || len(next) == 0 || bytes.HasSuffix(next, []byte("_")) || bytes.HasSuffix(next, []byte("_t"))
}
