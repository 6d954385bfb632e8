package replica

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

const restoreFor = 90 * time.Second

// textDecoder reads reports of the form name=value;name=value.
type textDecoder struct{ registry *master.Registry }

func (d textDecoder) Decode(text []byte, _ master.Shape, into *master.Report) {
	var names, values []string
	for pair := range strings.SplitSeq(string(text), ";") {
		name, value, _ := strings.Cut(pair, "=")
		names, values = append(names, name), append(values, value)
	}
	into.Fill(d.registry, names, values, master.Grid{}, master.Grid{})
}

// testNode is a node with its list.
type testNode struct {
	*master.Registry
	replica *Replica
	source  *master.Source
	stop    context.CancelFunc
}

// testNet is a cluster of nodes.
type testNet struct {
	*clustertest.Net
	t      *testing.T
	limits master.Limits
	nodes  map[string]*testNode
}

func newNet(t *testing.T, limits master.Limits, names ...string) *testNet {
	n := &testNet{Net: clustertest.New(t, names...), t: t, limits: limits, nodes: make(map[string]*testNode)}
	n.SetSilence(4 * time.Second)
	for _, name := range names {
		n.run(name)
	}
	t.Cleanup(func() {
		for _, one := range n.nodes {
			one.stop()
		}
	})
	return n
}

// run starts the list of a node whose Bus runs.
func (n *testNet) run(name string) *testNode {
	registry := master.NewRegistry(n.limits)
	one := &testNode{Registry: registry, source: registry.NewSource(textDecoder{registry})}
	one.replica = New(Options{
		Bus: n.Bus(name), Registry: registry, Origins: origins, Sources: map[*master.Origin]*master.Source{qr2.Origin: one.source},
		RestoreFor: func() time.Duration { return restoreFor }, Log: zerolog.Nop(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	one.stop = cancel
	go one.replica.Run(ctx)
	go func() { _ = registry.Run(ctx, func(*master.Server) {}) }()
	n.nodes[name] = one
	return one
}

// kill ends a node as a crash does.
func (n *testNet) kill(name string) {
	n.nodes[name].stop()
	n.Kill(name)
}

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(6500+i>>8))
}

// host lists a server on a node.
func (n *testNet) host(node string, i int, report string) error {
	one := n.nodes[node]
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: address(i), Instance: 7}, Game: "gmtest", Public: address(i), Seen: time.Now()}
	one.source.Into(&s, one.source.Text([]byte(report)))
	return one.Put(s)
}

// list describes the list of a node: the last byte of each address, the node that it
// reports to, and its map.
func (n *testNode) list() string {
	var out []string
	for s := range n.List("gmtest") {
		name, _ := s.Field("map")
		out = append(out, fmt.Sprint(s.Public.Addr().As4()[3], s.Node, name))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (n *testNet) check(what string, want map[string]string) {
	n.t.Helper()
	for node, list := range want {
		if got := n.nodes[node].list(); got != list {
			n.t.Errorf("%s: list of %s is %q, want %q", what, node, got, list)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestListIsCompleteOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b", "c")
		time.Sleep(time.Second)
		must(t, n.host("a", 1, "map=one"))
		must(t, n.host("b", 2, "map=two"))
		time.Sleep(200 * time.Millisecond)
		n.check("two servers", map[string]string{"a": "1one 2btwo", "b": "1aone 2two", "c": "1aone 2btwo"})
		must(t, n.host("a", 1, "map=three"))
		n.nodes["b"].Remove(master.Key{Source: address(2), Instance: 7})
		time.Sleep(200 * time.Millisecond)
		n.check("a change and a removal", map[string]string{"a": "1three", "b": "1athree", "c": "1athree"})
		for node, own := range map[string]int{"a": 1, "b": 0, "c": 0} {
			if list, _ := n.nodes[node].Records(); len(list) != own {
				t.Errorf("%s saves %d servers, want its own, %d", node, len(list), own)
			}
		}
		if n.nodes["b"].Touch(master.Key{Source: address(1), Instance: 7}, qr2.Origin, time.Now()) {
			t.Error("b touched a server of a")
		}
	})
}

// Servers of all origins are the same on other nodes, those that join later too, when they
// come, change and leave.
func TestServersOfAllOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		time.Sleep(time.Second)
		put := func(name string) (keys []master.Key) {
			t.Helper()
			for i, o := range origins {
				s := sample(&decoder{registry: n.nodes["a"].Registry})
				s.Key.Source, s.Public, s.Origin, s.Restored, s.Seen = address(i), address(1000+i), o, false, time.Now()
				var r master.Report
				r.Fill(n.nodes["a"].Registry, []string{"hostname", "queryport"}, []string{name, "7778"}, master.Grid{}, master.Grid{})
				must(t, r.Into(&s))
				must(t, n.nodes["a"].Put(s))
				keys = append(keys, s.Key)
			}
			return keys
		}
		compare := func(node string, keys []master.Key) {
			t.Helper()
			for o, k := range keys {
				here, _ := n.nodes["a"].Get(k)
				there, ok := n.nodes[node].Find(here.Public)
				if !ok {
					t.Errorf("%s: %v is not on %s", origins[o], k, node)
					continue
				}
				want := *here
				want.Node = "a"
				if got := describe(there); got != describe(&want) || there.QueryProtocol() != here.QueryProtocol() || there.Joinable() != here.Joinable() {
					t.Errorf("%s on %s:\n%s, want\n%s", origins[o], node, got, describe(&want))
				}
			}
		}
		for _, name := range []string{"first", "second"} {
			keys := put(name)
			time.Sleep(200 * time.Millisecond)
			compare("b", keys)
		}
		n.Start("c")
		n.run("c")
		time.Sleep(time.Second)
		keys := put("third")
		time.Sleep(200 * time.Millisecond)
		compare("b", keys)
		compare("c", keys)
		for o, k := range keys {
			n.nodes["a"].Remove(k)
			time.Sleep(200 * time.Millisecond)
			if n.nodes["c"].Len() != len(keys)-1-o {
				t.Errorf("%s: left, and %d servers are on c", origins[o], n.nodes["c"].Len())
			}
		}
	})
}

func TestNodeThatJoinsGetsTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		for i := range 200 {
			must(t, n.host("a", i, "map=x"+strings.Repeat("y", 2000)))
		}
		n.Start("c")
		c := n.run("c")
		time.Sleep(time.Second)
		if got := c.Len(); got != 200 {
			t.Errorf("the new node lists %d servers, want 200", got)
		}
		if s := c.replica.States()["a"]; s.Servers != 200 || !s.Complete {
			t.Errorf("state of a's list on c: %+v", s)
		}
	})
}

// Servers of a node that died stay for a time, also after it started again without
// them; those that report to another node stay for good. Followers see none of it.
func TestDeadNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{Expire: time.Hour}, "a", "b", "c")
		time.Sleep(time.Second)
		must(t, n.host("a", 1, "map=one"))
		must(t, n.host("a", 2, "map=two"))
		must(t, n.host("a", 3, "map=three"))
		time.Sleep(time.Second)
		before := n.nodes["c"].LastSerial()
		n.kill("a")
		time.Sleep(10 * time.Second)
		n.check("a is dead", map[string]string{"c": "1aone 2atwo 3athree"})
		must(t, n.host("b", 1, "map=one"))
		time.Sleep(time.Second)
		n.Start("a")
		n.run("a")
		must(t, n.host("a", 2, "map=two"))
		time.Sleep(10 * time.Second)
		n.check("a is back", map[string]string{"b": "1one 2atwo 3athree", "c": "1bone 2atwo 3athree"})
		changes, _, _ := n.nodes["c"].Changes("", before, nil)
		for _, c := range changes {
			if c.Kind != master.Changed {
				t.Errorf("c saw %v of %v", c.Kind, c.Public)
			}
		}
		time.Sleep(restoreFor)
		n.check("after the time", map[string]string{"a": "1bone 2two", "b": "1one 2atwo", "c": "1bone 2atwo"})
	})
}

func TestCutAndHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{Expire: time.Hour}, "a", "b", "c")
		time.Sleep(time.Second)
		must(t, n.host("a", 1, "map=one"))
		must(t, n.host("a", 2, "map=two"))
		time.Sleep(time.Second)
		n.Isolate("a")
		time.Sleep(10 * time.Second)
		must(t, n.host("b", 1, "map=moved")) // reports to b now
		n.nodes["a"].Remove(master.Key{Source: address(2), Instance: 7})
		must(t, n.host("a", 3, "map=three"))
		time.Sleep(50 * time.Second)
		n.Heal()
		time.Sleep(2 * time.Second)
		n.check("healed", map[string]string{"a": "1bmoved 3three", "b": "1moved 3athree", "c": "1bmoved 3athree"})
	})
}

func TestServerThatMovesDoesNotFlicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b", "c")
		time.Sleep(time.Second)
		must(t, n.host("a", 1, "map=one"))
		time.Sleep(time.Second)
		before := make(map[string]uint64)
		for name, one := range n.nodes {
			before[name] = one.LastSerial()
		}
		must(t, n.host("b", 1, "map=two"))
		time.Sleep(time.Second)
		n.check("moved", map[string]string{"a": "1btwo", "b": "1two", "c": "1btwo"})
		s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: netip.AddrPortFrom(address(1).Addr(), 9999)}, Game: "gmtest", Public: address(1), Seen: time.Now()}
		n.nodes["c"].source.Into(&s, n.nodes["c"].source.Text([]byte("map=three")))
		must(t, n.nodes["c"].Put(s)) // from another port, under the same public address
		time.Sleep(time.Second)
		n.check("moved again", map[string]string{"a": "1cthree", "b": "1cthree", "c": "1three"})
		must(t, n.host("a", 1, "map=four"))
		time.Sleep(time.Second)
		n.check("and back", map[string]string{"a": "1four", "b": "1afour", "c": "1afour"})
		for name, one := range n.nodes {
			changes, _, _ := one.Changes("", before[name], nil)
			for _, c := range changes {
				if c.Kind != master.Changed {
					t.Errorf("%s saw %v of %v", name, c.Kind, c.Public)
				}
			}
			if one.Len() != 1 {
				t.Errorf("%s lists %d servers, want 1", name, one.Len())
			}
		}
	})
}

// Two nodes list servers of one address at the same time: the same ones stay on all.
func TestLimitsHoldForAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{PerAddr: 4}, "a", "b", "c")
		n.SetDelay(time.Millisecond) // so that neither hears of the servers of the other while both put theirs
		time.Sleep(time.Second)
		put := func(node string, port uint16) error {
			at := netip.AddrPortFrom(address(1).Addr(), port)
			return n.nodes[node].Put(master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Game: "gmtest", Public: at, Seen: time.Now()})
		}
		for port := range uint16(3) {
			must(t, put("a", 1000+port))
			must(t, put("b", 2000+port))
		}
		time.Sleep(time.Second)
		for name, one := range n.nodes {
			if got := one.Len(); got != 4 {
				t.Errorf("%s lists %d servers of the address, want 4", name, got)
			}
		}
		if err := put("c", 3000); err == nil {
			t.Error("a third node listed a fifth server")
		}
	})
}

// A batch that is lost leads to the complete list.
func TestLostBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		time.Sleep(2 * time.Second)
		n.Lose(func(from, to, _ string) bool { return from == "a" && to == "b" })
		must(t, n.host("a", 1, "map=one"))
		time.Sleep(500 * time.Millisecond)
		n.Lose(nil)
		time.Sleep(3 * time.Second)
		n.check("after a loss", map[string]string{"b": "1aone"})
	})
}

// What happens while a node reads the complete list is neither lost nor undone by a part that was
// made before.
func TestChangesWhileTheListIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		n.SetDelay(15 * time.Millisecond)
		for i := range 250 {
			must(t, n.host("a", i, "map=x"+strings.Repeat("y", 4000)))
		}
		n.Start("c")
		c := n.run("c")
		for i := range 250 { // every server once, in the time of some parts
			if i%2 == 0 {
				must(t, n.host("a", i, "map=new"))
			} else {
				n.nodes["a"].Remove(master.Key{Source: address(i), Instance: 7})
			}
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		if s := c.replica.States()["a"]; s.Servers != 125 || !s.Complete {
			t.Errorf("state of a's list on c: %+v, want 125 servers", s)
		}
		for s := range c.List("gmtest") {
			if name, _ := s.Field("map"); name != "new" {
				t.Errorf("server %v is older than its last change", s.Public)
			}
		}
	})
}

// A server that only a part of the complete list named, because it left before the next batch, leaves
// the other nodes too.
func TestServerThatOnlyAPartNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a")
		time.Sleep(time.Second)
		n.Start("c")
		time.Sleep(time.Second)
		must(t, n.host("a", 1, "map=one"))
		c := n.run("c")
		synctest.Wait() // the list is read, and the batch not sent yet
		if c.Len() != 1 {
			t.Fatalf("c lists %d servers, want the one of the part", c.Len())
		}
		n.nodes["a"].Remove(master.Key{Source: address(1), Instance: 7})
		time.Sleep(time.Second)
		if c.Len() != 0 {
			t.Error("c lists a server that left")
		}
	})
}

// Await ends when every live node's list is here, or with the names of those that are missing.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		time.Sleep(time.Second)
		must(t, n.host("a", 1, "map=one"))
		synctest.Wait() // a shows it to others
		n.Start("c")
		c := n.run("c")
		if missing := c.replica.Await(t.Context()); missing != nil || c.Len() != 1 {
			t.Errorf("Await() = %v with %d servers, want none missing and 1 server", missing, c.Len())
		}
		n.Start("d") // lives, and has no list
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if missing := c.replica.Await(ctx); !slices.Equal(missing, []string{"d"}) || ctx.Err() == nil {
			t.Errorf("Await() = %v, want d after the time", missing)
		}
		n.Kill("d")
		if missing := c.replica.Await(t.Context()); missing != nil {
			t.Errorf("Await() = %v after the node left, want none", missing)
		}
	})
}

func TestHiddenAndBanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		n.nodes["b"].replica.opt.Banned = func(_ *master.Origin, a netip.Addr) bool { return a == address(2).Addr() }
		time.Sleep(time.Second)
		for i := 1; i <= 3; i++ {
			must(t, n.host("a", i, "map=x"))
		}
		n.nodes["b"].Hide(address(1))
		time.Sleep(time.Second)
		n.check("hidden and banned on b", map[string]string{"a": "1x 2x 3x", "b": "3ax"})
		n.nodes["a"].Hide(address(3))
		n.nodes["b"].Unhide(address(1))
		time.Sleep(time.Second)
		n.check("hidden on a", map[string]string{"a": "1x 2x", "b": "1ax"})
		n.nodes["a"].Unhide(address(3))
		time.Sleep(time.Second)
		n.check("shown again", map[string]string{"a": "1x 2x 3x", "b": "1ax 3ax"})
	})
}

// A loopback address means another machine on each node.
func TestServersOnLoopback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, master.Limits{}, "a", "b")
		outside := netip.MustParseAddr("203.0.113.5")
		n.nodes["a"].replica.opt.Shown = func(a netip.AddrPort) netip.AddrPort {
			if a.Port() == 6500 {
				return netip.AddrPortFrom(outside, a.Port())
			}
			return a
		}
		time.Sleep(time.Second)
		for _, port := range []uint16{6500, 6501} {
			at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
			must(t, n.nodes["a"].Put(master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Game: "gmtest", Public: at, Seen: time.Now()}))
		}
		time.Sleep(time.Second)
		if _, ok := n.nodes["b"].Find(netip.AddrPortFrom(outside, 6500)); !ok || n.nodes["b"].Len() != 1 {
			t.Errorf("b lists %d servers, want the one with an address for others", n.nodes["b"].Len())
		}
	})
}
