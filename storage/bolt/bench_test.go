package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
)

// openBench returns an engine that waits for the disk, or does not.
func openBench(b *testing.B, noSync bool) *Engine {
	b.Helper()
	e, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), Options{NoSync: noSync, Layout: testLayout()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	return e
}

// BenchmarkUpdate puts one small value, durable when the call returns, from 1 and from 64
// clients at once: under keys in no order, and at the end of a table with a number of it.
func BenchmarkUpdate(b *testing.B) {
	value := make([]byte, 256)
	key := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	ways := map[string]func(tx engine.Tx, n uint64) error{
		"random": func(tx engine.Tx, n uint64) error { return tx.Put("games", key(n*0x9e3779b97f4a7c15), value) },
		"number": func(tx engine.Tx, _ uint64) error {
			n, err := tx.Next("games")
			if err != nil {
				return err
			}
			return tx.Put("games", key(n), value)
		},
	}
	for _, clients := range []int{1, 64} {
		for _, name := range []string{"random", "number"} {
			b.Run(fmt.Sprintf("%s/%d", name, clients), func(b *testing.B) {
				e := openBench(b, false)
				var n atomic.Uint64
				b.ReportAllocs()
				share(b, clients, func() error {
					i := n.Add(1)
					return e.Update(context.Background(), func(tx engine.Tx) error { return ways[name](tx, i) })
				})
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

// BenchmarkPut puts values in the order of their keys, where each is compared with the
// last, and without that.
func BenchmarkPut(b *testing.B) {
	value := make([]byte, 256)
	for name, put := range map[string]func(c *change, key []byte) error{
		"engine": func(c *change, key []byte) error { return c.Put("games", key, value) },
		"bbolt": func(c *change, key []byte) error {
			c.wrote = true
			return c.table("games").bucket.Put(key, bytes.Clone(value))
		},
	} {
		b.Run(name, func(b *testing.B) {
			e := openBench(b, true)
			b.ReportAllocs()
			for n := uint64(0); n < uint64(b.N); n += 64 {
				err := e.change(b.Context(), func(c *change) (err error) {
					for i := range uint64(64) {
						err = errors.Join(err, put(c, binary.BigEndian.AppendUint64(nil, n+i)))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	e := openBench(b, true)
	err := e.Update(b.Context(), func(tx engine.Tx) error { return tx.Put("games", []byte("gmtest"), make([]byte, 256)) })
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		err := e.View(b.Context(), func(r engine.Reader) error {
			v, err := r.Get("games", []byte("gmtest"))
			if len(v) != 256 {
				b.Error(len(v))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
