package enginetest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
)

// testScan compares scans with a map, in steps that change entries before and between.
func testScan(t *testing.T, e engine.Engine) {
	rnd := rand.New(rand.NewPCG(1, 2))
	stored := make(map[string]string) // what the table holds
	for range 30 {
		var now map[string]string
		seed := rnd.Uint64()
		Update(t, e, func(tx engine.Tx) error {
			rnd := rand.New(rand.NewPCG(seed, 0)) // the same in each run
			now = maps.Clone(stored)
			for range rnd.IntN(12) {
				if err := changeOne(tx, rnd, now); err != nil {
					return err
				}
				if err := compareScan(tx, rnd, now, func() error { return changeOne(tx, rnd, now) }); err != nil {
					return err
				}
			}
			return nil
		})
		stored = now
		View(t, e, func(r engine.Reader) error {
			for range 3 {
				if err := compareScan(r, rnd, stored, func() error { return nil }); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// changeOne stores or deletes a random key in a table and in a map.
func changeOne(tx engine.Tx, rnd *rand.Rand, now map[string]string) error {
	key := randomKey(rnd)
	if rnd.IntN(3) == 0 {
		delete(now, string(key))
		return tx.Delete(One, key)
	}
	value := fmt.Sprint(rnd.IntN(1000))
	now[string(key)] = value
	return tx.Put(One, key, []byte(value))
}

// randomKey returns one of few keys, with the bytes that are hardest to order.
func randomKey(rnd *rand.Rand) []byte {
	key := make([]byte, 1+rnd.IntN(3))
	for i := range key {
		key[i] = []byte{0, 1, 'a', 0xFE, 0xFF}[rnd.IntN(5)]
	}
	return key
}

// compareScan compares a scan of a random range, which it may end early. It may load the
// range and call between before.
func compareScan(r engine.Reader, rnd *rand.Rand, now map[string]string, between func() error) error {
	at := engine.Range{Table: One, Backward: rnd.IntN(2) == 0, Limit: rnd.IntN(5), Loose: rnd.IntN(4) == 0}
	switch rnd.IntN(4) {
	case 0:
		at.From = randomKey(rnd)
	case 1:
		at.To = randomKey(rnd)
	case 2:
		at.From, at.To = randomKey(rnd), randomKey(rnd) // may be empty
	}
	if rnd.IntN(3) == 0 {
		p := engine.Prefix(One, randomKey(rnd))
		at.From, at.To = p.From, p.To
	}
	if rnd.IntN(3) == 0 {
		if err := r.LoadRanges(at, engine.Prefix(One, randomKey(rnd))); err != nil {
			return err
		}
		if err := between(); err != nil {
			return err
		}
	}
	most := rnd.IntN(20)
	var got []string
	for e, err := range r.Scan(at) {
		if err != nil {
			return err
		}
		if got = append(got, string(e.Key)+"="+string(e.Value)); len(got) == most {
			break
		}
	}
	want := inRange(at, now)
	if most > 0 && len(want) > most {
		want = want[:most]
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("Scan(%+v) = %q, want %q", at, got, want)
	}
	return nil
}

// inRange returns what a scan of a map yields.
func inRange(at engine.Range, now map[string]string) (found []string) {
	keys := slices.Sorted(maps.Keys(now))
	if at.Backward {
		slices.Reverse(keys)
	}
	for _, k := range keys {
		inside := bytes.Compare([]byte(k), at.From) >= 0 && (at.To == nil || bytes.Compare([]byte(k), at.To) < 0)
		if inside && (at.Limit == 0 || len(found) < at.Limit) {
			found = append(found, k+"="+now[k])
		}
	}
	return found
}
