package qr2

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/uplink"
)

func TestChallengeTellsTheHostItsAddress(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.168.1.5:6500")
	c := h.challenged(h.heartbeat())
	if len(c) != challengeSize || challengeSize > 36 || c[len(c)-1] != 0 || !bytes.HasPrefix(c, h.reply(KindChallenge)) {
		t.Fatalf("challenge: got %x", c)
	}
	text := string(c[replyHeader : len(c)-1])
	if !regexp.MustCompile(`^[A-Za-z0-9]{6}00C0A801051964$`).MatchString(text) {
		t.Errorf("challenge: got %q", text)
	}
	other := h.restarted(2)
	if again := other.challenged(other.heartbeat()); bytes.Equal(again[replyHeader:replyHeader+6], c[replyHeader:replyHeader+6]) {
		t.Errorf("two hosts have the same random part %q", text[:6])
	}
	pre := in.host("192.168.1.6:6500")
	pre.game = "prequery"
	if got := string(pre.challenged(pre.heartbeat())[replyHeader+6:][:2]); got != "80" {
		t.Errorf("options of a game with query challenges: got %s, want 80", got)
	}
}

func TestRepeatedHeartbeatChallenge(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	first := h.challenged(h.heartbeat("hostname", "first"))
	again := h.challenged(h.heartbeat("hostname", "second"))
	if !bytes.Equal(first, again) {
		t.Errorf("second challenge: got %q, want %q", again, first)
	}
	if dropped := h.send(h.answer(first)); dropped != uplink.NotDropped || h.rule("hostname") != "second" {
		t.Errorf("response: dropped %q, hostname %q, want the latest", dropped, h.rule("hostname"))
	}
}

func TestHostsThatAreRejected(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := map[string]struct {
		game    string
		banned  bool
		dropped uplink.Drop
		wanted  string
		text    string
	}{
		"unknown game": {"unknown", false, uplink.UnknownGame, "unknown game", textUnknownGame},
		"endless name": {long, false, uplink.UnknownGame, "unknown game", textUnknownGame},
		"no secret":    {"nosecret", false, uplink.NoSecret, "game without secret key", textNoKey},
		"banned":       {"gmtest", true, uplink.Banned, "banned", textBanned},
	}
	for name, tt := range tests {
		for _, refuse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, told %v", name, refuse), func(t *testing.T) {
				in := newIntake(t, func(o *Options) {
					o.AddError = refuse
					o.Banned = func(netip.Addr) bool { return tt.banned }
				})
				h := in.host("192.0.2.1:6500")
				h.game = tt.game
				if got := h.send(h.heartbeat("statechanged", "3")); got != tt.dropped {
					t.Errorf("heartbeat: got %q, want %q", got, tt.dropped)
				}
				if refuse {
					h.want(sent{append(h.reply(KindRefusal, 1), tt.text+"\x00"...), masterAddr, h.addr})
				} else {
					h.want()
				}
				if in.pending.Len() != 0 || in.list.Len() != 0 {
					t.Error("it is pending or listed")
				}
				if got := in.verdict(h.addr); got != tt.wanted {
					t.Errorf("verdict: got %q, want %q", got, tt.wanted)
				}
				// A refusal is never longer than its request.
				short := h.packet(KindHeartbeat, "gamename\x00", tt.game, "\x00")
				_ = h.send(short)
				for _, p := range in.w.Take() {
					if len(p.data) > len(short) {
						t.Errorf("%d bytes were answered with %d", len(short), len(p.data))
					}
				}
			})
		}
	}
}

func TestBanHoldsAlsoDuringAVerification(t *testing.T) {
	for name, at := range map[string]int{"before the answer": 1, "while it is being listed": 2} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			in := newIntake(t, func(o *Options) {
				o.AddError = true
				o.Banned = func(netip.Addr) bool { asked++; return asked > at }
			})
			h := in.host("192.0.2.1:6500")
			c := h.challenged(h.heartbeat())
			if got := h.send(h.answer(c)); got != uplink.Banned || h.listed() {
				t.Errorf("response: got %q, listed %v; want %q", got, h.listed(), uplink.Banned)
			}
			h.want(sent{append(h.reply(KindRefusal, 1), textBanned+"\x00"...), masterAddr, h.addr})
			if got := in.verdict(h.addr); got != "banned" {
				t.Errorf("verdict: got %q, want banned", got)
			}
		})
	}
}

func TestThreeWrongResponsesEndAVerification(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	c := h.challenged(h.heartbeat())
	right := h.answer(c)
	h.secret = "wrong1"
	for i := range maxWrong {
		if got := h.send(h.answer(c)); got != uplink.Wrong {
			t.Errorf("wrong response %d: got %q, want %q", i+1, got, uplink.Wrong)
		}
		h.want()
	}
	if got := in.verdict(h.addr); got != "wrong response" {
		t.Errorf("verdict: got %q", got)
	}
	if got := h.send(right); got != uplink.Unexpected || h.listed() {
		t.Errorf("right response after three wrong ones: got %q, listed %v", got, h.listed())
	}
	h.secret = secret
	h.register() // the next heartbeat starts again
}

func TestHostMayBeWrongTwice(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	c := h.challenged(h.heartbeat())
	for _, wrong := range []string{"", "\x00", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00"}[:maxWrong-1] {
		_ = h.send(h.packet(KindChallenge, wrong))
	}
	if dropped := h.send(h.answer(c)); dropped != uplink.NotDropped || !h.listed() {
		t.Errorf("right response after two wrong ones: dropped %q, listed %v", dropped, h.listed())
	}
}

func TestWrongResponseBudget(t *testing.T) {
	in := newIntake(t, func(o *Options) { o.AddError = true })
	h := in.host("192.0.2.1:6500")
	h.challenged(h.heartbeat())
	h.secret = "wrong1"
	_ = h.send(h.packet(KindChallenge, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00"))
	h.want(sent{append(h.reply(KindRefusal, 1), textWrong+"\x00"...), masterAddr, h.addr})

	poor := in.host("192.0.2.2:6500")
	poor.challenged(poor.packet(KindHeartbeat, "gamename\x00gmtest\x00"))
	_ = poor.send(poor.packet(KindChallenge, "A"))
	poor.want()
}

func TestRefusalsFollowThePolicyInForce(t *testing.T) {
	in := newIntake(t, nil)
	in.reload(func(c *Config) { c.AddError = true })
	h := in.host("192.0.2.1:6500")
	h.challenged(h.heartbeat())
	h.secret = "wrong1"
	_ = h.send(h.packet(KindChallenge, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00"))
	h.want(sent{append(h.reply(KindRefusal, 1), textWrong+"\x00"...), masterAddr, h.addr})
}

func TestResponseCountsOnce(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	c := h.challenged(h.heartbeat())
	answer := h.answer(c)
	for range 3 { // the word of the registration may be lost
		if dropped := h.send(answer); dropped != uplink.NotDropped {
			t.Fatalf("response: dropped: %s", dropped)
		}
		h.want(sent{h.reply(KindRegistered), masterAddr, h.addr})
	}
	in.list.Remove(h.key())
	if got := h.send(answer); got != uplink.Unexpected || h.listed() {
		t.Errorf("replayed response of a server that is gone: got %q, listed %v", got, h.listed())
	}
	h.want()
}

func TestResponseOfAnotherHost(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	c := h.challenged(h.heartbeat())
	for name, other := range map[string]*host{"port": in.host("192.0.2.1:6501"), "address": in.host("192.0.2.2:6500"), "instance": h.restarted(5)} {
		if got := other.send(other.answer(c)); got != uplink.Unexpected || other.listed() || h.listed() {
			t.Errorf("right response from another %s: got %q, want %q", name, got, uplink.Unexpected)
		}
	}
	if dropped := h.send(h.answer(c)); dropped != uplink.NotDropped {
		t.Errorf("response of the host itself: dropped: %s", dropped)
	}
}

func TestChallengeIsRepeatedAFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		first := h.challenged(h.heartbeat("hostname", strings.Repeat("x", 100)))
		var copies []time.Duration
		begin := time.Now()
		for range 320 {
			in.pass(tickEvery)
			for _, p := range in.w.Take() {
				if !bytes.Equal(p.data, first) || p.to != h.addr || p.from != masterAddr {
					t.Fatalf("sent %x from %v to %v, want the same challenge again", p.data, p.from, p.to)
				}
				copies = append(copies, time.Since(begin))
			}
		}
		if want := "[1s 2s 3s 4s]"; fmt.Sprint(copies) != want {
			t.Errorf("repeated after %v, want %v", copies, want)
		}
		if got := in.verdict(h.addr); got != "no answer" {
			t.Errorf("verdict: got %q", got)
		}
		if in.pending.Len() != 0 {
			t.Error("it is still pending")
		}
		if got := h.send(h.answer(first)); got != uplink.Unexpected {
			t.Errorf("late response: got %q, want %q", got, uplink.Unexpected)
		}
	})
}

func TestChallengeRepetitionBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		short := h.packet(KindHeartbeat, "gamename\x00gmtest\x00")
		if len(short) >= challengeSize {
			t.Fatalf("the heartbeat has %d bytes, want fewer than a challenge", len(short))
		}
		h.challenged(short)
		in.pass(5 * time.Second)
		h.want()
		// A second one does not pay for two challenges, a third does.
		if got := h.send(short); got != uplink.NoBudget {
			t.Errorf("second short heartbeat: got %q, want %q", got, uplink.NoBudget)
		}
		if dropped := h.send(short); dropped != uplink.NotDropped {
			t.Errorf("third short heartbeat: dropped: %s", dropped)
		}
	})
}

// A forger of source addresses can also choose instance keys.
func TestBudgetIsThatOfTheSource(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	bytesIn, bytesOut := 0, 0
	for i := range uint32(100) {
		other := h.restarted(i)
		short := other.packet(KindHeartbeat, "gamename\x00gmtest\x00")
		_ = other.send(short)
		bytesIn += len(short)
	}
	for _, p := range in.w.Take() {
		bytesOut += len(p.data)
	}
	if bytesOut > bytesIn+challengeSize {
		t.Errorf("%d bytes in, %d bytes out", bytesIn, bytesOut)
	}
}

func TestFullTableForgetsTheOldest(t *testing.T) {
	in := newIntake(t, func(o *Options) { o.MaxPending = 3 })
	var hosts []*host
	var challenges [][]byte
	for i := range 4 {
		h := in.host(fmt.Sprintf("192.0.2.%d:6500", i))
		hosts = append(hosts, h)
		challenges = append(challenges, h.challenged(h.heartbeat()))
		if i == 2 { // a repeated heartbeat does not make the first one younger
			hosts[0].challenged(hosts[0].heartbeat())
		}
	}
	for i, h := range hosts {
		dropped := h.send(h.answer(challenges[i]))
		if h.listed() == (i == 0) {
			t.Errorf("host %d: dropped %q, listed %v", i, dropped, h.listed())
		}
	}
	if in.pending.Len() != 0 {
		t.Error("something is left of the verifications")
	}
}

func TestHostThatMakesRoomIsCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	in := newIntake(t, func(o *Options) {
		o.MaxPending, o.Metrics = 2, netserve.NewMetrics(reg, "qr2", dropNames()...)
	})
	for port := range uint16(5) {
		h := in.host("192.0.2.1:1")
		h.addr = netip.AddrPortFrom(h.addr.Addr(), 1000+port)
		h.challenged(h.heartbeat())
	}
	if got := metrictest.Dropped(t, reg, uplink.TooManyPending.Error()); got != 3 {
		t.Errorf("counted %v hosts that made room, want 3", got)
	}
	if n := in.pending.Len(); n != 2 {
		t.Errorf("%d hosts are being verified, want 2", n)
	}
}

// A host that was pushed out of the table is sent the same challenge with its
// next heartbeat, so that its answer to the first one is as good.
func TestForgottenHostGetsTheSameChallenge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, func(o *Options) { o.MaxPending = 1 })
		h, other := in.host("192.0.2.1:6500"), in.host("192.0.2.2:6500")
		first := h.challenged(h.heartbeat())
		other.challenged(other.heartbeat())
		if got := h.send(h.answer(first)); got != uplink.Unexpected {
			t.Fatalf("response of a forgotten host: got %q, want %q", got, uplink.Unexpected)
		}
		if again := h.challenged(h.heartbeat()); !bytes.Equal(again, first) {
			t.Errorf("challenge after it was forgotten: got %q, want %q", again, first)
		}
		// In the next slot it gets another one, and the last is good still.
		other.challenged(other.heartbeat())
		time.Sleep(unproved.Slot)
		if next := h.challenged(h.heartbeat()); bytes.Equal(next, first) {
			t.Errorf("challenge a minute later: got %q again", next)
		}
		if dropped := h.send(h.answer(first)); dropped != uplink.NotDropped || !h.listed() {
			t.Errorf("response to the last challenge: dropped %q, listed %t", dropped, h.listed())
		}
		// Once it has been used none of them is good.
		in.list.Remove(h.key())
		if again := h.challenged(h.heartbeat()); bytes.Equal(again, first) {
			t.Errorf("challenge after the registration: got %q again", again)
		}
		if got := h.send(h.answer(first)); got != uplink.Wrong || h.listed() {
			t.Errorf("replayed response: got %q, listed %t, want %q", got, h.listed(), uplink.Wrong)
		}
	})
}

func TestVerdictsOfAFullList(t *testing.T) {
	for name, tt := range map[string]struct {
		limits  func(*Options)
		dropped uplink.Drop
		wanted  string
		text    string
	}{
		"list full":    {listOf(1, 0), uplink.Full, "list full", textFull},
		"address full": {listOf(0, 1), uplink.Full, "too many servers here", textTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, func(o *Options) { tt.limits(o); o.AddError = true })
			in.host("192.0.2.1:6500").register()
			h := in.host("192.0.2.1:6501")
			c := h.challenged(h.heartbeat())
			if got := h.send(h.answer(c)); got != tt.dropped || h.listed() {
				t.Errorf("response: got %q, listed %v", got, h.listed())
			}
			h.want(sent{append(h.reply(KindRefusal, 1), tt.text+"\x00"...), masterAddr, h.addr})
			if got := in.verdict(h.addr); got != tt.wanted {
				t.Errorf("verdict: got %q, want %q", got, tt.wanted)
			}
		})
	}
}

func TestRefusalsFitAHost(t *testing.T) {
	for _, text := range []string{textUnknownGame, textNoKey, textBanned, textWrong, textFull, textTooMany, textReplaced, textMalformed} {
		b := appendRefusal(nil, 1, refusedGeneral, text)
		if len(b) != refusalSize(text) || len(b) > 64 || b[len(b)-1] != 0 {
			t.Errorf("refusal %q: %d bytes, want %d", text, len(b), refusalSize(text))
		}
	}
	want, _ := hex.DecodeString("fefd04a46578cd017365636f6e6400")
	if got := appendRefusal(nil, 0xa46578cd, 1, "second"); !bytes.Equal(got, want) {
		t.Errorf("appendRefusal: got %x, want %x", got, want)
	}
}
