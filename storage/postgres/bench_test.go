package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/enginetest"
)

// BenchmarkSteps measures steps as records make them, by 1 and 16 workers. The rate of
// retries is that of all runs that did not count.
func BenchmarkSteps(b *testing.B) {
	steps := []struct {
		name string
		step func(e *Engine, n uint64) error
	}{
		{"view", viewOne}, {"sign-in", signIn}, {"account", newAccount}, {"mailboxes", leaveMessages}, {"busy", busy},
	}
	for _, s := range steps {
		for _, workers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/workers=%d", s.name, workers), func(b *testing.B) {
				opt := testOptions()
				opt.MaxConns = workers
				e := openAt(b, emptyDatabase(b), opt)
				var next atomic.Uint64
				run := func(count uint64) {
					var wg sync.WaitGroup
					for range workers {
						wg.Go(func() {
							for n := next.Add(1); n <= count; n = next.Add(1) {
								if err := s.step(e, n); err != nil {
									b.Errorf("step %d: %v", n, err)
									return
								}
							}
						})
					}
					wg.Wait()
				}
				run(100) // statements are prepared
				b.ResetTimer()
				run(100 + uint64(b.N))
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
				b.ReportMetric((retries(b, e, "changed")+retries(b, e, "deadlock"))/float64(next.Load()), "retries/step")
			})
		}
	}
}

// id returns a key for a number, spread as those of random users.
func id(n uint64) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(n*2654435761))
}

func viewOne(e *Engine, n uint64) error {
	return e.View(context.Background(), func(r engine.Reader) error { _, err := r.Get(one, id(n%1000)); return err })
}

func signIn(e *Engine, n uint64) error {
	user := id(n % 10000)
	return e.Update(context.Background(), func(tx engine.Tx) error {
		keys := []engine.Key{{Table: one, Key: user}, {Table: two, Key: user}, {Table: one, Key: append(user, 1)}, {Table: one, Key: []byte("run")}}
		if err := tx.Load(keys...); err != nil {
			return err
		}
		for _, k := range keys {
			if _, err := tx.Get(k.Table, k.Key); err != nil {
				return err
			}
		}
		value := make([]byte, 100)
		if err := tx.Put(one, user, value); err != nil {
			return err
		}
		return tx.Put(two, user, value)
	})
}

func newAccount(e *Engine, n uint64) error {
	user := id(n)
	return e.Update(context.Background(), func(tx engine.Tx) error {
		if _, err := tx.Next(one); err != nil {
			return err
		}
		var keys []engine.Key
		for i := range byte(6) {
			keys = append(keys, engine.Key{Table: one, Key: append([]byte{'a' + i, 0}, user...)})
		}
		if err := tx.Load(keys...); err != nil {
			return err
		}
		for _, k := range keys {
			if err := tx.Put(k.Table, k.Key, make([]byte, 150)); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaveMessages appends to 50 mailboxes, each with a number of its messages.
func leaveMessages(e *Engine, n uint64) error {
	return e.Update(context.Background(), func(tx engine.Tx) error {
		var keys []engine.Key
		for i := range uint64(50) {
			keys = append(keys, engine.Key{Table: one, Key: id((n*7919 + i*104729) % 100000)})
		}
		if err := tx.Load(keys...); err != nil {
			return err
		}
		for _, k := range keys {
			if err := add(tx, one, string(k.Key)); err != nil {
				return err
			}
			if err := tx.Put(two, binary.BigEndian.AppendUint64(k.Key, n), make([]byte, 100)); err != nil {
				return err
			}
		}
		return nil
	})
}

func busy(e *Engine, _ uint64) error {
	return e.Update(context.Background(), func(tx engine.Tx) error { return add(tx, enginetest.One, "n") })
}

// BenchmarkBulk measures entries of 300 bytes.
func BenchmarkBulk(b *testing.B) {
	e := openAt(b, emptyDatabase(b), testOptions())
	value := make([]byte, 300)
	b.ResetTimer()
	err := e.Bulk(context.Background(), func(put func(engine.Table, []byte, []byte) error) error {
		for n := range uint32(b.N) {
			if err := put(one, binary.BigEndian.AppendUint32(nil, n), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
