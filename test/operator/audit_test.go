package operator

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

func TestAuditLogOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	rig.Cli(t, env, "ban", "add", "192.0.2.1", "--reason", "one") // without a daemon
	d := rig.Start(t, dir)
	d.Cli("ban", "add", "192.0.2.2", "--reason", "two") // through it
	got := rig.AuditEntries(t, d.Cli("audit", "--json"))
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
	if got := rig.AuditEntries(t, d.Cli("audit", "--json", "--limit", "1")); len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("audit --limit 1 = %+v, want the newest", got)
	}
	if got := rig.AuditEntries(t, d.Cli("audit", "--json", "--limit", "0")); len(got) != 2 {
		t.Errorf("audit --limit 0 has %d entries, want all", len(got))
	}
	table := d.Cli("audit")
	for _, want := range []string{"ACTION", "ban.add", "192.0.2.2/32 (all)", "for good: two", "cli"} {
		if !strings.Contains(table, want) {
			t.Errorf("audit: %q is missing:\n%s", want, table)
		}
	}
	d.Stop()
	if got := rig.AuditEntries(t, rig.Cli(t, env, "audit", "--json")); len(got) != 2 {
		t.Errorf("audit without a daemon has %d entries, want 2", len(got))
	}
	rig.Refused(t, commands.ExitUsage, env, []string{"audit", "--limit", "-1"}, "--limit")
}

func TestAuditLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := storetest.File(t, filepath.Join(dir, daemon.StoreName))
	for range 119 {
		_, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"})
		rig.Must(t, err)
	}
	rig.Must(t, s.Close())
	env := rig.TestEnv(dir, rig.Variable("admin.audit_entries", "100"))
	rig.Cli(t, env, "ban", "add", "192.0.2.1")
	got := rig.AuditEntries(t, rig.Cli(t, env, "audit", "--json", "--limit", "0"))
	if len(got) != 100 || got[0].Seq != 120 || got[99].Seq != 21 {
		t.Errorf("after 120 changes the log has %d entries, the first and last %+v %+v", len(got), got[0], got[len(got)-1])
	}
}
