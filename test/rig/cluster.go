package rig

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/porttest"
)

// town is a cluster of two nodes in processes of their own, with one database.
type town struct {
	A, B *Child
	Dirs [2]string
	Vars [2][]string
}

// NewTown starts nodes a and b.
func NewTown(t *testing.T) *town {
	t.Helper()
	w := new(town)
	url, key := pgtest.Database(t), filepath.Join(t.TempDir(), "account.key")
	ports := FreePorts(t, 2)
	for i, name := range []string{"a", "b"} {
		w.Dirs[i] = t.TempDir()
		w.Vars[i] = []string{
			"RESPAWND_STORAGE_ENGINE=postgres", "RESPAWND_STORAGE_POSTGRES_URL=" + url, "RESPAWND_ACCOUNTS_KEY_FILE=" + key,
			"RESPAWND_CLUSTER_NAME=test", "RESPAWND_CLUSTER_NODE=" + name, "RESPAWND_CLUSTER_LISTEN=" + ports[i], "RESPAWND_CLUSTER_PEERS=" + ports[1-i],
		}
	}
	w.A = StartChild(t, w.Dirs[0], w.Vars[0]...)
	w.B = StartChild(t, w.Dirs[1], w.Vars[1]...)
	w.meet()
	return w
}

// meet waits until both nodes see each other.
func (w *town) meet() {
	for node, c := range map[string]*Child{"b": w.A, "a": w.B} {
		c.WaitFor("node "+node, 0, func(e Entry) bool { return e["message"] == "a node of the cluster appeared" && e["node"] == node })
	}
}

// Member is a daemon that is part of a cluster.
type Member struct {
	*Child
	Name string
	Dir  string
	Vars []string
}

// TestCluster is a cluster of processes on this machine with one PostgreSQL.
type TestCluster struct {
	T     testing.TB
	Nodes []*Member // a, b, c ...
}

// StartCluster starts a cluster of n nodes and returns when all see each other. more
// holds variables for all of them. Its database is one of the server that all tests
// share.
func StartCluster(t testing.TB, n int, more ...string) *TestCluster {
	t.Helper()
	return startClusterOn(t, pgtest.Database(t), n, more...)
}

// startClusterOn is startCluster on a database.
func startClusterOn(t testing.TB, database string, n int, more ...string) *TestCluster {
	t.Helper()
	BuiltProgram(t)
	c := &TestCluster{T: t}
	ports := FreePorts(t, n)
	vars := append([]string{
		Variable("storage.engine", "postgres"), Variable("storage.postgres.url", database),
		Variable("cluster.name", "test"), Variable("cluster.peers", strings.Join(ports, ",")),
		Variable("accounts.key_file", filepath.Join(t.TempDir(), "accounts.key")),
	}, more...)
	for i := range n {
		name := string(rune('a' + i))
		own := append(slices.Clone(vars), Variable("cluster.node", name), Variable("cluster.listen", ports[i]))
		c.Nodes = append(c.Nodes, &Member{Name: name, Dir: t.TempDir(), Vars: own})
		c.Start(i) // one after the other: the first makes the key
	}
	c.Together()
	return c
}

// FreePorts returns n free addresses of this machine, host:port.
func FreePorts(t testing.TB, n int) (out []string) {
	t.Helper()
	for range n {
		at, err := porttest.TCP(Home)
		Must(t, err)
		out = append(out, at.String())
	}
	return out
}

// Start starts a node, again if it ended.
func (c *TestCluster) Start(i int) {
	c.T.Helper()
	n := c.Nodes[i]
	n.Child = StartChild(c.T, n.Dir, n.Vars...)
}

// Together waits until all nodes that run see each other and have each other's lists.
func (c *TestCluster) Together() {
	c.T.Helper()
	running := 0
	for _, n := range c.Nodes {
		if n.runs() {
			running++
		}
	}
	for _, n := range c.Nodes {
		if n.runs() {
			Settles(c.T, n.Name+" sees the others", func() error {
				got := n.Metric("respawnd_cluster_nodes")
				if got != fmt.Sprint(running) {
					return fmt.Errorf("it sees %s nodes, want %d", got, running)
				}
				return nil
			})
		}
	}
}

func (n *Member) runs() bool {
	if n.Child == nil {
		return false
	}
	select {
	case <-n.Ended:
		return false
	default:
		return true
	}
}

// Settles waits until f returns no error.
func Settles(t testing.TB, what string, f func() error) {
	t.Helper()
	for end := time.Now().Add(Hang); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// Get returns a page of the admin address.
func (n *Member) Get(path string) string {
	n.T.Helper()
	r, err := http.NewRequestWithContext(Wait(n.T), http.MethodGet, "http://"+n.Address["admin"].String()+path, nil)
	Must(n.T, err)
	answer, err := http.DefaultClient.Do(r)
	Must(n.T, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	Must(n.T, err)
	return string(text)
}

// Metric returns the value of a metric without labels.
func (n *Member) Metric(name string) string {
	n.T.Helper()
	for line := range strings.Lines(n.Get("/metrics?name[]=" + name)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// lists waits until a node lists exactly some hosts.
func (n *Member) lists(what string, hosts ...*Host) {
	n.T.Helper()
	Settles(n.T, what+": list of "+n.Name, func() error {
		got := List(n.T, &n.Running, "", `\hostname`)
		for _, h := range hosts {
			if got[h.Address().String()] == nil {
				return fmt.Errorf("%v is missing", h.Address())
			}
		}
		if len(got) != len(hosts) {
			return fmt.Errorf("%d servers are listed, want %d", len(got), len(hosts))
		}
		return nil
	})
}

// List waits until every node lists exactly the hosts.
func (c *TestCluster) List(what string, hosts ...*Host) {
	c.T.Helper()
	for _, n := range c.Nodes {
		if n.runs() {
			n.lists(what, hosts...)
		}
	}
}

// Moves makes a host report to another node. It keeps its socket: a closed one stays open
// in a process that another test is starting at this moment, and its port in use.
func (h *Host) Moves(to *Running) {
	h.T.Helper()
	h.SetServer(to.Address["qr2"])
	h.MustRegister()
}

// OnPostgres returns the variables of a daemon on a database.
func OnPostgres(url string) []string {
	return []string{Variable("storage.engine", "postgres"), Variable("storage.postgres.url", url)}
}
