package cluster

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/test/rig"
)

// An operator prepares a cluster as the page says, and starts its machines with what was
// written. One that is named again later has the keys of the others, and joins them.
func TestClusterPrepared(t *testing.T) {
	t.Parallel()
	_ = rig.BuiltProgram(t) // skips a short run
	dir := t.TempDir()
	url := rig.WriteFile(t, "postgres.url", pgtest.Database(t)+"\n")
	ports := rig.FreePorts(t, 3)
	members := []string{"n1=" + ports[0], "n2=" + ports[1], "n3=" + ports[2]}
	prepare := func(want string, members ...string) {
		t.Helper()
		folder := filepath.Join(dir, want)
		out := rig.Cli(t, rig.TestEnv(t.TempDir()), append([]string{"cluster", "prepare", dir, "--url-file", url, "--path", folder}, members...)...)
		if !strings.Contains(out, folder+": copy it to 127.0.0.1 as ") {
			t.Fatalf("%s is not made:\n%s", folder, out)
		}
	}
	prepare("n1", members[0])
	prepare("n2", members[:2]...)
	prepare("n3", members...)
	if code, _, said := rig.Command(t, rig.TestEnv(t.TempDir()), "cluster", "prepare", dir, "--url-file", url, "n4=127.0.0.1"); code != commands.ExitUsage || !strings.Contains(said, "name that machine too") {
		t.Errorf("a machine that would not find the others: exit code %d, %q", code, said)
	}
	for _, file := range []string{"account.key", "webservices.key", "cluster-ca.crt"} {
		if rig.ReadFile(t, filepath.Join(dir, "n1", file)) != rig.ReadFile(t, filepath.Join(dir, "n3", file)) {
			t.Errorf("n1 and n3 have different files %s", file)
		}
	}
	var all []*rig.Child
	for i := range members {
		folder := filepath.Join(dir, "n"+strconv.Itoa(i+1))
		all = append(all, rig.StartProcess(t, "", rig.TestEnv(t.TempDir(), rig.Variable("cluster.listen", ports[i])), "--config", filepath.Join(folder, "respawnd.yaml")))
	}
	for _, c := range all {
		rig.Eventually(t, "a whole cluster", func() bool {
			return rig.Metric(t, &c.Running, "respawnd_cluster_nodes") == strconv.Itoa(len(members))
		})
	}
}
