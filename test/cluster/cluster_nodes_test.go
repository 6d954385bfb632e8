package cluster

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
	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// quietNode is a node of a cluster in this process, which no test kills.
type quietNode struct {
	*rig.Running
	operator.Conn // through the admin API
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
			rig.Must(t, os.WriteFile(filepath.Join(dir, "account.key"), []byte(rig.ReadFile(t, filepath.Join(first, "account.key"))), 0o600))
		}
		vars := append([]string{
			rig.Variable("storage.engine", "postgres"), rig.Variable("storage.postgres.url", url), rig.Variable("cluster.name", "test"),
			rig.Variable("cluster.node", name), rig.Variable("cluster.listen", "127.0.0.1:0"), rig.Variable("cluster.peers", peer),
		}, more...)
		d := rig.StartWithout(t, rig.OnlyEnv(dir, append([]string{"admin"}, on...), vars...))
		token, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile))
		rig.Must(t, err)
		op, err := admin.NewClient(d.Address["admin"].String(), token)
		rig.Must(t, err)
		nodes = append(nodes, &quietNode{d, op})
		if peer == "" {
			peer = d.WaitFor("joined", 0, rig.Message("joined the cluster")).Text("address")
		}
	}
	waitNodes(t, nodes)
	return nodes
}

// waitNodes waits until every node sees all of them.
func waitNodes(t *testing.T, nodes []*quietNode) {
	t.Helper()
	for i, d := range nodes {
		rig.Eventually(t, fmt.Sprintf("node %d sees all nodes", i), func() bool {
			return rig.Metric(t, d.Running, "respawnd_cluster_nodes") == strconv.Itoa(len(nodes))
		})
	}
}

// A pair meets whose players speak to different nodes, whichever of them holds the
// negotiation.
func TestClusterNATNeg(t *testing.T) {
	t.Parallel()
	if met := nodesMeet(t, natnegtest.PortRestricted, [2][3]int{{0, 0, 0}, {1, 1, 1}}); met != clusterPairs {
		t.Errorf("%d of %d pairs met", met, clusterPairs)
	}
}

// With three addresses the ports of a symmetric NAT are foreseen, if the packets of a player
// come within a second.
func TestClusterSymmetricNATs(t *testing.T) {
	rig.OnlyFull(t)
	met := nodesMeet(t, natnegtest.Symmetric, [2][3]int{{0, 1, 2}, {0, 1, 2}})
	ratetest.Report(t, "pairs with a symmetric NAT that meet on three nodes", met, clusterPairs)
}

// clusterPairs is how many pairs negotiate: other nodes hold the negotiation each time.
const clusterPairs = 4

// nodesMeet has pairs of a player behind a NAT of a kind and one behind a strict one negotiate,
// and returns how many met. to has the nodes that each takes for natneg1 to 3.
func nodesMeet(t *testing.T, kind natnegtest.Kind, to [2][3]int) (met int) {
	t.Helper()
	nodes := startQuietNodes(t, []string{"natneg"}, []string{"a", "b", "c"})
	for range clusterPairs {
		if rig.PairMeets(t, func(uint32) (players [2]natnegtest.Player) {
			for i, n := range [2]*natnegtest.NAT{rig.SteppingNAT(t, kind), rig.StrictNAT(t)} {
				players[i] = natnegtest.Player{Net: n, Local: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 5}), 5000)}
				for k, node := range to[i] {
					players[i].Servers[k] = nodes[node].Address["natneg"]
				}
			}
			return players
		}) {
			met++
		}
	}
	for _, d := range nodes {
		d.Stop()
	}
	return met
}

// An operator's change on one node takes effect on all nodes, and webhooks report it
// once.
func TestClusterTables(t *testing.T) {
	t.Parallel()
	in := rig.NewInbox(t, false)
	hooks := fmt.Sprintf(`[{name: bot, url: %q, format: discord, events: [bans], allow: [127.0.0.1]}]`, in.Url)
	nodes := startQuietNodes(t, []string{"qr2", "serverbrowse"}, []string{"a", "b", "c"}, rig.Variable("webhooks", hooks))
	a, b, c := nodes[0], nodes[1], nodes[2]
	at := rig.QuietLoopback(t)
	guest := rig.NewHostAt(t, netip.AddrPortFrom(at, 0), b.Address["qr2"], "hostname", "guest")
	guest.MustRegister()
	lines, ctx := b.Log.Len(), t.Context()
	ban := storage.Ban{Prefix: netip.PrefixFrom(at, 32), Scope: storage.ScopeAll, Reason: "spam"}
	rig.Must(t, operator.AddBan.Exec(ctx, a, operator.NewBan(ban)))
	b.WaitFor("the verdict on the guest", lines, rig.VerdictOn(guest.Address(), "banned"))
	for i, d := range nodes {
		rig.Eventually(t, fmt.Sprintf("node %d has the ban", i), func() bool {
			list, err := operator.ListBans.Call(ctx, d, operator.None{})
			return err == nil && len(list) == 1 && list[0].Prefix == ban.Prefix
		})
	}
	in.MustNext(at.String())
	_, err := operator.RemoveBan.Call(ctx, c, operator.BanRef{Prefix: ban.Prefix, Scope: ban.Scope})
	rig.Must(t, err)
	if body := in.MustNext(at.String()); !strings.Contains(body, "Ban over") {
		t.Errorf("the hook heard %s after the ban, want that it is over: the ban was sent twice", body)
	}

	rig.Must(t, operator.PutGames.Exec(ctx, a, []games.Game{{Name: "clustergame", Title: "Of All Nodes", Secrets: []string{"abcdef"}}}))
	motd := storage.Motd{Game: rig.TestGame, Text: "Hello everywhere"}
	rig.Must(t, operator.SetMotd.Exec(ctx, c, operator.NewMotd(motd)))
	for i, d := range nodes {
		rig.Eventually(t, fmt.Sprintf("node %d has the game", i), func() bool {
			list, err := operator.ListGames.Call(ctx, d, operator.None{})
			return err == nil && slices.ContainsFunc(list, func(g games.Game) bool { return g.Name == "clustergame" })
		})
		rig.Eventually(t, fmt.Sprintf("node %d has the message of the day", i), func() bool {
			list, err := operator.ListMotds.Call(ctx, d, operator.None{})
			return err == nil && len(list) == 1 && list[0].Text == motd.Text
		})
	}
	guest.MustRegister()
	rig.Eventually(t, "the guest is listed again", func() bool { return len(rig.List(t, b.Running, "", `\hostname`)) == 1 })
	rig.Must(t, operator.HideServer.Exec(ctx, a, operator.NewHidden(storage.HiddenServer{Address: guest.Address()})))
	rig.Eventually(t, "the guest is hidden on its node", func() bool { return len(rig.List(t, b.Running, "", `\hostname`)) == 0 })
	rig.Must(t, operator.UnhideServer.Exec(ctx, c, operator.HiddenRef{Address: guest.Address()}))
	rig.Eventually(t, "the guest is back in the list", func() bool { return len(rig.List(t, b.Running, "", `\hostname`)) == 1 })
	removed, err := operator.RemoveServer.Call(ctx, c, operator.ServerRef{Address: guest.Address().String()})
	if err != nil || !removed.Listed || len(rig.List(t, b.Running, "", `\hostname`)) != 0 {
		t.Errorf("RemoveServer on another node = %+v, %v; want that it was listed, and is no more", removed, err)
	}
	select {
	case body := <-in.Gots:
		t.Errorf("the hook heard more: %s", body)
	default:
	}
	for _, d := range nodes {
		d.Stop()
	}
}
