package records

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// addEntries stores entries of the audit log.
func addEntries(t *testing.T, s *Store, n int, via storage.Via) {
	t.Helper()
	for range n {
		if _, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test", Via: via}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedAuditEntryIsOneItem(t *testing.T) {
	s := openNew(t)
	addEntries(t, s, 3, storage.ViaAPI)
	damage(t, s, tableAudit, numberKey(2), []byte("nonsense"))
	var got []string
	for e, err := range s.AuditLog(t.Context(), 0) {
		got = append(got, fmt.Sprint(e.Seq, isDamage(err)))
	}
	if want := "[3 false 0 true 1 false]"; fmt.Sprint(got) != want {
		t.Errorf("AuditLog() = %v, want %s", got, want)
	}
	if e, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil || e.Seq != 4 {
		t.Errorf("AddAudit() beside a damaged entry = %+v, %v", e, err)
	}
}

func TestOldAuditEntriesGoInParts(t *testing.T) {
	s := openNew(t)
	const entries = 5 * minAuditDrop / 2
	addEntries(t, s, entries, storage.ViaAPI)
	s.LimitAudit(1)
	for _, want := range []int{entries + 1 - minAuditDrop, entries + 2 - 2*minAuditDrop, 1} {
		addEntries(t, s, 1, storage.ViaAPI)
		if kept := size(t, s, tableAudit); kept != want {
			t.Errorf("%d entries are stored, want %d", kept, want)
		}
	}
}

// Neither part of the log grows much beyond its limit, whichever gets more entries.
func TestAuditStaysSmall(t *testing.T) {
	for _, limit := range []int{2000, auditPart + 2000} {
		s := openNew(t)
		s.LimitAudit(limit)
		add := func(rounds int) { // the numbers of operators are never those of steps that trim
			for range rounds {
				addEntries(t, s, 99, storage.ViaAPI)
				addEntries(t, s, 101, storage.ViaPlayer)
			}
		}
		add(limit / 80)
		for round := range 5 {
			add(8)
			for _, ring := range auditRings() {
				if n := size(t, s, ring); n < limit || n > limit+limit/10 {
					t.Errorf("round %d: %s has %d entries, want %d to a tenth more", round, ring, n, limit)
				}
			}
		}
	}
}

// The reader hides what the limit hides, from any number on.
func TestAuditBefore(t *testing.T) {
	s := openNew(t)
	addEntries(t, s, 600, storage.ViaAPI)
	addEntries(t, s, 600, storage.ViaPlayer)
	s.LimitAudit(500)
	for before, want := range map[uint64]int{0: 1000, 1201: 1000, 1101: 900, 701: 500, 601: 500, 301: 200, 101: 0, 1: 0} {
		n, last := 0, before
		for e, err := range s.AuditLog(t.Context(), before) {
			if err != nil || last > 0 && e.Seq >= last {
				t.Fatalf("AuditLog(%d) yields %d after %d, %v", before, e.Seq, last, err)
			}
			n, last = n+1, e.Seq
		}
		if n != want {
			t.Errorf("AuditLog(%d) yields %d entries, want %d", before, n, want)
		}
	}
}
