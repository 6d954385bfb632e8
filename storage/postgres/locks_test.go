package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage/engine"
)

// conflict reports whether two steps wait for each other.
func conflict(a, b lockSet) bool {
	for n, exclusive := range a {
		if other, ok := b[n]; ok && (exclusive || other) {
			return true
		}
	}
	return false
}

func emptyTx() *tx {
	return &tx{at: &attempt{}, cells: make(map[place]cell), writes: make(map[place][]byte)}
}

func key(rnd *rand.Rand) []byte {
	k := make([]byte, 1+rnd.IntN(10))
	for i := range k {
		k[i] = []byte{0, 'a', 0xFF}[rnd.IntN(3)]
	}
	return k
}

// TestLocksConflict compares the locks of steps that disturb each other.
func TestLocksConflict(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range 20000 {
		k := key(rnd)
		writer, reader, ranger, other := emptyTx(), emptyTx(), emptyTx(), emptyTx()
		writer.writes[place{1, string(k)}] = k
		reader.cells[place{1, string(k)}] = cell{relied: true}
		other.writes[place{2, string(k)}] = k
		if !conflict(writer.locks(), reader.locks()) || !conflict(writer.locks(), writer.locks()) {
			t.Fatalf("steps that use key %x do not wait for each other", k)
		}
		if conflict(reader.locks(), reader.locks()) || conflict(writer.locks(), other.locks()) {
			t.Fatalf("steps wait for each other though they only read %x, or change it in two tables", k)
		}
		s := span{table: 1, from: key(rnd), to: key(rnd)}
		if rnd.IntN(2) == 0 {
			p := engine.Prefix("", key(rnd))
			if s.to = p.To; rnd.IntN(2) == 0 {
				s.from = p.From
			} else {
				s.from = append(bytes.Clone(p.From), key(rnd)...)
			}
		}
		ranger.spans = []span{s}
		if s.contains(place{1, string(k)}) {
			inside++
			if !conflict(writer.locks(), ranger.locks()) {
				t.Fatalf("a step that changes %x does not wait for one that relies on %x to %x", k, s.from, s.to)
			}
		}
	}
	if inside < 1000 {
		t.Errorf("%d keys were in the range", inside)
	}
}

func TestRangesOfOneOwner(t *testing.T) {
	add := func(id string) *tx {
		x := emptyTx()
		x.writes[place{1, id + "message"}] = []byte{}
		return x
	}
	for _, s := range []span{{table: 1, from: []byte("0001"), to: []byte("0002")}, {table: 1, from: []byte("0001lessage"), to: []byte("0002")}, {table: 1, from: []byte("0001a"), to: []byte("0001n")}} {
		x := emptyTx()
		x.spans = []span{s}
		if !conflict(x.locks(), add("0001").locks()) || conflict(x.locks(), add("0002").locks()) {
			t.Errorf("a step that relies on %s to %s does not wait for changes in it only", s.from, s.to)
		}
	}
}

// TestManyLocks has steps that change so much that they lock a table.
func TestManyLocks(t *testing.T) {
	many := emptyTx()
	for i := range 1000 {
		many.writes[place{1, fmt.Sprintf("%08d", i)}] = []byte{}
	}
	if n := len(many.locks()); n != 1 {
		t.Errorf("a step that changes 1000 keys takes %d locks", n)
	}
	reader, ranger, elsewhere := emptyTx(), emptyTx(), emptyTx()
	reader.cells[place{1, "00000077"}] = cell{relied: true}
	ranger.spans = []span{{table: 1, from: []byte("00000077"), to: []byte("00000078")}}
	elsewhere.cells[place{2, "00000077"}] = cell{relied: true}
	if !conflict(many.locks(), reader.locks()) || !conflict(many.locks(), ranger.locks()) || conflict(many.locks(), elsewhere.locks()) {
		t.Error("others do not wait for it, or those that use another table do")
	}
	wide := emptyTx()
	for i := range 2000 {
		wide.writes[place{int16(i % 10), fmt.Sprint(i)}] = []byte{}
	}
	wide.writes[place{11, "few"}] = []byte{}
	if n := len(wide.locks()); n > 10+fewLocks {
		t.Errorf("a step that changes 2000 keys of 10 tables takes %d locks", n)
	}
}

// TestFewLocksLeft has a step that changes many keys while others hold nearly all locks
// that the server has memory for, and then all of them.
func TestFewLocksLeft(t *testing.T) {
	server := pgtest.New(t)
	address := server.Database(t)
	e := openAt(t, address, testOptions())
	change := func() error {
		return e.Update(t.Context(), func(tx engine.Tx) error {
			for i := range 40 {
				key := fmt.Appendf(nil, "%08d", i)
				if _, err := tx.Get(two, key); err != nil {
					return err
				}
				if err := tx.Put(one, key, key); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := change(); err != nil { // prepares the statements
		t.Fatal(err)
	}
	holder, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	_, err = holder.Exec(t.Context(), `SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 1000000) n`)
	if failed, ok := errors.AsType[*pgconn.PgError](err); !ok || failed.Code != codeMemory {
		t.Fatalf("a million locks = %v", err)
	}
	if err := change(); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "max_locks_per_transaction") {
		t.Errorf("Update() without memory for any lock = %v", err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT count(pg_advisory_unlock(n)) FROM generate_series(1, 30) n`); err != nil {
		t.Fatal(err)
	}
	before := retries(t, e, "locks")
	if err := change(); err != nil || retries(t, e, "locks") != before+1 {
		t.Errorf("Update() with memory for few locks = %v after %v retries", err, retries(t, e, "locks")-before)
	}
}

// TestUpgradedLocks has steps that all read the same keys and then write two of them: each
// holds a shared lock that another needs for itself, so that they must not wait for each
// other one by one.
func TestUpgradedLocks(t *testing.T) {
	e := openNew(t)
	const workers, rounds = 8, 20
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range rounds {
				err := e.Update(t.Context(), func(tx engine.Tx) error {
					for k := range 4 {
						if _, err := tx.Get("locks", []byte{byte(k)}); err != nil {
							return err
						}
					}
					return errors.Join(tx.Put("locks", []byte{byte((w + i) % 4)}, []byte{byte(i)}), tx.Put("locks", []byte{byte((w * i) % 4)}, []byte{byte(w)}))
				})
				if err != nil {
					t.Errorf("Update() = %v", err)
				}
			}
		})
	}
	all.Wait()
	if n := testutil.ToFloat64(e.metrics.retries.WithLabelValues("deadlock")); n > workers {
		t.Errorf("%v deadlocks, want at most one for each worker", n)
	}
}
