package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/daemon"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
)

// auditEntries parses the output of `audit --json`, newest entry first.
func auditEntries(t testing.TB, out string) []storage.AuditEntry {
	t.Helper()
	var all []storage.AuditEntry
	for line := range strings.Lines(out) {
		var e storage.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func TestAuditLogOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	env := testEnv(dir)
	cli(t, env, "ban", "add", "192.0.2.1", "--reason", "one") // without a daemon
	d := start(t, dir)
	d.cli("ban", "add", "192.0.2.2", "--reason", "two") // through it
	got := auditEntries(t, d.cli("audit", "--json"))
	if len(got) != 2 {
		t.Fatalf("audit --json has %d entries, want 2: %+v", len(got), got)
	}
	for i, want := range []struct{ subject, from string }{{"192.0.2.2/32 (all)", "127.0.0.1"}, {"192.0.2.1/32 (all)", ""}} {
		e := got[i]
		from := ""
		if e.From.IsValid() {
			from = e.From.String()
		}
		if e.Action != "ban.add" || e.Subject != want.subject || e.Via != storage.ViaCommand || from != want.from || e.By == "" || e.Time.IsZero() {
			t.Errorf("entry %d = %+v, want %+v", i, e, want)
		}
	}
	if got := auditEntries(t, d.cli("audit", "--json", "--limit", "1")); len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("audit --limit 1 = %+v, want the newest", got)
	}
	if got := auditEntries(t, d.cli("audit", "--json", "--limit", "0")); len(got) != 2 {
		t.Errorf("audit --limit 0 has %d entries, want all", len(got))
	}
	table := d.cli("audit")
	for _, want := range []string{"ACTION", "ban.add", "192.0.2.2/32 (all)", "for good: two", "cli"} {
		if !strings.Contains(table, want) {
			t.Errorf("audit: %q is missing:\n%s", want, table)
		}
	}
	d.stop()
	if got := auditEntries(t, cli(t, env, "audit", "--json")); len(got) != 2 {
		t.Errorf("audit without a daemon has %d entries, want 2", len(got))
	}
	refused(t, exitUsage, env, []string{"audit", "--limit", "-1"}, "--limit")
}

func TestAuditLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	s, err := bolt.Open(t.Context(), filepath.Join(dir, daemon.StoreName), bolt.Options{NoSync: true})
	must(t, err)
	for range 119 {
		_, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"})
		must(t, err)
	}
	must(t, s.Close())
	env := testEnv(dir, variable("admin.audit_entries", "100"))
	cli(t, env, "ban", "add", "192.0.2.1")
	got := auditEntries(t, cli(t, env, "audit", "--json", "--limit", "0"))
	if len(got) != 100 || got[0].Seq != 120 || got[99].Seq != 21 {
		t.Errorf("after 120 changes the log has %d entries, the first and last %+v %+v", len(got), got[0], got[len(got)-1])
	}
}
