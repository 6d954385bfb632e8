package records

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// share runs f b.N times from so many goroutines.
func share(b *testing.B, clients int, f func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCreateUser(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			s := openNew(b)
			var n atomic.Uint64
			b.ReportAllocs()
			share(b, clients, func() error {
				i := n.Add(1)
				u := storage.User{Email: fmt.Sprintf("%d@example.com", i), Secret: make([]byte, 49)}
				unique := fmt.Sprint("Player", i)
				p := storage.Profile{Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: unique, Key: unique}}}
				_, _, err := s.CreateUser(context.Background(), u, p)
				return err
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	s := openNew(b)
	u, p, err := s.CreateUser(b.Context(), storage.User{Email: "a@b.c", Secret: make([]byte, 49)}, storage.Profile{
		Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Nick", Key: "nick"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"GetUser":             func() error { _, err := s.GetUser(b.Context(), u.ID); return err },
		"ProfileByUniqueNick": func() error { _, _, err := s.ProfileByUniqueNick(b.Context(), 1, "nick"); return err },
		"Relation":            func() error { _, err := s.Relation(b.Context(), p.ID, 2); return err },
		"Messages of no one":  func() error { _, err := s.Messages(b.Context(), p.ID, p.Created); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAddBan measures the cost that the audit log adds to a change, once it is
// full.
func BenchmarkAddBan(b *testing.B) {
	for _, audited := range []bool{false, true} {
		b.Run(fmt.Sprintf("audited=%v", audited), func(b *testing.B) {
			s := openNew(b)
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
