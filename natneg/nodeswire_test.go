package natneg

import (
	"bytes"
	"slices"
	"testing"
)

func TestNodeMessages(t *testing.T) {
	from := endpoint{[4]byte{203, 0, 113, 1}, 5000}
	f := forwarded{again: true, from: from, ip: [4]byte{198, 51, 100, 1}, socket: 2, data: initPacket(77, 1, PortNN1)}
	if got, err := parseForwarded(f.appendTo(nil)); err != nil || got.from != f.from || !got.again || got.ip != f.ip || got.socket != 2 || !bytes.Equal(got.data, f.data) {
		t.Errorf("parseForwarded = %+v, %v; want %+v", got, err, f)
	}
	o := order{ip: f.ip, socket: 3, to: from, data: connectAckPacket(77, 1)}
	if got, err := parseOrder(o.appendTo(nil)); err != nil || got.ip != o.ip || got.socket != 3 || got.to != from || !bytes.Equal(got.data, o.data) {
		t.Errorf("parseOrder = %+v, %v; want %+v", got, err, o)
	}
}

func TestLessonMessages(t *testing.T) {
	list := []learnt{{somePair(1), lessonFailed}, {pairID{{[4]byte{1, 2, 3, 4}, [4]byte{10, 0, 0, 1}, true}, {[4]byte{5, 6, 7, 8}, [4]byte{10, 0, 0, 2}, false}}, lessonEach}}
	got, err := parseLessons(appendLessons(nil, list))
	if err != nil || !slices.Equal(got, list) {
		t.Errorf("parseLessons = %+v, %v; want %+v", got, err, list)
	}
	full := appendLessons(nil, make([]learnt, maxLessons+1))
	if got, err := parseLessons(full); err != nil || len(got) != maxLessons {
		t.Errorf("a full message: %d lessons, %v; want %d", len(got), err, maxLessons)
	}
	one := appendLessons(nil, list[:1])
	for name, p := range map[string][]byte{
		"nothing": nil, "version 2": append([]byte{2}, one[1:]...), "short": one[:lessonSize], "a byte more": append(one, 0),
		"too many": append(full, make([]byte, lessonSize)...), "unknown lesson": append([]byte{nodeVersion, lessons}, one[2:]...),
		"unknown router": append([]byte{nodeVersion, 1 << 6}, one[2:]...),
	} {
		if _, err := parseLessons(p); err == nil {
			t.Errorf("parseLessons of %s: no error", name)
		}
	}
}

func TestNodeMessagesOfWrongForm(t *testing.T) {
	f := forwarded{data: make([]byte, headerSize)}
	o := order{data: make([]byte, headerSize)}
	long := func(head, most int) []byte { return append([]byte{nodeVersion}, make([]byte, head-1+most+1)...) }
	version2 := func(p []byte) []byte { p[0] = 2; return p }
	for name, p := range map[string][]byte{
		"nothing": nil, "version 2": version2(f.appendTo(nil)), "short": f.appendTo(nil)[:forwardedHead+headerSize-1],
		"long": long(forwardedHead, maxForwarded), "flag 2": append([]byte{nodeVersion, 2}, make([]byte, 40)...),
	} {
		if _, err := parseForwarded(p); err == nil {
			t.Errorf("parseForwarded of %s: no error", name)
		}
	}
	for name, p := range map[string][]byte{
		"nothing": nil, "version 2": version2(o.appendTo(nil)), "short": o.appendTo(nil)[:orderHead+headerSize-1],
		"long": long(orderHead, maxAnswer),
	} {
		if _, err := parseOrder(p); err == nil {
			t.Errorf("parseOrder of %s: no error", name)
		}
	}
	if cut, err := parseForwarded((&forwarded{data: make([]byte, 300)}).appendTo(nil)); err != nil || len(cut.data) != maxForwarded {
		t.Errorf("a packet of 300 bytes: %d arrive, %v; want %d", len(cut.data), err, maxForwarded)
	}
}

func FuzzNodeMessages(f *testing.F) {
	f.Add((&forwarded{data: initPacket(77, 1, PortNN1)}).appendTo(nil))
	f.Add((&order{data: connectAckPacket(77, 1)}).appendTo(nil))
	f.Add(appendLessons(nil, []learnt{{somePair(1), lessonFailed}}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if got, err := parseForwarded(p); err == nil && !bytes.Equal(got.appendTo(nil), p) {
			t.Errorf("forwarded %x was read as %x", p, got.appendTo(nil))
		}
		if got, err := parseOrder(p); err == nil && !bytes.Equal(got.appendTo(nil), p) {
			t.Errorf("order %x was read as %x", p, got.appendTo(nil))
		}
		if got, err := parseLessons(p); err == nil && !bytes.Equal(appendLessons(nil, got), p) {
			t.Errorf("lessons %x were read as %x", p, appendLessons(nil, got))
		}
	})
}
