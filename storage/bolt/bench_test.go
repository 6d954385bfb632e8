package bolt

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

func BenchmarkSaveServers10000(b *testing.B) {
	for name, opt := range map[string]Options{"sync": {}, "nosync": {NoSync: true}} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), opt)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			b.ReportAllocs()
			for b.Loop() {
				if n, err := s.SaveServers(b.Context(), storage.WholeList(records(0, 10000))); n.Servers != 10000 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkLoadServers10000(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if _, err := s.SaveServers(b.Context(), storage.WholeList(records(0, 10000))); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.LoadServers(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// openBench returns a store that waits for the disk, or does not.
func openBench(b *testing.B, opt Options) *Store {
	b.Helper()
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkWrite compares three ways to put one small value, each durable when
// the call returns, from 1 and from 64 clients at once.
func BenchmarkWrite(b *testing.B) {
	value := make([]byte, 256)
	key := func(n uint64) []byte { return generationKey(n * 0x9e3779b97f4a7c15) }
	ways := map[string]func(s *Store, n uint64) error{
		"group": func(s *Store, n uint64) error {
			return s.change(context.Background(), func(c *change) error { return c.putEntry(bucketMeta, key(n), value) })
		},
		"update": func(s *Store, n uint64) error {
			return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucketMeta)).Put(key(n), value) })
		},
		"batch": func(s *Store, n uint64) error {
			return s.db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucketMeta)).Put(key(n), value) })
		},
	}
	for _, clients := range []int{1, 64} {
		for _, name := range []string{"group", "batch", "update"} {
			b.Run(fmt.Sprintf("%s/%d", name, clients), func(b *testing.B) {
				s := openBench(b, Options{})
				s.db.MaxBatchSize = clients
				var n atomic.Uint64
				b.ReportAllocs()
				share(b, clients, func() error { return ways[name](s, n.Add(1)) })
			})
		}
	}
}

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
			s := openBench(b, Options{})
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
	s := openBench(b, Options{NoSync: true})
	u, p, err := s.CreateUser(b.Context(), storage.User{Email: "a@b.c", Secret: make([]byte, 49)}, storage.Profile{
		Nick: "Nick", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Nick", Key: "nick"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"GetUser":             func() error { _, err := s.GetUser(b.Context(), u.ID); return err },
		"ProfileByUniqueNick": func() error { _, err := s.ProfileByUniqueNick(b.Context(), 1, "nick"); return err },
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
