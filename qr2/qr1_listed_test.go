package qr2

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestListedHostIsPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.register()
		h.status = strings.Replace(h.status, `\numplayers\1`, `\numplayers\7`, 1)
		if n := h.pass(pollMost + time.Second); n < 1 || n > 3 {
			t.Errorf("%d polls in %v, want 1 to 3", n, pollMost)
		}
		if got := h.rule("numplayers"); got != "7" {
			t.Errorf("numplayers = %q, want 7", got)
		}
		if n := h.pass(10 * time.Minute); n < 5 || n > 10 {
			t.Errorf("%d polls in 10 minutes, want 5 to 10", n)
		}
		if last := in.list.All()[0].LastSeen; time.Since(last) > pollMost+askGap {
			t.Errorf("last seen %v ago", time.Since(last))
		}
	})
}

func TestForgedNewsOfAListedHostIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.register()
		in.pass(askGap + time.Second) // it is asked, and does not answer
		for _, forged := range []string{
			`\hostname\Forged\final\\queryid\9.1`,
			`\hostname\Forged\validate\AAAAAAAA\final\\queryid\10.1`,
		} {
			if got := h.say(h.addr, []byte(forged)); got != uplink.Wrong {
				t.Errorf("forged answer: dropped %q, want %q", got, uplink.Wrong)
			}
		}
		if got := h.rule("hostname"); got == "Forged" {
			t.Error("a forged answer was taken")
		}
	})
}

func TestHostThatMayLeaveIsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		more   string
		answer bool
		listed bool
	}{
		"2, silent":             {`\statechanged\2`, false, false},
		"no value, silent":      {`\statechanged\`, false, false},
		"cut, silent":           {`\statechanged`, false, false},
		"2, answers":            {`\statechanged\2`, true, true},
		"change, silent":        {`\statechanged\1`, false, true},
		"plain, silent":         {``, false, true},
		"another game, silent":  {`\gamename\prequery`, false, true}, // the first name counts
		"another game, answers": {`\statechanged\2\gamename\prequery`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newIntake(t, nil)
				h := in.textServer("192.0.2.1:26900")
				h.register()
				in.pass(askGap + time.Second)
				h.serve(h.addr)
				in.pass(askGap)
				h.beat(tc.more)
				if tc.answer {
					h.pass(20 * time.Second)
				} else {
					in.pass(20 * time.Second)
				}
				if h.listed() != tc.listed {
					t.Errorf("listed: %v, want %v", h.listed(), tc.listed)
				}
				if want := map[bool]string{true: "listed", false: "left"}[tc.listed]; in.verdict(h.addr) != want {
					t.Errorf("verdict: %q, want %q", in.verdict(h.addr), want)
				}
			})
		})
	}
}

func TestForgedHeartbeatOfAnotherGame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.register()
		for range 10 {
			if got := h.say(h.source, AppendTextHeartbeat(nil, 26900, "other")); got != uplink.NotDropped {
				t.Errorf("dropped: %s", got)
			}
			h.pass(3 * time.Second)
		}
		if srv, ok := in.list.Get(h.key()); !ok || srv.Game != "gmtest" {
			t.Errorf("listed: %v", srv)
		}
		// The real one is believed once the listed one is silent.
		h.say(h.source, AppendTextHeartbeat(nil, 26900, "other"))
		in.pass(30 * time.Second)
		in.w.Take()
		h.game, h.secret = "other", longSecret
		h.register()
	})
}

func TestHeartbeatsDoNotMultiplyQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.register()
		n := 0
		for range 60 {
			h.beat(`\statechanged\1`)
			n += h.pass(time.Second)
		}
		if n > 6 {
			t.Errorf("%d queries for 60 heartbeats in a minute, want at most 6", n)
		}
	})
}

func TestSilentHostExpiresAfterItsLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.register()
		expired := make(chan struct{})
		go func() {
			defer close(expired)
			_ = in.list.Run(t.Context(), func(*master.Server) {})
		}()
		in.pass(textLifetime - 10*time.Second)
		if !h.listed() {
			t.Error("left the list before its lifetime")
		}
		h.beat("") // does not keep it listed
		in.pass(20 * time.Second)
		if h.listed() {
			t.Error("still listed after its lifetime")
		}
		in.pass(pollMost)
		if n := len(in.text.table.hosts); n > 1 {
			t.Errorf("%d hosts remembered", n)
		}
	})
}

func TestSavedServerIsAskedAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		srv := master.Server{
			Key: h.key(), Game: "gmtest", Origin: OldOrigin, Public: h.addr, Via: masterAddr,
			Restored: true, Lifetime: 90 * time.Second, Seen: time.Now(),
		}
		if err := in.list.Put(srv); err != nil {
			t.Fatal(err)
		}
		in.pass(time.Second)
		if n := h.serve(h.addr); n == 0 {
			t.Fatal("not asked")
		}
		if got, ok := in.list.Get(h.key()); !ok || got.Restored || got.Lifetime != textLifetime || h.rule("mapname") != "gmtmap1" {
			t.Errorf("record after the answer: %+v", got)
		}
	})
}

func TestSilentSavedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		_ = in.list.Put(master.Server{Key: h.key(), Game: "gmtest", Origin: OldOrigin, Public: h.addr, Restored: true, Seen: time.Now()})
		in.pass(2 * textPendingLife)
		if n := len(in.w.Take()); n != maxAsks {
			t.Errorf("asked %d times, want %d", n, maxAsks)
		}
		if len(in.text.table.hosts) != 0 {
			t.Error("still remembered")
		}
	})
}

func TestNewerProtocolKeepsItsRecord(t *testing.T) {
	in := newIntake(t, nil)
	in.host("192.0.2.1:6500").register("hostname", "New")
	h := in.textServer("192.0.2.1:6500")
	if got := h.beat(""); got != uplink.Unexpected {
		t.Errorf("text heartbeat of a listed QR2 server: dropped %q", got)
	}
	// It registers while a verification is under way.
	in2 := newIntake(t, nil)
	h = in2.textServer("192.0.2.1:6500")
	h.beat("")
	q := in2.w.Take()[0].data
	n := in2.host("192.0.2.1:6500")
	n.register("hostname", "New")
	h.say(h.addr, h.reply(q))
	if srv, ok := in2.list.Get(n.key()); !ok || srv.Origin != Origin {
		t.Errorf("the record is %+v, want that of QR2", srv)
	}
}

func TestLANServerIsReplacedByItsReport(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	_ = in.list.Put(master.Server{Key: h.key(), Game: "gmtest", Origin: master.Found, Public: h.addr, Seen: time.Now()})
	if srv := h.register(); srv.Origin != OldOrigin || in.list.Len() != 1 {
		t.Errorf("origin %v and %d servers, want qr1 and 1", srv.Origin, in.list.Len())
	}
}

// Several hosts may share an address, behind a router or with a hosting company.
// One of them must not take the place of another by naming its port.
func TestReplacingAnotherServer(t *testing.T) {
	heartbeatPort := netip.MustParseAddrPort("192.0.2.1:5000")
	for name, old := range map[string]master.Server{
		"zandronum":    {Game: "zandronum", Origin: zanmaster.Origin},
		"valve":        {Game: "gmtest", Origin: valvemaster.Origin},
		"static":       {Game: "gmtest", Origin: master.Static},
		"saved":        {Game: "gmtest", Origin: Origin, Restored: true},
		"saved, older": {Game: "other", Origin: OldOrigin, Restored: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, nil)
			h := in.textServer("192.0.2.1:26900")
			h.source = heartbeatPort
			old.Key, old.Public, old.Seen = h.key(), h.addr, time.Now()
			if err := in.list.Put(old); err != nil {
				t.Fatal(err)
			}
			h.beat("")
			q := in.w.Take()[0].data
			if got := h.say(heartbeatPort, h.reply(q)); got != uplink.Full {
				t.Errorf("proof from another port: dropped %q, want %q", got, uplink.Full)
			}
			if srv, ok := in.list.At(h.addr); !ok || srv.Origin != old.Origin || srv.Game != old.Game {
				t.Errorf("a neighbour took the place of %v: %+v", old.Origin, srv)
			}
			h.beat("")
			q = in.w.Take()[0].data
			if got := h.say(h.addr, h.reply(q)); got != uplink.NotDropped {
				t.Errorf("proof from the port itself: dropped %q", got)
			}
			if srv, _ := in.list.At(h.addr); srv.Origin != OldOrigin || srv.Restored {
				t.Errorf("listed as %+v", srv)
			}
		})
	}
}
