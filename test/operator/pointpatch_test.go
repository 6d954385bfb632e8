package operator

import (
	"os"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices/auth"
)

func TestPointPatch(t *testing.T) {
	t.Parallel()
	const text = "x\x00%s.master.gamespy.com\x00Visit www.gamespy.com today\x00"
	before := text + auth.OriginalModulus + "\x00"
	path := rig.WriteFile(t, "game.exe", before)
	content := func() string {
		b, err := os.ReadFile(path)
		rig.Must(t, err)
		return string(b)
	}
	patch := func(args ...string) []string { return append([]string{"point", "patch", path}, args...) }

	rig.WantIn(t, rig.Cli(t, nil, patch("--domain", "example.org", "--dry-run")...), "%s.master.gamespy.com", "-> example.org", "left: a sentence")
	if code, _, errOut := rig.Command(t, nil, patch("--domain", "example.org")...); code != commands.ExitFailure || !strings.Contains(errOut, "Replace 1 place in "+path) {
		t.Errorf("without an answer: exit code %d, %s", code, errOut)
	}
	if content() != before {
		t.Fatal("the file was changed without an answer")
	}
	modulus := strings.Repeat("A1B2C3D4", 32)
	key := rig.WriteFile(t, "modulus", strings.ToLower(modulus)+"\n")
	rig.WantIn(t, rig.Cli(t, nil, patch("--domain", "Example.ORG", "--auth-key", key, "--yes")...), "replaced 2 places", "point patch --undo "+path)
	if want := strings.Replace(text, "master.gamespy.com", "master.example.org", 1) + modulus + "\x00"; content() != want {
		t.Errorf("changed to %q", content())
	}
	if code, _, errOut := rig.Command(t, nil, patch("--domain", "example.net", "--from", "example.org", "--yes")...); code != commands.ExitFailure || !strings.Contains(errOut, "changed already") {
		t.Errorf("a second change: exit code %d, %s", code, errOut)
	}
	rig.WantIn(t, rig.Cli(t, nil, patch("--undo")...), "as it was")
	if content() != before {
		t.Errorf("undone to %q", content())
	}
	rig.Refused(t, commands.ExitFailure, nil, patch("--undo"), "no record")
}

// TestPointPatchOfGames makes the changes that a game is known to need.
func TestPointPatchOfGames(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	path := rig.WriteFile(t, "game.exe", "https://%s.auth.pubsvs.gamespy.com/AuthService.asmx\x00"+auth.OriginalModulus+"\x00")
	patch := func(args ...string) []string {
		return append([]string{"point", "patch", path, "--yes", "--game"}, args...)
	}
	rig.Refused(t, commands.ExitFailure, env, patch("swat4"), "swat4 is not known to need a changed program")
	rig.WantIn(t, rig.Cli(t, env, patch("mariokartwii")...), "certificate: the console trusts", "-> http")
	if got := rig.ReadFile(t, path); !strings.HasPrefix(got, "http://%s.auth.pubsvs.gamespy.com/AuthService.asmx\x00\x00"+auth.OriginalModulus) {
		t.Errorf("changed to %q", got)
	}
}

func TestPointPatchRefuses(t *testing.T) {
	t.Parallel()
	path := rig.WriteFile(t, "game.exe", "nothing")
	for _, args := range [][]string{{path}, {"--domain", "example.org"}, {path, "--undo", "--domain", "example.org"}, {path, "--domain", "a b"}, {path, path, "--undo"}} {
		rig.Refused(t, commands.ExitUsage, nil, append([]string{"point", "patch"}, args...))
	}
	rig.Refused(t, commands.ExitFailure, nil, []string{"point", "patch", path, "--domain", "example.org"}, "nothing in it can be replaced")
	rig.Refused(t, commands.ExitFailure, nil, []string{"point", "patch", path, "--auth-key", path}, "--auth-key: ", "no modulus of 256 hex digits")
	rig.Refused(t, commands.ExitFailure, nil, []string{"point", "patch", path + ".none", "--domain", "example.org"}, "game.exe.none")
}
