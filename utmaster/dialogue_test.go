package utmaster

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

//go:embed testdata/dialogues.txt
var dialogueText string

// exchange is a named list of lines.
type exchange struct {
	name  string
	lines []string
}

// dialogues reads the file of dialogues.
func dialogues() (list []exchange) {
	for line := range strings.Lines(dialogueText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.ContainsAny(line[:2], "<>") || strings.HasPrefix(line, "listed "):
			d := &list[len(list)-1]
			d.lines = append(d.lines, line)
		default:
			list = append(list, exchange{name: line})
		}
	}
	return list
}

// actor plays the peer of a dialogue.
type actor struct {
	*peer
	code []byte // seen last
}

// bytes reads hex, "text" and CODE. mask is 0 for bytes that may be any.
func (a *actor) bytes(text string) (b []byte, digits int, codes []int) {
	a.f.t.Helper()
	digits = -1
	for word := range strings.FieldsSeq(text) {
		switch {
		case word == "CODE":
			codes = append(codes, len(b))
			b = append(b, append(make([]byte, 0, 4), a.code...)...)
			if len(a.code) == 0 {
				b = append(b, 0, 0, 0, 0)
			}
		case word == "DIGITS":
			digits = len(b)
			b = append(b, "00000000"...)
		case word[0] == '"':
			b = append(b, strings.Trim(word, `"`)...)
		default:
			x, err := hex.DecodeString(word)
			if err != nil {
				a.f.t.Fatalf("%s: %v", word, err)
			}
			b = append(b, x...)
		}
	}
	return b, digits, codes
}

// play plays one line.
func (a *actor) play(line string) {
	t := a.f.t
	t.Helper()
	side, rest, _ := strings.Cut(line, " ")
	switch side {
	case ">":
		b, _, _ := a.bytes(rest)
		if int(binary.LittleEndian.Uint32(b)) != len(b)-frameHead {
			t.Fatalf("%s: the length is wrong, want %x", line, len(b)-frameHead)
		}
		a.write(b)
		synctest.Wait()
	case "<":
		if rest == "end" {
			a.ended()
			return
		}
		got := a.read()
		want, digits, codes := a.bytes(rest)
		if digits >= 0 && len(got) == len(want) {
			if _, err := strconv.ParseUint(string(got[digits:digits+8]), 10, 32); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			copy(want[digits:], got[digits:digits+8])
		}
		for _, at := range codes {
			if len(a.code) == 0 && len(got) >= at+4 {
				a.code = append([]byte(nil), got[at:at+4]...)
				copy(want[at:], a.code)
			}
		}
		if string(got) != string(want) {
			t.Fatalf("%s:\ngot  %x\nwant %x", line, got, want)
		}
	case "u>":
		port, data, _ := strings.Cut(rest, " ")
		b, _, _ := a.bytes(data)
		if why := a.f.say(portNumber(t, port), b); why != notDropped {
			t.Fatalf("%s: dropped: %v", line, why)
		}
	case "u<":
		port, data, _ := strings.Cut(rest, " ")
		b, _, _ := a.bytes(data)
		sent := a.f.asked()
		if want := (sentPacket{netip.AddrPortFrom(home, portNumber(t, port)), string(b)}); len(sent) != 1 || sent[0] != want {
			t.Fatalf("%s: the master sent %+v", line, sent)
		}
	case "listed":
		if srv, ok := a.f.reg.Find(netip.MustParseAddrPort(rest)); !ok || srv.Origin != Origin {
			t.Fatalf("%s: %+v, %v", line, srv, ok)
		}
	default:
		t.Fatalf("unknown line %q", line)
	}
}

func portNumber(t *testing.T, text string) uint16 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

// TestDialogues replays the dialogues that were made from the layouts.
func TestDialogues(t *testing.T) {
	list := dialogues()
	if len(list) < 8 {
		t.Fatalf("%d dialogues", len(list))
	}
	for _, d := range list {
		t.Run(d.name, func(t *testing.T) {
			inBubble(t, nil, func(f *fixture) {
				if strings.Contains(d.name, "browser") {
					f.populate()
				}
				a := &actor{peer: f.connectFrom(netip.AddrPortFrom(home, 40000))}
				for _, line := range d.lines {
					a.play(line)
				}
			})
		})
	}
}

// populate lists a server of each game.
func (f *fixture) populate() {
	rules := []string{
		"hostname", "Test", "mapname", "DM-Rankin", "gametype", "xDeathMatch", "numplayers", "3", "maxplayers", "16", "hostport", "7777",
		ruleQueryPort, "7778", ruleMutators, "", ruleSkill, "0", ruleVersion, "3369",
	}
	put(f.t, f.reg, "ut2004", "192.0.2.10:7778", Origin, rules...)
	rules[3] = "DM-Antalus"
	put(f.t, f.reg, "ut2", "192.0.2.10:7788", Origin, append(rules[:len(rules)-1], "2225")...)
}

// TestDialogueInPieces sends a whole dialogue byte by byte, and at once.
func TestDialogueInPieces(t *testing.T) {
	for name, size := range map[string]int{"bytes": 1, "at once": 1 << 10} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(f *fixture) {
				f.populate()
				p := f.connect()
				p.read()
				h := Hello{KeyHash: digest("x"), Response: digest("y"), Word: "UT2K4CLIENT", Version: 3369, Language: "int"}
				all := h.AppendTo(nil)
				all = appendWord(all, strings.Repeat("0", 32))
				all = AppendQuery(all, nil)
				go func() {
					for i := 0; i < len(all); i += size {
						if _, err := p.conn.Write(all[i:min(i+size, len(all))]); err != nil {
							t.Error(err)
							return
						}
					}
				}()
				p.want(appendApproval(nil, RoleClient, 3369))
				p.want(appendWord(nil, wordVerified))
				if n, err := parseListHead(p.read()[frameHead:]); n != 1 || err != nil {
					t.Errorf("%d servers, %v", n, err)
				}
				p.read()
				p.ended()
			})
		})
	}
}

// TestServerWithoutAnswers lets no port of a server answer.
func TestServerWithoutAnswers(t *testing.T) {
	for _, unproved := range []bool{false, true} {
		t.Run(fmt.Sprint(unproved), func(t *testing.T) {
			inBubble(t, func(o *Options) { o.ListUnproved = unproved }, func(f *fixture) {
				s := f.host(3369, Mode{})
				began := time.Now()
				if got := s.ports(); got != (Ports{7778, 7777, 7787}) || time.Since(began) != 5*time.Second {
					t.Errorf("ports %+v after %v", got, time.Since(began))
				}
				s.report(func(st *State) { st.Port = 7877 })
				if got := len(f.asked()); got != 1 {
					t.Errorf("asked %d times at once, want once", got)
				}
				time.Sleep(time.Minute)
				sent := f.asked()
				if len(sent) != askTimes-1 || sent[0].to != netip.AddrPortFrom(home, 7878) {
					t.Errorf("asked further: %v, want %d times", sent, askTimes-1)
				}
				if got := f.dropped(droppedUnproved); got != 1 {
					t.Errorf("counted %d times, want once", got)
				}
				at := netip.AddrPortFrom(home, 7878)
				if got := f.verdict(at); got != "no answer" && !unproved {
					t.Errorf("verdict %q", got)
				}
				if _, listed := f.reg.Find(at); listed != unproved {
					t.Errorf("listed: %v, want %v", listed, unproved)
				}
				// It is asked again after its next state, and listed when it answers.
				s.report(func(st *State) { st.Port = 7877 })
				if why := f.say(7878, []byte{udp2004, 0, 0, 0, 0, 1}); why != notDropped {
					t.Errorf("answer dropped: %v", why)
				}
				if _, listed := f.reg.Find(at); !listed || f.verdict(at) != "listed" {
					t.Errorf("listed: %v, verdict %q", listed, f.verdict(at))
				}
			})
		})
	}
}

// TestForgedProofs checks that datagrams of others prove nothing.
func TestForgedProofs(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		s := f.host(3369, Mode{})
		other := netip.MustParseAddrPort("198.51.100.1:7777")
		for name, p := range map[string]netserve.Packet{
			"right code, other address": {Data: appendProbeReply(nil, udp2004, Probe{probeGame, s.code}), From: other},
			"wrong code":                {Data: appendProbeReply(nil, udp2004, Probe{probeGame, s.code + 1}), From: netip.AddrPortFrom(home, 7777)},
			"status that was not asked": {Data: []byte{udp2004, 0, 0, 0, 0}, From: netip.AddrPortFrom(home, 7778)},
		} {
			if why := f.srv.packet(p); why != droppedUnasked {
				t.Errorf("%s: %v", name, why)
			}
		}
		for name, data := range map[string]string{
			"nothing": "", "one byte": "\x79", "unknown socket": "\x79\x00\x00\x00\x03\x01\x02\x03\x04", "eight bytes": "\x78\x00\x00\x00\x00\x01\x02\x03",
			"another version of status": "\x81\x00\x00\x00\x00", "another kind of status": "\x80\x00\x00\x00\x01", "heartbeat": "\\heartbeat\\7787\\gamename\\ut2004",
		} {
			if why := f.srv.packet(netserve.Packet{Data: []byte(data), From: netip.AddrPortFrom(home, 7777)}); why != droppedPacket {
				t.Errorf("%s: %v", name, why)
			}
		}
		s.ports()
		s.report(nil)
		f.asked()
		if why := f.srv.packet(netserve.Packet{Data: []byte{udp2004, 0, 0, 0, 0}, From: other}); why != droppedUnasked {
			t.Errorf("status of another address: %v", why)
		}
		if f.reg.Len() != 0 {
			t.Error("the server is listed")
		}
	})
}

// No digest of a key is in a recording, nor in the log of a message that cannot be read.
func TestRecordingsHoldNoDigests(t *testing.T) {
	h := Hello{KeyHash: digest("key"), Response: digest("key1"), Word: "UT2K4CLIENT", Version: 3369}
	k := PlayerKey{Player: "1", KeyHash: digest("key"), Response: digest("key1")}
	p := dialogueOf()
	for _, b := range [][]byte{h.AppendTo(nil), k.appendTo(nil)} {
		if n := p.Split(false, append(slices.Clone(b), 1, 2, 3)); n != len(b) {
			t.Errorf("a message of %d bytes is one of %d", len(b), n)
		}
		p.Blot(b)
		if strings.Contains(string(b), digest("key")[:8]) || strings.Contains(string(b), digest("key1")[:8]) {
			t.Errorf("a message becomes %q", b)
		}
	}
	for _, b := range [][]byte{nil, {9, 0, 0, 0, 1}} {
		if n := p.Split(false, b); n != 0 {
			t.Errorf("%v is a message of %d bytes", b, n)
		}
	}
	if got := p.Shape(appendApproval(nil, RoleServer, 3369)); got != wordApproved {
		t.Errorf("the shape of an approval is %q", got)
	}
	if got := p.Shape(appendWord(nil, "12345678")); got != "" {
		t.Errorf("the shape of a challenge is %q", got)
	}
}
