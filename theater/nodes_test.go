package theater

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// patient is how long a client waits, longer than the service ever takes.
const patient = 2 * answerTime

// testNode is a node of a cluster.
type testNode struct {
	*fixture
	pipes *nettest.Pipes
}

// cluster3 is a cluster of nodes a, b and c.
type cluster3 struct {
	*clustertest.Net
	t       *testing.T
	nodes   map[string]*testNode
	players int
}

// inCluster runs a test in a cluster.
func inCluster(t *testing.T, f func(*testing.T, *cluster3)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster3{clustertest.New(t, "a", "b", "c"), t, make(map[string]*testNode), 0}
		for _, name := range []string{"a", "b", "c"} {
			n := start(t, func(o *Options) { o.Cluster = c.Bus(name) })
			c.nodes[name] = &testNode{n, n.serve(t)}
		}
		c.settle()
		f(t, c)
	})
}

// settle waits until the nodes have heard of each other's changes.
func (c *cluster3) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// enter returns a player at a node, by the number of the profile.
func (c *cluster3) enter(node string) *Client {
	c.t.Helper()
	c.players++
	n := c.nodes[node]
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(c.players)}), 4000)
	p := lobby.Player{Profile: storage.ProfileID(c.players), Name: "Player" + string(rune('0'+c.players)), Client: testGame}
	n.opt.Lobby.Enter("key of "+p.Name, p)
	conn, err := n.pipes.DialFrom(at)
	if err != nil {
		c.t.Fatal(err)
	}
	client := NewClient(conn)
	c.t.Cleanup(func() { _ = client.Close() })
	if _, err = client.Hello(c.t.Context(), testGame); err == nil {
		err = client.Enter(c.t.Context(), "key of "+p.Name)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// hosts returns a player at a node who offers a game, and its number. Other nodes have it.
func (c *cluster3) hosts(node string, most int, values ...string) (host *Client, id string) {
	c.t.Helper()
	host = c.enter(node)
	id, err := host.Host(c.t.Context(), "A game", 3000, most, values...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.settle()
	return host, id
}

// joins sends the request to join a game.
func (c *cluster3) joins(guest *Client, pairs ...string) (tid string) {
	c.t.Helper()
	tid, err := guest.Send(c.t.Context(), "EGAM", append(pairs, "PORT", "3001", "R-INT-IP", "10.0.0.2", "R-INT-PORT", "3002", "PTYPE", "P", "R-U-level", "9")...)
	if err != nil {
		c.t.Fatal(err)
	}
	return tid
}

// wants waits for a message of a client with some values.
func (c *cluster3) wants(x *Client, word, tid string, pairs ...string) wire.Text {
	c.t.Helper()
	got, err := x.Await(netclient.Bound(c.t.Context(), patient), word, tid)
	if err != nil {
		c.t.Fatalf("%s: %v", word, err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := got.Get(pairs[i]); v != pairs[i+1] {
			c.t.Errorf("%s has %s=%q, want %q: %v", word, pairs[i], v, pairs[i+1], got)
		}
	}
	return got
}

// wantsNoGame waits for the error that a game has ended, or is not there.
func (c *cluster3) wantsNoGame(x *Client, word, tid string) {
	c.t.Helper()
	if got, err := x.Await(netclient.Bound(c.t.Context(), patient), word, tid); !errors.Is(err, Error(noGame)) {
		c.t.Errorf("%s: %v, %v, want %s", word, got, err, noGame)
	}
}

// lists fails unless a client finds games with so many players each.
func (c *cluster3) lists(x *Client, players ...string) {
	c.t.Helper()
	list, err := x.List(c.t.Context())
	if err != nil || len(list) != len(players) {
		c.t.Fatalf("the list is %v, %v, want %d games", list, err, len(players))
	}
	for i, g := range list {
		if g.Get("AP") != players[i] {
			c.t.Errorf("a game with %s players, want %s: %v", g.Get("AP"), players[i], g)
		}
	}
}

// seats returns how many places of a game of node a are taken or wanted.
func (c *cluster3) seats(id string) int {
	s := c.nodes["a"].Server
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.game(number(id)); g != nil {
		return len(g.all())
	}
	return 0
}

// idle fails if a node has players in games of other nodes.
func (c *cluster3) idle(node string) {
	c.t.Helper()
	s := c.nodes[node].Server
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.abroad) > 0 {
		c.t.Errorf("node %s has %d players in games of other nodes", node, len(s.abroad))
	}
}

// A player finds a game of another node, by list, search and name, joins it, and leaves.
func TestJoinAtAnotherNode(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		host, id := c.hosts("a", 3, "B-U-Map", "vz caf\xe9")
		_, err := host.Send(t.Context(), "UGDE", "GID", id, "D-KillCam", "1")
		if err != nil {
			t.Fatal(err)
		}
		guest, third := c.enter("b"), c.enter("c")
		c.lists(guest, "1")
		c.lists(third, "1")
		if n := c.nodes["b"].count(); n != 0 {
			t.Errorf("node b counts %d games as its own", n)
		}
		if found := c.nodes["b"].search(testGame, []lobby.Condition{{Key: "B-U-Map", Value: "vz caf\xe9"}}, 9); len(found) != 1 || found[0].Game != number(id) {
			t.Errorf("a search finds %v, want game %s", found, id)
		}
		for _, by := range [][]string{{"GID", id}, {"UID", "1"}, {"USER", "player1"}} {
			tid, err := guest.Send(t.Context(), "GDAT", by...)
			if err != nil {
				t.Fatal(err)
			}
			c.wants(guest, "GDAT", tid, "GID", id, "I", "192.0.2.1", "P", "3000", "HN", "Player1", "B-U-Map", "vz caf\xe9")
			c.wants(guest, "GDET", tid, "D-KillCam", "1")
			c.wants(guest, "PDAT", tid, "NAME", "Player1")
		}

		echo := wire.Frame{Header: wire.Header{Service: "ECHO", Kind: wire.TheaterRequest}, Payload: lines("UID", "2", "TID", "1").Append(nil, wire.ClientEnd)}
		c.nodes["b"].ServePacket(new(sent), netserve.Packet{Data: echo.Append(nil), From: netip.MustParseAddrPort("192.0.2.2:7777")})
		tid := c.joins(guest, "USER", "Player1")
		c.wants(guest, "EGAM", tid, "GID", id)
		asked, err := host.Admit(t.Context(), id)
		if err != nil || asked.Get("NAME") != "Player2" || asked.Get("IP") != "192.0.2.2" || asked.Get("PORT") != "7777" || asked.Get("R-U-level") != "9" {
			t.Fatalf("the host is asked %v, %v", asked, err)
		}
		c.wants(guest, "EGEG", tid, "GID", id, "TICKET", asked.Get("TICKET"), "PID", "2", "I", "192.0.2.1", "P", "3000", "HUID", "1")
		if err := host.Enters(t.Context(), id, "2"); err != nil {
			t.Fatal(err)
		}
		c.settle()
		c.lists(third, "2")
		tid, _ = third.Send(t.Context(), "GDAT", "UID", "2")
		c.wants(third, "GDAT", tid, "GID", id)

		refused := c.joins(third, "GID", id)
		c.wants(third, "EGAM", refused)
		if asked, err = host.Await(t.Context(), "EGRQ", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Ask(t.Context(), "EGRS", "GID", id, "PID", asked.Get("PID"), "ALLOWED", "0", "REASON", "7"); err != nil {
			t.Fatal(err)
		}
		c.wants(third, "EGAM", refused, "ALLOWED", "0", "REASON", "7")
		c.idle("c")

		if _, err := guest.Ask(t.Context(), "ECNL", "GID", id); err != nil {
			t.Fatal(err)
		}
		c.idle("b")
		if _, err := host.Ask(t.Context(), "PLVT", "GID", id, "PID", "2"); err != nil {
			t.Fatal(err)
		}
		_ = host.Close()
		c.settle()
		c.lists(guest)
		tid = c.joins(guest, "GID", id)
		c.wantsNoGame(guest, "EGAM", tid)
	})
}

// A player who waits for an answer, or for a place, gives up, loses the connection, or gets an error when
// the game ends.
func TestWaitingAtAnotherNode(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		host, id := c.hosts("a", 1)
		if _, err := host.Send(t.Context(), "UGAM", "GID", id, "QLEN", "3"); err != nil {
			t.Fatal(err)
		}
		first, second, third := c.enter("b"), c.enter("b"), c.enter("c")
		var tids []string
		for i, x := range []*Client{first, second, third} {
			tids = append(tids, c.joins(x, "GID", id))
			if got, err := x.Await(t.Context(), "EGAM", tids[i]); !errors.Is(err, Error(inQueue)) || number(got.Get("QPOS")) != i+1 {
				t.Fatalf("player %d is answered %v, %v", i, got, err)
			}
		}
		time.Sleep(2 * (answerTime + 2*callTime)) // a queue has no end
		c.settle()
		if list, err := first.List(t.Context()); err != nil || len(list) != 1 || list[0].Get("QP") != "3" {
			t.Errorf("the list is %v, %v", list, err)
		}
		if _, err := first.Ask(t.Context(), "ECNL", "GID", id); err != nil {
			t.Fatal(err)
		}
		_ = second.Close()
		c.settle()
		if n := c.seats(id); n != 2 {
			t.Errorf("%d players are in the game or wait for it, want the host and one", n)
		}
		if _, err := host.Ask(t.Context(), "RGAM", "GID", id); err != nil {
			t.Fatal(err)
		}
		c.wantsNoGame(third, "EGAM", tids[2])
		c.idle("b")
		c.idle("c")
	})
}

// A player who offers a game is not let into another node's, and one who joins another game leaves the first.
func TestOneGameInCluster(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		_, one := c.hosts("a", 2)
		host, two := c.hosts("b", 2)
		tid := c.joins(host, "GID", one)
		c.wants(host, "EGAM", tid, "ALLOWED", "0", "REASON", refusedReason)
		guest := c.enter("c")
		c.wants(guest, "EGAM", c.joins(guest, "GID", one))
		c.settle()
		if n := c.seats(one); n != 2 {
			t.Errorf("%d places of the first game are taken, want 2", n)
		}
		c.wants(guest, "EGAM", c.joins(guest, "GID", two))
		c.settle()
		if n := c.seats(one); n != 1 {
			t.Errorf("%d places of the first game are taken after its guest joined another one", n)
		}
	})
}

// A node that is gone takes its games with it, and its players have no places elsewhere.
func TestNodeGone(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		_, id := c.hosts("a", 4)
		waiting, lost := c.enter("b"), c.enter("c")
		tid := c.joins(waiting, "GID", id)
		c.wants(waiting, "EGAM", tid)
		c.wants(lost, "EGAM", c.joins(lost, "GID", id))
		c.settle()
		if n := c.seats(id); n != 3 {
			t.Errorf("%d places are taken, want 3", n)
		}
		c.Kill("c")
		c.settle()
		if n := c.seats(id); n != 2 {
			t.Errorf("%d places are taken after a node of a guest has gone, want 2", n)
		}
		began := time.Now()
		c.Kill("a")
		c.wantsNoGame(waiting, "EGAM", tid)
		if took := time.Since(began); took > tick {
			t.Errorf("a player who waits for a node that is gone got an error after %v", took)
		}
		c.idle("b")
		c.settle()
		c.lists(waiting)
	})
}

// A node that is there and silent: a player who waits for it gets an error in time, and has no place there.
func TestSilentNode(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		_, id := c.hosts("a", 4)
		guest := c.enter("b")
		c.Lose(func(_, _, subject string) bool { return subject == "theater.sent" })
		began := time.Now()
		tid := c.joins(guest, "GID", id)
		c.wantsNoGame(guest, "EGAM", tid)
		if took := time.Since(began); took < answerTime || took > answerTime+3*callTime {
			t.Errorf("a player whose messages were lost got an error after %v", took)
		}
		c.idle("b")
		c.settle()
		if n := c.seats(id); n != 1 {
			t.Errorf("%d places are taken after a guest has given up", n)
		}

		c.Lose(nil)
		c.SetDelay(2 * callTime)
		for _, word := range []string{"EGAM", "GDAT"} {
			began = time.Now()
			tid, err := guest.Send(t.Context(), word, "GID", id, "PORT", "3001")
			if err != nil {
				t.Fatal(err)
			}
			c.wantsNoGame(guest, word, tid)
			if took := time.Since(began); took > callTime+tick {
				t.Errorf("%s of a game of a slow node was answered after %v", word, took)
			}
		}
		c.idle("b")
		c.SetDelay(0)
	})
}

// A player who is banned at one node is to leave the game at another.
func TestExpelledFromAnotherNode(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		host, id := c.hosts("a", 2)
		guest := c.enter("b")
		c.joins(guest, "GID", id)
		if _, err := host.Admit(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := host.Enters(t.Context(), id, "2"); err != nil {
			t.Fatal(err)
		}
		s := c.nodes["b"].Server
		s.mu.Lock()
		s.players[2].Kick(presence.ErrBanned)
		s.mu.Unlock()
		c.wants(host, "KICK", "", "PID", "2")
	})
}

// A game of the catalogue is offered where the list of servers shows it.
func TestSharedListOfServers(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		a, b := c.nodes["a"], c.nodes["b"]
		a.opt.Lobby.Enter("key", lobby.Player{Profile: 9, Name: "Ann", Client: testGame, Game: "mercs2"})
		conn, err := a.pipes.DialFrom(netip.MustParseAddrPort("192.0.2.9:4000"))
		if err != nil {
			t.Fatal(err)
		}
		host := NewClient(conn)
		t.Cleanup(func() { _ = host.Close() })
		if _, err = host.Hello(t.Context(), testGame); err == nil {
			err = host.Enter(t.Context(), "key")
		}
		if err == nil {
			_, err = host.Host(t.Context(), "A game", 3000, 2)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.settle()
		guest, at := c.enter("b"), netip.MustParseAddrPort("192.0.2.9:3000")
		c.lists(guest)
		srv, ok := a.opt.Registry.Find(at)
		if !ok {
			t.Fatal("the list of servers lacks the game")
		}
		remote := *srv
		remote.Node = "a"
		if !b.opt.Registry.PutRemote(&remote, 0) {
			t.Fatal("the other node does not list it")
		}
		c.lists(guest, "1")
		b.opt.Registry.Hide(at)
		c.lists(guest)
		b.opt.Registry.Unhide(at)
		c.lists(guest, "1")
		a.opt.Registry.Remove(srv.Key)
		a.gone(0)(srv)
		c.settle()
		c.lists(guest)
	})
}

// What no node of this version sends is dropped.
func TestFromStrangeNode(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster3) {
		a, b := c.nodes["a"], c.nodes["b"]
		player := c.enter("b")
		at := netip.MustParseAddrPort("192.0.2.9:3000")
		host := lobby.Player{Profile: 9, Name: "Ann", Client: testGame}
		long := make(wire.Text, maxKeys+1)
		for i := range long {
			long[i] = wire.Field{Key: "B-U-x"}
		}
		for i, f := range []shared{
			{Host: host, At: at, Values: long.Append(nil, wire.ServerEnd)},
			{Host: host},
			{Host: host, At: at, Players: make([]guest, maxSeats+1)},
		} {
			a.nodes.shared.Put(i+1, f)
		}
		c.settle()
		c.lists(player)
		if n := c.Bus("b").Unreadable(); n != 3 {
			t.Errorf("%d games are counted as unreadable, want 3", n)
		}
		a.nodes.shared.Put(4, shared{Host: host, At: at, Queue: -1, Players: make([]guest, maxSeats)})
		c.settle()
		c.lists(player, "128")

		good := farRequest{Node: "a", Word: "GDAT", Text: lines("GID", "4").Append(nil, wire.ClientEnd), Player: host, Peer: at}
		for name, change := range map[string]func(*farRequest){
			"of a third node": func(*farRequest) {},
			"other word":      func(q *farRequest) { q.Word = "CGAM" },
			"no address":      func(q *farRequest) { q.Peer = netip.AddrPort{} },
			"long text":       func(q *farRequest) { q.Text = bytes.Repeat([]byte("x=y\n"), wire.MaxLines+1) },
		} {
			q := good
			change(&q)
			if answer, err := b.answerFar(t.Context(), q); err == nil {
				t.Errorf("%s: answered with %q", name, answer)
			}
		}
		b.heard(toGuest{Node: "a", Token: 1, Frame: []byte("x")})
		b.departed(departure{Node: "a", Game: 99, Token: 1})
		b.departed(departure{Node: "c", Game: 4, Token: 1})
	})
}
