package crash

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/test/rig"
)

// stormRounds is the number of kills. For a longer test: STORM_ROUNDS=200 go
// test -run Storm ./test/crash
func stormRounds(t *testing.T, usual int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("STORM_ROUNDS"))
	if err != nil {
		return usual
	}
	return n
}

// A world is a daemon, and what it stands on, that storms go over.
type world struct {
	t   *testing.T
	dir string
	env []string
	*rig.Child
}

func newWorld(t *testing.T, vars ...string) *world {
	t.Helper()
	dir := t.TempDir()
	file := rig.WriteFile(t, "storm.yaml", "net:\n  trusted: [127.0.0.0/8]\nadmin:\n  audit_entries: 1000000\n") // quotas are not the subject
	rig.Typed(t, rig.TestEnv(dir, vars...), rig.StormPassword, "account", "create",                              // profile 1, which others block
		"--email", "anchor@example.com", "--nick", "anchor", "--uniquenick", "anchor", "--password-stdin")
	w := &world{t: t, dir: dir, env: append(vars, "--config", file)}
	w.start()
	return w
}

func (w *world) start() { w.Child = rig.StartChild(w.t, w.dir, w.env...) }

// killDaemon is a blow of a storm. What it returns brings the daemon back.
func (w *world) killDaemon() (restart func()) {
	_ = w.Process.Kill()
	return func() { w.Kill(); w.start() }
}

// storm writes to a world in rounds, each of which ends with one of the blows. It fails the test
// if a change that a service acknowledged is lost.
func (w *world) storm(rate string, rounds int, blows ...func() (repair func())) {
	w.t.Helper()
	truth, counts, kept := make(map[string]rig.Fact), make(map[string]int), 0
	for round := range rounds {
		var repair func()
		w.Storm(w.dir, round, counts, truth, func() { repair = blows[round%len(blows)]() })
		repair()
		if rig.CheckTruth(w.t, w.Child, w.dir, truth, round) {
			kept++
		}
	}
	w.Kill()
	ratetest.Report(w.t, rate, kept, rounds)
	w.t.Logf("%d rounds, %d facts, acknowledged: %v", rounds, len(truth), counts)
	rig.WantNoPassword(w.t, w.dir)
}

func TestStormOfKillsLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.storm("kills without loss", stormRounds(t, 2), w.killDaemon)
}

// The daemon is killed, or the database below it is killed or stopped, and the daemon
// finds its way back to it.
func TestStormOnPostgreSQLLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	w := newWorld(t, rig.OnPostgres(server.TCP(server.Database(t)))...)
	without := func(end func(testing.TB)) func() func() {
		return func() func() {
			seen := w.Log.Len()
			end(t)
			return func() {
				w.WaitFor("the loss of the database", seen, func(e rig.Entry) bool { return strings.HasPrefix(fmt.Sprint(e["message"]), "the database is away") })
				server.Start(t)
				w.WaitFor("the database", seen, func(e rig.Entry) bool { return e["message"] == "the database is back" })
			}
		}
	}
	w.storm("kills on PostgreSQL without loss", stormRounds(t, 3), w.killDaemon, without(server.Kill), without(server.Stop))
	server.Stop(t) // its files are complete, and its socket is gone
	rig.WantNoPassword(t, server.Dir())
}
