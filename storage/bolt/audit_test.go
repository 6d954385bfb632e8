package bolt

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

func TestDamagedAuditEntryIsOneItem(t *testing.T) {
	s := openLoose(t)
	for range 3 {
		if _, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	overwrite(t, s, []byte("nonsense"), auditKey(2), bucketAudit)
	var got []string
	for e, err := range s.AuditLog(t.Context(), 0) {
		got = append(got, fmt.Sprint(e.Seq, errors.Is(err, storage.ErrDamaged)))
	}
	if want := "[3 false 0 true 1 false]"; fmt.Sprint(got) != want {
		t.Errorf("AuditLog() = %v, want %s", got, want)
	}
	if e, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil || e.Seq != 4 {
		t.Errorf("AddAudit() beside a damaged entry = %+v, %v", e, err)
	}
}

func TestOldAuditEntriesGoInParts(t *testing.T) {
	s := openLoose(t)
	const entries = 5 * maxAuditDrop / 2
	for range entries {
		if _, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	s.LimitAudit(1)
	for _, want := range []int{entries + 1 - maxAuditDrop, entries + 2 - 2*maxAuditDrop, 1} {
		if _, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil {
			t.Fatal(err)
		}
		kept := 0
		err := s.view(t.Context(), func(tx *bbolt.Tx) error {
			kept = tx.Bucket([]byte(bucketAudit)).Stats().KeyN
			return nil
		})
		if err != nil || kept != want {
			t.Errorf("%d entries are in the file, %v, want %d", kept, err, want)
		}
	}
}

// BenchmarkAddBan measures the cost that the audit log adds to a change, once it is
// full.
func BenchmarkAddBan(b *testing.B) {
	for _, audited := range []bool{false, true} {
		b.Run(fmt.Sprintf("audited=%v", audited), func(b *testing.B) {
			s := openBench(b, Options{})
			ctx := b.Context()
			if audited {
				s.LimitAudit(1000)
				ctx = storage.WithAudit(ctx, storage.AuditEntry{
					Via: storage.ViaPage, By: "Ann", Action: "ban.add", Subject: "192.0.2.0/24 (lists)", Detail: "for good",
				})
			}
			ban := storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeLists, Reason: "flood"}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.AddBan(ctx, ban); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
