package natneg

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/service"
)

// testNodes are the servers of a cluster.
type testNodes struct {
	t    *testing.T
	net  *clustertest.Net
	at   map[string]*station
	regs map[string]*prometheus.Registry
	ctx  context.Context
}

// inCluster runs a test with a server on each node, at 198.51.100.1 and on.
func inCluster(t *testing.T, change func(*Options), f func(n *testNodes), names ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		n := &testNodes{t, clustertest.New(t, names...), make(map[string]*station), make(map[string]*prometheus.Registry), ctx}
		for i, name := range names {
			n.start(name, i, change)
		}
		synctest.Wait()
		f(n)
		stop()
		synctest.Wait()
	})
}

func (n *testNodes) start(name string, i int, change func(*Options)) {
	n.regs[name] = prometheus.NewRegistry()
	st := newStation(n.t, options(func(o *Options) {
		o.Cluster, o.Registerer = n.net.Bus(name), n.regs[name]
		if change != nil {
			change(o)
		}
	}), "", netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 1)}), 27901).String())
	n.at[name] = st
	go st.Join(n.ctx)
	if st.opt.Relay != nil {
		go st.wishes.serve(n.ctx)
	}
	go func() {
		for sleep(n.ctx, wheelStep) {
			st.Tick()
		}
	}()
}

// cookieOf returns a cookie that belongs to a node.
func (n *testNodes) cookieOf(node string) uint32 {
	n.t.Helper()
	for cookie := range uint32(1000) {
		if n.net.Bus(node).Nodes() == nil {
			break
		}
		if n.at[node].OwnerOf(cookie+5000) == node {
			return cookie + 5000
		}
	}
	n.t.Fatalf("no cookie belongs to %s", node)
	return 0
}

// client sends the inits of a client to a node.
func (n *testNodes) client(node string, cookie uint32, index byte, from string) {
	n.t.Helper()
	if d := n.at[node].inits(cookie, index, from); d != notDropped {
		n.t.Fatalf("inits at %s: dropped as %q", node, d)
	}
	synctest.Wait()
}

// expect checks how many packets of a type a node sent to an address.
func (n *testNodes) expect(node string, typ Type, to string, want int) []sent {
	n.t.Helper()
	got := n.at[node].of(typ, to)
	if len(got) != want {
		n.t.Fatalf("%s sent %d packets of type %d to %s, want %d", node, len(got), typ, to, want)
	}
	return got
}

func (n *testNodes) count(node, kind string) float64 {
	n.t.Helper()
	return gathered(n.t, n.regs[node], "respawnd_natneg_cluster_total")[kind]
}

func TestHalvesOfAPairOnDifferentNodes(t *testing.T) {
	for _, owner := range []string{"a", "b", "c"} {
		inCluster(t, nil, func(n *testNodes) {
			cookie := n.cookieOf(owner)
			n.client("a", cookie, 0, alice)
			n.expect("a", TypeInitAck, alice, 3)
			n.client("b", cookie, 1, bob)
			toBob := n.at["b"].post.Take()
			toAlice := n.at["a"].post.Take()
			for _, half := range []struct {
				got     []sent
				partner string
				from    string
			}{{toAlice[len(toAlice)-1:], bob, "198.51.100.1"}, {toBob[len(toBob)-1:], alice, "198.51.100.2"}} {
				c := half.got[0].connect(t)
				if c.Remote.String() != half.partner || c.Finished != FinishedOK || half.got[0].from.String() != half.from {
					t.Errorf("owner %s: connect %+v from %s, want %s from %s", owner, c, half.got[0].from, half.partner, half.from)
				}
			}
			if got := n.at["c"].post.Take(); len(got) != 0 {
				t.Errorf("owner %s: the third node sent %d packets", owner, len(got))
			}
			for name, st := range n.at {
				if want := map[bool]int{true: 1}[name == owner]; st.Open() != want {
					t.Errorf("owner %s: %d cookies are open on %s, want %d", owner, st.Open(), name, want)
				}
			}
			for i, half := range []struct{ node, from string }{{"a", alice}, {"b", bob}} {
				if d := n.at[half.node].deliver(0, half.from, connectAckPacket(cookie, byte(i))); d != notDropped {
					t.Errorf("owner %s: receipt of %d dropped as %q", owner, i, d)
				}
				synctest.Wait()
				if d := n.at[half.node].deliver(0, half.from, reportPacket(cookie, byte(i), 1)); d != notDropped {
					t.Errorf("owner %s: report of %d dropped as %q", owner, i, d)
				}
				n.expect(half.node, TypeReportAck, half.from, 1)
			}
			time.Sleep(10 * time.Second) // connects that are not confirmed would be repeated
			for name, st := range n.at {
				if got := st.post.Take(); len(got) != 0 || st.Open() != 0 {
					t.Errorf("owner %s: %s sent %d packets after the receipts, %d cookies are open", owner, name, len(got), st.Open())
				}
			}
			ended := gathered(t, n.regs[owner], "respawnd_natneg_negotiations_total")
			if len(ended) != 1 || ended["other, unknown x unknown, connected"] != 1 {
				t.Errorf("owner %s: outcomes %v, want one that connected", owner, ended)
			}
		}, "a", "b", "c")
	}
}

// nodeRelay is the relay of a node, which always has the same ports.
type nodeRelay struct {
	at     netip.Addr
	opened int
}

func (*nodeRelay) On(string) bool { return true }

func (*nodeRelay) First() service.First { return service.FirstNever }

func (r *nodeRelay) Open(string, [2]service.RelayPlayer) (at [2]netip.AddrPort, err error) {
	r.opened++
	return [2]netip.AddrPort{netip.AddrPortFrom(r.at, 40000), netip.AddrPortFrom(r.at, 40001)}, nil
}

// The next negotiation of a pair that could not connect is on another node, which
// relays them.
func TestPairThatFailedOnAnotherNodeIsRelayed(t *testing.T) {
	relays := make(map[string]*nodeRelay)
	inCluster(t, func(o *Options) {
		node := o.Cluster.Self()
		relays[node] = &nodeRelay{at: netip.AddrFrom4([4]byte{198, 51, 100, node[0]})}
		o.Relay = relays[node]
	}, func(n *testNodes) {
		players := []struct{ node, from, again, want string }{
			{"a", alice, "203.0.113.1:5555", "198.51.100.99:40000"}, {"b", bob, "203.0.113.2:6666", "198.51.100.99:40001"},
		}
		cookie := n.cookieOf("a")
		for i, p := range players {
			n.client(p.node, cookie, byte(i), p.from)
		}
		for i, p := range players {
			n.at[p.node].deliver(0, p.from, connectAckPacket(cookie, byte(i)))
			n.at[p.node].deliver(0, p.from, reportPacket(cookie, byte(i), 0))
		}
		synctest.Wait()
		for _, st := range n.at {
			st.post.Take()
		}
		cookie = n.cookieOf("c")
		for i, p := range players {
			n.client(p.node, cookie, byte(i), p.again)
		}
		for _, p := range players {
			if got := n.expect(p.node, TypeConnect, p.again, 1)[0].connect(t).Remote.String(); got != p.want {
				t.Errorf("%s was sent to %s, want the relay of node c at %s", p.again, got, p.want)
			}
		}
		for node, r := range relays {
			if want := map[bool]int{true: 1}[node == "c"]; r.opened != want {
				t.Errorf("node %s relays %d pairs, want %d", node, r.opened, want)
			}
		}
	}, "a", "b", "c")
}

func TestOneClientOverThreeNodes(t *testing.T) {
	inCluster(t, nil, func(n *testNodes) {
		cookie := n.cookieOf("c")
		for index, ip := range []string{"203.0.113.1", "203.0.113.2"} {
			for i, node := range []string{"a", "b", "c"} { // natneg1, natneg2, natneg3
				from := netip.AddrPortFrom(netip.MustParseAddr(ip), uint16(5000+i)) // a NAT that counts its ports
				if d := n.at[node].deliver(0, from.String(), initPacket(cookie, byte(index), PortType(i+1))); d != notDropped {
					t.Fatalf("init at %s: %q", node, d)
				}
			}
		}
		synctest.Wait()
		got := n.at["a"].of(TypeConnect, "")
		if len(got) != 2 {
			t.Fatalf("natneg1 sent %d connects, want 2", len(got))
		}
		for _, s := range got {
			if c := s.connect(t); c.Remote.Port() != 5003 {
				t.Errorf("connect to %s has %s, want the next port, 5003: the nodes are three addresses", s.to, c.Remote)
			}
		}
	}, "a", "b", "c")
}

func TestNodeThatDiesWhileAClientWaits(t *testing.T) {
	inCluster(t, nil, func(n *testNodes) {
		cookie := n.cookieOf("c")
		n.client("a", cookie, 0, alice)
		n.expect("a", TypeInitAck, alice, 3)
		n.net.Kill("c")
		synctest.Wait()
		n.expect("a", TypeInitAck, alice, 0) // the client has its receipts
		n.client("b", cookie, 1, bob)
		n.expect("a", TypeConnect, alice, 1)
		n.expect("b", TypeConnect, bob, 1)
	}, "a", "b", "c")
}

func TestInitsOfADeadNode(t *testing.T) {
	inCluster(t, nil, func(n *testNodes) {
		n.net.SetSilence(3 * time.Second)
		cookie := n.cookieOf("c")
		n.net.Kill("c")
		n.client("a", cookie, 0, alice)
		n.expect("a", TypeInitAck, alice, 0) // so that it tries again
		time.Sleep(4 * time.Second)
		n.client("a", cookie, 0, alice)
		n.expect("a", TypeInitAck, alice, 3)
		n.client("b", cookie, 1, bob)
		n.expect("a", TypeConnect, alice, 1)
		n.expect("b", TypeConnect, bob, 1)
	}, "a", "b", "c")
}

func TestCookieOfANodeThatJoins(t *testing.T) {
	inCluster(t, nil, func(n *testNodes) {
		cookie := n.cookieOf("c")
		n.net.Kill("c")
		synctest.Wait()
		n.client("a", cookie, 0, alice)
		n.expect("a", TypeInitAck, alice, 3)
		n.net.Start("c")
		n.start("c", 2, nil)
		synctest.Wait()
		if a, b, c := n.at["a"].Open(), n.at["b"].Open(), n.at["c"].Open(); a+b != 0 || c != 1 {
			t.Errorf("open cookies %d, %d and %d, want only one, on c", a, b, c)
		}
		n.client("b", cookie, 1, bob)
		n.expect("a", TypeConnect, alice, 1)
		n.expect("b", TypeConnect, bob, 1)
		time.Sleep(30 * time.Second)
		for _, s := range n.at["a"].of(TypeConnect, alice) {
			if c := s.connect(t); c.Finished != FinishedOK {
				t.Errorf("the former node of the cookie sent a refusal: %+v", c)
			}
		}
	}, "a", "b", "c")
}

func TestCutBetweenTheNodesOfAPair(t *testing.T) {
	inCluster(t, nil, func(n *testNodes) {
		cookie := n.cookieOf("c")
		n.net.Isolate("a")
		n.client("a", cookie, 0, alice) // a takes it alone
		n.expect("a", TypeInitAck, alice, 3)
		n.client("b", cookie, 1, bob)
		n.expect("b", TypeInitAck, bob, 3)
		n.net.Heal()
		synctest.Wait()
		n.expect("a", TypeConnect, alice, 1)
		n.expect("b", TypeConnect, bob, 1)
		if got := n.at["a"].Open(); got != 0 {
			t.Errorf("%d cookies are open on the node that was cut off, want 0", got)
		}
	}, "a", "b", "c")
}

// The node that a client spoke to sends no more on behalf of others than the client
// paid for, whatever they ask.
func TestOrdersOfOtherNodesAreBounded(t *testing.T) {
	connect := Connect{Remote: netip.MustParseAddrPort(bob)}.AppendTo(Header{3, TypeConnect, 7000}.AppendTo(nil))
	tests := map[string]struct {
		to   string
		data []byte
		from bool // alice sent an init before
		want int
	}{
		"to a client":          {alice, connect, true, paidPerPacket*3 + paidElsewhere},
		"to a stranger":        {mallory, connect, true, 0},
		"to another port":      {"203.0.113.1:5001", connect, true, 0},
		"before a packet came": {alice, connect, false, 0},
		"of another cookie":    {alice, Header{3, TypeConnect, 7001}.AppendTo(nil), true, 0},
		"a packet of a client": {alice, initPacket(7000, 0, PortNN1)[:maxAnswer], true, 0},
		"of another protocol":  {alice, make([]byte, maxAnswer), true, 0},
		"a test of its router": {alice, Header{3, TypeTest, 7000}.AppendTo(nil), true, paidPerPacket*3 + paidElsewhere},
	}
	for name, tc := range tests {
		inCluster(t, nil, func(n *testNodes) {
			if tc.from {
				n.client("a", 7000, 0, alice)
			}
			n.at["a"].post.Take()
			acks := uint32(3)
			if !tc.from {
				acks = 0
			}
			a := n.at["a"]
			a.nodes.callers.mu.Lock()
			for _, c := range a.nodes.callers.now {
				if c.sent > acks {
					t.Errorf("%s: %d packets were paid before", name, c.sent)
				}
				c.sent = 0
			}
			a.nodes.callers.mu.Unlock()
			o := order{to: endpointOf(netip.MustParseAddrPort(tc.to)), data: tc.data}
			for range 50 {
				if err := n.net.Bus("b").Send("a", subjectSend, o.appendTo(nil)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if got := len(a.post.Take()); got != tc.want {
				t.Errorf("%s: %d packets were sent, want %d", name, got, tc.want)
			}
			if got := n.count("a", "refused"); got != float64(50-tc.want) {
				t.Errorf("%s: %v orders were counted as refused, want %d", name, got, 50-tc.want)
			}
		}, "a", "b")
	}
}

func TestCallersAreBounded(t *testing.T) {
	inCluster(t, func(o *Options) { o.MaxOpen, o.MaxPerAddr = 3, 3 }, func(n *testNodes) {
		cookie := n.cookieOf("b")
		for i := range 3 {
			if d := n.at["a"].deliver(0, addr(i), initPacket(cookie, 0, PortNN1)); d != notDropped {
				t.Errorf("caller %d: dropped as %q", i, d)
			}
		}
		if d := n.at["a"].deliver(0, addr(3), initPacket(cookie, 0, PortNN1)); d != dropTooMany {
			t.Errorf("one caller too many: dropped as %q, want %q", d, dropTooMany)
		}
		time.Sleep(2 * callerLife)
		if d := n.at["a"].deliver(0, addr(3), initPacket(cookie, 0, PortNN1)); d != notDropped {
			t.Errorf("once the others are old: dropped as %q", d)
		}
	}, "a", "b")
}

func TestUnreadableMessagesOfNodesAreCounted(t *testing.T) {
	inCluster(t, nil, func(n *testNodes) {
		for _, subject := range []string{subjectPacket, subjectSend, subjectTest} {
			if err := n.net.Bus("b").Send("a", subject, []byte{9, 9, 9}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := n.count("a", "unreadable"); got != 3 {
			t.Errorf("%v messages were counted as unreadable, want 3", got)
		}
	}, "a", "b")
}

func TestNATTest2OverThreeNodes(t *testing.T) {
	test := Check{Test{PortType: PortNN2, Data: [8]byte{1, 2, 3}}}.AppendTo(Header{3, TypeNATTest, cookieNATTest}.AppendTo(nil))
	set := func(nodes ...string) func(*Options) { return func(o *Options) { o.Nodes = nodes } }
	for name, tc := range map[string]struct {
		change func(*Options)
		kill   bool
		want   int // answers from natneg3
	}{
		"three nodes":        {set("a", "b", "c"), false, 1},
		"natneg3 is dead":    {set("a", "b", "c"), true, 0},
		"natneg3 is natneg1": {set("a", "b", "a"), false, 0},
		"natneg1 is another": {set("b", "a", "c"), false, 0},
		"not configured":     {nil, false, 0},
	} {
		inCluster(t, tc.change, func(n *testNodes) {
			if tc.kill {
				n.net.Kill("c")
			}
			dropped := n.at["a"].deliver(0, alice, test)
			synctest.Wait()
			n.expect("c", TypeTest, alice, tc.want)
			if own := n.at["a"].post.Take(); len(own) != 0 || (tc.want == 0) != (dropped == dropUntestable) {
				t.Errorf("%s: natneg1 sent %d packets and dropped the test as %q", name, len(own), dropped)
			}
		}, "a", "b", "c")
	}
}

func TestNumbersOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := clustertest.New(t, "a", "b")
		r := newNodes(New(DefaultOptions()), net.Bus("a"))
		b, _ := r.number("b")
		for i := range maxNodes - 1 {
			if _, ok := r.number(addr(i)); !ok {
				t.Fatalf("node %d got no number", i)
			}
		}
		n, ok := r.number("one more")
		if !ok || n == b || r.name(n) != "one more" || r.name(b) != "b" {
			t.Errorf("number(%q) = %d, %v, want that of a node that is gone", "one more", n, ok)
		}
	})
}
