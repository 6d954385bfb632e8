package crash

import (
	"os"
	"strconv"
	"testing"

	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/test/rig"
)

// stormRounds is the number of kills. For a longer test: STORM_ROUNDS=200 go
// test -run Storm ./cmd/respawnd
func stormRounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("STORM_ROUNDS"))
	if err != nil {
		return 2
	}
	return n
}

// Every change that any service acknowledged survives a crash at any moment,
// and no password is on the disk.
func TestStormOfKillsLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := rig.WriteFile(t, "storm.yaml", "net:\n  trusted: [127.0.0.0/8]\nadmin:\n  audit_entries: 1000000\n") // quotas are not the subject
	rig.Typed(t, rig.TestEnv(dir), rig.StormPassword, "account", "create",                                       // profile 1, which others block
		"--email", "anchor@example.com", "--nick", "anchor", "--uniquenick", "anchor", "--password-stdin")
	rounds, kept := stormRounds(t), 0
	truth := make(map[string]rig.Fact)
	counts := make(map[string]int)
	for round := range rounds {
		c := rig.StartChild(t, dir, "--config", file)
		if rig.CheckTruth(t, c, dir, truth, round) && round > 0 {
			kept++
		}
		c.Storm(dir, round, counts, truth)
	}
	c := rig.StartChild(t, dir, "--config", file)
	if rig.CheckTruth(t, c, dir, truth, rounds) {
		kept++
	}
	c.Kill()
	ratetest.Report(t, "kills without loss", kept, rounds)
	t.Logf("%d rounds, %d facts, acknowledged: %v", rounds, len(truth), counts)
	rig.WantNoPassword(t, dir)
}
