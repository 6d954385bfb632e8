package operator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/test/rig"
)

// portLines returns the lines of a daemon about ports that the start before had or lacked.
func portLines(d *rig.Running) (lines []rig.Entry) {
	all, _ := d.Log.Since(0)
	for _, e := range all {
		if e["opened"] != nil || e["closed"] != nil {
			lines = append(lines, e)
		}
	}
	return lines
}

// TestNewListeners has the log name listeners that the last start did not have.
func TestNewListeners(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noRelay := rig.Variable("relay.enabled", "false")
	serve := func(on []string, more ...string) []rig.Entry {
		t.Helper()
		d := rig.StartWithout(t, rig.OnlyEnv(dir, on, append(more, rig.Variable("dns.enabled", "false"))...))
		d.Stop()
		return portLines(d)
	}
	for _, start := range []string{"first start", "the same again"} {
		if lines := serve([]string{"zanmaster", "gpcm", "natneg"}, noRelay); len(lines) > 0 {
			t.Errorf("%s: %v", start, lines)
		}
	}
	lines := serve([]string{"zanmaster", "idmaster", "utmaster", "natneg"}, rig.Variable("relay.ports", "40000-40009"), rig.Variable("zanmaster.listen", "127.0.0.2:0"))
	if len(lines) != 1 || lines[0].Text("level") != "warn" {
		t.Fatalf("with other services: %v, want one warning", lines)
	}
	opened, closed := rig.Texts(lines[0]["opened"].([]any)), rig.Texts(lines[0]["closed"].([]any))
	if diff := cmp.Diff([]string{
		"udp 127.0.0.2:0 zanmaster.listen", "udp+tcp 127.0.0.1:0 utmaster.listen", "udp 127.0.0.1:0 idmaster.listen", "udp :40000-40009 relay.enabled",
	}, opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tcp 127.0.0.1:0 gpcm.listen", "udp 127.0.0.1:0 zanmaster.listen"}, closed); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	if lines := serve([]string{"zanmaster"}, noRelay, rig.Variable("zanmaster.listen", "127.0.0.2:0")); len(lines) != 1 || lines[0].Text("level") != "info" || lines[0]["opened"] != nil {
		t.Errorf("with fewer services: %v, want one line for information", lines)
	}
}

// After the upgrade of a data folder of release 0.9.0, which has no record of its listeners,
// those that the release did not have are new.
func TestNewListenersAfterRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig.Must(t, os.WriteFile(filepath.Join(dir, "respawnd.db.schema6.bak"), nil, 0o600))
	d := rig.StartWithout(t, rig.OnlyEnv(dir, []string{"zanmaster", "gpcm", "admin", "idmaster", "mangler", "natneg"}))
	d.Stop()
	lines := portLines(d)
	if len(lines) != 1 || lines[0]["closed"] != nil {
		t.Fatalf("%v, want one line", lines)
	}
	opened := rig.Texts(lines[0]["opened"].([]any))
	for _, want := range []string{"idmaster.listen", "mangler.listen", "relay.enabled"} {
		if !slices.ContainsFunc(opened, func(l string) bool { return strings.HasSuffix(l, " "+want) }) {
			t.Errorf("opened %q, want %s too", opened, want)
		}
	}
	if len(opened) != 3 {
		t.Errorf("opened %q, want 3", opened)
	}
}
