package webhook

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// nodes are dispatchers of a cluster whose hooks lead to one receiver.
type nodes struct {
	*fixture // of node a
	net      *clustertest.Net
	all      map[string]*fixture
}

// inCluster runs the dispatchers of nodes a, b and c, after changes, while test does.
func inCluster(t *testing.T, hooks []Hook, test func(n *nodes), change ...func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &nodes{net: clustertest.New(t, "a", "b", "c"), all: make(map[string]*fixture)}
		var start func(names ...string)
		start = func(names ...string) {
			if len(names) == 0 {
				test(n)
				return
			}
			f := newFixture(t, hooks)
			f.d.opt.Cluster = n.net.Bus(names[0])
			if n.fixture == nil {
				n.fixture = f
			}
			f.to, f.d.through = n.to, n.to
			for _, c := range change {
				c(f)
			}
			n.all[names[0]] = f
			f.run(func(*fixture) { start(names[1:]...) })
		}
		start("a", "b", "c")
	})
}

// report lists a server on all nodes as reporting to owner, or removes it if owner is empty.
func (n *nodes) report(owner string, l listing) {
	for name, f := range n.all {
		l.node = owner
		if name == owner {
			l.node = ""
		}
		at := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), l.port)
		if old, listed := f.registry.AtAny(at); listed && (owner == "" || old.Node != l.node) {
			f.registry.Remove(master.Key{Source: at})
			f.registry.RemoveRemote(old.Node, at)
		}
		if owner != "" {
			f.put(l)
		}
	}
}

func TestEventsOfServersAreSentOnce(t *testing.T) {
	inCluster(t, plain(func(h *Hook) { h.High, h.Low = 10, 2 }), func(n *nodes) {
		for i, owner := range []string{"a", "b", "c"} {
			name := "Of " + owner
			l := listing{port: uint16(i + 1), name: name, players: "0"}
			n.report(owner, l)
			n.expect(soon, "server.up "+name)
			l.players = "12"
			n.report(owner, l)
			n.expect(soon, "players.high "+name)
			l.players = "1"
			n.report(owner, l)
			n.expect(soon, "players.low "+name)
			n.report("", l)
			n.expect(settle+soon, "server.down "+name)
		}
	})
}

func TestServerThatMovesToAnotherNodeIsNoNews(t *testing.T) {
	inCluster(t, plain(func(h *Hook) { h.High, h.Low = 10, 2 }), func(n *nodes) {
		l := listing{port: 1, name: "One", players: "12"}
		n.report("a", l)
		n.expect(soon, "server.up One, players.high One")
		n.report("b", l)
		n.expect(2*settle, "")
		l.players = "0"
		n.report("b", l)
		n.expect(soon, "players.low One")
		n.report("c", l)
		n.expect(soon, "")
		n.report("", l)
		n.expect(settle+soon, "server.down One")
	})
}

func TestServersOfADeadNode(t *testing.T) {
	inCluster(t, plain(), func(n *nodes) {
		for i := range 6 {
			n.report("c", listing{port: uint16(i + 1), name: "One"})
		}
		n.expect(soon, "server.up One, server.up One, server.up One, server.up One, server.up One, server.up One")
		n.net.Kill("c")
		n.all["c"].stop()
		delete(n.all, "c")
		n.expect(2*settle, "") // the others keep its servers for a while
		n.report("a", listing{port: 1, name: "One"})
		for i := 1; i < 6; i++ {
			n.report("", listing{port: uint16(i + 1)})
		}
		n.expect(settle+soon, "server.down One, server.down One, server.down One, server.down One, server.down One")
	})
}

func TestBansAreSentOnce(t *testing.T) {
	inCluster(t, plain(), func(n *nodes) {
		now := time.Now()
		for i := range 6 { // each node sends some
			prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, byte(i), 0}), 24)
			for _, f := range n.all {
				f.bans = []storage.Ban{{Prefix: prefix, Added: now}}
				f.d.BansChanged()
			}
			want := fmt.Sprint("ban.added ", prefix)
			if i > 0 {
				want += ", ban.removed 192.0." + fmt.Sprint(i-1) + ".0/24"
			}
			got := n.sent(soon)
			if other := "ban.removed 192.0." + fmt.Sprint(i-1) + ".0/24, ban.added " + prefix.String(); got != want && got != other {
				t.Errorf("ban %d: sent %q, want %q", i, got, want)
			}
		}
		for i := range 6 {
			key := storage.ChatRuleKey{Kind: storage.ChatBan, Channel: fmt.Sprint("#room", i)}
			for _, f := range n.all {
				f.rules = append(f.rules, storage.ChatRule{ChatRuleKey: key, Added: now})
				f.d.RulesChanged()
			}
			n.expect(soon, "chat.ban #room"+fmt.Sprint(i))
		}
	})
}
