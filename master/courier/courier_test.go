package courier

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

var source = netip.MustParseAddrPort("203.0.113.7:6500")

func key() master.Key { return master.Key{Source: source, Instance: 77} }

// host is a node with a list, and records the calls for its servers.
type host struct {
	*Courier
	list *master.Registry

	mu  sync.Mutex
	err error
	got []string // messages
	met []netip.AddrPort
}

func (h *host) SendToServer(_ master.Key, payload []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.got = append(h.got, string(payload))
	}
	return h.err
}

func (h *host) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *host) messages() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.got, " ")
}

// world is a cluster of three nodes.
type world struct {
	t     *testing.T
	net   *clustertest.Net
	nodes map[string]*host
	ctx   context.Context
}

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := &world{t, clustertest.New(t, "a", "b", "c"), make(map[string]*host), ctx}
		w.net.SetDelay(time.Millisecond)
		w.net.SetSilence(2 * time.Second)
		for _, name := range []string{"a", "b", "c"} {
			w.start(name)
		}
		synctest.Wait()
		f(t, w)
		stop()
		synctest.Wait()
	})
}

func (w *world) start(name string) {
	h := &host{list: master.NewRegistry(master.Limits{})}
	h.Courier = New(Options{
		Bus: w.net.Bus(name), List: h.list, Messenger: h, Registerer: prometheus.NewRegistry(),
		Met: func(a netip.AddrPort) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.met = append(h.met, a)
		},
		Relayed: func(a netip.AddrPort) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.met = append(h.met, netip.AddrPortFrom(a.Addr(), a.Port()+1))
		},
		Ask: func(_ context.Context, a netip.AddrPort) (query.Status, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return query.Status{Rules: []query.Field{{Name: "asked_by", Value: name}, {Name: "at", Value: a.String()}}}, h.err
		},
		Remove: func(a netip.AddrPort) int {
			return len(h.list.RemoveFunc(func(s *master.Server) bool { return s.Public == a && s.Node == "" }))
		},
	})
	w.nodes[name] = h
	go h.Run(w.ctx)
}

// noted returns the addresses at which players met a server of the node.
func (h *host) noted() []netip.AddrPort {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.met)
}

// report lists the server everywhere as one of a node.
func (w *world) report(owner string) {
	w.t.Helper()
	for name, h := range w.nodes {
		s := master.Server{Origin: qr2.Origin, Key: key(), Game: "gmtest", Public: source, Node: owner, Seen: time.Now()}
		if name == owner {
			s.Node = ""
		}
		h.list.Remove(s.Key)
		if err := h.list.Put(s); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) result(node, result string) float64 {
	return testutil.ToFloat64(w.nodes[node].results.WithLabelValues(result))
}

func TestMessageGoesThroughTheNodeOfTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.report("b")
		for _, from := range []string{"a", "b", "c"} {
			began := time.Now()
			if err := w.nodes[from].Courier.SendToServer(key(), []byte("from-"+from)); err != nil {
				t.Errorf("from %s: %v", from, err)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("from %s: the caller waited %v", from, took)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got, want := w.nodes["b"].messages(), "from-a from-b from-c"; got != want {
			t.Errorf("node b sent %q, want %q", got, want)
		}
		if w.nodes["a"].messages()+w.nodes["c"].messages() != "" {
			t.Error("another node sent something, too")
		}
		if w.result("a", resultDelivered) != 1 || w.result("b", resultDelivered) != 0 {
			t.Error("want one delivered message counted on a, and none on b, whose server it is")
		}
	})
}

func TestErrorsOfMessages(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.nodes["a"], w.nodes["b"]
		if err := a.Courier.SendToServer(key(), []byte("trial")); err != nil || a.messages() != "trial" {
			t.Errorf("to a server that is not listed: %v, and this node sent %q", err, a.messages())
		}
		a.fail(master.ErrNotListed)
		if err := a.Courier.SendToServer(key(), nil); !errors.Is(err, master.ErrNotListed) {
			t.Errorf("to no server: %v, want ErrNotListed", err)
		}
		a.fail(nil)
		w.report("b")
		if err := a.Courier.SendToServer(key(), make([]byte, MaxMessage+1)); err == nil {
			t.Error("too long: no error")
		}
		b.fail(master.ErrBusy)
		if err := b.Courier.SendToServer(key(), nil); !errors.Is(err, master.ErrBusy) {
			t.Errorf("to a busy server of this node: %v, want ErrBusy", err)
		}
		_ = a.Courier.SendToServer(key(), nil)
		time.Sleep(time.Second)
		b.fail(errors.New("not running"))
		_ = a.Courier.SendToServer(key(), nil)
		time.Sleep(time.Second)
		b.fail(master.ErrNotListed)
		_ = a.Courier.SendToServer(key(), nil)
		time.Sleep(deliverTime + time.Second)
		for result, want := range map[string]float64{resultBusy: 1, resultRefused: 1, resultNotListed: 1} {
			if got := w.result("a", result); got != want {
				t.Errorf("%v messages counted as %s, want %v", got, result, want)
			}
		}
	})
}

func TestMessagesUnderWayAreBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.report("b")
		w.net.Cut("a", "b") // answers do not come
		for i := range maxPerServer {
			if err := w.nodes["a"].Courier.SendToServer(key(), nil); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if err := w.nodes["a"].Courier.SendToServer(key(), nil); !errors.Is(err, master.ErrBusy) {
			t.Errorf("one too many to a server: %v, want ErrBusy", err)
		}
		w.nodes["a"].underWay.Store(maxUnderWay)
		other := key()
		other.Source = netip.MustParseAddrPort("203.0.113.8:6500")
		if err := w.nodes["a"].list.Put(master.Server{Origin: qr2.Origin, Key: other, Public: other.Source, Game: "gmtest", Node: "b", Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := w.nodes["a"].Courier.SendToServer(other, nil); !errors.Is(err, master.ErrBusy) {
			t.Errorf("one too many in all: %v, want ErrBusy", err)
		}
		w.nodes["a"].underWay.Store(maxPerServer)
		time.Sleep(2 * deliverTime)
		if got := w.nodes["a"].underWay.Load(); got != 0 {
			t.Errorf("%d messages are under way at the end", got)
		}
	})
}

func TestMessageFollowsAServerThatMoves(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.report("b")
		w.net.Kill("b")
		if err := w.nodes["a"].Courier.SendToServer(key(), []byte("cookie")); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2500*time.Millisecond, func() { w.report("c") })
		time.Sleep(deliverTime)
		if got := w.nodes["c"].messages(); got != "cookie" {
			t.Errorf("node c sent %q, want the message", got)
		}
	})
}

// A node that cannot be reached may have delivered the message.
func TestMessageIsNotSentTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.SetSilence(time.Hour)
		w.report("b")
		w.net.Cut("a", "b")
		if err := w.nodes["a"].Courier.SendToServer(key(), []byte("cookie")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(attemptTime + time.Millisecond)
		w.net.Heal()
		time.Sleep(2 * deliverTime)
		if got := w.nodes["b"].messages(); got != "" || w.result("a", resultLost) != 1 {
			t.Errorf("after the cut %q was sent and %v counted as lost, want 1 lost", got, w.result("a", resultLost))
		}
	})
}

func TestMetReachesTheNodeOfTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.report("b")
		w.nodes["a"].Met(source)
		w.nodes["b"].Met(source)
		w.nodes["c"].Met(netip.MustParseAddrPort("203.0.113.99:1")) // no server
		time.Sleep(time.Second)
		for name, want := range map[string][]netip.AddrPort{"a": nil, "b": {source, source}, "c": nil} {
			if got := w.nodes[name].noted(); !slices.Equal(got, want) {
				t.Errorf("node %s noted %v, want %v", name, got, want)
			}
		}
	})
}

func TestRelayedReachesTheNodeOfTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.report("b")
		w.nodes["a"].Relayed(source)
		w.nodes["b"].Relayed(source)
		w.nodes["c"].Relayed(netip.MustParseAddrPort("203.0.113.99:1")) // no server
		time.Sleep(time.Second)
		other := netip.AddrPortFrom(source.Addr(), source.Port()+1)
		for name, want := range map[string][]netip.AddrPort{"a": nil, "b": {other, other}, "c": nil} {
			if got := w.nodes[name].noted(); !slices.Equal(got, want) {
				t.Errorf("node %s noted %v, want %v", name, got, want)
			}
		}
	})
}

func TestStatusComesThroughTheNodeOfTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.nodes["a"].Status(t.Context(), source); !errors.Is(err, master.ErrNotListed) {
			t.Errorf("of no server: %v", err)
		}
		w.report("b")
		for _, from := range []string{"a", "b"} {
			st, err := w.nodes[from].Status(t.Context(), source)
			by, _ := st.Get("asked_by")
			at, _ := st.Get("at")
			if err != nil || by != "b" || at != source.String() {
				t.Errorf("from %s: asked by %q at %q, %v; want by b", from, by, at, err)
			}
		}
		w.nodes["b"].fail(errors.New("too many questions"))
		if _, err := w.nodes["a"].Status(t.Context(), source); err == nil || !strings.Contains(err.Error(), "node b: too many questions") {
			t.Errorf("error of the node: %v", err)
		}
	})
}

func TestRemoveReachesAllNodes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.report("b")
		if n, err := w.nodes["a"].Remove(t.Context(), source); n != 1 || err != nil {
			t.Errorf("Remove = %d, %v; want 1", n, err)
		}
		if _, listed := w.nodes["b"].list.At(source); listed {
			t.Error("the server is still in the list of its node")
		}
		w.report("b")
		w.net.SetSilence(time.Hour)
		w.net.Cut("a", "c")
		n, err := w.nodes["a"].Remove(t.Context(), source)
		if n != 1 || err == nil || !strings.Contains(err.Error(), "node c") {
			t.Errorf("with c cut off: Remove = %d, %v; want 1 and an error that names c", n, err)
		}
	})
}
