package main

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

// member is a daemon that is part of a cluster.
type member struct {
	*child
	name string
	dir  string
	vars []string
}

// testCluster is a cluster of processes on this machine with one PostgreSQL.
type testCluster struct {
	t     testing.TB
	nodes []*member // a, b, c ...
}

// startCluster starts a cluster of n nodes and returns when all see each other. more
// holds variables for all of them. Its database is one of the server that all tests
// share.
func startCluster(t testing.TB, n int, more ...string) *testCluster {
	t.Helper()
	return startClusterOn(t, pgtest.Database(t), n, more...)
}

// startClusterOn is startCluster on a database.
func startClusterOn(t testing.TB, database string, n int, more ...string) *testCluster {
	t.Helper()
	builtProgram(t)
	c := &testCluster{t: t}
	ports := freePorts(t, n)
	vars := append([]string{
		variable("storage.engine", "postgres"), variable("storage.postgres.url", database),
		variable("cluster.name", "test"), variable("cluster.peers", strings.Join(ports, ",")),
		variable("accounts.key_file", filepath.Join(t.TempDir(), "accounts.key")),
	}, more...)
	for i := range n {
		name := string(rune('a' + i))
		own := append(slices.Clone(vars), variable("cluster.node", name), variable("cluster.listen", ports[i]))
		c.nodes = append(c.nodes, &member{name: name, dir: t.TempDir(), vars: own})
		c.start(i) // one after the other: the first makes the key
	}
	c.together()
	return c
}

// freePorts returns addresses for nodes, which must know each other's.
func freePorts(t testing.TB, n int) (out []string) {
	t.Helper()
	for range n {
		at, err := porttest.TCP(home)
		must(t, err)
		out = append(out, at.String())
	}
	return out
}

// start starts a node, again if it ended.
func (c *testCluster) start(i int) {
	c.t.Helper()
	n := c.nodes[i]
	n.child = startChild(c.t, n.dir, n.vars...)
}

// together waits until all nodes that run see each other and have each other's lists.
func (c *testCluster) together() {
	c.t.Helper()
	running := 0
	for _, n := range c.nodes {
		if n.runs() {
			running++
		}
	}
	for _, n := range c.nodes {
		if n.runs() {
			settles(c.t, n.name+" sees the others", func() error {
				got := n.metric("respawnd_cluster_nodes")
				if got != fmt.Sprint(running) {
					return fmt.Errorf("it sees %s nodes, want %d", got, running)
				}
				return nil
			})
		}
	}
}

func (n *member) runs() bool {
	if n.child == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// settles waits until f returns no error.
func settles(t testing.TB, what string, f func() error) {
	t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// get returns a page of the admin address.
func (n *member) get(path string) string {
	n.t.Helper()
	r, err := http.NewRequestWithContext(wait(n.t), http.MethodGet, "http://"+n.address["admin"].String()+path, nil)
	must(n.t, err)
	answer, err := http.DefaultClient.Do(r)
	must(n.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	must(n.t, err)
	return string(text)
}

// metric returns the value of a metric without labels.
func (n *member) metric(name string) string {
	n.t.Helper()
	for line := range strings.Lines(n.get("/metrics?name[]=" + name)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// lists waits until a node lists exactly some hosts.
func (n *member) lists(what string, hosts ...*host) {
	n.t.Helper()
	settles(n.t, what+": list of "+n.name, func() error {
		got := list(n.t, &n.running, "", `\hostname`)
		for _, h := range hosts {
			if got[h.address().String()] == nil {
				return fmt.Errorf("%v is missing", h.address())
			}
		}
		if len(got) != len(hosts) {
			return fmt.Errorf("%d servers are listed, want %d", len(got), len(hosts))
		}
		return nil
	})
}

func (c *testCluster) list(what string, hosts ...*host) {
	c.t.Helper()
	for _, n := range c.nodes {
		if n.runs() {
			n.lists(what, hosts...)
		}
	}
}

// moves makes a host report to another node. It keeps its socket: a closed one stays open
// in a process that another test is starting at this moment, and its port in use.
func (h *host) moves(to *running) {
	h.t.Helper()
	h.SetServer(to.address["qr2"])
	h.register()
}

func TestClusterListsAreComplete(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	var hosts []*host
	for i, n := range c.nodes {
		hosts = append(hosts, register(t, &n.running, "hostname", fmt.Sprint("Host ", i), "numplayers", "1"))
	}
	c.list("three hosts", hosts...)
	settles(t, "cluster status", func() error {
		out := c.nodes[1].cli("cluster", "status")
		for _, want := range []string{"a     live", "b     this one", "c     live"} {
			if !strings.Contains(out, want) {
				return fmt.Errorf("no %q in\n%s", want, out)
			}
		}
		return nil
	})
	if out := c.nodes[0].cli("cluster", "status", "--json"); strings.Count(out, "\n") != 3 || strings.Count(out, `"servers":1`) != 3 {
		t.Errorf("as JSON:\n%s", out)
	}
	hosts[0].moves(&c.nodes[1].running)
	c.list("one moved", hosts...)
	hosts[2].heartbeat("2")
	c.list("one left", hosts[:2]...)
}

func TestClusterStatusOfLoneDaemon(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	refused(t, exitFailure, d.cliEnv(), []string{"cluster", "status"}, "cluster.name")
}

func TestClusterConfigurationMistakes(t *testing.T) {
	t.Parallel()
	env := testEnv(t.TempDir(), variable("cluster.name", "test"), variable("cluster.peers", "192.0.2.1"))
	refused(t, exitFailure, env, []string{"check"}, "cluster.name: a cluster needs a store", "storage.engine", "cluster.peers", "cluster.tls")
}

// The servers of a node that was killed stay in the lists of the others, and in its own
// when it is back.
func TestClusterNodeIsKilled(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, variable("master.save_every", "1s"))
	one, two := register(t, &c.nodes[0].running, "hostname", "One"), register(t, &c.nodes[1].running, "hostname", "Two")
	c.list("two hosts", one, two)
	c.nodes[0].kill()
	settles(t, "b misses a", func() error {
		if text := c.nodes[1].get("/readyz"); !strings.HasPrefix(text, "ready\nwarning: ") || !strings.Contains(text, "gone: a") {
			return fmt.Errorf("readyz says %q", text)
		}
		return nil
	})
	c.list("a is dead", one, two)
	one.moves(&c.nodes[2].running)
	c.start(0)
	c.together()
	c.list("a is back", one, two)
}
