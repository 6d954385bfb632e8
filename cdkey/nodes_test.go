package cdkey

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
)

// lone is a node that is alone.
func lone() *nodes {
	n := newNodes(new(Options))
	return &n
}

// testNode is a node whose game servers read what it writes.
type testNode struct {
	*Server
	t  *testing.T
	mu sync.Mutex // guards w
	w  written
}

// WritePacket implements netserve.PacketWriter.
func (n *testNode) WritePacket(b []byte, from netip.Addr, to netip.AddrPort) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.w.WritePacket(b, from, to)
}

// hears hands a message to the node and returns the packets that it sent since the last call.
func (n *testNode) hears(from netip.AddrPort, text string) (sent []string) {
	n.t.Helper()
	if text != "" {
		if why := give(n.Server, n, from, text, time.Now()); why != notDropped {
			n.t.Errorf("dropped: %s", why)
		}
	}
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.w.sent {
		sent = append(sent, m.to.Addr().String()+" "+string(m.body))
	}
	n.w.sent = nil
	return sent
}

// wants checks that one packet was sent.
func (n *testNode) wants(got []string, to netip.AddrPort, head string) {
	n.t.Helper()
	if len(got) != 1 || !strings.HasPrefix(got[0], to.Addr().String()+" "+head) {
		n.t.Fatalf("sent %q, want %s to %s", got, head, to)
	}
}

func startNodes(t *testing.T, names ...string) (net *clustertest.Net, list []*testNode) {
	net = clustertest.New(t, names...)
	net.SetDelay(5 * time.Millisecond)
	for _, name := range names {
		n := &testNode{t: t, Server: New(Options{Config: defaults(Strict), Keys: oneKey{}, Cluster: net.Bus(name)})}
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { n.share(ctx, n) })
		all.Go(func() { n.decide(ctx, n) })
		t.Cleanup(func() { cancel(); all.Wait() })
		list = append(list, n)
	}
	time.Sleep(time.Second)
	return net, list
}

// TestNodes: a key is in use at one server of a cluster.
func TestNodes(t *testing.T) {
	const ok, no, ison = `\uok\`, `\unok\`, `\ison\`
	disc := `\disc\\pid\461\cd\` + HashOf(goodKey) + `\ip\16777343`
	each := func(name string, play func(t *testing.T, net *clustertest.Net, a, b *testNode)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net, list := startNodes(t, "a", "b", "c")
				play(t, net, list[0], list[1])
			})
		})
	}
	each("player is there", func(t *testing.T, _ *clustertest.Net, a, b *testNode) {
		a.wants(a.hears(one, auth(goodKey, "1")), one, ok)
		if got := b.hears(two, auth(goodKey, "2")); len(got) != 0 {
			t.Errorf("sent %q before the other server proves its player", got)
		}
		b.hears(two, auth(goodKey, "2")) // it repeats
		asked := a.hears(one, "")
		a.wants(asked, one, ison)
		_, rest, _ := strings.Cut(asked[0], `\skey\`)
		n, pch, _ := strings.Cut(rest, `\pch\`)
		a.hears(one, `\uon\\skey\`+n+`\seed\\proof\`+respond(goodKey, pch, 9, true))
		b.wants(b.hears(two, ""), two, no)
		a.wants(a.hears(one, auth(goodKey, "1")), one, ok)
	})
	each("player is not there", func(t *testing.T, _ *clustertest.Net, a, b *testNode) {
		a.wants(a.hears(one, auth(goodKey, "1")), one, ok)
		b.hears(two, auth(goodKey, "2"))
		time.Sleep(askTime + tickEvery)
		b.wants(b.hears(two, ""), two, ok)
		if a.table.len()+b.table.len() != 1 {
			t.Errorf("%d and %d keys are in use", a.table.len(), b.table.len())
		}
	})
	each("player has left", func(_ *testing.T, _ *clustertest.Net, a, b *testNode) {
		a.wants(a.hears(one, auth(goodKey, "1")), one, ok)
		time.Sleep(grantTime)
		a.hears(one, disc)
		b.wants(b.hears(two, auth(goodKey, "2")), two, ok)
	})
	each("both at once", func(t *testing.T, _ *clustertest.Net, a, b *testNode) {
		give(a.Server, a, one, auth(goodKey, "1"), time.Now())
		give(b.Server, b, two, auth(goodKey, "2"), time.Now())
		time.Sleep(time.Second)
		got := strings.Join(append(a.hears(one, ""), b.hears(two, "")...), " ")
		if strings.Count(got, ok) != 1 || a.table.len()+b.table.len() != 1 {
			t.Errorf("sent %q, want one acceptance", got)
		}
	})
	each("node is dead", func(_ *testing.T, net *clustertest.Net, a, b *testNode) {
		a.wants(a.hears(one, auth(goodKey, "1")), one, ok)
		net.Kill("a")
		time.Sleep(grantTime)
		b.wants(b.hears(two, auth(goodKey, "2")), two, ok)
	})
}
