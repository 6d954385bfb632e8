package probe

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
)

func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestAskInEveryProtocol(t *testing.T) {
	for _, p := range Protocols() {
		g := probetest.Arena("plain")
		st, err := Ask(t.Context(), listen(t), probetest.Listen(t, g.Speaks(p.String())).Address(), p)
		if got, _ := st.Get("hostname"); err != nil || got != g.Name || len(st.Players.Rows) != 2 && p != NWN {
			t.Errorf("Ask in %v: hostname %q, %d players, error %v; want %q, 2", p, got, len(st.Players.Rows), err, g.Name)
		}
	}
}

func TestAskNeverAsksSomeAddresses(t *testing.T) {
	for _, a := range []string{"127.0.0.1:0", "255.255.255.255:6500", "224.0.0.1:6500", "0.0.0.0:6500"} {
		if _, err := Ask(t.Context(), nil, netip.MustParseAddrPort(a), GS1); !errors.Is(err, ErrForbidden) {
			t.Errorf("Ask of %s: %v, want ErrForbidden", a, err)
		}
	}
	if _, err := Ask(t.Context(), nil, there, 0); !errors.Is(err, ErrUnknownProtocol) {
		t.Errorf("Ask in no protocol: %v, want ErrUnknownProtocol", err)
	}
}

func TestAskSkipsPacketsOfOthers(t *testing.T) {
	conn, other := listen(t), listen(t)
	g := probetest.Arena("plain")
	target := probetest.Listen(t, func(q []byte) [][]byte {
		// The forged answer is in the buffer before the right one is sent.
		_, _ = other.WriteToUDPAddrPort([]byte(`\hostname\forged\final\\queryid\1.1`), conn.LocalAddr().(*net.UDPAddr).AddrPort())
		return g.Speaks("gs1")(q)
	})
	st, err := Ask(t.Context(), conn, target.Address(), GS1)
	if got, _ := st.Get("hostname"); err != nil || got != g.Name {
		t.Errorf("Ask: hostname %q, error %v; want %q", got, err, g.Name)
	}
}

func TestAskOfAServerThatNeverEndsIsBounded(t *testing.T) {
	target := probetest.Listen(t, func([]byte) (out [][]byte) {
		for range maxPackets + 1 {
			out = append(out, []byte(`\hostname\x\queryid\1.1`))
		}
		return out
	})
	if _, err := Ask(t.Context(), listen(t), target.Address(), GS1); !errors.Is(err, ErrTooMuch) {
		t.Errorf("Ask: %v, want ErrTooMuch", err)
	}
}

func TestAskReturnsPartialAnswers(t *testing.T) {
	g := probetest.Arena("cstrike")
	ctx, cancel := context.WithCancel(t.Context())
	target := probetest.Listen(t, func(q []byte) [][]byte {
		if q[4] == 'U' {
			cancel()
			return nil
		}
		return g.Speaks("a2s")(q)
	})
	st, err := Ask(ctx, listen(t), target.Address(), A2S)
	if got, _ := st.Get("hostname"); err != nil || got != g.Name {
		t.Errorf("Ask: hostname %q, error %v; want %q", got, err, g.Name)
	}
}

// silentConn is a socket to which nothing comes.
type silentConn struct {
	mu       sync.Mutex // guards the fields below
	asked    int
	deadline time.Time
}

func (c *silentConn) WriteToUDPAddrPort(b []byte, _ netip.AddrPort) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return len(b), nil
}

func (c *silentConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *silentConn) ReadFromUDPAddrPort([]byte) (int, netip.AddrPort, error) {
	c.mu.Lock()
	wait := time.Until(c.deadline)
	c.mu.Unlock()
	time.Sleep(wait)
	return 0, netip.AddrPort{}, context.DeadlineExceeded // a timeout, as that of a socket
}

func TestAskRepeatsAndGivesUp(t *testing.T) {
	for p, questions := range map[Protocol]int{GS1: 3, GS3: 3, A2S: 3, SSQ: 3, Zandronum: 1} {
		synctest.Test(t, func(t *testing.T) {
			c := &silentConn{}
			began := time.Now()
			_, err := Ask(t.Context(), c, there, p)
			if !errors.Is(err, ErrNoAnswer) || c.asked != questions || time.Since(began) != QuestionTime {
				t.Errorf("Ask in %v: %v after %d questions and %v; want ErrNoAnswer, %d, %v", p, err, c.asked, time.Since(began), questions, QuestionTime)
			}
		})
	}
}

func TestProberOverSockets(t *testing.T) {
	g := probetest.Arena("guarded")
	target := probetest.Listen(t, g.Speaks("gs3")).Address()
	catalogue, err := games.NewCatalog([]games.Game{{Name: "guarded", Secrets: []string{"secret"}, BackendFlags: games.QueryChallenge}})
	if err != nil {
		t.Fatal(err)
	}
	reg := master.NewRegistry(master.Limits{})
	p := New(Options{Config: config(), Listing: part.Listing{Registry: reg, Games: catalogue}})
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Watch(Target{Address: target, Protocol: GS3, Origin: master.Static}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, conn) }()
	<-reg.Changed(0)
	srv, ok := reg.Find(target)
	if !ok {
		t.Fatal("not listed")
	}
	if name, _ := srv.Rules.Get("hostname"); name != g.Name {
		t.Errorf("hostname %q, want %q", name, g.Name)
	}
	if st, err := p.Status(t.Context(), target); err != nil || len(st.Players.Rows) != 2 {
		t.Errorf("Status: %d players, error %v; want 2", len(st.Players.Rows), err)
	}
	cancel()
	if err := errors.Join(<-ended, conn.Close()); err != nil {
		t.Error(err)
	}
}

// A page that is requested before Serve runs has its server queried.
func TestStatusBeforeServe(t *testing.T) {
	target := probetest.Listen(t, probetest.Arena("plain").Speaks("quake3")).Address()
	catalogue, err := games.NewCatalog([]games.Game{{Name: "plain", Secrets: []string{"secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	env := &service.Env{Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalogue}}
	env.UDPHost = "127.0.0.1"
	if err := env.Registry.Put(master.Server{Public: target, Key: master.Key{Source: target}, Game: "plain", Origin: &master.Origin{Query: "quake3"}, Seen: time.Now()}); err != nil {
		t.Fatal(err)
	}
	c := config()
	opened, err := c.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	prober := opened.Asker.(asker).Prober
	srv, _ := env.Registry.Find(target)
	w, _, err := prober.join(srv, target, time.Now())
	if err != nil {
		t.Fatalf("a question before Serve: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- opened.Serve(ctx) }()
	if <-w.done; w.err != nil {
		t.Errorf("its answer: %v", w.err)
	}
	cancel()
	if err := errors.Join(<-ended, opened.Close()); err != nil {
		t.Error(err)
	}
}

func TestNamedServersAreLookedUpAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		var mu sync.Mutex
		answers := map[string][]netip.Addr{"one.example": {b, a}, "dead.example": nil}
		set := func(host string, list ...netip.Addr) { mu.Lock(); defer mu.Unlock(); answers[host] = list }
		s := NewStatics(w.p, func(_ context.Context, host string) ([]netip.Addr, error) {
			mu.Lock()
			defer mu.Unlock()
			if list := answers[host]; list != nil {
				return append([]netip.Addr(nil), list...), nil
			}
			return nil, errors.New("no such host")
		}, nil, zerolog.Nop())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.Run(ctx); close(ended) }()
		want := func(what string, ports ...string) {
			t.Helper()
			synctest.Wait()
			got := make(map[string]bool)
			for _, target := range w.p.Watched(master.Static) {
				got[target.Protocol.String()+" "+target.Address.String()] = true
			}
			for _, p := range ports {
				if !got[p] {
					t.Errorf("%s: %s is not watched: %v", what, p, got)
				}
			}
			if len(got) != len(ports) {
				t.Errorf("%s: watched %v, want %v", what, got, ports)
			}
		}
		s.Set([]Named{{A2S, "192.0.2.9:27015", ""}, {GS1, "one.example:7778", ""}, {A2S, "dead.example:27015", ""}, {A2S, "192.0.2.9:80", ""}})
		want("at first", "a2s 192.0.2.9:27015", "gs1 192.0.2.1:7778")
		set("one.example", b, a)
		time.Sleep(LookupEvery)
		want("while it still has its address", "a2s 192.0.2.9:27015", "gs1 192.0.2.1:7778")
		set("one.example", b)
		set("dead.example", a)
		time.Sleep(LookupEvery)
		want("after it moved", "a2s 192.0.2.9:27015", "gs1 192.0.2.2:7778", "a2s 192.0.2.1:27015")
		set("one.example")
		time.Sleep(LookupEvery)
		want("while it cannot be looked up", "a2s 192.0.2.9:27015", "gs1 192.0.2.2:7778", "a2s 192.0.2.1:27015")
		s.Set([]Named{{GS3, "192.0.2.9:27015", ""}, {GS1, "late.example:7778", ""}})
		want("before a name can be looked up", "gs3 192.0.2.9:27015")
		set("late.example", a)
		time.Sleep(retryEvery)
		want("soon after", "gs3 192.0.2.9:27015", "gs1 192.0.2.1:7778")
		s.Set([]Named{{GS3, "192.0.2.9:27015", ""}})
		want("after others were named", "gs3 192.0.2.9:27015")
		s.Set(nil)
		want("without any")
		cancel()
		<-ended
	})
}

func TestForbiddenNamedServerIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var log bytes.Buffer
		s := NewStatics(w.p, func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }, nil, zerolog.New(&log))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.Run(ctx); close(ended) }()
		low := netip.MustParseAddrPort("192.0.2.9:80")
		named := []Named{{A2S, low.String(), ""}}
		s.Set(named)
		time.Sleep(2 * LookupEvery)
		s.Set(append(named, Named{A2S, "192.0.2.9:27015", ""}))
		time.Sleep(2 * LookupEvery)
		cancel()
		<-ended
		if n := strings.Count(log.String(), low.String()); n != 1 {
			t.Errorf("the log tells %d times of a server that is never asked, want once:\n%s", n, log.String())
		}
		if got := w.p.opt.Verdicts.Of(low.Addr()); len(got) != 1 || got[0].Addr != low || got[0].Verdict != verdicts.NeverAsked {
			t.Errorf("verdicts: %+v, want %v once", got, verdicts.NeverAsked)
		}
	})
}
