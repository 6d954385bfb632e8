//go:build linux && netns

package main

// Faults of clusters whose nodes run in network namespaces of their own:
//
//	go test -tags netns -run FaultNetworks -v ./cmd/respawnd
//
// CLUSTER_FAULT_SECONDS=60 has faults last a minute, as real ones do, and checks limits
// of time; faults are short otherwise. CLUSTER_FAULTS="node cut off,rolling restart"
// runs only those two, and CLUSTER_FAULT_LOGS is a folder for the logs of the nodes.
// Lines that begin with "measured" have the effect of each fault.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/operator"
)

// faults are the tests by the role of the child that runs them.
var faults = map[string]func(t *testing.T){
	"node killed":      nodeKilled,
	"node cut off":     nodeCutOff,
	"database stopped": databaseStopped,
	"slow links":       slowLinks,
	"clocks apart":     clocksApart,
	"rolling restart":  rollingRestart,
}

// TestClusterFaultNetworks breaks one dependency of a cluster after the other while
// game servers, players and operators use it.
func TestClusterFaultNetworks(t *testing.T) {
	names := []string{"node killed", "node cut off", "database stopped", "slow links", "clocks apart", "rolling restart"}
	if some := os.Getenv("CLUSTER_FAULTS"); some != "" {
		names = strings.Split(some, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			w := nettest.NewWorld(t)
			env := []string{faultSpaces + "=" + w.Name("")}
			if name == "rolling restart" {
				env = append(env, faultNewer+"="+buildNewer(t))
			}
			if name == "clocks apart" && runtime.GOARCH != "amd64" {
				t.Skip("clocks of processes can be put ahead on amd64 only")
			}
			for _, space := range []string{"hub", "a", "b", "c"} {
				w.Add(space)
			}
			out, err := w.Child("hub", "TestClusterFaultChild", name, env...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for line := range bytes.Lines(out) {
				if _, text, found := bytes.Cut(line, []byte("measured: ")); found {
					t.Logf("measured: %s", bytes.TrimSpace(text))
				}
				if bytes.Contains(line, []byte("--- SKIP")) {
					t.Skipf("%s", out)
				}
			}
		})
	}
}

// faultSpaces is the environment variable with the prefix of the namespaces' names.
const faultSpaces = "RESPAWND_FAULT_SPACES"

// TestClusterFaultChild is the part of TestClusterFaultNetworks that runs in a namespace.
func TestClusterFaultChild(t *testing.T) {
	role := os.Getenv(nettest.WorldRole)
	if role == "" {
		t.Skip("it is part of the tests of faults")
	}
	fault := faults[role]
	if fault == nil {
		t.Fatalf("no fault %q", role)
	}
	_ = os.Unsetenv(nettest.WorldRole)
	fault(t)
}

// isTimed reports whether the limits of these tests are those of an idle machine. Where faults
// are short, as in CI, it may be busy: then the limits only end waits.
func isTimed() bool { return os.Getenv("CLUSTER_FAULT_SECONDS") != "" }

// faultTime is how long a fault lasts.
func faultTime(t *testing.T) time.Duration {
	text := os.Getenv("CLUSTER_FAULT_SECONDS")
	if text == "" {
		return 12 * time.Second
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return time.Duration(n) * time.Second
}

// Addresses of the network.
var (
	nodeAddrs  = []netip.Addr{netip.MustParseAddr("79.10.0.11"), netip.MustParseAddr("79.10.0.12"), netip.MustParseAddr("79.10.0.13")}
	dbAddr     = netip.MustParseAddr("79.10.0.2")
	playerAddr = netip.MustParseAddr("79.10.0.1") // the first of the hub, so players have it unless they choose
	serverAddr = netip.MustParseAddr("79.10.0.3")
	natAddrs   = [2]netip.Addr{netip.MustParseAddr("79.10.0.4"), netip.MustParseAddr("79.10.0.5")}
)

// faultWorld is a cluster of three nodes with the database and the clients in the
// namespace of this process.
type faultWorld struct {
	*testCluster
	t     *testing.T
	wires *nettest.Wires
	db    *pgtest.Server
	load  *faultLoad
}

// newFaultWorld starts three nodes. own holds variables by node.
func newFaultWorld(t *testing.T, own ...[]string) *faultWorld {
	t.Helper()
	builtProgram(t)
	spaces := os.Getenv(faultSpaces)
	w := &faultWorld{t: t, wires: nettest.NewWires(t)}
	prefix := func(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, 24) }
	w.wires.Attach(spaces+"hub", prefix(playerAddr), prefix(dbAddr), prefix(serverAddr), prefix(natAddrs[0]), prefix(natAddrs[1]))
	w.db = pgtest.NewAt(t, dbAddr)
	database := w.db.TCP(w.db.Database(t))
	var peers []string
	for _, a := range nodeAddrs {
		peers = append(peers, netip.AddrPortFrom(a, 6222).String())
	}
	key := filepath.Join(t.TempDir(), "accounts.key")
	w.testCluster = &testCluster{t: t}
	for i, a := range nodeAddrs {
		name := string(rune('a' + i))
		w.wires.Attach(spaces+name, prefix(a))
		vars := []string{
			variable("storage.engine", "postgres"), variable("storage.postgres.url", database),
			variable("cluster.name", "test"), variable("cluster.node", name), variable("cluster.listen", peers[i]),
			variable("cluster.peers", strings.Join(peers, ",")), variable("cluster.insecure", "true"),
			variable("accounts.key_file", key), variable("net.trusted", "79.10.0.0/24"), // quotas are not the subject
			variable("admin.audit_entries", "1000000"), variable("master.save_every", "1s"),
		}
		for _, s := range services.All() {
			vars = append(vars, variable(s.Key, fmt.Sprintf("%v:%d", a, s.Port))) // the same after a restart
		}
		if i < len(own) {
			vars = append(vars, own[i]...)
		}
		w.nodes = append(w.nodes, &member{name: name, dir: t.TempDir(), vars: vars})
		w.start(i)
	}
	w.together()
	newFaultLoad(w)
	return w
}

// start starts a node in its namespace, again if it ended.
func (w *faultWorld) start(i int) { w.startAs(i, "") }

// startAs is start with another program, if one is given.
func (w *faultWorld) startAs(i int, program string) {
	w.t.Helper()
	n := w.nodes[i]
	placeKey(w.t, n.dir)
	wrapper := []string{"ip", "netns", "exec", os.Getenv(faultSpaces) + n.name}
	if program != "" {
		wrapper = append(wrapper, "sh", "-c", `exec "$0" serve`, program) // sh ignores the further arguments
	}
	n.child = startWrapped(w.t, wrapper, testEnv(n.dir, n.vars...))
	if folder := os.Getenv("CLUSTER_FAULT_LOGS"); folder != "" {
		c, name := n.child, fmt.Sprintf("%s-%s-%d.log", strings.TrimSpace(os.Getenv(faultSpaces)), n.name, n.process.Pid)
		w.t.Cleanup(func() { must(w.t, os.WriteFile(filepath.Join(folder, name), []byte(c.log.String()), 0o600)) })
	}
}

// except returns the numbers of all nodes but one.
func (w *faultWorld) except(i int) []int {
	return slices.DeleteFunc([]int{0, 1, 2}, func(k int) bool { return k == i })
}

// measured logs a figure that a fault produced.
func (w *faultWorld) measured(format string, args ...any) {
	w.t.Helper()
	w.t.Logf("measured: "+format, args...)
}

// within waits until f returns no error, for a limited time, and returns how long it took.
func (w *faultWorld) within(limit time.Duration, what string, f func() error) time.Duration {
	w.t.Helper()
	if !isTimed() {
		limit = max(limit, hang)
	}
	began := time.Now()
	for {
		err := f()
		took := time.Since(began)
		switch {
		case err == nil:
			return took
		case took > limit:
			w.t.Fatalf("%s: not within %v: %v", what, limit, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// negotiates connects two players behind NATs who speak to nodes i and k.
func (w *faultWorld) negotiates(i, k int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), hang)
	defer cancel()
	var nats [2]*natnegtest.NAT
	results := make(chan error, 2)
	cookie := uint32(time.Now().UnixNano())
	for index, node := range []int{i, k} {
		nats[index] = &natnegtest.NAT{Kind: natnegtest.PortRestricted, Outside: natnegtest.System{}, Public: natAddrs[index]}
		w.t.Cleanup(nats[index].Close)
		p := &natnegtest.Player{
			Net: nats[index], Local: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(index), 5}), 5000),
			Cookie: cookie, Index: byte(index), Name: testGame, Linger: time.Second,
		}
		for s := range p.Servers {
			p.Servers[s] = w.nodes[node].address["natneg"]
		}
		go func() {
			r, err := p.Run(ctx)
			if err == nil && r.End != natnegtest.Connected {
				err = fmt.Errorf("player %d: %v", index, r.End)
			}
			results <- err
		}()
	}
	if err := errors.Join(<-results, <-results); err != nil {
		w.t.Errorf("negotiation over nodes %d and %d: %v", i, k, err)
	}
}

// signsIn signs a player in to a node.
func (w *faultWorld) signsIn(node int, name string) (*player, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), hang)
	defer cancel()
	return enter(ctx, w.nodes[node].address["gpcm"], name)
}

// sessionsOf returns the nodes on which a player is signed in, as a node sees it.
func (w *faultWorld) sessionsOf(n *member, name string) (on []string) {
	w.t.Helper()
	page, err := n.client(n.dir).SignedIn(w.t.Context(), operator.SessionQuery{})
	must(w.t, err)
	for _, s := range page.Sessions {
		if s.UniqueNick == name {
			on = append(on, s.Node)
		}
	}
	return on
}

// Variables of children of this test.
const (
	faultClock = clockSkew
	faultNewer = "TEST_NEWER_PROGRAM" // path of a newer version
)

// buildNewer builds a version of the program that has one migration more.
func buildNewer(t *testing.T) string {
	t.Helper()
	migration := writeFile(t, "999_newer.sql", "ALTER TABLE bans ADD COLUMN newer int NOT NULL DEFAULT 7;\nCREATE TABLE newer (id int PRIMARY KEY);\n")
	schema, err := filepath.Abs("../../storage/postgres/schema/999_newer.sql")
	must(t, err)
	overlay := writeFile(t, "overlay.json", fmt.Sprintf(`{"Replace": {%q: %q}}`, schema, migration))
	program := filepath.Join(t.TempDir(), "respawnd")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("a newer version: %v\n%s", err, out)
	}
	return program
}
