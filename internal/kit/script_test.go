package kit

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
)

// Nothing but the names of games and hosts gets into a script, whatever a file of
// games states.
func TestNewPart(t *testing.T) {
	at := netip.MustParseAddr("192.0.2.1")
	for _, bad := range append([]string{"<script>", "a\x00b", "a\r\nb", "\u202eevil", "\xff", "caf\u00e9", `\`, "\x7f"}, "a b", "$(id)", "`id`", "a;b", "a&b", "%PATH%", "a|b", "a\nb", "'", `"`, "-n", "") {
		if _, err := newPart("gmtest", at, []string{bad}); err == nil {
			t.Errorf("newPart takes the name %q", bad)
		}
		if _, err := newPart(bad, at, []string{"a.example.org"}); err == nil && !games.ValidName(bad) {
			t.Errorf("newPart takes the game %q", bad)
		}
	}
	if _, err := newPart("gmtest", netip.MustParseAddr("::1"), []string{"a.example.org"}); err == nil {
		t.Error("newPart takes an IPv6 address")
	}
	if _, err := newPart("gmtest", at, nil); err == nil {
		t.Error("newPart makes a script without names")
	}
}

func testScript(t *testing.T) script {
	t.Helper()
	s := script{Games: "gmtest, second", File: "hosts-games", Address: "192.0.2.1"}
	for game, names := range map[string][]string{"gmtest": {"gmtest.master.gamespy.com", "gpcm.gamespy.com"}, "second": {"gpcm.gamespy.com"}} {
		p, err := newPart(game, netip.MustParseAddr("192.0.2.1"), names)
		if err != nil {
			t.Fatal(err)
		}
		s.Parts = append(s.Parts, p)
	}
	slices.SortFunc(s.Parts, func(a, b part) int { return strings.Compare(a.Mark, b.Mark) })
	return s
}

func TestBatchScript(t *testing.T) {
	text := testScript(t).write("bat")
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\r\n")) || bytes.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			t.Errorf("a line that Windows does not read: %q", line)
		}
	}
	wantParts(t, string(text), "echo 192.0.2.1 gmtest.master.gamespy.com # respawnd gmtest;\r\n", "# respawnd gmtest; begin", "# respawnd gmtest; end", "# respawnd second; end\r\n)>>", ":undo",
		`/c:"# respawnd gmtest;" /c:"# respawnd second;" "%HOSTS%"`)
}

func TestShellScript(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	hosts, file := filepath.Join(dir, "hosts"), filepath.Join(dir, "hosts-games.sh")
	const before = "127.0.0.1 localhost\n# respawnd gmtest2; another game\n192.0.2.9 x.example.org" // no end of the last line
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, string(testScript(t).write("sh")))
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), shell, append([]string{file}, args...)...)
		cmd.Env = append(os.Environ(), "HOSTS="+hosts)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	content := func() string {
		t.Helper()
		b, err := os.ReadFile(hosts)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	write(hosts, before)
	const after = before + "\n# respawnd gmtest; begin: removed by hosts-games.sh undo\n" +
		"192.0.2.1 gmtest.master.gamespy.com # respawnd gmtest;\n192.0.2.1 gpcm.gamespy.com # respawnd gmtest;\n# respawnd gmtest; end\n" +
		"# respawnd second; begin: removed by hosts-games.sh undo\n192.0.2.1 gpcm.gamespy.com # respawnd second;\n# respawnd second; end\n"
	for _, round := range []string{"first", "second"} {
		if out, err := run(); err != nil || content() != after {
			t.Fatalf("%s run: %v, %s\n%s\nwant\n%s", round, err, out, content(), after)
		}
	}
	if out, err := run("undo"); err != nil || content() != before+"\n" {
		t.Errorf("undo: %v, %s\n%q, want %q", err, out, content(), before+"\n")
	}
	if out, err := run("undo"); err != nil || content() != before+"\n" {
		t.Errorf("second undo: %v, %s\n%q", err, out, content())
	}
	write(hosts, "")
	if out, err := run(); err != nil || !strings.HasPrefix(content(), "# respawnd gmtest; begin") {
		t.Errorf("an empty file: %v, %s\n%s", err, out, content())
	}
	if out, err := run("nonsense"); err == nil || !strings.Contains(out, "usage:") {
		t.Errorf("an unknown word: %v, %s", err, out)
	}
	hosts = filepath.Join(dir, "none", "hosts")
	if out, err := run(); err == nil || !strings.Contains(out, "Cannot write") {
		t.Errorf("a file that cannot be written: %v, %s", err, out)
	}
}
