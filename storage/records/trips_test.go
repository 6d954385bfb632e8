package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Each method makes few round trips.
func TestTrips(t *testing.T) {
	eng := &trips{}
	s := openIn(t, eng, Options{Shared: true})
	ctx := t.Context()
	full := storage.Profile{
		Nick: "Full", FirstName: "F", ICQ: 7,
		UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Full", Key: "full"}, {Namespace: 2, Nick: "Full", Key: "full"}},
		CDKeys:      []storage.CDKey{{Game: "gmtest", Digest: "d", Hash: "h"}},
	}
	u, p, err := s.CreateUser(ctx, storage.User{Email: "full@example.com"}, full)
	if err != nil {
		t.Fatal(err)
	}
	var others []storage.ProfileID
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		_, other := newAccount(t, s, name)
		others = append(others, other.ID)
	}
	if err := s.PutMotd(ctx, storage.Motd{Game: "z", Text: "Hello"}); err != nil { // counts them
		t.Fatal(err)
	}
	now := time.Now()
	request := storage.Request{From: others[0], To: p.ID, Signature: strings.Repeat("a", storage.SignatureLen), Sent: now}
	message := storage.Message{From: others[0], Kind: storage.MessageText, Text: "hi", Sent: now}
	file := storage.File{Game: "gmtest", Owner: p.ID, Hash: strings.Repeat("0", 64)}
	limit := storage.FileUsage{Files: 10, Bytes: 10}
	for _, tt := range []struct {
		name string
		most int64
		call func() error
	}{
		{"GetUser", 1, func() error { _, err := s.GetUser(ctx, u.ID); return err }},
		{"UserByEmail", 1, func() error { _, err := s.UserByEmail(ctx, 0, u.Email); return err }},
		{"UpdateUser", 2, func() (err error) { u.Secret = []byte("s"); u, err = s.UpdateUser(ctx, u); return err }},
		{"GetProfile", 1, func() error { _, err := s.GetProfile(ctx, p.ID); return err }},
		{"ProfileByNick", 1, func() error { _, err := s.ProfileByNick(ctx, u.ID, "full"); return err }},
		{"ProfileByUniqueNick", 1, func() error { _, _, err := s.ProfileByUniqueNick(ctx, 2, "full"); return err }},
		{"ProfilesOf", 2, func() error { _, err := s.ProfilesOf(ctx, u.ID); return err }},
		{"NamespacesOfUniqueNick", 4, func() error { _, err := s.NamespacesOfUniqueNick(ctx, "full"); return err }},
		{"UpdateProfile", 2, func() (err error) { p.Place = "here"; p, err = s.UpdateProfile(ctx, p); return err }},
		{"CreateUser", 2, func() error { // all keys; the new ids are expected to be free
			_, _, err := s.CreateUser(ctx, storage.User{Email: "g@example.com"}, storage.Profile{Nick: "g", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "g", Key: "g"}}})
			return err
		}},
		{"ImportUsers", 2, func() error { // however many
			var list []storage.NewUser
			for i := range 30 {
				name := fmt.Sprintf("import%d", i)
				list = append(list, storage.NewUser{User: storage.User{Email: name + "@example.com"}, Profiles: []storage.Profile{{Nick: name}, {Nick: name + "b"}}})
			}
			return s.ImportUsers(ctx, list)
		}},
		{"CreateProfile", 3, func() error { _, err := s.CreateProfile(ctx, storage.Profile{User: u.ID, Nick: "g"}); return err }},
		{"Relation", 1, func() error { _, err := s.Relation(ctx, p.ID, others[0]); return err }},
		{"AddBlock", 3, func() error { return s.AddBlock(ctx, p.ID, others[4]) }},
		{"Ask", 4, func() error { return s.Ask(ctx, request) }},
		{"Accept", 3, func() error { return s.Accept(ctx, request.From, request.To, request.Signature, now) }},
		{"AddBuddy", 3, func() error { return s.AddBuddy(ctx, p.ID, others[1]) }},
		{"ImportRelations", 4, func() error { return s.ImportRelations(ctx, others[3], others, others) }},
		{"Lists", 1, func() error { _, err := s.Lists(ctx, p.ID); return err }},
		{"Watchers", 1, func() error { return eachReadable(s.Watchers(ctx, p.ID), func(storage.ProfileID) {}) }},
		{"RemoveBuddy", 2, func() error { return s.RemoveBuddy(ctx, p.ID, others[1]) }},
		{"Leave", 2, func() error { return s.Leave(ctx, p.ID, message) }},
		{"Return", 2, func() error { _, err := s.Return(ctx, p.ID, []storage.Message{message, message}); return err }},
		{"Messages", 1, func() error { _, err := s.Messages(ctx, p.ID, now); return err }},
		{"SweepMessages", 3, func() error { _, err := s.SweepMessages(ctx, now.Add(2*storage.MessageLife)); return err }},
		{"CreateFile", 4, func() error { _, err := s.CreateFile(ctx, file, limit, limit); return err }},
		{"FilesOf", 2, func() error { return eachReadable(s.FilesOf(ctx, p.ID), func(storage.File) {}) }},
		{"AddDownloads", 2, func() error { return s.AddDownloads(ctx, map[storage.FileID]int64{1: 1, 2: 1, 3: 1}) }},
		{"PutMotd", 2, func() error { return s.PutMotd(ctx, storage.Motd{Game: "a", Text: "Hello"}) }},
		{"RemoveMotd", 2, func() error { return s.RemoveMotd(ctx, "a") }},
		{"SetGames", 3, func() error { return s.SetGames(ctx, []storage.Game{{Name: "a"}, {Name: "b"}}) }},
		{"AddAudit", 2, func() error { _, err := s.AddAudit(ctx, storage.AuditEntry{Action: "test"}); return err }},
	} {
		before := eng.n.Load()
		if err := tt.call(); err != nil {
			t.Errorf("%s() = %v", tt.name, err)
		}
		if n := eng.n.Load() - before; n > tt.most {
			t.Errorf("%s() made %d trips, want at most %d", tt.name, n, tt.most)
		}
	}
}
