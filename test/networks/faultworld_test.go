//go:build linux && netns

package networks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/test/rig"
)

// faults are the tests by the role of the child that runs them.
var faults = map[string]func(t *testing.T){
	"node killed":          nodeKilled,
	"node cut off":         nodeCutOff,
	"bus cut":              busCut,
	"database stopped":     databaseStopped,
	"database unreachable": databaseUnreachable,
	"slow links":           slowLinks,
	"lossy links":          lossyLinks,
	"clocks apart":         clocksApart,
	"rolling restart":      rollingRestart,
}

// TestClusterFaultNetworks breaks one dependency of a cluster after the other while
// game servers, players and operators use it.
func TestClusterFaultNetworks(t *testing.T) {
	names := slices.Sorted(maps.Keys(faults))
	if some := os.Getenv("CLUSTER_FAULTS"); some != "" {
		names = strings.Split(some, ",")
	}
	survived, tried := 0, 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					return
				}
				if tried++; !t.Failed() {
					survived++
				}
			}()
			w := nettest.NewWorld(t)
			env := []string{faultSpaces + "=" + w.Name("")}
			if name == "rolling restart" {
				env = append(env, faultNewer+"="+buildNewer(t))
			}
			if name == "clocks apart" {
				env = append(env, faultSkewed+"="+buildSkewed(t))
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
	if tried == 0 {
		t.Skip("no fault could be tried")
	}
	ratetest.Report(t, "faults of clusters without loss", survived, tried)
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
	rig.Must(t, err)
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
	*rig.TestCluster
	t     *testing.T
	wires *nettest.Wires
	db    *pgtest.Server
	load  *faultLoad
}

// newFaultWorld starts three nodes. own holds variables by node.
func newFaultWorld(t *testing.T, own ...[]string) *faultWorld {
	t.Helper()
	rig.BuiltProgram(t)
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
	w.TestCluster = &rig.TestCluster{T: t}
	for i, a := range nodeAddrs {
		name := string(rune('a' + i))
		w.wires.Attach(spaces+name, prefix(a))
		vars := []string{
			rig.Variable("storage.engine", "postgres"), rig.Variable("storage.postgres.url", database),
			rig.Variable("cluster.name", "test"), rig.Variable("cluster.node", name), rig.Variable("cluster.listen", peers[i]),
			rig.Variable("cluster.peers", strings.Join(peers, ",")), rig.Variable("cluster.insecure", "true"),
			rig.Variable("accounts.key_file", key), rig.Variable("net.trusted", "79.10.0.0/24"), // quotas are not the subject
			rig.Variable("admin.audit_entries", "1000000"), rig.Variable("master.save_every", "1s"),
		}
		for _, s := range services.All() {
			vars = append(vars, rig.Variable(s.Key, fmt.Sprintf("%v:%d", a, s.Port))) // the same after a restart
		}
		if i < len(own) {
			vars = append(vars, own[i]...)
		}
		w.Nodes = append(w.Nodes, &rig.Member{Name: name, Dir: t.TempDir(), Vars: vars})
		w.Start(i)
	}
	w.Together()
	newFaultLoad(w)
	return w
}

// Start starts a node in its namespace, again if it ended.
func (w *faultWorld) Start(i int) { w.startAs(i, os.Getenv(faultSkewed)) }

// startAs is start with another program, if one is given.
func (w *faultWorld) startAs(i int, program string) {
	w.t.Helper()
	n := w.Nodes[i]
	rig.PlaceKey(w.t, n.Dir)
	wrapper := []string{"ip", "netns", "exec", os.Getenv(faultSpaces) + n.Name}
	if program != "" {
		wrapper = append(wrapper, "sh", "-c", `exec "$0" serve`, program) // sh ignores the further arguments
	}
	n.Child = rig.StartWrapped(w.t, wrapper, rig.TestEnv(n.Dir, n.Vars...))
	if folder := os.Getenv("CLUSTER_FAULT_LOGS"); folder != "" {
		c, name := n.Child, fmt.Sprintf("%s-%s-%d.log", strings.TrimSpace(os.Getenv(faultSpaces)), n.Name, n.Process.Pid)
		w.t.Cleanup(func() { rig.Must(w.t, os.WriteFile(filepath.Join(folder, name), []byte(c.Log.String()), 0o600)) })
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
		limit = max(limit, rig.Hang)
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
	ctx, cancel := context.WithTimeout(w.t.Context(), rig.Hang)
	defer cancel()
	var nats [2]*natnegtest.NAT
	results := make(chan error, 2)
	cookie := uint32(time.Now().UnixNano())
	for index, node := range []int{i, k} {
		nats[index] = &natnegtest.NAT{Kind: natnegtest.PortRestricted, Outside: natnegtest.System{}, Public: natAddrs[index]}
		w.t.Cleanup(nats[index].Close)
		p := &natnegtest.Player{
			Net: nats[index], Local: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(index), 5}), 5000),
			Cookie: cookie, Index: byte(index), Name: rig.TestGame, Linger: time.Second,
		}
		for s := range p.Servers {
			p.Servers[s] = w.Nodes[node].Address["natneg"]
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
func (w *faultWorld) signsIn(node int, name string) (*rig.Player, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), rig.Hang)
	defer cancel()
	return rig.Enter(ctx, w.Nodes[node].Address["gpcm"], name)
}

// sessionsOf returns the nodes on which a player is signed in, as a node sees it.
func (w *faultWorld) sessionsOf(n *rig.Member, name string) (on []string) {
	w.t.Helper()
	page, err := operator.ListSessions.Call(w.t.Context(), n.Client(n.Dir), operator.SessionQuery{})
	rig.Must(w.t, err)
	for _, s := range page.Sessions {
		if s.UniqueNick == name {
			on = append(on, s.Node)
		}
	}
	return on
}

// Variables of children of this test.
const (
	faultNewer  = "TEST_NEWER_PROGRAM"  // path of a newer version
	faultSkewed = "TEST_SKEWED_PROGRAM" // path of the program with a clock that clockSkew puts ahead
	clockSkew   = "TEST_CLOCK_SKEW"     // whole seconds, as in 15s
)

// newerLayout is the layout of records of the newer program.
const newerLayout = 10

// buildNewer builds a version of the program whose records have a newer layout.
func buildNewer(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../storage/records/layout.go")
	rig.Must(t, err)
	number, text := regexp.MustCompile(`(?m)^const version = \d+$`), rig.ReadFile(t, file)
	if len(number.FindAllString(text, 2)) != 1 {
		t.Fatalf("%s has no number of the layout, or several", file)
	}
	return buildWith(t, file, rig.WriteFile(t, "layout.go", number.ReplaceAllString(text, fmt.Sprintf("const version = %d", newerLayout))))
}

// buildWith builds the program with another content for one file.
func buildWith(t *testing.T, file, content string) string {
	t.Helper()
	overlay := rig.WriteFile(t, "overlay.json", fmt.Sprintf(`{"Replace": {%q: %q}}`, file, content))
	program := filepath.Join(t.TempDir(), "respawnd")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, "../../cmd/respawnd").CombinedOutput()
	if err != nil {
		t.Fatalf("program with another %s: %v\n%s", filepath.Base(file), err, out)
	}
	return program
}

// buildSkewed builds the program with a time.Now that clockSkew puts ahead. Timers and
// measured times are right, as on a machine whose clock is wrong.
func buildSkewed(t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	rig.Must(t, err)
	file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	const reads, imports = "sec, nsec, mono := runtimeNow()\n", "import (\n"
	text := rig.ReadFile(t, file)
	if strings.Count(text, reads) != 1 || !strings.Contains(text, imports) {
		t.Fatalf("%s reads the clock in another way than this test knows", file)
	}
	text = strings.Replace(text, imports, imports+"\t\"syscall\"\n", 1)
	text = strings.Replace(text, reads, reads+"\tsec += clockSkew\n", 1)
	text += fmt.Sprintf(`
var clockSkew = func() int64 {
	text, _ := syscall.Getenv(%q)
	d, _ := ParseDuration(text)
	return int64(d / Second)
}()
`, clockSkew)
	return buildWith(t, file, rig.WriteFile(t, "time.go", text))
}
