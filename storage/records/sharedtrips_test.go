package records

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// Each method reads with few round trips. Numbers and the commit are not counted.
func TestSharedTrips(t *testing.T) {
	eng := &trips{}
	s := Shared{New(eng, Options{Shared: true})}
	ctx := t.Context()
	run, err := s.BeginRun(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	live := func(id uint64) storage.LiveSession {
		return storage.LiveSession{Run: run, ID: id, Fence: id, Profile: 1, User: 1}
	}
	grant := storage.Grant{Kind: storage.GrantToken, Profile: 1, Once: true}
	for _, step := range []struct {
		name string
		most int64
		do   func() error
	}{
		{"EnterSession", 1, func() error { _, _, err := s.EnterSession(ctx, live(1)); return err }},
		{"EnterSession that displaces", 1, func() error { _, _, err := s.EnterSession(ctx, live(2)); return err }},
		{"Beat", 4, func() error { _, err := s.Beat(ctx, "a", run, 0); return err }},
		{"RestoreSessions", 2, func() error {
			_, err := s.RestoreSessions(ctx, "a", run, []storage.LiveSession{live(1), live(8), live(9)})
			return err
		}},
		{"Waiting", 2, func() error { _, err := s.Waiting(ctx, run); return err }},
		{"LeaveSessions", 2, func() error { return s.LeaveSessions(ctx, run, []uint64{1, 2, 8, 9}) }},
		{"AddGrant", 1, func() error { return s.AddGrant(ctx, grant, 3) }},
		{"FindGrant", 1, func() error { _, err := s.FindGrant(ctx, grant.Kind, grant.Digest); return err }},
		{"UseGrant", 1, func() error { return s.UseGrant(ctx, grant.Kind, grant.Digest) }},
		{"Revisions", 1, func() error { _, err := s.Revisions(ctx); return err }},
		{"PutContent", 1, func() error { return s.PutContent(ctx, contentHash(1), strings.NewReader("x"), 1) }},
		{"ContentPart", 1, func() error { _, err := s.ContentPart(ctx, contentHash(1), 0); return err }},
	} {
		before := eng.n.Load()
		if err := step.do(); err != nil {
			t.Errorf("%s() = %v", step.name, err)
		}
		if n := eng.n.Load() - before; n > step.most {
			t.Errorf("%s() made %d trips, want at most %d", step.name, n, step.most)
		}
	}
}
