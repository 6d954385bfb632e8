package postgres

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
)

// TestLongScanSeesOneMoment has another step change the first and the last entry of a range
// between two pages of a scan.
func TestLongScanSeesOneMoment(t *testing.T) {
	const table engine.Table = "long"
	key := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	errStop := errors.New("stop")
	for name, tt := range map[string]struct {
		entries, limit int
		step           func(e *Engine, scan func(engine.Reader) error) error
	}{
		"view": {engine.Page + 1, 0, func(e *Engine, scan func(engine.Reader) error) error { return e.View(t.Context(), scan) }},
		"change that fails, with a limit": {4, 2, func(e *Engine, scan func(engine.Reader) error) error {
			err := e.Update(t.Context(), func(tx engine.Tx) error {
				return errors.Join(tx.Delete(table, key(1)), scan(tx), errStop) // so the first page has one entry too few
			})
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := openNew(t)
			put := func(value byte, keys ...int) {
				t.Helper()
				err := e.Update(t.Context(), func(tx engine.Tx) (err error) {
					for _, k := range keys {
						err = errors.Join(err, tx.Put(table, key(k), []byte{value}))
					}
					return err
				})
				if err != nil {
					t.Fatalf("Update() = %v", err)
				}
			}
			all := make([]int, tt.entries)
			for i := range all {
				all[i] = i
			}
			put(1, all...)
			changed := false
			var got []byte
			err := tt.step(e, func(tx engine.Reader) error {
				got = nil
				for entry, err := range tx.Scan(engine.Range{Table: table, Limit: tt.limit}) {
					if err != nil {
						return err
					}
					got = append(got, entry.Value[0])
					if !changed {
						changed = true
						put(2, all...)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if first, last := got[0], got[len(got)-1]; first != last {
				t.Errorf("the first of %d entries is %d, the last %d: they are of two moments", len(got), first, last)
			}
		})
	}
}
