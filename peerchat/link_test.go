package peerchat

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
)

// nodes are services on the nodes of a cluster, with one store.
type nodes struct {
	t    testing.TB
	net  *clustertest.Net
	base *fixture
	of   map[string]*fixture
}

// startNodes runs a service on each node, in memory.
func startNodes(t testing.TB, names ...string) *nodes {
	t.Helper()
	n := &nodes{t: t, net: clustertest.New(t), base: build(t, nil), of: make(map[string]*fixture)}
	for _, name := range names {
		n.start(name)
	}
	n.settle()
	return n
}

// start starts a node and its service.
func (n *nodes) start(node string) *fixture {
	n.t.Helper()
	bus := n.net.Start(node)
	ln := nettest.NewPipes()
	f := new(fixture)
	*f = *n.base
	f.drops = prometheus.NewRegistry()
	opt := n.base.server.opt
	opt.Cluster, opt.Metrics = bus, netserve.NewMetrics(f.drops, name, reasons...)
	opt.Registerer = f.drops
	f.server = New(opt)
	f.dial = func() (net.Conn, error) { return ln.DialFrom(netip.MustParseAddrPort("127.0.0.1:1")) }
	f.timeout = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, ln) }()
	f.stop = func() {
		cancel()
		if err := <-done; err != nil {
			n.t.Errorf("Serve: %v", err)
		}
	}
	stopped := false
	n.t.Cleanup(func() {
		if !stopped {
			f.stop()
		}
	})
	was := f.stop
	f.stop = func() { stopped = true; was() }
	n.of[node] = f
	return f
}

// kill ends a node as a crash does.
func (n *nodes) kill(node string) {
	n.net.Kill(node)
	n.of[node].stop()
	delete(n.of, node)
	n.settle()
}

// settle waits until all nodes have the same state.
func (n *nodes) settle() {
	time.Sleep(settleTime + 2*lookEvery)
	synctest.Wait()
}

// channel returns the name of a channel that a node owns, and of the others in turn.
func (n *nodes) channel(owner string, prefix string) string {
	all := slices.Sorted(maps.Keys(n.of))
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d", prefix, i)
		if cluster.Rendezvous(foldChannel(name), all) == owner {
			return name
		}
	}
}

// dump returns the state of a node, to compare nodes.
func (f *fixture) dump() string {
	h := f.server.hall
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(h.channels)) {
		c := h.channels[key]
		letters, params := c.modes(true)
		fmt.Fprintf(&b, "%s owner %s topic %q modes %s %v keys %v bans %d:", key, c.owner, c.topic, letters, params, c.keys.pairs, len(c.bans))
		var members []string
		for _, m := range c.members {
			members = append(members, fmt.Sprintf("%s%s%v", m.mark(), m.user.nick, m.keys.pairs))
		}
		slices.Sort(members)
		fmt.Fprintf(&b, " %s\n", strings.Join(members, " "))
	}
	fmt.Fprintf(&b, "nicks %v\n", slices.Sorted(maps.Keys(h.nicks)))
	return b.String()
}

// same checks that all nodes know the same.
func (n *nodes) same() {
	n.t.Helper()
	synctest.Wait()
	first := ""
	for _, node := range slices.Sorted(maps.Keys(n.of)) {
		got := n.of[node].dump()
		if first == "" {
			first = got
		} else if got != first {
			n.t.Errorf("node %s knows\n%s\nand the first one\n%s", node, got, first)
		}
		n.of[node].server.hall.checkLinked(n.t)
	}
}

// checkLinked is check in a cluster.
func (h *hall) checkLinked(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, u := range h.nicks {
		if key != foldNick(u.nick) || u.left || h.links.users[h.links.id(u)] != u {
			t.Errorf("user %q at %q, left %v", u.nick, key, u.left)
		}
	}
	if len(h.nicks) != len(h.links.users) {
		t.Errorf("%d nicks, %d users", len(h.nicks), len(h.links.users))
	}
	for key, c := range h.channels {
		h.checkChannel(t, key, c)
	}
	if l := h.links; l.waits || l.merges || len(l.claims)+len(l.touched) > 0 {
		t.Errorf("waits %v, merges %v, %d claims, %d entries are touched", l.waits, l.merges, len(l.claims), len(l.touched))
	}
}

// heard reads a client's lines until no more arrive.
func (c *client) heard() []string {
	c.t.Helper()
	synctest.Wait()
	return c.ask()
}

// wantHeard checks a client's lines since the last call.
func (c *client) wantHeard(want ...string) {
	c.t.Helper()
	if got := c.heard(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		c.t.Fatalf("%s heard\n\t%s\nwant\n\t%s", c.nick, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestNodes plays one exchange with all places that clients and the owner of the channel
// may have: the clients see the same.
func TestNodes(t *testing.T) {
	for _, owner := range []string{"a", "b", "c"} {
		t.Run("owner "+owner, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := startNodes(t, "a", "b", "c")
				room := n.channel(owner, "#GSP!gmtest!M")
				ann, bob := n.of["a"].signOn("Ann"), n.of["b"].signOn("Bob")
				ann.expect("JOIN "+room, ann.own()+" JOIN :"+room, ":s 353 Ann = "+room+" :@Ann", ":s 366 Ann "+room+" :End of /NAMES list.")
				lower := strings.Replace(room, "#GSP", "#gsp", 1)
				bob.expect("JOIN "+lower, bob.own()+" JOIN :"+lower, ":s 353 Bob = "+lower+" :@Ann Bob", ":s 366 Bob "+lower+" :End of /NAMES list.")
				ann.wantHeard(bob.own() + " JOIN :" + room)
				ann.expect("PRIVMSG " + room + " :hello there")
				ann.expect("UTM " + room + " :game")
				ann.expect("MODE "+room+" +mv Bob", ann.own()+" MODE "+room+" +m+v Bob")
				ann.expect("TOPIC "+room+" :A topic", ann.own()+" TOPIC "+room+" :A topic")
				bob.wantHeard(ann.masked()+" PRIVMSG "+lower+" :hello there", ann.masked()+" UTM "+lower+" :game",
					ann.masked()+" MODE "+lower+" +m+v Bob", ann.masked()+" TOPIC "+lower+" :A topic")
				bob.expect(`SETCKEY `+room+` Bob :\b_flags\sh\x\y`, `:s 702 Bob `+lower+` Bob BCAST :\b_flags\sh`)
				ann.wantHeard(`:s 702 Ann ` + room + ` Bob BCAST :\b_flags\sh`)
				ann.expect(`GETCKEY `+room+` Bob 7 0 :\x\b_flags`, `:s 702 Ann `+room+` Bob 7 :\y\sh`)
				bob.expect(`SETCHANKEY ` + room + ` :\b_k\v`)
				ann.expect(`SETCHANKEY `+room+` :\b_k\v`, `:s 704 Ann `+room+` BCAST :\b_k\v`)
				bob.wantHeard(`:s 704 Bob ` + lower + ` BCAST :\b_k\v`)
				bob.expect("MODE "+room+" +i", ":s 482 Bob "+room+" :You're not channel operator")
				cid := n.of["c"].signOn("Cid")
				cid.expect("PRIVMSG Ann :psst")
				ann.wantHeard(cid.masked() + " PRIVMSG Ann :psst")
				ann.expect("INVITE Cid "+room, ":s 341 Ann Cid "+room)
				cid.wantHeard(ann.masked() + " INVITE Cid " + room)
				cid.expect("JOIN "+room, cid.own()+" JOIN :"+room, ":s 332 Cid "+room+" :A topic", ":s 353 Cid = "+room+" :@Ann +Bob Cid", ":s 366 Cid "+room+" :End of /NAMES list.")
				ann.wantHeard(cid.own() + " JOIN :" + room)
				bob.wantHeard(cid.masked() + " JOIN :" + lower)
				cid.expect("PRIVMSG "+room+" :x", ":s 404 Cid "+room+" :Cannot send to channel")
				n.same()
				bob.expect("NICK Rob", bob.own()+" NICK :Rob")
				bob.nick = "Rob"
				ann.wantHeard(strings.Replace(bob.own(), "Rob!", "Bob!", 1) + " NICK :Rob")
				cid.wantHeard(strings.Replace(bob.masked(), "Rob!", "Bob!", 1) + " NICK :Rob")
				ann.expect("KICK "+room+" Rob :out", ann.own()+" KICK "+room+" Rob :out")
				bob.wantHeard(ann.masked() + " KICK " + lower + " Rob :out")
				cid.wantHeard(ann.masked() + " KICK " + room + " Rob :out")
				bob.expect("WHOIS Cid", ":s 311 Rob Cid Cid "+cid.user().mask+" * :Real name", ":s 319 Rob Cid :"+room, ":s 318 Rob Cid :End of WHOIS list")
				cid.expect("PART "+room+" :bye", cid.own()+" PART "+room+" :bye")
				ann.wantHeard(cid.own() + " PART " + room + " :bye")
				cid.expect("JOIN "+room+",#other"+owner, cid.own()+" JOIN :"+room, ":s 332 Cid "+room+" :A topic", ":s 353 Cid = "+room+" :@Ann Cid", ":s 366 Cid "+room+" :End of /NAMES list.",
					cid.own()+" JOIN :#other"+owner, ":s 353 Cid = #other"+owner+" :@Cid", ":s 366 Cid #other"+owner+" :End of /NAMES list.")
				ann.heard()
				own := cid.own()
				n.same()
				cid.send("QUIT :off")
				cid.wantEnd("off")
				ann.wantHeard(own + " QUIT :off")
				n.same()
				ann.send("QUIT :off")
				ann.wantEnd("off")
				n.same()
				if got := n.of["c"].server.Rooms(); len(got) != 0 {
					t.Errorf("rooms are left: %v", got)
				}
			})
		})
	}
}

// TestNodesNicks: a nick is unique in the cluster.
func TestNodesNicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b", "c")
		n.net.SetDelay(10 * time.Millisecond)
		n.of["a"].signOn("Ann")
		time.Sleep(time.Second)
		b := n.of["b"].connect()
		b.send("USER b 127.0.0.1 x :Real", "NICK aNN")
		b.want(":s 433 * aNN :Nickname is already in use")
		b.send("NICK Bob")
		b.welcomed("Bob")
		b.expect("NICK Ann", ":s 433 Bob Ann :Nickname is already in use")
		// Two at once, on all nodes and with all deciders: one of them has it.
		for i := range 8 {
			nick := fmt.Sprintf("Dup%d", i)
			x, y := n.of["a"].connect(), n.of["c"].connect()
			for _, c := range []*client{x, y} {
				c.send("USER u 127.0.0.1 x :Real", "NICK "+nick)
			}
			first, second := x.line(), y.line()
			won := func(line string) bool { return strings.HasPrefix(line, ":s 001 ") }
			if won(first) == won(second) {
				t.Errorf("%s: %q and %q", nick, first, second)
			}
		}
		time.Sleep(time.Second)
		n.same()
		n.kill("a")
		c := n.of["c"].signOn("Ann") // its node is dead
		c.quiet()
		time.Sleep(time.Second)
		n.same()
	})
}

// TestNodesDisplace: the second sign-on of a player ends the first one.
func TestNodesDisplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b")
		p := n.of["a"].register("Ann", testNamespace)
		room := n.channel("b", "#room")
		bob := n.of["b"].signOn("Bob")
		bob.join(room)
		first := n.of["a"].logIn(p)
		first.join(room)
		bob.heard()
		second := n.of["b"].logIn(p)
		first.wantEnd("Duplicate Login")
		if got := bob.heard(); len(got) != 1 || !strings.HasSuffix(got[0], " QUIT :Duplicate Login") {
			t.Errorf("heard %q", got)
		}
		second.join(room)
		n.same()
	})
}

// TestNodesOwnerDies: members on other nodes keep their channel, and see those of the dead
// node quit, once.
func TestNodesOwnerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b", "c")
		room, second := n.channel("c", "#GSP!gmtest!M"), n.channel("c", "#second")
		ann, bob, cid := n.of["a"].signOn("Ann"), n.of["b"].signOn("Bob"), n.of["c"].signOn("Cid")
		for _, c := range []*client{ann, bob, cid} {
			c.join(room)
			c.join(second)
			c.heard()
		}
		ann.ask("MODE "+room+" +tl 20", "MODE "+room+" +v Bob", "MODE "+room+" +b eve!*@*", "TOPIC "+room+" :stays", `SETCHANKEY `+room+` :\k\v`, `SETCKEY `+room+` Ann :\b_flags\sh`)
		n.same()
		for _, c := range []*client{ann, bob} {
			c.heard()
		}
		prefix := cid.masked()
		n.kill("c")
		bob.wantHeard(prefix + " QUIT :Connection reset")
		ann.heard()
		n.same()
		if !strings.Contains(n.of["a"].dump(), `topic "stays" modes +tl [20] keys [{k v}] bans 1: +Bob[] @Ann[{b_flags sh}]`) &&
			!strings.Contains(n.of["a"].dump(), `topic "stays" modes +tl [20] keys [{k v}] bans 1: +Bob[] @Ann`) {
			t.Errorf("the channel is\n%s", n.of["a"].dump())
		}
		ann.expect("KICK "+room+" Bob :x", ann.own()+" KICK "+room+" Bob :x")
		bob.wantHeard(ann.masked() + " KICK " + room + " Bob :x")
		bob.join(room)
		ann.heard()
		n.start("c") // and back: nothing is seen of that
		n.settle()
		ann.wantHeard()
		bob.wantHeard()
		n.same()
		dan := n.of["c"].signOn("Dan")
		dan.join(room)
		ann.wantHeard(dan.own() + " JOIN :" + room)
		n.same()
	})
}

// TestNodesCutAndHealed: both sides continue, and become one again.
func TestNodesCutAndHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b", "c")
		rooms := []string{n.channel("a", "#room"), n.channel("b", "#room"), n.channel("c", "#room")}
		ann, bob, cid := n.of["a"].signOn("Ann"), n.of["b"].signOn("Bob"), n.of["c"].signOn("Cid")
		for _, room := range rooms {
			for _, c := range []*client{ann, bob, cid} {
				c.join(room)
			}
		}
		synctest.Wait()
		for _, c := range []*client{ann, bob, cid} {
			c.heard()
		}
		own := cid.masked()
		n.net.Isolate("c")
		n.settle()
		ann.heard()
		bob.wantHeard(own + " QUIT :Connection reset")
		for _, room := range rooms {
			ann.expect("TOPIC "+room+" :of the larger side", ann.own()+" TOPIC "+room+" :of the larger side")
			ann.ask("TOPIC "+room+" :of the larger side", "MODE "+room+" +n")
		}
		cid.heard()
		cid.join("#alone")
		eve := n.of["c"].signOn("Bob") // on the other side there is one already
		_ = eve
		n.net.Heal()
		n.settle()
		n.same()
		eve.wantClosed()
		for _, line := range cid.heard() {
			if strings.Contains(line, " PART ") || strings.HasPrefix(line, own) {
				t.Errorf("Cid heard %q", line)
			}
		}
		for _, room := range rooms {
			cid.expect("TOPIC "+room, ":s 332 Cid "+room+" :of the larger side")
		}
		n.same()
		bob.heard()
		cid.heard()
		for _, room := range rooms {
			cid.expect("PRIVMSG " + room + " :back")
			bob.wantHeard(own + " PRIVMSG " + room + " :back")
		}
	})
}

// TestNodesLoss: lost messages between nodes are repaired.
func TestNodesLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b")
		room := n.channel("a", "#room")
		ann, bob := n.of["a"].signOn("Ann"), n.of["b"].signOn("Bob")
		ann.join(room)
		bob.join(room)
		ann.heard()
		n.net.Lose(func(from, _, _ string) bool { return from == "a" })
		ann.ask("TOPIC "+room+" :lost", "MODE "+room+" +v Bob", `SETKEY :\k\v`)
		ann.send("NICK Anna")
		ann.heard()
		synctest.Wait()
		n.net.Lose(nil)
		ann.nick = "Anna"
		ann.ask("TOPIC " + room + " :there")
		n.settle()
		n.same()
		bob.heard()
		bob.expect("TOPIC "+room, ":s 332 Bob "+room+" :there")
		bob.expect(`GETKEY Anna 1 0 :\k`, `:s 700 Bob Anna 1 :\v`)
	})
}
