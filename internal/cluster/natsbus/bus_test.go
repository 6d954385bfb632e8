package natsbus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
)

// hang ends a wait for something that never comes.
const hang = time.Minute

// silence is how long a node may send nothing before it counts as gone: long for one that a
// busy machine delays, and well below hang, because a node does not wait long for its goodbye
// to arrive.
const silence = hang / 3

// open opens a node on loopback that knows the addresses of some others.
func open(t testing.TB, node string, peers ...string) *Bus {
	t.Helper()
	b, err := tryOpen(t, node, peers...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tryOpen(t testing.TB, node string, peers ...string) (*Bus, error) {
	t.Helper()
	b, err := Open(t.Context(), Options{Name: "test", Node: node, Listen: "127.0.0.1:0", Peers: peers, Version: "v-" + node, Log: zerolog.Nop(), Silence: silence})
	if err == nil {
		b.Announce()
		t.Cleanup(func() { _ = b.Close() })
	}
	return b, err
}

// sees waits until a node sees some nodes.
func sees(t testing.TB, b *Bus, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	for {
		changed := b.Changed()
		if slices.Equal(b.Nodes(), want) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s sees %q, want %q", b.Self(), b.Nodes(), want)
		}
	}
}

// next returns the next message.
func next(t testing.TB, c <-chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(hang):
		t.Fatal("nothing came")
		return ""
	}
}

func into(b *Bus, subject string) <-chan string {
	c := make(chan string, 1000)
	b.Subscribe(subject, func(from string, data []byte) { c <- from + ":" + string(data) })
	return c
}

// Nodes of different schemas are a warning while both are live.
func TestSchemas(t *testing.T) {
	t.Parallel()
	var nodes []*Bus
	for i, name := range []string{"a", "b"} {
		o := Options{Name: "test", Node: name, Listen: "127.0.0.1:0", Schema: 30 + i, Log: zerolog.Nop(), Silence: silence}
		if i > 0 {
			o.Peers = []string{nodes[0].Addr()}
		}
		b, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		b.Announce()
		nodes = append(nodes, b)
	}
	a, b := nodes[0], nodes[1]
	sees(t, a, "a", "b")
	sees(t, b, "a", "b")
	for _, one := range nodes {
		if err := one.Trouble(); err == nil || !strings.Contains(err.Error(), "(a 30, b 31)") {
			t.Errorf("Trouble() of %s = %v, want both schemas", one.Self(), err)
		}
	}
	if p := a.Peers()[1]; p.Schema != 31 {
		t.Errorf("a sees schema %d of b, want 31", p.Schema)
	}
	_ = b.Close()
	sees(t, a, "a")
	if err := a.Trouble(); err == nil || strings.Contains(err.Error(), "schema") {
		t.Errorf("Trouble() after b left = %v, want no word of schemas", err)
	}
}

func TestClockOffset(t *testing.T) {
	began := time.Now()
	for name, tt := range map[string]struct{ took, ahead, want time.Duration }{
		"same clock":    {0, 0, 0},
		"ahead":         {0, time.Hour, time.Hour},
		"behind":        {0, -30 * time.Second, -30 * time.Second},
		"half the trip": {100 * time.Millisecond, 50 * time.Millisecond, 0},
	} {
		theirs := began.Round(0).Add(tt.ahead)
		if got := clockOffset(began, tt.took, theirs); got != tt.want {
			t.Errorf("%s: clockOffset() = %v, want %v", name, got, tt.want)
		}
	}
}

func TestThreeNodes(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	b := open(t, "b", a.Addr())
	c := open(t, "c", a.Addr()) // learns the address of b
	for _, one := range []*Bus{a, b, c} {
		sees(t, one, "a", "b", "c")
	}
	atB, atC := into(b, "x"), into(c, "x")
	for i := range 100 {
		if err := a.Publish("x", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		if err := a.Send("c", "x", fmt.Append(nil, "to c ", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if got, want := next(t, atB), fmt.Sprint("a:", i); got != want {
			t.Fatalf("b received %q, want %q", got, want)
		}
		for _, want := range []string{fmt.Sprint("a:", i), fmt.Sprint("a:to c ", i)} {
			if got := next(t, atC); got != want {
				t.Fatalf("c received %q, want %q", got, want)
			}
		}
	}
	if a.Owner("k") != b.Owner("k") {
		t.Error("a and b disagree on the owner of a key")
	}
	if p := b.Peers(); len(p) != 3 || p[0].Version != "v-a" || !p[1].Self {
		t.Errorf("peers of b: %+v", p)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	sees(t, a, "a", "b")
	if err := a.Trouble(); err == nil || !strings.Contains(err.Error(), "gone: c") {
		t.Errorf("trouble without c: %v", err)
	}
	open(t, "c", a.Addr())
	sees(t, a, "a", "b", "c")
	if err := a.Trouble(); err != nil {
		t.Errorf("trouble with all nodes: %v", err)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	b := open(t, "b", a.Addr())
	sees(t, a, "a", "b")
	sees(t, b, "a", "b")
	b.Handle("echo", func(_ context.Context, from string, data []byte) ([]byte, error) {
		if len(data) == 0 {
			return nil, errors.New("nothing to say")
		}
		return append([]byte(from+" "), data...), nil
	})
	stuck := make(chan struct{}, 1)
	b.Handle("stuck", func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		stuck <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	// A node may be seen before requests are routed to it.
	for end := time.Now().Add(hang); time.Now().Before(end) && clock.Pause(t.Context(), time.Millisecond); {
		if _, err := a.Request(t.Context(), "b", "echo", []byte("hi")); !errors.Is(err, cluster.ErrGone) {
			break
		}
	}
	if got, err := a.Request(t.Context(), "b", "echo", []byte("hi")); string(got) != "a hi" || err != nil {
		t.Errorf("Request = %q, %v", got, err)
	}
	if got, err := b.Request(t.Context(), "b", "echo", []byte("hi")); string(got) != "b hi" || err != nil {
		t.Errorf("Request to itself = %q, %v", got, err)
	}
	var remote *cluster.RemoteError
	if _, err := a.Request(t.Context(), "b", "echo", nil); !errors.As(err, &remote) || remote.Text != "nothing to say" {
		t.Errorf("error of the handler: %v", err)
	}
	for what, tc := range map[string]struct {
		node, subject string
		data          []byte
		want          error
	}{
		"no handler": {"b", "other", nil, cluster.ErrNoHandler},
		"no node":    {"x", "echo", nil, cluster.ErrGone},
		"too large":  {"b", "echo", make([]byte, cluster.MaxPayload+1), cluster.ErrTooLarge},
	} {
		if _, err := a.Request(t.Context(), tc.node, tc.subject, tc.data); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", what, err, tc.want)
		}
	}
	if got, err := a.Request(t.Context(), "b", "echo", make([]byte, cluster.MaxPayload-2)); err != nil || len(got) != cluster.MaxPayload {
		t.Errorf("largest request: %d bytes, %v", len(got), err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := a.Request(t.Context(), "b", "stuck", nil)
		result <- err
	}()
	select {
	case <-stuck:
	case err := <-result:
		t.Fatalf("a request that is not answered: %v", err)
	}
	_ = b.Close()
	if err := <-result; err == nil {
		t.Error("a request to a node that left was answered")
	}
}

func TestNameIsTaken(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	_, err := tryOpen(t, "a", a.Addr())
	if err == nil || !strings.Contains(err.Error(), "cluster.node") {
		t.Fatalf("a second node of one name: %v, want an error that names the key", err)
	}
	sees(t, a, "a")
	if err := a.Trouble(); err != nil {
		t.Errorf("trouble of the first: %v", err)
	}
}

func TestAddressIsTaken(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	_, err := Open(t.Context(), Options{Name: "test", Node: "b", Listen: a.Addr(), Log: zerolog.Nop(), Silence: silence})
	if err == nil || !strings.Contains(err.Error(), "cluster.listen") {
		t.Errorf("an address that is in use: %v, want an error that names the key", err)
	}
}

// A subscriber that is too slow loses messages, and is asked to read the state again.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	b := open(t, "b", a.Addr())
	sees(t, a, "a", "b")
	sees(t, b, "a", "b")
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	var once sync.Once
	b.Subscribe("x", func(string, []byte) { once.Do(func() { close(entered); <-release }) })
	lost := make(chan string, 1)
	b.OnLoss(func(from string) {
		select {
		case lost <- from:
		default:
		}
	})
	send := func() {
		if err := b.Send("b", "x", []byte("m")); err != nil {
			t.Fatal(err)
		}
	}
	send()
	<-entered
	for range inMessages { // they wait
		send()
	}
	if err := a.Publish("x", []byte("m")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, lost); got != "a" {
		t.Errorf("loss of messages of %q, want none but of a", got)
	}
}

// A loss at the end of a stream is noticed by the next heartbeat.
func TestLossAtTheEnd(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	b := open(t, "b", a.Addr())
	sees(t, a, "a", "b")
	sees(t, b, "a", "b")
	lost := make(chan string, 10)
	b.OnLoss(func(from string) { lost <- from })
	a.out.mu.Lock()
	a.out.to["b"]++ // as if it had been dropped
	a.out.mu.Unlock()
	if got := next(t, lost); got != "a" {
		t.Errorf("loss of messages of %q", got)
	}
}

// natsServer starts a NATS server and returns its address.
func natsServer(t *testing.T, secure *tls.Config) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, TLS: secure != nil, TLSConfig: secure})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(hang) {
		t.Fatal("no server")
	}
	return s.ClientURL()
}

// A node that is too busy for heartbeats keeps its name.
func TestNameOfABusyNode(t *testing.T) {
	t.Parallel()
	url := natsServer(t, nil)
	busy, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(busy.Close)
	if _, err := busy.Subscribe("respawnd.test.ask.b.>", func(m *nats.Msg) { _ = m.Respond(answered.encode(nil)) }); err != nil {
		t.Fatal(err)
	}
	if err := busy.Flush(); err != nil {
		t.Fatal(err)
	}
	for node, taken := range map[string]bool{"a": false, "b": true} {
		b, err := Open(t.Context(), Options{Name: "test", Node: node, URL: url, Log: zerolog.Nop(), Silence: silence})
		if (err != nil) != taken {
			t.Errorf("Open(%s): %v, want an error: %t", node, err, taken)
		}
		if err == nil {
			_ = b.Close()
		}
	}
}

func TestExternalServer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, c := range map[string]struct{ server, node, stranger *tls.Config }{
		"plain":             {},
		"with certificates": {ca.node("nats"), ca.node("one"), newAuthority(t).node("other")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := natsServer(t, c.server)
			open := func(node string, secure *tls.Config) (*Bus, error) {
				return Open(t.Context(), Options{Name: "test", Node: node, URL: url, TLS: secure, Log: zerolog.Nop(), Silence: silence})
			}
			var nodes []*Bus
			for _, name := range []string{"a", "b"} {
				b, err := open(name, c.node)
				if err != nil {
					t.Fatal(err)
				}
				b.Announce()
				t.Cleanup(func() { _ = b.Close() })
				nodes = append(nodes, b)
			}
			sees(t, nodes[0], "a", "b")
			sees(t, nodes[1], "a", "b")
			at := into(nodes[1], "x")
			_ = nodes[0].Publish("x", []byte("hi"))
			if got := next(t, at); got != "a:hi" {
				t.Errorf("received %q", got)
			}
			if _, err := open("b", c.node); err == nil {
				t.Error("a second node b opened")
			}
			if c.stranger != nil {
				if _, err := open("c", c.stranger); err == nil {
					t.Error("a node with a certificate of another authority opened")
				}
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	one := open(b, "a")
	two := open(b, "b", one.Addr())
	sees(b, one, "a", "b")
	sees(b, two, "a", "b")
	two.Handle("echo", func(_ context.Context, _ string, data []byte) ([]byte, error) { return data, nil })
	for b.Loop() {
		if _, err := one.Request(b.Context(), "b", "echo", []byte("hi")); err != nil {
			b.Fatal(err)
		}
	}
}
