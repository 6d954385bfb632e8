package postgres

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// TestRecordTrips counts what a node sends for the methods of records that it calls most. That
// others make few round trips is tested with an engine that counts.
func TestRecordTrips(t *testing.T) {
	p, address := throughProxy(t, emptyDatabase(t))
	opt := recordOptions()
	opt.MaxConns = 1
	e := openAt(t, address, opt)
	s := records.NewShared(e, "a", zerolog.Nop())
	ctx := t.Context()
	u, prof, err := s.CreateUser(ctx, storage.User{Email: "a@b.c"}, storage.Profile{
		Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Nick", Key: "nick"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.BeginRun(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	session := storage.LiveSession{Run: run, Profile: prof.ID, User: u.ID}
	message := storage.Message{From: 1, Kind: storage.MessageText, Text: "hi", Sent: time.Now()}
	for _, tt := range []struct {
		name string
		want int64
		call func() error
	}{
		{"ProfileByUniqueNick", 1, func() error { _, _, err := s.ProfileByUniqueNick(ctx, 1, "nick"); return err }},
		{"EnterSession", 2, func() error { session.ID++; _, _, err := s.EnterSession(ctx, session); return err }},
		{"Beat", 2, func() error { _, err := s.Beat(ctx, "a", run, 0, storage.Mail{}); return err }},
		{"LeaveSessions", 2, func() error { session.ID--; return s.LeaveSessions(ctx, run, []uint64{session.ID + 1}) }},
		{"Leave", 2, func() error { return s.Leave(ctx, prof.ID, message) }},
		{"Messages", 1, func() error { _, err := s.Messages(ctx, prof.ID, time.Now()); return err }},
	} {
		if err := tt.call(); err != nil { // prepares the statements
			t.Fatalf("%s() = %v", tt.name, err)
		}
		if _, err := e.Daemons(ctx); err != nil { // after the end of a view
			t.Fatal(err)
		}
		before := p.sent.Load()
		if err := tt.call(); err != nil {
			t.Fatalf("%s() = %v", tt.name, err)
		}
		if _, err := e.Daemons(ctx); err != nil {
			t.Fatal(err)
		}
		if got := p.sent.Load() - before - 1; got != tt.want {
			t.Errorf("%s() took %d round trips, want %d", tt.name, got, tt.want)
		}
	}
}
