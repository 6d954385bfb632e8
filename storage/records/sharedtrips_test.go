package records

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// saveList saves a list of one server.
func saveList(s *Store) error {
	server := storage.ListedServer{Source: netip.MustParseAddrPort("192.0.2.1:1"), Seen: time.Now(), Changed: true}
	server.Record = func() storage.Server {
		return storage.Server{Source: server.Source, Game: "gmtest", Public: server.Source, First: server.Seen, Seen: server.Seen}
	}
	_, err := s.SaveServers(context.Background(), slices.Values([]storage.ListedServer{server}))
	return err
}

// Each method makes few round trips.
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
	_, _, err = s.CreateUser(ctx, storage.User{Email: "a@b.c"}, storage.Profile{
		Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Nick", Key: "nick"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := saveList(s.Store); err != nil { // looks for earlier lists
		t.Fatal(err)
	}
	grant := storage.Grant{Kind: storage.GrantToken, Profile: 1, Once: true}
	for _, step := range []struct {
		name string
		most int64
		do   func() error
	}{
		{"sign-in by a unique nick", 3, func() error { // account 1, session 2
			_, _, err := s.ProfileByUniqueNick(ctx, 1, "nick")
			if err == nil {
				_, _, err = s.EnterSession(ctx, live(7))
			}
			return err
		}},
		{"sign-out", 2, func() error { return s.LeaveSessions(ctx, run, []uint64{7}) }},
		{"SaveServers", 4, func() error { return saveList(s.Store) }}, // the head; the list; the head again, and the unused generations
		{"EnterSession", 2, func() error { _, _, err := s.EnterSession(ctx, live(1)); return err }},
		{"EnterSession that displaces", 2, func() error { _, _, err := s.EnterSession(ctx, live(2)); return err }},
		{"Beat", 2, func() error { _, err := s.Beat(ctx, "a", run, 0, storage.Mail{}); return err }},
		{"RestoreSessions", 4, func() error {
			_, err := s.RestoreSessions(ctx, "a", run, []storage.LiveSession{live(1), live(8), live(9)})
			return err
		}},
		{"LeaveSessions", 2, func() error { return s.LeaveSessions(ctx, run, []uint64{1, 2, 8, 9}) }},
		{"AddGrant", 2, func() error { return s.AddGrant(ctx, grant, 3) }},
		{"FindGrant", 1, func() error { _, err := s.FindGrant(ctx, grant.Kind, grant.Digest); return err }},
		{"UseGrant", 2, func() error { return s.UseGrant(ctx, grant.Kind, grant.Digest) }},
		{"Revisions", 1, func() error { _, err := s.Revisions(ctx); return err }},
		{"PutContent", 2, func() error { return s.PutContent(ctx, contentHash(1), strings.NewReader("x"), 1) }},
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
