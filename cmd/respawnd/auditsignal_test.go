//go:build !windows

package main

import (
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func TestReloadChangesTheAuditLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	write := func(entries string) {
		t.Helper()
		if err := writeAt(config, "admin:\n  audit_entries: "+entries+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	write("200")
	data := filepath.Join(dir, "data")
	c := startChild(t, data, "--config", config)
	token, err := admin.ReadToken(filepath.Join(data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	op, err := admin.NewClient(c.address["admin"].String(), token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		b := storage.Ban{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32), Scope: storage.ScopeAll}
		if err := op.AddBan(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		page, err := op.AuditLog(t.Context(), operator.AuditQuery{Limit: operator.MaxAuditPage})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries)
	}
	if n := count(); n != 150 {
		t.Errorf("%d entries before the reload, want 150", n)
	}
	write("100")
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", 0, reloaded)
	if n := count(); n != 100 {
		t.Errorf("%d entries after the reload, want 100", n)
	}
	c.kill()
}
