//go:build !windows

package operator

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

func TestReloadChangesTheAuditLimit(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "admin: {audit_entries: 200}\n")
	op := c.Client(c.Data)
	for i := range 150 {
		b := storage.Ban{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32), Scope: storage.ScopeAll}
		if err := operator.AddBan.Exec(t.Context(), op, operator.NewBan(b)); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		page, err := operator.ReadAudit.Call(t.Context(), op, operator.AuditQuery{Limit: operator.MaxAuditPage})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries)
	}
	if n := count(); n != 150 {
		t.Errorf("%d entries before the reload, want 150", n)
	}
	c.Reload("admin: {audit_entries: 100}\n", rig.Reloaded)
	if n := count(); n != 100 {
		t.Errorf("%d entries after the reload, want 100", n)
	}
	c.Kill()
}
