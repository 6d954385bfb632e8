package a2s

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzMessage reads any bytes as every message. A message that can be read fits its
// bounds, can be written as JSON, and is the same after it is written and read again.
func FuzzMessage(f *testing.F) {
	for _, p := range all(f) {
		f.Add(p, uint32(0))
		f.Add(p, uint32(AppTheShip))
	}
	f.Add(AppendInfo(nil, extended()), uint32(0))
	f.Add(AppendPlayers(nil, Players{Count: 1, List: []Player{{Name: "Max Players"}}}), uint32(AppCSGO))
	f.Add(append(AppendPlayers(nil, Players{Count: 2, List: []Player{{Name: "Max Players"}}}), 1), uint32(AppCSGO))
	f.Fuzz(func(t *testing.T, packet []byte, app uint32) {
		if q, err := ParseRequest(packet); err == nil {
			again, err := ParseRequest(AppendRequest(nil, q))
			if again != q || err != nil {
				t.Errorf("request %+v is %+v again, %v", q, again, err)
			}
		}
		m, err := ParseMessage(packet)
		if err != nil {
			return
		}
		checkInfos(t, m.Body)
		checkPlayers(t, m.Body, App(app))
		checkRules(t, m.Body)
		if c, err := ParseChallenge(m.Body); err == nil {
			if again, err := ParseChallenge(body(AppendChallenge(nil, c))); again != c || err != nil {
				t.Errorf("challenge %d is %d again, %v", c, again, err)
			}
		}
		if p := ParsePing(m.Body); ParsePing(body(AppendPing(nil, p))) != p {
			t.Errorf("ping %q is another again", p)
		}
	})
}

// body cuts header and kind off a message that was appended.
func body(packet []byte) []byte { return packet[headerSize+1:] }

// same fails if a value differs after it was written and read again.
func same(t *testing.T, was, again any, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(was, again) && !cmp.Equal(was, again, cmpopts.EquateEmpty()) {
		t.Errorf("%v (-first +second time):\n%s", err, cmp.Diff(was, again))
	}
	if _, err := json.Marshal(was); err != nil {
		t.Errorf("JSON of %+v: %v", was, err)
	}
}

func checkInfos(t *testing.T, b []byte) {
	if i, err := ParseInfo(b); err == nil {
		i.Truncated = false
		again, err := ParseInfo(body(AppendInfo(nil, i)))
		same(t, i, again, err)
	}
	if o, err := ParseOldInfo(b); err == nil {
		o.Truncated = false
		again, err := ParseOldInfo(body(AppendOldInfo(nil, o)))
		same(t, o, again, err)
	}
}

func checkPlayers(t *testing.T, b []byte, app App) {
	p, err := ParsePlayers(b, app)
	if err != nil {
		return
	}
	if len(p.List) > int(p.Count) || len(p.List) > len(b) {
		t.Errorf("%d players of %d in %d bytes", len(p.List), p.Count, len(b))
	}
	if app == AppTheShip && !p.Ship {
		return // truncated, so the layout is ambiguous
	}
	p.Truncated = false
	again, err := ParsePlayers(body(AppendPlayers(nil, p)), app)
	same(t, p, again, err)
}

func checkRules(t *testing.T, b []byte) {
	r, err := ParseRules(b)
	if err != nil {
		return
	}
	if len(r.List) > int(r.Count) || len(r.List) > MaxRules {
		t.Errorf("%d rules of %d", len(r.List), r.Count)
	}
	again, err := ParseRules(body(AppendRules(nil, r)))
	same(t, r, again, err)
	d, plain, ok := ParseDayZ(r.List)
	if !ok || d.Truncated {
		return
	}
	second, none, ok := ParseDayZ(d.Rules())
	if len(plain) > len(r.List) || len(none) > 0 || !ok {
		t.Errorf("%d of %d rules are plain, %d of the pieces, ok %v", len(plain), len(r.List), len(none), ok)
	}
	same(t, d, second, nil)
}

// pack makes one input of packets: each behind its length.
func pack(packets ...[]byte) (b []byte) {
	for _, p := range packets {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(p))), p...)
	}
	return b
}

// unpackPackets is the inverse of pack; it takes any input.
func unpackPackets(b []byte) (packets [][]byte) {
	for len(b) >= 2 {
		n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
		packets = append(packets, b[2:2+n])
		b = b[2+n:]
	}
	return packets
}

func FuzzAssembly(f *testing.F) {
	for name := range splits {
		f.Add(pack(packetsOf(f, name)...), false)
		f.Add(pack(packetsOf(f, name)...), true)
	}
	f.Add(pack(append(packetsOf(f, "split_source"), packetsOf(f, "split_goldsource")...)...), false)
	f.Add(pack(compressed(0xFFFFFFFF, 0, []byte("BZh9"))), false)
	f.Fuzz(func(t *testing.T, b []byte, sizeless bool) {
		a := Assembly{Sizeless: sizeless}
		for _, p := range unpackPackets(b) {
			before := bytes.Clone(p)
			m, whole, err := a.Add(p)
			if a.Size() > MaxMessage || len(a.begun) > MaxAtOnce || len(m.Body) > MaxMessage {
				t.Fatalf("%d bytes of %d messages held, body of %d", a.Size(), len(a.begun), len(m.Body))
			}
			if whole && err != nil || !whole && m.Body != nil {
				t.Fatalf("whole %v, error %v, body of %d bytes", whole, err, len(m.Body))
			}
			if !bytes.Equal(before, p) {
				t.Fatal("the packet was changed")
			}
			for _, b := range a.begun {
				b.check(t)
			}
		}
	})
}

// check fails if the counters do not match the parts.
func (b *begun) check(t *testing.T) {
	held, size := 0, 0
	for _, p := range b.parts {
		if p != nil {
			held, size = held+1, size+len(p)
		}
	}
	if held != b.held || size != b.size || held == 0 || len(b.parts) > MaxPackets || b.whole() {
		t.Fatalf("%d parts of %d bytes are %d of %d; %d in all", b.held, b.size, held, size, len(b.parts))
	}
}

// FuzzSplit cuts anything and puts it together again, in any of the forms.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("E\x00\x00"), uint8(1), uint32(1), uint16(1), false, false)
	f.Add(packetOf(f, "rules"), uint8(2), uint32(1<<31), uint16(100), true, true)
	f.Add(packetOf(f, "rules"), uint8(2), uint32(1), uint16(20), false, true)
	f.Fuzz(func(t *testing.T, data []byte, format uint8, id uint32, size uint16, sizeless, backwards bool) {
		s := Splitter{Format: GoldSource, ID: id, Size: int(size)}
		if format%2 == 0 {
			s.Format, s.Sizeless = Source, sizeless
		}
		if size < 4 || len(data) > MaxMessage/2 {
			return // a divided -1 cannot be recognized
		}
		message := append(bytes.Clone(single), data...)
		packets, err := s.Split(message)
		if err != nil || len(packets) > MaxPackets {
			return
		}
		want, wantErr := parsePayload(message)
		a := Assembly{Sizeless: sizeless}
		for i := range packets {
			p := packets[i]
			if backwards {
				p = packets[len(packets)-1-i]
			}
			m, whole, err := a.Add(p)
			if last := i == len(packets)-1; !last && (whole || err != nil) {
				t.Fatalf("packet %d of %d: whole %v, error %v", i+1, len(packets), whole, err)
			} else if last && (!errors.Is(err, wantErr) || whole != (err == nil) || !bytes.Equal(m.Body, want.Body)) {
				t.Fatalf("%+v: whole %v, error %v, body %q, want %q, %v", s, whole, err, m.Body, want.Body, wantErr)
			}
		}
	})
}

func FuzzExchange(f *testing.F) {
	for _, q := range questions(f) {
		challenged := append([][]byte{packetOf(f, "challenge")}, q.answer...)
		f.Add(byte(q.request), uint32(0), uint32(0), pack(challenged...))
		f.Add(byte(q.request), uint32(AppInsurgency), uint32(5), pack(append(challenged, packetOf(f, "oldinfo"))...))
	}
	f.Add(byte(InfoRequest), uint32(0), uint32(0), pack(packetOf(f, "oldinfo"), nil, packetOf(f, "info_css")))
	f.Add(byte(RulesRequest), uint32(AppInsurgency), uint32(5), pack(nil, nil, nil, nil))
	f.Fuzz(func(t *testing.T, request byte, app, challenge uint32, b []byte) {
		e := NewExchange(Kind(request), Known{App: App(app), Challenge: challenge})
		asked, otherwise, done := 1, 0, false
		for _, p := range unpackPackets(b) {
			question := e.Question()
			var step Step
			var err error
			if len(p) == 0 {
				if step = e.Expire(); step == Ask {
					otherwise++
				}
			} else if step, err = e.Take(p); step == Ask {
				asked++
			}
			switch {
			case done && step != Done, err != nil && step == Ask, err != nil && step == Done && !done:
				t.Fatalf("done %v, step %d, error %v", done, step, err)
			case step != Ask && !bytes.Equal(question, e.Question()):
				t.Fatalf("step %d, and the question is %q instead of %q", step, e.Question(), question)
			case asked > 1+MaxChallenges:
				t.Fatalf("%d questions", asked)
			case otherwise > 2: // without the old challenge, and the other way to get one
				t.Fatalf("%d other ways to ask", otherwise)
			case e.parts.Size() > MaxMessage:
				t.Fatalf("%d bytes held", e.parts.Size())
			}
			done = step == Done
			if done != (e.Answer().Kind != 0) || done && !e.Held() {
				t.Fatalf("done %v, answer of kind %v, held %v", done, e.Answer().Kind, e.Held())
			}
		}
	})
}
