package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/test/rig"
)

// chatNode is a node of a cluster with chat and the admin service only.
type chatNode struct {
	*rig.Child
	dir string
}

// startChatNodes runs nodes on one database. They share the key of accounts.
func startChatNodes(t *testing.T, names ...string) map[string]*chatNode {
	t.Helper()
	_ = rig.BuiltProgram(t) // skips a short run
	url := pgtest.Database(t)
	nodes := make(map[string]*chatNode)
	first, peer := "", ""
	for _, name := range names {
		dir := t.TempDir()
		vars := []string{
			rig.Variable("storage.engine", "postgres"), rig.Variable("storage.postgres.url", url), rig.Variable("cluster.name", "test"),
			rig.Variable("cluster.node", name), rig.Variable("cluster.listen", "127.0.0.1:0"), rig.Variable("cluster.peers", peer),
		}
		if first == "" {
			first = dir
		} else {
			rig.Must(t, os.WriteFile(filepath.Join(dir, "account.key"), []byte(rig.ReadFile(t, filepath.Join(first, "account.key"))), 0o600))
		}
		c := rig.StartProcess(t, "", rig.OnlyEnv(dir, []string{"peerchat", "admin"}, vars...))
		nodes[name] = &chatNode{c, dir}
		if peer == "" {
			peer = c.WaitFor("joined", 0, rig.Message("joined the cluster")).Text("address")
		}
	}
	return nodes
}

// roomGuest is a player on a node.
type roomGuest struct {
	*peerchat.Client
	t *testing.T
}

func (n *chatNode) signOn(t *testing.T, nick string) *roomGuest {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", n.Address["peerchat"].String())
	rig.Must(t, err)
	c := &roomGuest{peerchat.NewClient(conn), t}
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), rig.Hang)
	defer cancel()
	rig.Must(t, c.SignOn(ctx, nick))
	return c
}

// Hears reads until a line of a player comes.
func (c *roomGuest) Hears(command, nick string, params ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), rig.Hang)
	defer cancel()
	_, err := c.Await(ctx, func(l peerchat.Line) bool { return l.Is(command, params...) && (nick == "" || l.Nick() == nick) })
	if err != nil {
		c.t.Fatalf("%s does not hear %s of %s %q: %v", c.Nick, command, nick, params, err)
	}
}

func (c *roomGuest) joins(channel string, want ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), rig.Hang)
	defer cancel()
	got, err := c.Join(ctx, channel, "")
	if err != nil {
		c.t.Fatalf("%s: %v", c.Nick, err)
	}
	slices.Sort(got.Members)
	if !slices.Equal(got.Members, want) {
		c.t.Fatalf("%s sees %q in %s, want %q", c.Nick, got.Members, channel, want)
	}
}

// Players of three machines meet in a title room and a staging room. The machine that
// decides about the staging room is killed: the others continue, and it comes back.
func TestClusterChat(t *testing.T) {
	t.Parallel()
	nodes := startChatNodes(t, "n1", "n2", "n3")
	names := slices.Sorted(maps.Keys(nodes))
	for _, n := range nodes {
		rig.Eventually(t, "a whole cluster", func() bool { return rig.Metric(t, &n.Running, "respawnd_cluster_nodes") == "3" })
	}
	title, staging := "#GSP!"+rig.TestGame, ""
	for i := 0; cluster.Rendezvous(strings.ToLower(title)+staging, names) != "n3"; i++ {
		staging = fmt.Sprintf("!M%08dM", i)
	}
	staging = title + staging
	ann, bob, cid := nodes["n1"].signOn(t, "Ann"), nodes["n2"].signOn(t, "Bob"), nodes["n3"].signOn(t, "Cid")
	for room, op := range map[string]string{title: "", staging: "@"} {
		ann.joins(room, op+"Ann")
		bob.joins(room, op+"Ann", "Bob")
		cid.joins(room, op+"Ann", "Bob", "Cid")
		ann.Hears("JOIN", "Bob", room)
		ann.Hears("JOIN", "Cid", room)
		rig.Must(t, bob.Say(room, "hello from n2"))
		ann.Hears("PRIVMSG", "Bob", room, "hello from n2")
		cid.Hears("PRIVMSG", "Bob", room, "hello from n2")
	}
	rig.Must(t, bob.Say("Ann", "psst"))
	ann.Hears("PRIVMSG", "Bob", "Ann", "psst")
	rig.Must(t, ann.Send("MODE", staging, "+mv", "Bob"))
	bob.Hears("MODE", "Ann", staging)
	rig.Must(t, ann.SetTopic(staging, "stays"))
	bob.Hears("TOPIC", "Ann", staging)
	rig.Must(t, ann.Send("KICK", staging, "Cid"))
	cid.Hears("KICK", "Ann", staging, "Cid")
	who, err := operator.ListChatMembers.Call(t.Context(), nodes["n3"].Client(nodes["n3"].dir), operator.ChannelRef{Channel: title})
	rig.Must(t, err)
	for i, want := range []string{"Ann n1", "Bob n2", "Cid n3"} {
		if got := who[i].Nick + " " + who[i].Node; got != want {
			t.Errorf("member %d is %q, want %q", i, got, want)
		}
	}

	nodes["n3"].Kill()
	bob.Hears("QUIT", "Cid")
	rig.Must(t, bob.Tell(staging, "still here"))
	ann.Hears("UTM", "Bob", staging, "still here")
	bob.joins(staging, "+Bob", "@Ann")
	rig.Must(t, ann.Send("KICK", staging, "Bob"))
	bob.Hears("KICK", "Ann", staging, "Bob")
	dan := nodes["n2"].signOn(t, "Cid") // whose node is dead
	dan.joins(staging, "@Ann", "Cid")
	ann.Hears("JOIN", "Cid", staging)
	n, err := operator.ChatKick.Call(t.Context(), nodes["n1"].Client(nodes["n1"].dir), operator.Kicking{ChatTarget: operator.ChatTarget{Channel: staging, Nick: "Cid"}, Reason: ""})
	if n.Removed != 1 || err != nil {
		t.Errorf("ChatKick on another node = %d, %v", n, err)
	}
	dan.Hears("KICK", "", staging, "Cid")
}
