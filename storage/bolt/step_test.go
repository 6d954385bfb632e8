package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// key4 is a key of 4 bytes.
func key4(n int) []byte { return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }

// looseOptions are for tests that store values without checksums.
func looseOptions() Options {
	opt := testOptions()
	opt.Layout.Check = nil
	return opt
}

// openFree opens a new file for values without checksums.
func openFree(t *testing.T) *Engine {
	t.Helper()
	opt := looseOptions()
	path := filepath.Join(t.TempDir(), "respawnd.db")
	e, err := Open(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), Verify(path, opt.Layout)); err != nil {
			t.Error(err)
		}
	})
	return e
}

// A trial is a random step: what it does and whether it fails at its end.
type trial struct{ seed uint64 }

func (s trial) fails() bool { return s.seed%4 == 0 }

// run runs a step and returns what it read.
func (s trial) run(tx engine.Tx) (seen []string, err error) {
	r := rand.New(rand.NewPCG(s.seed, 1))
	for range r.IntN(40) {
		t := engine.Table([]string{"games", "users", "unknown"}[r.IntN(3)])
		from, to := key4(r.IntN(300)), key4(r.IntN(300))
		switch r.IntN(8) {
		case 0, 1:
			err = tx.Put(t, from, make([]byte, r.IntN(1500)))
		case 2:
			err = tx.Delete(t, from)
		case 3: // empties pages
			for n := range 100 {
				err = errors.Join(err, tx.Delete(t, key4(int(from[3])+n)))
			}
		case 4:
			n, nextErr := tx.Next(t)
			seen, err = append(seen, fmt.Sprint("next ", n)), nextErr
		case 5:
			err = tx.Raise(t, uint64(r.IntN(50)))
			n, lastErr := tx.Last(t)
			seen, err = append(seen, fmt.Sprint("last ", n)), errors.Join(err, lastErr)
		case 6:
			v, getErr := tx.Get(t, from)
			seen, err = append(seen, fmt.Sprint("get ", v == nil, len(v))), getErr
		default:
			all := engine.Range{Table: t, From: from, To: to, Backward: r.IntN(2) == 0, Limit: r.IntN(4) * 5}
			if r.IntN(2) == 0 {
				all.From, all.To = nil, nil
			}
			for e, scanErr := range tx.Scan(all) {
				seen, err = append(seen, fmt.Sprintf("%x: %d", e.Key, len(e.Value))), errors.Join(err, scanErr)
			}
			seen = append(seen, "end")
		}
		if err != nil {
			return seen, err
		}
	}
	if s.fails() {
		return seen, errTrial
	}
	return seen, nil
}

var errTrial = errors.New("a trial that fails")

// Random steps see and leave in a file what they see and leave in memory, with or without
// others in their transaction.
func TestStepsLikeInMemory(t *testing.T) {
	e, model := openFree(t), &memory.Engine{}
	for round := range 60 {
		release := holdGroup(t, e)
		const n = 8
		results := make(chan error, n)
		got := make([][]string, n)
		seed := func(i int) trial { return trial{uint64(round*n + i)} }
		for i := range n {
			go func() {
				results <- e.Update(context.Background(), func(tx engine.Tx) (err error) {
					got[i], err = seed(i).run(tx)
					return err
				})
			}()
			waitQueued(t, e, i+1)
		}
		release()
		for range n {
			if err := <-results; err != nil && !errors.Is(err, errTrial) {
				t.Fatal(err)
			}
		}
		for i := range n {
			if s := seed(i); !s.fails() {
				compareTrial(t, model, s, got[i])
			}
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

// compareTrial runs a step in memory.
func compareTrial(t *testing.T, model *memory.Engine, s trial, got []string) {
	t.Helper()
	var want []string
	err := model.Update(t.Context(), func(tx engine.Tx) (err error) {
		want, err = s.run(tx)
		return err
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("a step saw %v, want %v (%v)", got, want, err)
	}
}

// All pages of a table are emptied in one step.
func TestScanOfEmptiedPages(t *testing.T) {
	e := openFree(t)
	err := e.Update(t.Context(), func(tx engine.Tx) (err error) {
		for n := range 200 {
			err = errors.Join(err, tx.Put("games", key4(n), make([]byte, 400)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keys := func(tx engine.Tx, r engine.Range) (keys []int) {
		r.Table = "games"
		for e, err := range tx.Scan(r) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, int(e.Key[3]))
		}
		return keys
	}
	err = e.Update(t.Context(), func(tx engine.Tx) (err error) {
		for n := 20; n < 199; n++ {
			err = errors.Join(err, tx.Delete("games", key4(n)))
		}
		if got := keys(tx, engine.Range{Backward: true, Limit: 3}); fmt.Sprint(got) != "[199 19 18]" {
			t.Errorf("downwards over emptied pages: %v", got)
		}
		if got := keys(tx, engine.Range{Backward: true, To: key4(150), Limit: 1}); fmt.Sprint(got) != "[19]" {
			t.Errorf("downwards from an emptied page: %v", got)
		}
		if got := keys(tx, engine.Range{From: key4(19)}); fmt.Sprint(got) != "[19 199]" {
			t.Errorf("upwards over emptied pages: %v", got)
		}
		for n := range 200 {
			err = errors.Join(err, tx.Delete("games", key4(n)))
		}
		if got := append(keys(tx, engine.Range{Backward: true}), keys(tx, engine.Range{})...); got != nil {
			t.Errorf("an emptied table has %v", got)
		}
		return errors.Join(err, tx.Put("games", key4(7), nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = e.View(t.Context(), func(r engine.Reader) error {
		v, err := r.Get("games", key4(7))
		if v == nil || len(v) != 0 {
			t.Errorf("an empty value is read as %v", v)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The engine keeps no reference to a key, nor after the step to a value.
func TestPutCopies(t *testing.T) {
	e := openFree(t)
	key, value := []byte("key"), []byte("value")
	err := e.Update(t.Context(), func(tx engine.Tx) error {
		err := tx.Put("games", key, value)
		copy(key, "???")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	copy(value, "?????")
	err = e.View(t.Context(), func(r engine.Reader) error {
		v, err := r.Get("games", []byte("key"))
		if string(v) != "value" {
			t.Errorf("stored is %q", v)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Pages get full when keys come in their order, one per transaction.
func TestAppendedPagesAreFull(t *testing.T) {
	e := openFree(t)
	for n := range 600 {
		if err := e.Update(t.Context(), func(tx engine.Tx) error { return tx.Put("games", key4(n), make([]byte, 200)) }); err != nil {
			t.Fatal(err)
		}
	}
	err := e.view(t.Context(), func(tx *bbolt.Tx) error {
		s := tx.Bucket([]byte("games")).Stats()
		if full := float64(s.LeafInuse) / float64(s.LeafAlloc); full < 0.8 {
			t.Errorf("pages are filled to %.2f", full)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNumbersOutliveTheEngine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "respawnd.db")
	e, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	var first, second uint64
	err = e.Update(t.Context(), func(tx engine.Tx) (err error) {
		if first, err = tx.Next("user_ids"); err != nil {
			return err
		}
		if err := tx.Raise("user_ids", 76); err != nil {
			return err
		}
		second, err = tx.Next("user_ids")
		return errors.Join(err, tx.Raise("user_ids", 5))
	})
	if err = errors.Join(err, e.Close()); err != nil || first != 1 || second != 77 {
		t.Fatalf("Next() = %d, then %d, %v, want 1 and 77", first, second, err)
	}
	err = openAt(t, path).View(t.Context(), func(r engine.Reader) error {
		n, err := r.Last("user_ids")
		if n != 77 {
			t.Errorf("Last() = %d, want 77", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedNumberIsNotUsed(t *testing.T) {
	e := openLoose(t)
	bad := engine.Seal([]byte("user_ids"), bytes.Repeat([]byte{1}, 8))
	bad[3]++
	overwrite(t, e, bucketSequences, []byte("user_ids"), bad)
	for name, step := range map[string]func(engine.Tx) error{
		"Last":  func(tx engine.Tx) error { _, err := tx.Last("user_ids"); return err },
		"Next":  func(tx engine.Tx) error { _, err := tx.Next("user_ids"); return err },
		"Raise": func(tx engine.Tx) error { return tx.Raise("user_ids", 5) },
	} {
		if err := e.Update(t.Context(), step); !errors.Is(err, engine.ErrDamaged) {
			t.Errorf("%s() = %v, want ErrDamaged", name, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	wantRestore(t, "Verify()", verifyFile(e.path), e.path)
}
