package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
)

// BenchmarkEngines measures a write and a read of the main kinds of records with
// both engines, from one caller and from many at once. Neither waits for the disk.
func BenchmarkEngines(b *testing.B) {
	engines := map[string]func(b *testing.B) storage.Store{
		"bolt": func(b *testing.B) storage.Store {
			b.Helper()
			s, err := bolt.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), bolt.Options{NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			return s
		},
		"postgres": func(b *testing.B) storage.Store {
			b.Helper()
			return openAt(b, emptyDatabase(b), Options{StatementTimeout: time.Minute})
		},
	}
	for engine, open := range engines {
		s := open(b)
		for _, kind := range benchKinds(b, s) {
			var n atomic.Int64
			b.Run(kind.name+"/1/"+engine, func(b *testing.B) {
				for b.Loop() {
					if err := kind.call(int(n.Add(1))); err != nil {
						b.Fatal(err)
					}
				}
			})
			if kind.alone {
				continue
			}
			b.Run(kind.name+"/many/"+engine, func(b *testing.B) {
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := kind.call(int(n.Add(1))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// A benchKind is one write or one read. n is above 0 and in no call the same.
type benchKind struct {
	name  string
	alone bool // many at once mean nothing
	call  func(n int) error
}

// benchKinds returns the calls on a store, to which it adds the records they need.
func benchKinds(b *testing.B, s storage.Store) []benchKind {
	b.Helper()
	ctx := context.Background()
	const people = 256
	var first storage.Profile
	for i := range people {
		u := storage.User{Email: fmt.Sprintf("%d@example.org", i), Secret: make([]byte, 49)}
		unique := fmt.Sprint("Player", i)
		_, p, err := s.CreateUser(ctx, u, storage.Profile{
			Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: unique, Key: storage.Fold(unique)}},
		})
		if err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			first = p
		}
	}
	someone := func(n int) storage.ProfileID { return first.ID + storage.ProfileID(n%people) }
	other := func(n int) storage.ProfileID { return first.ID + storage.ProfileID((n+1+n/people)%people) }
	list := func(yield func(storage.Server) bool) {
		for i := range 1000 {
			v := storage.Server{
				Source: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), 27015),
				Game:   "gmtest", Rules: make([]byte, 600), First: time.Now(), Seen: time.Now(),
			}
			if !yield(v) {
				return
			}
		}
	}
	// allow returns f without an error that is an ordinary answer.
	allow := func(f func(n int) error, answers ...error) func(int) error {
		return func(n int) error {
			err := f(n)
			for _, a := range answers {
				if errors.Is(err, a) {
					return nil
				}
			}
			return err
		}
	}
	return []benchKind{
		{"CreateUser", false, func(n int) error {
			unique := fmt.Sprint("New", n)
			_, _, err := s.CreateUser(ctx, storage.User{Email: unique + "@example.com", Secret: make([]byte, 49)},
				storage.Profile{Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: unique, Key: storage.Fold(unique)}}})
			return err
		}},
		{"GetUser", false, func(int) error { _, err := s.GetUser(ctx, first.User); return err }},
		{"UpdateProfile", false, allow(func(n int) error {
			p, err := s.GetProfile(ctx, someone(n))
			if err == nil {
				p.Place = fmt.Sprint(n)
				_, err = s.UpdateProfile(ctx, p)
			}
			return err
		}, storage.ErrConflict)},
		{"ProfileByUniqueNick", false, func(int) error { _, err := s.ProfileByUniqueNick(ctx, 1, "player7"); return err }},
		{"AddBuddy", false, allow(func(n int) error { return s.AddBuddy(ctx, someone(n), other(n)) }, storage.ErrTaken, storage.ErrInvalid)},
		{"Watchers", false, func(n int) error {
			for _, err := range s.Watchers(ctx, someone(n)) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"Relation", false, func(n int) error { _, err := s.Relation(ctx, someone(n), other(n)); return err }},
		{"Leave", false, allow(func(n int) error {
			m := storage.Message{From: other(n), Kind: storage.MessageText, Text: "hello", Sent: time.Now()}
			return s.Leave(ctx, someone(n), m)
		}, storage.ErrFull)},
		{"Messages", false, func(n int) error { _, err := s.Messages(ctx, someone(n), time.Now()); return err }},
		{"PutGame", false, allow(func(n int) error {
			_, err := s.PutGame(ctx, storage.Game{Name: fmt.Sprint("game", n), Doc: make([]byte, 300)})
			return err
		}, storage.ErrTaken)},
		{"GetGame", false, allow(func(int) error { _, err := s.GetGame(ctx, "game1"); return err }, storage.ErrNotFound)},
		{"AddAudit", false, func(n int) error {
			_, err := s.AddAudit(ctx, storage.AuditEntry{Action: "bench", Subject: fmt.Sprint(n)})
			return err
		}},
		{"SaveServers1000", true, func(int) error { _, err := s.SaveServers(ctx, storage.WholeList(list)); return err }},
		{"LoadServers1000", true, func(int) error {
			for _, err := range s.LoadServers(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	}
}
