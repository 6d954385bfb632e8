package masters

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/zanmaster"
)

// Bans in the files of Zandronum's master show with file and line wherever bans do,
// whether or not the daemon runs.
func TestFileBansAreShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, zanmaster.BanFile)
	if err := rig.WriteAt(file, "// ours\n127.0.0.* :home\n192.0.2.78 :fake\x1b[31m players\n"); err != nil {
		t.Fatal(err)
	}
	place := func(line int) string { return fmt.Sprintf("%s:%d", file, line) }
	offline := rig.Cli(t, rig.TestEnv(dir), "ban", "list")
	d := rig.Start(t, dir)
	for _, out := range []string{offline, d.Cli("ban", "list")} {
		if strings.Contains(out, "\x1b") || !regexp.MustCompile(`(?m)^127\.0\.0\.\* .* home .* 2 *$`).MatchString(out) || !regexp.MustCompile(`(?m)^192\.0\.2\.78 .* fake.*players .* 3 *$`).MatchString(out) {
			t.Errorf("ban list, want the lines of the file and no escapes:\n%q", out)
		}
	}
	rig.WantIn(t, d.Cli("ban", "list", "--json"), `"addresses":"127.0.0.*"`, `"line":2`)
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), "now: a ban of 127.0.0.* in "+place(2)+" covers it: it may neither play nor request lists nor be listed, until further notice, reason home")
	rig.WantIn(t, rig.PageText(t, d, "/why"), "This address is banned from the Zandronum list for good (banlist.txt, line 2).")
	if out := d.Cli("doctor", "192.0.2.1"); strings.Contains(out, file) {
		t.Errorf("doctor of an address without a ban:\n%s", out)
	}
	d.Stop()
}
