package operator

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

// The program as users have it, with all built-in games.
func TestWholeCatalogue(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), rig.BuiltProgram(t), "game", "list")
	cmd.Env = append(rig.TestEnv(t.TempDir()), rig.AsProgram+"="+rig.AllGames)
	out, err := cmd.CombinedOutput()
	if n := bytes.Count(out, []byte("\n")); err != nil || n < 2400 {
		t.Errorf("game list: %v, %d lines, want more than 2400 games:\n%.2000s", err, n, out)
	}
}
