package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

// asked is a call of Status.
type asked struct {
	st  Status
	err error
}

// ask calls Status, without waiting for its end.
func (w *world) ask(a netip.AddrPort) <-chan asked {
	c := make(chan asked, 1)
	go func() {
		st, err := w.p.Status(w.t.Context(), a)
		c <- asked{st, err}
	}()
	synctest.Wait()
	return c
}

// plainBinary answers the binary query that has no challenge.
func plainBinary(q []byte) [][]byte {
	if len(q) != 10 || q[0] != 0xFE || q[2] != 0x00 {
		return nil
	}
	pairs := gamespy.AppendEnd(gamespy.AppendPair(nil, "hostname", "binary"))
	return [][]byte{append(append([]byte{0x00}, q[3:7]...), pairs...)}
}

func TestListedServersAreAskedInTheirProtocol(t *testing.T) {
	arena := probetest.Arena("plain")
	for name, tc := range map[string]struct {
		origin   *master.Origin
		game     string
		talk     probetest.Talk
		hostname string
	}{
		"qr1":         {qr2.OldOrigin, "plain", arena.Speaks("gs1"), arena.Name},
		"qr2":         {qr2.Origin, "plain", plainBinary, "binary"},
		"qr2 guarded": {qr2.Origin, "guarded", arena.Speaks("gs3"), arena.Name},
		"lan binary":  {master.Found, "plain", plainBinary, "binary"},
		"lan text":    {master.Found, "plain", arena.Speaks("gs1"), arena.Name},
		"zandronum":   {zanmaster.Origin, "zandronum", arena.Speaks("zandronum"), arena.Name},
		"valve":       {valvemaster.Origin, "cstrike", arena.Speaks("a2s"), arena.Name},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.put(master.Server{Public: there, Game: tc.game, Origin: tc.origin})
				w.says(there, tc.talk)
				c := w.ask(there)
				w.deliver()
				w.pass(3 * time.Second)
				got := <-c
				if hostname, _ := got.st.Get("hostname"); hostname != tc.hostname || got.err != nil {
					t.Errorf("hostname %q, error %v; want %q", hostname, got.err, tc.hostname)
				}
			})
		})
	}
}

func TestServerOfAnUnknownOriginIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Public: there, Game: "plain", Origin: &master.Origin{Name: "new", Query: "of its own"}})
		if got := <-w.ask(there); !errors.Is(got.err, ErrUnknownProtocol) {
			t.Errorf("Status: %v, want ErrUnknownProtocol", got.err)
		}
		if got := <-w.ask(netip.MustParseAddrPort("192.0.2.2:6500")); !errors.Is(got.err, master.ErrNotListed) {
			t.Errorf("Status of a server that is not listed: %v, want ErrNotListed", got.err)
		}
	})
}

func TestAnswerIsSharedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Public: there, Game: "plain", Origin: qr2.OldOrigin})
		w.says(there, probetest.Arena("plain").Speaks("gs1"))
		first, second := w.ask(there), w.ask(there)
		w.deliver()
		if a, b := <-first, <-second; a.err != nil || b.err != nil || w.count(there) != 1 {
			t.Errorf("errors %v, %v; want one question for both", a.err, b.err)
		}
		if got := <-w.ask(there); got.err != nil || w.count(there) != 0 {
			t.Errorf("asked again at once, error %v", got.err)
		}
		w.pass(fresh + followEvery)
		if len(w.p.kept) != 0 {
			t.Error("an old answer is kept")
		}
		c := w.ask(there)
		w.deliver()
		if got := <-c; got.err != nil || w.count(there) != 1 {
			t.Errorf("later: error %v, want one question", got.err)
		}
		w.pass(3 * time.Minute)
		if len(w.p.table.targets) != 0 {
			t.Error("a server that was asked once is remembered for ever")
		}
	})
}

func TestSilentServerIsAskedInTurnAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Public: there, Game: "plain", Origin: master.Found})
		var questions []byte
		w.says(there, func(q []byte) [][]byte { questions = append(questions, q[0]); return nil })
		c := w.ask(there)
		began := time.Now()
		w.deliver()
		w.pass(QuestionTime + time.Second)
		if got := <-c; !errors.Is(got.err, ErrNoAnswer) || string(questions) != "\xFE\\\xFE" {
			t.Errorf("Status: %v after the questions %q and %v; want ErrNoAnswer, binary and text in turn", got.err, questions, time.Since(began))
		}
		if got := <-w.ask(there); !errors.Is(got.err, ErrNoAnswer) || len(questions) != 3 {
			t.Errorf("Status at once again: %v, want ErrNoAnswer without a question", got.err)
		}
	})
}

func TestZandronumIntervalHoldsForAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zandronumWorld(t)
		w.put(master.Server{Public: there, Game: "zandronum", Origin: zanmaster.Origin})
		w.says(there, probetest.Arena("").Speaks("zandronum"))
		for range 5 * 60 {
			w.pass(time.Second)
			c := w.ask(there)
			w.deliver()
			if got := <-c; got.err != nil {
				t.Fatalf("Status: %v", got.err)
			} else if name, _ := got.st.Get("hostname"); name == "" && w.rule(there, "hostname") != "" {
				t.Fatal("Status lacks what the list knows")
			}
		}
		if n := w.count(there); n > 5 {
			t.Errorf("%d queries in five minutes, want at most 5", n)
		}
	})
}

func TestQuestionsOfCallersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, limits := range map[string]struct{ open, rate int }{"open": {3, 200}, "rate": {maxOpen, 30}} {
			w := newWorld(t, func(o *Options) { o.Config.Rate = limits.rate })
			w.p.maxOpen = limits.open
			busy := 0
			for i := range 5 {
				a := netip.MustParseAddrPort(fmt.Sprintf("192.0.2.9:%d", 6500+i))
				w.put(master.Server{Public: a, Game: "plain", Origin: qr2.OldOrigin})
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // the visit continues without its caller
				if _, err := w.p.Status(ctx, a); errors.Is(err, ErrBusy) {
					busy++
				}
			}
			if open := w.p.counts()["under_way"]; busy != 2 || open != 3 || w.refused(refusedBusy) != 2 {
				t.Errorf("%s: %d of 5 refused, %d open; want 2, 3", name, busy, open)
			}
		}
	})
}

func TestAnswersKeptAreBounded(t *testing.T) {
	kept := newAnswers()
	for _, a := range many(maxKept + 10) {
		kept.put(a, Status{}, time.Unix(1000, 0))
	}
	if len(kept) != maxKept {
		t.Errorf("%d answers kept, want %d", len(kept), maxKept)
	}
}

func TestStatusEndsWithTheProber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Public: there, Game: "plain", Origin: qr2.OldOrigin})
		c := w.ask(there)
		w.p.stop()
		if got := <-c; !errors.Is(got.err, ErrNotServing) {
			t.Errorf("Status while the prober stops: %v, want ErrNotServing", got.err)
		}
		if got := <-w.ask(netip.MustParseAddrPort("192.0.2.1:6500")); got.err == nil {
			t.Error("Status after it: no error")
		}
		w.p.tick(time.Now()) // must not send into nothing
	})
}
