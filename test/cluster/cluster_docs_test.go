package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/test/rig"
)

// pastedShell is a block of commands of a page that the reader pastes as a whole.
var pastedShell = regexp.MustCompile("(?s)```bash\n(.*?)```")

// A reader makes the certificates of the page, puts them where the samples have them, and
// starts all nodes of a sample.
func TestClusterSamples(t *testing.T) {
	t.Parallel()
	_ = rig.BuiltProgram(t) // skips a short run
	shell := rig.Program(t, "bash", "bash")
	_ = rig.Program(t, "openssl", "openssl")
	certs := t.TempDir()
	blocks := pastedShell.FindAllStringSubmatch(rig.Docs(t)["docs/operators/cluster.md"], -1)
	if len(blocks) != 2 || !strings.Contains(blocks[0][1], "openssl") {
		t.Fatalf("the page has %d blocks to paste, want certificates and backups", len(blocks))
	}
	cmd := exec.CommandContext(t.Context(), shell, "-e", "-c", blocks[0][1])
	cmd.Dir = certs
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for file, nodes := range map[string]int{"cluster-two.yaml": 2, "cluster-three.yaml": 3} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			startSample(t, file, nodes, certs)
		})
	}
}

// startSample runs the nodes of a sample, on this machine.
func startSample(t *testing.T, file string, nodes int, certs string) {
	t.Helper()
	url := filepath.Join(t.TempDir(), "postgres.url")
	rig.Must(t, os.WriteFile(url, []byte(pgtest.Database(t)+"\n"), 0o600))
	var all []*rig.Child
	first, peer := "", ""
	for i := range nodes {
		dir, name := t.TempDir(), "n"+strconv.Itoa(i+1)
		if rig.PlaceKey(t, dir); first == "" {
			first = dir
		} else {
			rig.Must(t, os.WriteFile(filepath.Join(dir, "account.key"), []byte(rig.ReadFile(t, filepath.Join(first, "account.key"))), 0o600))
		}
		c := rig.StartProcess(t, "", rig.TestEnv(dir,
			rig.Variable("storage.postgres.url_file", url), rig.Variable("cluster.node", name), rig.Variable("cluster.listen", "127.0.0.1:0"), rig.Variable("cluster.peers", peer),
			rig.Variable("cluster.tls.cert", filepath.Join(certs, name+".crt")), rig.Variable("cluster.tls.key", filepath.Join(certs, name+".key")),
			rig.Variable("cluster.tls.ca", filepath.Join(certs, "cluster-ca.crt")),
		), "--config", filepath.Join("..", "..", "configs", file))
		if peer == "" {
			peer = c.WaitFor("joined", 0, rig.Message("joined the cluster")).Text("address")
		}
		all = append(all, c)
	}
	for _, c := range all {
		rig.Eventually(t, "a whole cluster", func() bool { return rig.Metric(t, &c.Running, "respawnd_cluster_nodes") == strconv.Itoa(nodes) })
	}
}
