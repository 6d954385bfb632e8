package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// portLines returns the lines of a daemon about ports that the start before had or lacked.
func portLines(d *running) (lines []entry) {
	all, _ := d.log.since(0)
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
	noRelay := variable("relay.enabled", "false")
	serve := func(on []string, more ...string) []entry {
		t.Helper()
		d := startWithout(t, onlyEnv(dir, on, append(more, variable("dns.enabled", "false"))...))
		d.stop()
		return portLines(d)
	}
	for _, start := range []string{"first start", "the same again"} {
		if lines := serve([]string{"zanmaster", "gpcm"}, noRelay); len(lines) > 0 {
			t.Errorf("%s: %v", start, lines)
		}
	}
	lines := serve([]string{"zanmaster", "idmaster", "utmaster"}, variable("relay.ports", "40000-40009"), variable("zanmaster.listen", "127.0.0.2:0"))
	if len(lines) != 1 || lines[0].text("level") != "warn" {
		t.Fatalf("with other services: %v, want one warning", lines)
	}
	opened, closed := texts(lines[0]["opened"].([]any)), texts(lines[0]["closed"].([]any))
	if diff := cmp.Diff([]string{
		"udp 127.0.0.2:0 zanmaster.listen", "udp+tcp 127.0.0.1:0 utmaster.listen", "udp 127.0.0.1:0 idmaster.listen", "udp :40000-40009 relay.enabled",
	}, opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tcp 127.0.0.1:0 gpcm.listen", "udp 127.0.0.1:0 zanmaster.listen"}, closed); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	if lines := serve([]string{"zanmaster"}, noRelay, variable("zanmaster.listen", "127.0.0.2:0")); len(lines) != 1 || lines[0].text("level") != "info" || lines[0]["opened"] != nil {
		t.Errorf("with fewer services: %v, want one line for information", lines)
	}
}

// After the upgrade of a data folder of release 0.9.0, which has no record of its listeners,
// those that the release did not have are new.
func TestNewListenersAfterRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "respawnd.db.schema6.bak"), nil, 0o600))
	d := startWithout(t, onlyEnv(dir, []string{"zanmaster", "gpcm", "admin", "idmaster", "mangler"}))
	d.stop()
	lines := portLines(d)
	if len(lines) != 1 || lines[0]["closed"] != nil {
		t.Fatalf("%v, want one line", lines)
	}
	opened := texts(lines[0]["opened"].([]any))
	for _, want := range []string{"idmaster.listen", "mangler.listen", "relay.enabled"} {
		if !slices.ContainsFunc(opened, func(l string) bool { return strings.HasSuffix(l, " "+want) }) {
			t.Errorf("opened %q, want %s too", opened, want)
		}
	}
	if len(opened) != 3 {
		t.Errorf("opened %q, want 3", opened)
	}
}
