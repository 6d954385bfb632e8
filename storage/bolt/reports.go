package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// maxReportDrop is the maximum number of old reports that one step removes, so
// that a lowered limit does not delay the next one much.
const maxReportDrop = 100

// The payload of a report is the length of its head (unsigned varint), the head,
// which is the JSON of the report without its pairs, and the pairs.

// reportKey is the key of a report: its id (8 bytes).
func reportKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// reportOfKey is the key of a report in bucketReportsOf.
func reportOfKey(game string, id uint64) []byte {
	return binary.BigEndian.AppendUint64(gamePrefix(game), id)
}

// reportRunKey is the key of a report in bucketReportRuns: game, NUL, connection
// (8 bytes), session (4 bytes). The value is its id.
func reportRunKey(r *storage.Report) []byte {
	key := binary.BigEndian.AppendUint64(gamePrefix(r.Game), r.Conn)
	return binary.BigEndian.AppendUint32(key, uint32(r.Session))
}

// reportHead returns the payload of a report without its pairs.
func reportHead(r storage.Report) ([]byte, error) {
	r.Pairs = nil
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(nil, uint64(len(head))), head...), nil
}

// readReport is the reader of bucketReports.
func readReport(_ *bbolt.Tx, k, v []byte) (r storage.Report, err error) {
	if err := checkKey(k, v); err != nil {
		return r, err
	}
	payload, err := unseal(v)
	if err != nil {
		return r, err
	}
	size, n := binary.Uvarint(payload)
	if n <= 0 || size > uint64(len(payload)-n) {
		return r, fmt.Errorf("%w: length of a head", storage.ErrDamaged)
	}
	head, pairs := payload[n:n+int(size)], payload[n+int(size):]
	if r, err = decodeJSON[storage.Report](head); err != nil {
		return r, err
	}
	if len(pairs) > 0 {
		r.Pairs = slices.Clone(pairs)
	}
	return r, nil
}

// getReport returns a report or ErrNotFound.
func getReport(tx *bbolt.Tx, id uint64) (r storage.Report, err error) {
	key := reportKey(id)
	v := tx.Bucket([]byte(bucketReports)).Get(key)
	if v == nil {
		return r, storage.ErrNotFound
	}
	if r, err = readReport(tx, key, v); err != nil {
		return r, fmt.Errorf("%s %d: %w", bucketReports, id, err)
	}
	return r, nil
}

// PutReport is described in [storage.Stats].
func (s *Store) PutReport(ctx context.Context, r storage.Report, credits []storage.Credit, limits storage.ReportLimits,
) (storage.ReportResult, error) {
	r, err := r.Canonical()
	if err != nil {
		return storage.ReportResult{}, err
	}
	if err := storage.CheckCredits(credits); err != nil {
		return storage.ReportResult{}, err
	}
	var result storage.ReportResult
	err = s.change(ctx, func(c *change) error {
		result = storage.ReportResult{}
		next, old, err := c.mergeReport(r)
		if err != nil {
			return err
		}
		result.ID = old.ID
		if next == nil {
			return nil
		}
		if result.ID, err = c.putReport(next); err != nil {
			return err
		}
		result.Stored = true
		if next.Done && next.Trusted {
			if result.Credited, err = c.credit(credits, next.Updated); err != nil {
				return err
			}
		}
		result.Dropped, err = c.limitReports(next.Game, result.ID, limits)
		return err
	})
	if err != nil {
		return storage.ReportResult{}, err
	}
	return result, nil
}

// mergeReport returns the report to be stored, nil if there is nothing to store,
// and the earlier one of the same game. It writes nothing.
func (c *change) mergeReport(r storage.Report) (next *storage.Report, old storage.Report, err error) {
	r.ID = 0
	key := reportRunKey(&r)
	v := c.Bucket([]byte(bucketReportRuns)).Get(key)
	if v == nil {
		return &r, old, nil
	}
	id, err := openEntry(key, v)
	if err == nil && len(id) != 8 {
		err = fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(id))
	}
	if err != nil {
		return nil, old, fmt.Errorf("%s %q: %w", bucketReportRuns, key, err)
	}
	if old, err = getReport(c.Tx, binary.BigEndian.Uint64(id)); err != nil {
		return nil, old, err
	}
	switch {
	case old.Done && r.New:
		return &r, storage.Report{}, nil
	case old.Done, r.New:
		return nil, old, nil
	}
	r.ID, r.Started, r.Trusted = old.ID, old.Started, old.Trusted && r.Trusted
	return &r, old, nil
}

// putReport stores a report, under a new id if it has none, and returns the id.
func (c *change) putReport(r *storage.Report) (uint64, error) {
	made := int64(0)
	if r.ID == 0 {
		n, err := c.nextRev(bucketReports)
		if err != nil {
			return 0, err
		}
		r.ID, made = uint64(n), 1
		if c.Bucket([]byte(bucketReports)).Get(reportKey(r.ID)) != nil {
			return 0, fmt.Errorf("%w: report %d is there already", storage.ErrDamaged, r.ID)
		}
		if err := c.putEntry(bucketReportsOf, reportOfKey(r.Game, r.ID), nil); err != nil {
			return 0, err
		}
		if err := c.putEntry(bucketReportRuns, reportRunKey(r), reportKey(r.ID)); err != nil {
			return 0, err
		}
	}
	head, err := reportHead(*r)
	if err != nil {
		return 0, err
	}
	size := int64(len(head)+len(r.Pairs)) - int64(len(c.Bucket([]byte(bucketReports)).Get(reportKey(r.ID))))
	if made == 0 {
		size += recordHeader
	}
	if err := c.countReports(r.Game, made, size); err != nil {
		return 0, err
	}
	return r.ID, c.putRaw(bucketReports, reportKey(r.ID), head, r.Pairs)
}

// countReports changes the sums.
func (c *change) countReports(game string, records, size int64) error {
	if _, err := c.addSum(append([]byte{sumGame}, game...), records, size); err != nil {
		return err
	}
	_, err := c.addSum([]byte{sumReports}, records, size)
	return err
}

// limitReports removes the oldest reports beyond the limits, but not the report
// keep, and returns how many.
func (c *change) limitReports(game string, keep uint64, limits storage.ReportLimits) (dropped int, err error) {
	for ; limits.PerGame > 0 && dropped < maxReportDrop; dropped++ {
		n, err := readSum(c.Tx, append([]byte{sumGame}, game...))
		if err != nil {
			return dropped, err
		}
		prefix := gamePrefix(game)
		k, _ := c.Bucket([]byte(bucketReportsOf)).Cursor().Seek(prefix)
		if n.records <= int64(limits.PerGame) || len(k) != len(prefix)+8 || !bytes.HasPrefix(k, prefix) {
			break
		}
		id := binary.BigEndian.Uint64(k[len(prefix):])
		if id == keep {
			break
		}
		if err := c.dropReport(id); err != nil {
			return dropped, err
		}
	}
	for ; limits.Bytes > 0 && dropped < maxReportDrop; dropped++ {
		all, err := readSum(c.Tx, []byte{sumReports})
		if err != nil {
			return dropped, err
		}
		k, _ := c.Bucket([]byte(bucketReports)).Cursor().First()
		if all.bytes <= limits.Bytes || len(k) != 8 || binary.BigEndian.Uint64(k) == keep {
			break
		}
		if err := c.dropReport(binary.BigEndian.Uint64(k)); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// dropReport removes a report and its index entries. Those of a damaged report
// are searched for.
func (c *change) dropReport(id uint64) error {
	key := reportKey(id)
	v := c.Bucket([]byte(bucketReports)).Get(key)
	if v == nil {
		return storage.ErrNotFound
	}
	size := int64(max(len(v)-recordHeader, 0))
	r, err := readReport(c.Tx, key, v)
	run := reportRunKey(&r)
	if err != nil {
		r.Game, run = findReport(c.Tx, key)
	}
	if v := c.Bucket([]byte(bucketReportRuns)).Get(run); bytes.HasPrefix(v, key) { // else a later game has it
		if err := c.delete(bucketReportRuns, run); err != nil {
			return err
		}
	}
	if err := c.delete(bucketReportsOf, reportOfKey(r.Game, id)); err != nil {
		return err
	}
	if err := c.countReports(r.Game, -1, -size); err != nil {
		return err
	}
	return c.delete(bucketReports, key)
}

// findReport returns the game of a damaged report, and its key in
// bucketReportRuns. It reads the whole of two indexes.
func findReport(tx *bbolt.Tx, key []byte) (game string, run []byte) {
	c := tx.Bucket([]byte(bucketReportsOf)).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if bytes.HasSuffix(k, key) && len(k) > 8 && k[len(k)-9] == 0 {
			game = string(k[:len(k)-9])
		}
	}
	c = tx.Bucket([]byte(bucketReportRuns)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if bytes.HasPrefix(v, key) {
			run = slices.Clone(k)
		}
	}
	return game, run
}

// GetReport is described in [storage.Stats].
func (s *Store) GetReport(ctx context.Context, id uint64) (r storage.Report, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		r, err = getReport(tx, id)
		return err
	})
	return r, err
}

// Reports is described in [storage.Stats].
func (s *Store) Reports(ctx context.Context, game string, before uint64) iter.Seq2[storage.Report, error] {
	return func(yield func(storage.Report, error) bool) {
		for more := true; more; {
			var items []item[storage.Report]
			err := s.view(ctx, func(tx *bbolt.Tx) error {
				items, before, more = reportPage(tx, game, before)
				return nil
			})
			if err != nil {
				yield(storage.Report{}, err)
				return
			}
			for _, it := range items {
				if !yield(it.record, it.err) {
					return
				}
			}
		}
	}
}

// reportPage reads one page downwards from below before. next is where the
// following one begins, if there is more.
func reportPage(tx *bbolt.Tx, game string, before uint64) (items []item[storage.Report], next uint64, more bool) {
	prefix := gamePrefix(game)
	end := binary.BigEndian.AppendUint64(slices.Clone(prefix), before-1) // 0: all ones
	c := tx.Bucket([]byte(bucketReportsOf)).Cursor()
	k, _ := c.Seek(end)
	if !bytes.Equal(k, end) {
		k = lastBefore(c, k)
	}
	for size := 0; len(k) == len(prefix)+8 && bytes.HasPrefix(k, prefix); k, _ = c.Prev() {
		if len(items) == pageRecords || size > pageBytes {
			return items, next, true
		}
		next = binary.BigEndian.Uint64(k[len(prefix):])
		r, err := getReport(tx, next)
		items = append(items, item[storage.Report]{r, err})
		size += len(r.Pairs)
	}
	return items, next, false
}

// lastBefore returns the key before the one at which Seek put the cursor.
func lastBefore(c *bbolt.Cursor, at []byte) []byte {
	if at == nil {
		k, _ := c.Last()
		return k
	}
	k, _ := c.Prev()
	return k
}

// DeleteReport is described in [storage.Stats].
func (s *Store) DeleteReport(ctx context.Context, id uint64) error {
	return s.change(ctx, func(c *change) error { return c.dropReport(id) })
}

// errRecent ends the search for old reports.
var errRecent = errors.New("the rest is newer")

// SweepReports is described in [storage.Stats].
func (s *Store) SweepReports(ctx context.Context, before time.Time) (int, error) {
	var old []uint64
	read := func(tx *bbolt.Tx, k, v []byte) (uint64, error) {
		r, err := readReport(tx, k, v)
		if err == nil && !r.Started.Before(before) {
			return 0, errRecent
		}
		return r.ID, err
	}
	for id, err := range iterate(ctx, s, bucketReports, []byte{}, read) {
		if errors.Is(err, errRecent) {
			break
		}
		if err != nil && !isDamage(err) {
			return 0, fmt.Errorf("sweep reports: %w", err)
		}
		if err == nil {
			old = append(old, id)
		}
	}
	return sweep(ctx, s, "reports", old, func(c *change, id uint64) (int, error) {
		err := c.dropReport(id)
		switch {
		case err == nil:
			return 1, nil
		case isMissing(err):
			return 0, nil
		}
		return 0, err
	})
}
