package main

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
)

// chatNode is a node of a cluster with chat and the admin service only.
type chatNode struct {
	*child
	dir string
}

// startChatNodes runs nodes on one database. They share the key of accounts.
func startChatNodes(t *testing.T, names ...string) map[string]*chatNode {
	t.Helper()
	_ = builtProgram(t) // skips a short run
	url := pgtest.Database(t)
	nodes := make(map[string]*chatNode)
	first, peer := "", ""
	for _, name := range names {
		dir := t.TempDir()
		vars := []string{
			variable("storage.engine", "postgres"), variable("storage.postgres.url", url), variable("cluster.name", "test"),
			variable("cluster.node", name), variable("cluster.listen", "127.0.0.1:0"), variable("cluster.peers", peer),
		}
		if first == "" {
			first = dir
		} else {
			must(t, os.WriteFile(filepath.Join(dir, "account.key"), []byte(readFile(t, filepath.Join(first, "account.key"))), 0o600))
		}
		c := startProcess(t, "", onlyEnv(dir, []string{"peerchat", "admin"}, vars...))
		nodes[name] = &chatNode{c, dir}
		if peer == "" {
			peer = c.waitFor("joined", 0, message("joined the cluster")).text("address")
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
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", n.address["peerchat"].String())
	must(t, err)
	c := &roomGuest{peerchat.NewClient(conn), t}
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	must(t, c.SignOn(ctx, nick))
	return c
}

// hears reads until a line of a player comes.
func (c *roomGuest) hears(command, nick string, params ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), hang)
	defer cancel()
	_, err := c.Await(ctx, func(l peerchat.Line) bool { return l.Is(command, params...) && (nick == "" || l.Nick() == nick) })
	if err != nil {
		c.t.Fatalf("%s does not hear %s of %s %q: %v", c.Nick, command, nick, params, err)
	}
}

func (c *roomGuest) joins(channel string, want ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), hang)
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
		eventually(t, "a whole cluster", func() bool { return metric(t, &n.running, "respawnd_cluster_nodes") == "3" })
	}
	title, staging := "#GSP!"+testGame, ""
	for i := 0; cluster.Rendezvous(strings.ToLower(title)+staging, names) != "n3"; i++ {
		staging = fmt.Sprintf("!M%08dM", i)
	}
	staging = title + staging
	ann, bob, cid := nodes["n1"].signOn(t, "Ann"), nodes["n2"].signOn(t, "Bob"), nodes["n3"].signOn(t, "Cid")
	for room, op := range map[string]string{title: "", staging: "@"} {
		ann.joins(room, op+"Ann")
		bob.joins(room, op+"Ann", "Bob")
		cid.joins(room, op+"Ann", "Bob", "Cid")
		ann.hears("JOIN", "Bob", room)
		ann.hears("JOIN", "Cid", room)
		must(t, bob.Say(room, "hello from n2"))
		ann.hears("PRIVMSG", "Bob", room, "hello from n2")
		cid.hears("PRIVMSG", "Bob", room, "hello from n2")
	}
	must(t, bob.Say("Ann", "psst"))
	ann.hears("PRIVMSG", "Bob", "Ann", "psst")
	must(t, ann.Send("MODE", staging, "+mv", "Bob"))
	bob.hears("MODE", "Ann", staging)
	must(t, ann.SetTopic(staging, "stays"))
	bob.hears("TOPIC", "Ann", staging)
	must(t, ann.Send("KICK", staging, "Cid"))
	cid.hears("KICK", "Ann", staging, "Cid")
	who, err := nodes["n3"].client(nodes["n3"].dir).ChatWho(t.Context(), title)
	must(t, err)
	for i, want := range []string{"Ann n1", "Bob n2", "Cid n3"} {
		if got := who[i].Nick + " " + who[i].Node; got != want {
			t.Errorf("member %d is %q, want %q", i, got, want)
		}
	}

	nodes["n3"].kill()
	bob.hears("QUIT", "Cid")
	must(t, bob.Tell(staging, "still here"))
	ann.hears("UTM", "Bob", staging, "still here")
	bob.joins(staging, "+Bob", "@Ann")
	must(t, ann.Send("KICK", staging, "Bob"))
	bob.hears("KICK", "Ann", staging, "Bob")
	dan := nodes["n2"].signOn(t, "Cid") // whose node is dead
	dan.joins(staging, "@Ann", "Cid")
	ann.hears("JOIN", "Cid", staging)
	n, err := nodes["n1"].client(nodes["n1"].dir).ChatKick(t.Context(), operator.ChatTarget{Channel: staging, Nick: "Cid"}, "")
	if n != 1 || err != nil {
		t.Errorf("ChatKick on another node = %d, %v", n, err)
	}
	dan.hears("KICK", "", staging, "Cid")
}
