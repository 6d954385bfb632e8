package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/zanmaster"
)

// probers are the probers of a cluster. Lists are copied as replication does it.
type probers struct {
	t     *testing.T
	net   *clustertest.Net
	nodes map[string]*prober
	ctx   context.Context
}

type prober struct {
	*world
	statics *Statics
	stop    context.CancelFunc
}

func inCluster(t *testing.T, test func(c *probers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := &probers{t, clustertest.New(t), make(map[string]*prober), ctx}
		test(c)
		stop()
		synctest.Wait()
	})
}

// start starts a node that knows servers.
func (c *probers) start(name string, named []Named, servers ...netip.AddrPort) {
	w := newWorld(c.t, nil)
	for _, at := range servers {
		w.says(at, tells(func(q wire.Query) [][]byte { return [][]byte{infoMessage(everything(q.Time))} }))
	}
	ctx, stop := context.WithCancel(c.ctx)
	noNames := func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }
	p := &prober{w, NewStatics(w.p, noNames, shareOf(c.net.Start(name)), zerolog.Nop()), stop}
	c.nodes[name] = p
	go p.statics.Run(ctx)
	p.statics.Set(named)
}

// kill ends a node. Its servers stay in the lists of the others.
func (c *probers) kill(name string) {
	c.net.Kill(name)
	c.nodes[name].stop()
	delete(c.nodes, name)
}

// pass lets time pass, in which lists are copied.
func (c *probers) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(tickEvery)
		for _, p := range c.nodes {
			p.p.tick(time.Now())
			p.deliver()
		}
		c.replicate()
		synctest.Wait()
	}
}

// replicate copies each node's list to the others, including removals.
func (c *probers) replicate() {
	for name, p := range c.nodes {
		for _, h := range p.reg.All() {
			if h.Node != "" {
				if owner := c.nodes[h.Node]; owner != nil {
					if _, still := owner.reg.Get(h.Key); !still {
						p.reg.Remove(h.Key)
					}
				}
				continue
			}
			for other, q := range c.nodes {
				old, known := q.reg.Get(h.Key)
				if other == name || known && (old.Node == name || old.Node == "" && old.Seen.After(h.Seen)) {
					continue
				}
				s := *h.Server
				s.Node = name
				if err := q.reg.Put(s); err != nil {
					c.t.Fatal(err)
				}
			}
		}
	}
}

// askedBy returns how many nodes asked each server since the last call.
func (c *probers) askedBy(servers []netip.AddrPort) (by []int) {
	for _, at := range servers {
		n := 0
		for _, p := range c.nodes {
			if p.count(at) > 0 {
				n++
			}
		}
		by = append(by, n)
	}
	return by
}

func (c *probers) expectListed(what string, servers []netip.AddrPort) {
	c.t.Helper()
	for name, p := range c.nodes {
		for _, at := range servers {
			if _, ok := p.listed(at); !ok {
				c.t.Errorf("%s: %v is not in the list of %s", what, at, name)
			}
		}
	}
}

func manyServers(n int) (at []netip.AddrPort, named []Named) {
	for i := range n {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), 10666)
		at, named = append(at, a), append(named, Named{Zandronum, a.String(), ""})
	}
	return at, named
}

func expectEach(t *testing.T, what string, by []int, want int) {
	t.Helper()
	for i, n := range by {
		if n != want {
			t.Errorf("%s: server %d was asked by %d nodes, want %d", what, i, n, want)
		}
	}
}

func TestNamedServersAreSharedOut(t *testing.T) {
	inCluster(t, func(c *probers) {
		at, named := manyServers(12)
		for _, name := range []string{"a", "b", "c"} {
			c.start(name, named, at...)
		}
		c.pass(30 * time.Second)
		c.expectListed("at first", at)
		c.pass(5 * time.Minute) // those that two asked at first are left to one
		c.askedBy(at)
		c.pass(5 * time.Minute)
		expectEach(t, "later", c.askedBy(at), 1)
		for name, p := range c.nodes {
			for _, st := range p.statics.States() {
				if !st.Answers || st.Why != "" {
					t.Errorf("state of %s on %s: %+v, want that it answers", st.Address, name, st)
				}
			}
			if own := len(p.p.Watched(master.Static)); own == 0 || own == len(at) {
				t.Errorf("%s asks %d of %d servers", name, own, len(at))
			}
		}
	})
}

func TestNamedServersAcrossNodes(t *testing.T) {
	inCluster(t, func(c *probers) {
		at, named := manyServers(12)
		c.start("a", named, at...)
		c.pass(30 * time.Second)
		step := func(what string) {
			t.Helper()
			for range 40 {
				c.pass(3 * time.Second)
				c.expectListed(what, at)
			}
			c.askedBy(at)
			c.pass(3 * time.Minute)
			expectEach(t, what, c.askedBy(at), 1)
		}
		step("alone")
		c.start("b", named, at...)
		c.replicate()
		step("with b")
		c.kill("b")
		step("without b")
	})
}

// The configurations of nodes may differ.
func TestNamedServerThatItsNodeDoesNotKnow(t *testing.T) {
	inCluster(t, func(c *probers) {
		at, named := manyServers(6)
		c.start("a", named, at...)
		c.pass(10 * time.Second)
		c.start("b", nil)
		c.pass(5 * time.Minute)
		c.expectListed("known on a only", at)
	})
	inCluster(t, func(c *probers) {
		at, named := manyServers(6)
		c.start("b", nil)
		c.start("a", named, at...)
		c.pass(unlistedFor + 30*time.Second)
		c.expectListed("known on a only, which came later", at)
	})
}

func TestServersOfOtherNodesAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Ask = func() map[*master.Origin]time.Duration {
				return map[*master.Origin]time.Duration{zanmaster.Origin: time.Minute}
			}
		})
		for i, node := range []string{"", "b"} {
			a := netip.AddrPortFrom(there.Addr(), uint16(10666+i))
			w.put(master.Server{Key: master.Key{Source: a}, Public: a, Game: "zandronum", Origin: zanmaster.Origin, Node: node})
		}
		w.pass(5 * time.Minute)
		own, other := w.count(netip.AddrPortFrom(there.Addr(), 10666)), w.count(netip.AddrPortFrom(there.Addr(), 10667))
		if own == 0 || other != 0 {
			t.Errorf("the server of this node got %d packets and that of another %d, want some and none", own, other)
		}
	})
}

func TestShareIsTheSameOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := clustertest.New(t, "a", "b", "c")
		for i := range 50 {
			mine := 0
			for _, name := range []string{"a", "b", "c"} {
				if shareOf(net.Bus(name)).Mine(fmt.Sprint("192.0.2.1:", i)) {
					mine++
				}
			}
			if mine != 1 {
				t.Errorf("server %d is that of %d nodes", i, mine)
			}
		}
		if shareOf(nil) != nil {
			t.Error("a node that is alone has a Share")
		}
	})
}
