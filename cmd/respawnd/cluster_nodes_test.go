package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// quietNode is a node of a cluster in this process, which no test kills.
type quietNode struct {
	*running
	operator.Operator // through the admin API
}

// startQuietNodes starts nodes of a cluster in this process, on one database. They see each
// other when it returns. more are variables for all of them.
func startQuietNodes(t *testing.T, on []string, names []string, more ...string) (nodes []*quietNode) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts several daemons")
	}
	url := pgtest.Database(t)
	first, peer := "", ""
	for _, name := range names {
		dir := t.TempDir()
		if first == "" {
			first = dir
		} else {
			must(t, os.WriteFile(filepath.Join(dir, "account.key"), []byte(readFile(t, filepath.Join(first, "account.key"))), 0o600))
		}
		vars := append([]string{
			variable("storage.engine", "postgres"), variable("storage.postgres.url", url), variable("cluster.name", "test"),
			variable("cluster.node", name), variable("cluster.listen", "127.0.0.1:0"), variable("cluster.peers", peer),
		}, more...)
		d := startWithout(t, onlyEnv(dir, append([]string{"admin"}, on...), vars...))
		token, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile))
		must(t, err)
		op, err := admin.NewClient(d.address["admin"].String(), token)
		must(t, err)
		nodes = append(nodes, &quietNode{d, op})
		if peer == "" {
			peer = d.waitFor("joined", 0, message("joined the cluster")).text("address")
		}
	}
	waitNodes(t, nodes)
	return nodes
}

// waitNodes waits until every node sees all of them.
func waitNodes(t *testing.T, nodes []*quietNode) {
	t.Helper()
	for i, d := range nodes {
		eventually(t, fmt.Sprintf("node %d sees all nodes", i), func() bool {
			return metric(t, d.running, "respawnd_cluster_nodes") == strconv.Itoa(len(nodes))
		})
	}
}

// A pair meets whose players speak to different nodes, whichever of them holds the
// negotiation, and with three addresses the ports of a symmetric NAT are foreseen.
func TestClusterNATNeg(t *testing.T) {
	t.Parallel()
	nodes := startQuietNodes(t, []string{"natneg"}, []string{"a", "b", "c"})
	for name, tc := range map[string]struct {
		player natnegtest.Kind
		to     [2][3]int // the nodes that the players take for natneg1 to 3
	}{
		"a node for each player": {natnegtest.PortRestricted, [2][3]int{{0, 0, 0}, {1, 1, 1}}},
		"three nodes for each":   {natnegtest.Symmetric, [2][3]int{{0, 1, 2}, {0, 1, 2}}},
	} {
		for range 4 { // other nodes hold the negotiation
			t.Run(name, func(t *testing.T) {
				pairMeets(t, func(uint32) (players [2]natnegtest.Player) {
					for i, n := range [2]*natnegtest.NAT{steppingNAT(t, tc.player), strictNAT(t)} {
						players[i] = natnegtest.Player{Net: n, Local: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 5}), 5000)}
						for k, node := range tc.to[i] {
							players[i].Servers[k] = nodes[node].address["natneg"]
						}
					}
					return players
				})
			})
		}
	}
	for _, d := range nodes {
		d.stop()
	}
}

// An operator's change on one node takes effect on all nodes, and webhooks report it
// once.
func TestClusterTables(t *testing.T) {
	t.Parallel()
	in := newInbox(t, false)
	hooks := fmt.Sprintf(`[{name: bot, url: %q, format: discord, events: [bans], allow: [127.0.0.1]}]`, in.url)
	nodes := startQuietNodes(t, []string{"qr2", "serverbrowse"}, []string{"a", "b", "c"}, variable("webhooks", hooks))
	a, b, c := nodes[0], nodes[1], nodes[2]
	at := quietLoopback(t)
	guest := newHostAt(t, netip.AddrPortFrom(at, 0), b.address["qr2"], "hostname", "guest")
	guest.register()
	lines, ctx := b.log.len(), t.Context()
	ban := storage.Ban{Prefix: netip.PrefixFrom(at, 32), Scope: storage.ScopeAll, Reason: "spam"}
	must(t, a.AddBan(ctx, ban))
	b.waitFor("the verdict on the guest", lines, verdictOn(guest.address(), "banned"))
	for i, d := range nodes {
		eventually(t, fmt.Sprintf("node %d has the ban", i), func() bool {
			list, err := d.Bans(ctx)
			return err == nil && len(list) == 1 && list[0].Prefix == ban.Prefix
		})
	}
	in.next(at.String())
	_, err := c.RemoveBan(ctx, ban.Prefix, ban.Scope)
	must(t, err)
	if body := in.next(at.String()); !strings.Contains(body, "Ban over") {
		t.Errorf("the hook heard %s after the ban, want that it is over: the ban was sent twice", body)
	}

	must(t, a.PutGames(ctx, []games.Game{{Name: "clustergame", Title: "Of All Nodes", Secrets: []string{"abcdef"}}}))
	motd := storage.Motd{Game: testGame, Text: "Hello everywhere"}
	must(t, c.SetMotd(ctx, motd))
	for i, d := range nodes {
		eventually(t, fmt.Sprintf("node %d has the game", i), func() bool {
			list, err := d.Games(ctx)
			return err == nil && slices.ContainsFunc(list, func(g games.Game) bool { return g.Name == "clustergame" })
		})
		eventually(t, fmt.Sprintf("node %d has the message of the day", i), func() bool {
			list, err := d.Motds(ctx)
			return err == nil && len(list) == 1 && list[0].Text == motd.Text
		})
	}
	guest.register()
	eventually(t, "the guest is listed again", func() bool { return len(list(t, b.running, "", `\hostname`)) == 1 })
	must(t, a.HideServer(ctx, storage.HiddenServer{Address: guest.address()}))
	eventually(t, "the guest is hidden on its node", func() bool { return len(list(t, b.running, "", `\hostname`)) == 0 })
	must(t, c.UnhideServer(ctx, guest.address()))
	eventually(t, "the guest is back in the list", func() bool { return len(list(t, b.running, "", `\hostname`)) == 1 })
	removed, err := c.RemoveServer(ctx, guest.address().String())
	if err != nil || !removed.Listed || len(list(t, b.running, "", `\hostname`)) != 0 {
		t.Errorf("RemoveServer on another node = %+v, %v; want that it was listed, and is no more", removed, err)
	}
	select {
	case body := <-in.gots:
		t.Errorf("the hook heard more: %s", body)
	default:
	}
	for _, d := range nodes {
		d.stop()
	}
}
