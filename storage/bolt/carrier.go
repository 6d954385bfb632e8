package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

var _ storage.Carrier = (*Store)(nil)

// metaCopy is the key in bucketMeta of the mark of a copy.
const metaCopy = "copy"

// numbersOf32 are the keys in bucketMeta of the ids of 4 bytes, with their fields.
func numbersOf32(n *storage.Numbers) map[string]*uint32 {
	return map[string]*uint32{metaUser: &n.User, metaProfile: &n.Profile, metaRoom: &n.Room, metaFile: &n.File}
}

// numbersOf64 are the buckets whose sequences are ids, with their fields.
func numbersOf64(n *storage.Numbers) map[string]*uint64 {
	return map[string]*uint64{bucketReports: &n.Report, bucketMatches: &n.Match, bucketAudit: &n.Audit}
}

// Numbers is described in [storage.Carrier].
func (s *Store) Numbers(ctx context.Context) (n storage.Numbers, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		for name, field := range numbersOf32(&n) {
			if *field, err = lastID(tx, name); err != nil {
				return err
			}
		}
		for bucket, field := range numbersOf64(&n) {
			*field = tx.Bucket([]byte(bucket)).Sequence()
		}
		return nil
	})
	return n, err
}

// RaiseNumbers is described in [storage.Carrier].
func (s *Store) RaiseNumbers(ctx context.Context, n storage.Numbers) error {
	return s.change(ctx, func(c *change) error {
		for name, field := range numbersOf32(&n) {
			if err := c.usedID(name, *field); err != nil {
				return err
			}
		}
		for bucket, field := range numbersOf64(&n) {
			if err := c.raise(bucket, *field); err != nil {
				return err
			}
		}
		return nil
	})
}

// raise makes the sequence of a bucket at least n.
func (c *change) raise(bucket string, n uint64) error {
	b := c.Bucket([]byte(bucket))
	if b.Sequence() >= n {
		return nil
	}
	c.wrote = true
	return b.SetSequence(n)
}

// afterKey is the first key of 8 bytes above a number.
func afterKey(n uint64) []byte {
	if n == math.MaxUint64 {
		return append(reportKey(n), 0)
	}
	return reportKey(n + 1)
}

// EveryReport is described in [storage.Carrier].
func (s *Store) EveryReport(ctx context.Context, after uint64) iter.Seq2[storage.Report, error] {
	return iterateFrom(ctx, s, bucketReports, []byte{}, afterKey(after), readReport)
}

// ImportReports is described in [storage.Carrier].
func (s *Store) ImportReports(ctx context.Context, reports []storage.Report) error {
	return imports(ctx, s, reports, func(c *change, r storage.Report) error {
		r, err := r.Canonical()
		if err != nil || c.Bucket([]byte(bucketReports)).Get(reportKey(r.ID)) != nil {
			return err
		}
		head, err := reportHead(r)
		if err != nil {
			return err
		}
		return errors.Join(c.raise(bucketReports, r.ID),
			c.putEntry(bucketReportsOf, reportOfKey(r.Game, r.ID), nil),
			c.putEntry(bucketReportRuns, reportRunKey(&r), reportKey(r.ID)),
			c.countReports(r.Game, 1, int64(len(head)+len(r.Pairs))),
			c.putRaw(bucketReports, reportKey(r.ID), head, r.Pairs))
	})
}

// imports calls put with each record, all in one step.
func imports[R any](ctx context.Context, s *Store, records []R, put func(*change, R) error) error {
	return s.change(storage.WithoutAudit(ctx), func(c *change) error {
		for _, r := range records {
			if err := put(c, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// EveryMatch is described in [storage.Carrier].
func (s *Store) EveryMatch(ctx context.Context, after uint64) iter.Seq2[storage.Match, error] {
	return iterateFrom(ctx, s, bucketMatches, []byte{}, afterKey(after), readRecord[storage.Match])
}

// ImportMatches is described in [storage.Carrier].
func (s *Store) ImportMatches(ctx context.Context, matches []storage.Match) error {
	return imports(ctx, s, matches, func(c *change, m storage.Match) error {
		m, err := m.Canonical()
		if err != nil || c.Bucket([]byte(bucketMatches)).Get(matchKey(m.ID)) != nil {
			return err
		}
		if err := c.raise(bucketMatches, m.ID); err != nil {
			return err
		}
		if _, err := c.addSum(matchSumKey(m.Game), 1, 0); err != nil {
			return err
		}
		return c.putMatch(nil, &m)
	})
}

// ImportFiles is described in [storage.Carrier].
func (s *Store) ImportFiles(ctx context.Context, files []storage.File) error {
	return imports(ctx, s, files, func(c *change, f storage.File) error {
		f, err := f.Canonical()
		if err != nil || c.Bucket([]byte(bucketFiles)).Get(fileKey(f.ID)) != nil {
			return err
		}
		if _, err := getProfile(c.Tx, f.Owner); err != nil {
			return err
		}
		entries, err := fileEntries(f)
		if err != nil {
			return err
		}
		for _, e := range entries {
			err = errors.Join(err, c.putEntry(e.bucket, []byte(e.key), nil))
		}
		for _, owner := range []storage.ProfileID{0, f.Owner} {
			u, readErr := fileUsage(c.Tx, owner)
			err = errors.Join(err, readErr, c.putFileUsage(owner, u.With(f.Size)))
		}
		return errors.Join(err, c.usedID(metaFile, uint32(f.ID)), c.put(bucketFiles, fileKey(f.ID), f))
	})
}

// ImportRequests is described in [storage.Carrier].
func (s *Store) ImportRequests(ctx context.Context, requests []storage.Request) error {
	return imports(ctx, s, requests, func(c *change, r storage.Request) error {
		if err := errors.Join(r.Check(), checkPair(c.Tx, r.From, r.To)); err != nil {
			return err
		}
		r.Sent = r.Sent.Round(0).UTC()
		return errors.Join(c.put(bucketRequests, pairKey(r.To, r.From), r), c.putEntry(bucketRequestsFrom, pairKey(r.From, r.To), nil))
	})
}

// ImportAudit is described in [storage.Carrier].
func (s *Store) ImportAudit(ctx context.Context, entries []storage.AuditEntry) error {
	return imports(ctx, s, entries, func(c *change, e storage.AuditEntry) error {
		seq := e.Seq
		e = e.Canonical()
		e.Seq = seq
		ring := auditRingOf(e)
		if c.Bucket([]byte(ring.bucket)).Get(auditKey(seq)) != nil {
			return nil
		}
		n := uint64(ring.entries(c.Tx)) + 1
		return errors.Join(c.raise(bucketAudit, seq), c.put(ring.bucket, auditKey(seq), e),
			c.putEntry(bucketMeta, []byte(ring.count), binary.BigEndian.AppendUint64(nil, n)))
	})
}

// CopyMark is described in [storage.Carrier].
func (s *Store) CopyMark(ctx context.Context) (mark string, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		v := tx.Bucket([]byte(bucketMeta)).Get([]byte(metaCopy))
		if v == nil {
			return nil
		}
		content, err := openEntry([]byte(metaCopy), v)
		mark = string(content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("mark of a copy: %w", err)
	}
	return mark, nil
}

// SetCopyMark is described in [storage.Carrier].
func (s *Store) SetCopyMark(ctx context.Context, mark string) error {
	return s.change(storage.WithoutAudit(ctx), func(c *change) error {
		if mark == "" {
			return c.delete(bucketMeta, []byte(metaCopy))
		}
		return c.putEntry(bucketMeta, []byte(metaCopy), []byte(mark))
	})
}
