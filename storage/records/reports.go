package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// maxReportDrop is the maximum number of old reports that one step removes, so
// that a lowered limit does not delay the next one much.
const maxReportDrop = 100

// The payload of a report is the length of its head (unsigned varint), the head,
// which is the JSON of the report without its pairs, and the pairs.

// reportOfKey is the key of a report in tableReportsOf.
func reportOfKey(game string, id uint64) []byte {
	return binary.BigEndian.AppendUint64(gamePrefix(game), id)
}

// reportRunKey is the key of a report in tableReportRuns: game, NUL, connection
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

// readReport is the decoder of tableReports.
func readReport(_ *view, e engine.Entry) (r storage.Report, err error) {
	payload, err := unseal(e.Key, e.Value)
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

// report returns a report or ErrNotFound.
func (v *view) report(id uint64) (r storage.Report, err error) {
	key := numberKey(id)
	value, err := v.stored(tableReports, key)
	if err != nil {
		return r, err
	}
	r, err = readReport(v, engine.Entry{Key: key, Value: value})
	return r, wrapped(err, "%s %d", tableReports, id)
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
	return perform(ctx, s, func(c *change) (result storage.ReportResult, err error) {
		next, old, err := c.mergeReport(r, scoreKeys(credits))
		result.ID = old.ID
		if err != nil || next == nil {
			return result, err
		}
		result.ID, result.Stored = c.putReport(next), true
		if next.Done && next.Trusted {
			result.Credited = c.credit(credits, next.Updated)
		}
		result.Dropped = c.limitReports(next.Game, result.ID, limits)
		return result, nil
	})
}

// mergeReport returns the report to be stored, nil if there is nothing to store,
// and the earlier one of the same game. It writes nothing. more is loaded too.
func (c *change) mergeReport(r storage.Report, more []engine.Key) (next *storage.Report, old storage.Report, err error) {
	r.ID = 0
	run := reportRunKey(&r)
	c.loadReport(&r, run, more...)
	id := c.entry(tableReportRuns, run, 8)
	if id == nil {
		return &r, old, nil
	}
	if old, err = c.report(binary.BigEndian.Uint64(id)); err != nil {
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

// loadReport loads what changes with a report of a run, and other keys.
func (c *change) loadReport(r *storage.Report, run []byte, more ...engine.Key) {
	keys := append(c.totalKeys(totalReports), engine.Key{Table: tableReportRuns, Key: run}, engine.Key{Table: tableStatSums, Key: reportSumKey(r.Game)})
	c.load(append(keys, more...)...)
}

// putReport stores a report, under a new id if it has none, and returns the id.
func (c *change) putReport(r *storage.Report) uint64 {
	var grown sum
	if r.ID == 0 {
		r.ID, grown.records = c.next(tableReports), 1
		c.putEntry(tableReportsOf, reportOfKey(r.Game, r.ID), nil)
		c.putEntry(tableReportRuns, reportRunKey(r), numberKey(r.ID))
	} else {
		grown.bytes = -reportSize(c.get(tableReports, numberKey(r.ID)))
	}
	head, err := reportHead(*r)
	c.failed(err)
	grown.bytes += int64(len(head) + len(r.Pairs))
	c.countReports(r, grown)
	c.putRaw(tableReports, numberKey(r.ID), head, r.Pairs)
	return r.ID
}

// reportSize returns the size of a stored report as the sums count it.
func reportSize(value []byte) int64 { return int64(max(len(value)-recordHeader, 0)) }

// reportSumKey is the key of the sum of the reports of a game.
func reportSumKey(game string) []byte { return append([]byte{sumGame}, game...) }

// countReports changes the sums to which a report belongs.
func (c *change) countReports(r *storage.Report, by sum) {
	c.addSum(tableStatSums, reportSumKey(r.Game), by)
	c.addTotal(totalReports, by)
}

// limitReports removes the oldest reports beyond the limits, but not the report
// keep, and returns how many.
func (c *change) limitReports(game string, keep uint64, limits storage.ReportLimits) (dropped int) {
	if limits.PerGame > 0 {
		n := c.sum(tableStatSums, reportSumKey(game)).records
		for ; n > int64(limits.PerGame) && dropped < maxReportDrop; n-- {
			if c.dropOldest(engine.Prefix(tableReportsOf, gamePrefix(game)), keep) < 0 {
				return dropped
			}
			dropped++
		}
	}
	if limits.Bytes <= 0 {
		return dropped
	}
	for used := c.countOf(countReportBytes); used > limits.Bytes && dropped < maxReportDrop; dropped++ {
		size := c.dropOldest(whole(tableReports), keep)
		if size < 0 {
			break
		}
		used -= size
	}
	return dropped
}

// dropOldest removes the first report of a range, whose keys end with ids, and returns its
// size; -1 if there is none, or only the report keep. It does not matter if an older one is
// stored meanwhile, so steps that add reports need not wait for each other.
func (c *change) dropOldest(r engine.Range, keep uint64) int64 {
	r.Loose = true
	e := c.first(r)
	if len(e.Key) < 8 {
		return -1
	}
	id := binary.BigEndian.Uint64(lastID64(e.Key))
	if id == keep {
		return -1
	}
	size, err := c.dropReport(id)
	c.failed(err)
	return size
}

// dropReport removes a report and its index entries, and returns its size. The entries of a
// damaged report are searched for.
func (c *change) dropReport(id uint64) (size int64, err error) {
	key := numberKey(id)
	value, err := c.stored(tableReports, key)
	if err != nil {
		return 0, err
	}
	size = reportSize(value)
	r, err := readReport(c.view, engine.Entry{Key: key, Value: value})
	run := reportRunKey(&r)
	if err != nil {
		r, run = findReport(c.view, key)
	}
	c.loadReport(&r, run)
	if bytes.HasPrefix(c.get(tableReportRuns, run), key) { // else it leads to a later report
		c.delete(tableReportRuns, run)
	}
	c.delete(tableReportsOf, reportOfKey(r.Game, id))
	c.countReports(&r, sum{-1, -size})
	c.delete(tableReports, key)
	return size, nil
}

// findReport returns the game of a damaged report, and its key in
// tableReportRuns. It reads the whole of two indexes.
func findReport(v *view, key []byte) (r storage.Report, run []byte) {
	for e := range v.scan(whole(tableReportsOf)) {
		if k := e.Key; bytes.HasSuffix(k, key) && len(k) > 8 && k[len(k)-9] == 0 {
			r.Game = string(k[:len(k)-9])
		}
	}
	run = reportRunKey(&r)
	for e := range v.scan(whole(tableReportRuns)) {
		if bytes.HasPrefix(e.Value, key) {
			run = slices.Clone(e.Key)
		}
	}
	return r, run
}

// GetReport is described in [storage.Stats].
func (s *Store) GetReport(ctx context.Context, id uint64) (storage.Report, error) {
	return read(ctx, s, func(v *view) (storage.Report, error) { return v.report(id) })
}

// Reports is described in [storage.Stats].
func (s *Store) Reports(ctx context.Context, game string, before uint64) iter.Seq2[storage.Report, error] {
	r := engine.Prefix(tableReportsOf, gamePrefix(game))
	r.Backward = true
	if before != 0 {
		r.To = reportOfKey(game, before)
	}
	return follow(ctx, s, r, tableReports, lastID64, readReport)
}

// DeleteReport is described in [storage.Stats].
func (s *Store) DeleteReport(ctx context.Context, id uint64) error {
	return s.change(ctx, func(c *change) error {
		_, err := c.dropReport(id)
		return err
	})
}

// SweepReports is described in [storage.Stats].
func (s *Store) SweepReports(ctx context.Context, before time.Time) (int, error) {
	old := until(iterate(ctx, s, whole(tableReports), readReport), func(r *storage.Report) bool { return !r.Started.Before(before) })
	return sweep(ctx, s, "reports", old, func(r *storage.Report) (uint64, bool) { return r.ID, true }, func(c *change, id uint64) (int, error) {
		_, err := c.dropReport(id)
		return 1, err
	})
}
