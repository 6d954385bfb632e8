package crash

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// hundred registers a hundred servers that report from time to time.
func hundred(t *testing.T, c *rig.Child) (hosts []*rig.Host) {
	t.Helper()
	for n := range 100 {
		h := rig.NewHost(t, c.Address["qr2"], "hostname", fmt.Sprint("Server ", n), "mapname", strings.Repeat("m", 60))
		h.OwnPlayers = []string{"Ann", "Ben", "Cid", "Dan"}
		h.MustRegister()
		hosts = append(hosts, h)
	}
	return hosts
}

// loadedConfig returns a configuration with which hosts stay listed, however slow a
// loaded daemon is.
func loadedConfig(t *testing.T) string {
	t.Helper()
	return rig.WriteFile(t, "load.yaml", "net:\n  trusted: [127.0.0.0/8]\nqr2:\n  expire: 1h\n")
}

// makeAccounts makes one account after the other until the daemon stops
// answering, and returns the acknowledged ones.
func makeAccounts(t *testing.T, c *rig.Child, prefix string, made *atomic.Int64) (names []string) {
	for n := 0; ; n++ {
		name := fmt.Sprint(prefix, n)
		if rig.NewUser(t.Context(), c.Address["gpsp"], name) == "" {
			return names
		}
		names = append(names, name)
		made.Add(1)
	}
}

// A stop under load keeps the list and loses no account.
func TestRestartUnderLoadKeepsListAndAccounts(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), loadedConfig(t)
	c := rig.StartChild(t, dir, "--config", file)
	hosts := hundred(t, c)
	var load sync.WaitGroup
	var made atomic.Int64
	lists := make([][]string, 4)
	for i := range lists {
		load.Go(func() { lists[i] = makeAccounts(t, c, fmt.Sprint("load", i, "x"), &made) })
	}
	for made.Load() < 40 {
		rig.List(t, &c.Running, "", `\hostname\mapname`)
	}
	rig.Must(t, c.Process.Signal(syscall.SIGTERM))
	<-c.Ended
	if code := c.State.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0:\n%s", code, c.Log)
	}
	load.Wait()

	c = rig.StartChild(t, dir, "--config", file)
	rig.WantListed(t, &c.Running, hosts...)
	for _, names := range lists {
		for _, name := range names {
			if !rig.TakesPassword(t, c, name, rig.StormPassword) {
				t.Errorf("the account %s, which was acknowledged, is gone", name)
			}
		}
	}
}

// With a limit of 64 MiB the daemon serves 100 servers and their browsers
// without spending its time on garbage collection. LITTLE_MEMORY_ROUNDS makes
// the load longer and compares with a daemon without a limit; the figures are in the
// log of the test.
func TestLittleMemoryIsEnough(t *testing.T) {
	t.Parallel()
	limits := []string{"64MiB", "off"}
	rounds, err := strconv.Atoi(os.Getenv("LITTLE_MEMORY_ROUNDS"))
	if err != nil {
		limits, rounds = limits[:1], 1
	}
	for _, limit := range limits {
		c := rig.StartWrapped(t, nil, append(rig.TestEnv(t.TempDir()), rig.UsualCollector, "GOMEMLIMIT="+limit), "--config", loadedConfig(t))
		hosts := hundred(t, c)
		var logins []*rig.Player
		for n := range 50 {
			name := fmt.Sprint("player", n)
			if rig.NewUser(t.Context(), c.Address["gpsp"], name) == "" {
				t.Fatal("no account")
			}
			p, err := rig.Enter(t.Context(), c.Address["gpcm"], name)
			rig.Must(t, err)
			logins = append(logins, p)
		}
		for range rounds {
			for range 50 {
				rig.List(t, &c.Running, "", `\hostname\mapname\numplayers`)
				rig.Get(t, &c.Running, "web", http.MethodGet, "/api/v1/servers", "")
			}
			for _, h := range hosts {
				h.MustHeartbeat("1")
				h.MustSend(qr2.KindKeepalive, nil)
			}
		}
		rig.WantListed(t, &c.Running, hosts...)
		for _, p := range logins {
			_, err := p.CaughtUp()
			rig.Must(t, err)
			_ = p.Close()
		}
		cpu, rss := metricValue(t, c, "process_cpu_seconds_total"), metricValue(t, c, "process_resident_memory_bytes")
		cycles := metricValue(t, c, "go_gc_duration_seconds_count")
		t.Logf("GOMEMLIMIT %s: processor %.2f s, resident %.0f MiB, %v collections", limit, cpu, rss/(1<<20), cycles)
		if limit == "64MiB" && rss > 160<<20 {
			t.Errorf("%.0f MiB are resident", rss/(1<<20))
		}
		c.Kill()
	}
}

// metricValue returns the value of a metric without labels.
func metricValue(t *testing.T, c *rig.Child, name string) float64 {
	t.Helper()
	_, text := rig.Get(t, &c.Running, "admin", http.MethodGet, "/metrics", "")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			rig.Must(t, err)
			return f
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
