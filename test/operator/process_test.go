package operator

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

func TestBuiltProgramTellsItsExitCode(t *testing.T) {
	t.Parallel()
	path := rig.BuiltProgram(t)
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, 0},
		{[]string{"check", "--log-level", "loud"}, commands.ExitFailure},
		{[]string{"no-such-command"}, commands.ExitUsage},
	} {
		cmd := exec.CommandContext(t.Context(), path, tc.args...)
		out, _ := cmd.CombinedOutput() // the caller checks the exit code
		if got := cmd.ProcessState.ExitCode(); got != tc.want {
			t.Errorf("respawnd %s: exit code %d, want %d\n%s", strings.Join(tc.args, " "), got, tc.want, out)
		}
	}
}
