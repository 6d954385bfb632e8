package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

func TestSilentServerIsAskedAgainAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &silentConn{}
		start := time.Now()
		_, err := Query(t.Context(), c, netip.MustParseAddrPort("192.0.2.1:6500"), Text)
		// The fourth question is due at the moment of the end.
		if !errors.Is(err, ErrNoAnswer) || c.asked < 3 || c.asked > 4 || time.Since(start) != Timeout {
			t.Errorf("Query: %v after %d questions and %v; want ErrNoAnswer, 3 or 4, %v", err, c.asked, time.Since(start), Timeout)
		}
	})
}

// wire takes what a prober sends.
type wire struct {
	mu   sync.Mutex
	sent []netserve.Packet // From is where it went
}

func (w *wire) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, netserve.Packet{Data: slices.Clone(data), From: to})
	return nil
}

func (w *wire) take() []netserve.Packet {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.sent
	w.sent = nil
	return out
}

// asked is a call of Status.
type asked struct {
	st  Status
	err error
}

func ask(t *testing.T, p *Prober, a netip.AddrPort) <-chan asked {
	c := make(chan asked, 1)
	go func() {
		st, err := p.Status(t.Context(), a)
		c <- asked{st, err}
	}()
	return c
}

var there = netip.MustParseAddrPort("192.0.2.1:6500")

func newProber(t *testing.T, origin master.Origin, game string, change func(*Options)) (*Prober, *wire) {
	t.Helper()
	reg, cat := list(t, master.Server{Public: there, Game: game, Origin: origin})
	opt := Options{Registry: reg, Games: cat, Registerer: prometheus.NewRegistry(), Metrics: netserve.NewMetrics(nil, "probe", DropReasons()...)}
	if change != nil {
		change(&opt)
	}
	p, w := New(opt), &wire{}
	p.start(w)
	return p, w
}

// serve answers what was asked.
func serve(p *Prober, w *wire) (questions int) {
	for {
		out := w.take()
		if len(out) == 0 {
			return questions
		}
		for _, q := range out {
			questions++
			for _, a := range answerTo(q.Data) {
				p.ServePacket(w, netserve.Packet{Data: a, From: q.From})
			}
		}
	}
}

func TestListedServersAreAskedInTheirProtocol(t *testing.T) {
	for name, tc := range map[string]struct {
		origin   master.Origin
		game     string
		hostname string
		err      error
	}{
		"qr1":         {master.FromQR1, "plain", "text", nil},
		"qr2":         {master.FromQR2, "plain", "binary", nil},
		"qr2 guarded": {master.FromQR2, "guarded", "split", nil},
		"lan":         {master.FromLAN, "plain", "binary", nil},
		"zandronum":   {master.FromZandronum, "plain", "", ErrUnknownProtocol},
		"valve":       {master.FromValve, "plain", "", ErrUnknownProtocol},
		"of no kind":  {master.Origin(99), "plain", "", ErrUnknownProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, w := newProber(t, tc.origin, tc.game, nil)
				c := ask(t, p, there)
				synctest.Wait()
				serve(p, w)
				got := <-c
				if hostname, _ := got.st.Get("hostname"); hostname != tc.hostname || !errors.Is(got.err, tc.err) {
					t.Errorf("hostname %q, error %v; want %q, %v", hostname, got.err, tc.hostname, tc.err)
				}
			})
		})
	}
}

func TestAnswerIsSharedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := newProber(t, master.FromQR1, "plain", nil)
		first, second := ask(t, p, there), ask(t, p, there)
		synctest.Wait()
		if n := serve(p, w); n != 1 {
			t.Errorf("%d questions for two callers, want 1", n)
		}
		if a, b := <-first, <-second; a.err != nil || b.err != nil {
			t.Errorf("errors %v, %v", a.err, b.err)
		}
		if got := <-ask(t, p, there); got.err != nil || len(w.take()) != 0 {
			t.Errorf("asked again at once, error %v", got.err)
		}
		time.Sleep(fresh)
		p.tick(time.Now())
		if len(p.answers) != 0 {
			t.Error("an old answer is kept")
		}
		c := ask(t, p, there)
		synctest.Wait()
		if n := serve(p, w); n != 1 || (<-c).err != nil {
			t.Errorf("%d questions later, want 1", n)
		}
	})
}

func TestProberGivesASilentServerUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := newProber(t, master.FromLAN, "plain", nil)
		c := ask(t, p, there)
		synctest.Wait()
		for range 40 {
			time.Sleep(tickEvery)
			p.tick(time.Now())
		}
		if got := <-c; !errors.Is(got.err, ErrNoAnswer) {
			t.Errorf("error %v, want ErrNoAnswer", got.err)
		}
		out := w.take()
		if len(out) != 3 || out[0].Data[0] != 0xFE || out[1].Data[0] != '\\' {
			t.Errorf("questions %q, want three, binary and text in turn", out)
		}
	})
}

func TestServersThatAreNotAsked(t *testing.T) {
	own := func(o *Options) { o.Own = func(netip.AddrPort) bool { return true } }
	for name, tc := range map[string]struct {
		change func(*Options)
		at     string
		want   error
	}{
		"not listed":  {nil, "192.0.2.2:6500", master.ErrNotListed},
		"our own":     {own, there.String(), ErrForbidden},
		"port 0":      {nil, "192.0.2.3:0", ErrForbidden},
		"everybody":   {nil, "255.255.255.255:6500", ErrForbidden},
		"many people": {nil, "224.0.0.1:6500", ErrForbidden},
	} {
		p, w := newProber(t, master.FromQR1, "plain", tc.change)
		at := netip.MustParseAddrPort(tc.at)
		if tc.want == ErrForbidden && at != there { //nolint:errorlint // the table holds the sentinel itself
			if err := p.opt.Registry.Put(master.Server{Key: master.Key{Source: at}, Public: at, Game: "plain", Origin: master.FromQR1, Seen: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Status(t.Context(), at); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if out := w.take(); len(out) != 0 {
			t.Errorf("%s: asked %+v", name, out)
		}
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*Options){
			"open": func(o *Options) { o.Open = 3 },
			"rate": func(o *Options) { o.Rate = 3 },
		} {
			p, _ := newProber(t, master.FromQR1, "plain", change)
			busy := 0
			for i := range 5 {
				a := netip.MustParseAddrPort(fmt.Sprintf("192.0.2.9:%d", 1+i))
				_ = p.opt.Registry.Put(master.Server{Key: master.Key{Source: a}, Public: a, Game: "plain", Origin: master.FromQR1, Seen: time.Now()})
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // the question goes on without its caller
				if _, err := p.Status(ctx, a); errors.Is(err, ErrBusy) {
					busy++
				}
			}
			if busy != 2 || len(p.open) != 3 {
				t.Errorf("%s: %d of 5 refused, %d open; want 2, 3", name, busy, len(p.open))
			}
		}
	})
}

func TestPacketsWithoutEndEndAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := newProber(t, master.FromQR1, "plain", nil)
		c := ask(t, p, there)
		synctest.Wait()
		for range maxPackets + 5 {
			p.ServePacket(w, netserve.Packet{Data: []byte(`\a\b\queryid\1.1`), From: there})
		}
		p.ServePacket(w, netserve.Packet{Data: []byte("junk"), From: netip.MustParseAddrPort("192.0.2.1:6501")})
		if got := <-c; !errors.Is(got.err, ErrTooMuch) {
			t.Errorf("error %v, want ErrTooMuch", got.err)
		}
	})
}

func TestAnswersKeptAreBounded(t *testing.T) {
	p, _ := newProber(t, master.FromQR1, "plain", nil)
	for i := range maxFresh + 10 {
		q := &question{target: netip.AddrPortFrom(there.Addr(), uint16(i+1)), done: make(chan struct{})}
		p.mu.Lock()
		p.finish(q, Status{}, nil)
		p.mu.Unlock()
	}
	if len(p.answers) != maxFresh {
		t.Errorf("%d answers kept, want %d", len(p.answers), maxFresh)
	}
}

func TestProberOverSockets(t *testing.T) {
	target := server(t, answerTo)
	reg, cat := list(t, master.Server{Public: target, Game: "guarded", Origin: master.FromQR2})
	p := New(Options{Registry: reg, Games: cat})
	if _, err := p.Status(t.Context(), target); !errors.Is(err, ErrNotServing) {
		t.Errorf("before Serve: %v, want ErrNotServing", err)
	}
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.start(conn)
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, conn) }()
	st, err := p.Status(t.Context(), target)
	if got, _ := st.Get("hostname"); err != nil || got != "split" {
		t.Errorf("hostname %q, error %v; want split", got, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	_, err = p.Status(t.Context(), target)
	if err != nil && !errors.Is(err, ErrNotServing) {
		t.Errorf("after Serve: %v", err)
	}
}
