package records

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// SaveServers is described in [storage.Servers].
func (s *Store) SaveServers(ctx context.Context, list iter.Seq[storage.ListedServer]) (storage.SavedServers, error) {
	var saved storage.SavedServers
	err := s.changeList(ctx, func(ctx context.Context) (err error) {
		saved, err = s.saveServers(ctx, list)
		return err
	})
	if err != nil {
		return storage.SavedServers{}, wrapped(err, "save servers")
	}
	return saved, nil
}

// CompactServers is described in [storage.Servers].
func (s *Store) CompactServers(ctx context.Context) error {
	if err := s.changeList(ctx, s.compactServers); err != nil {
		return fmt.Errorf("compact the saved server list: %w", err)
	}
	if r, ok := s.eng.(interface{ Release(context.Context) error }); ok {
		return wrapped(r.Release(ctx), "release the pages of the file")
	}
	return nil
}

// changeList runs fn with exclusive access to changes of the saved list.
func (s *Store) changeList(ctx context.Context, fn func(context.Context) error) error {
	select {
	case s.saving <- struct{}{}:
		defer func() { <-s.saving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx = storage.WithoutAudit(ctx) // many steps, and not an operator's change
	if err := s.findGenerations(ctx); err != nil {
		return err
	}
	err := fn(ctx)
	if errors.Is(err, storage.ErrUnavailable) {
		return err // the list may still change
	}
	// Either the old generations or the unfinished ones are no longer needed.
	// If they cannot be removed now, the next save removes them.
	if err := s.dropGenerations(context.WithoutCancel(ctx)); err != nil {
		s.opt.Log.Warn().Err(err).Msg("old server list not removed yet")
	}
	return err
}

// saveServers writes the changed records as a new segment, and the index, and
// makes them the saved list.
func (s *Store) saveServers(ctx context.Context, list iter.Seq[storage.ListedServer]) (saved storage.SavedServers, err error) {
	base, whole, err := s.baseOfList(ctx)
	if err != nil {
		return saved, err
	}
	w := listWriter{records: generationWriter{store: s}, index: generationWriter{store: s}, all: true}
	for l := range list {
		if err := w.add(ctx, &l, whole); err != nil {
			return saved, err
		}
	}
	if w.leftOut > 0 {
		s.opt.Log.Warn().Int("left_out", w.leftOut).Msg("servers beyond the storage limits were not saved")
	}
	if w.all {
		base.Segments = nil
	}
	if err := s.putHead(ctx, func(c *change) listHead { return w.end(c, base) }); err != nil {
		return saved, err
	}
	if w.all {
		s.list.setPartial(false) // nothing of the old list is needed
	}
	return storage.SavedServers{Servers: w.index.records, Written: w.records.records - w.leftOut}, nil
}

// putHead makes a head that of the list, in the step that ends its generations.
func (s *Store) putHead(ctx context.Context, end func(*change) listHead) error {
	var head listHead
	err := s.change(ctx, func(c *change) error {
		head = end(c)
		c.put(tableServers, s.listHeadKey(), head)
		return nil
	})
	s.list.foundAll(head)
	return err
}

// listWriter writes the data of a save.
type listWriter struct {
	records generationWriter
	index   generationWriter
	buf     []byte
	all     bool // every record was written: older segments are unused
	leftOut int
}

// add writes a server of the list.
func (w *listWriter) add(ctx context.Context, l *storage.ListedServer, whole bool) error {
	if !l.Changed && !whole {
		w.all = false
		w.buf = appendSeen(w.buf[:0], l.Source, l.Seen)
		return w.index.add(ctx, w.buf)
	}
	record := l.Record()
	if record.Check() != nil || record.Source != l.Source {
		w.leftOut++
		w.buf = appendLeftOut(w.buf[:0], l.Source)
		return w.records.add(ctx, w.buf)
	}
	w.buf = appendServer(w.buf[:0], &record)
	if err := w.records.add(ctx, w.buf); err != nil {
		return err
	}
	w.buf = appendSeen(w.buf[:0], l.Source, l.Seen)
	return w.index.add(ctx, w.buf)
}

// end writes the rest as a part of a step and returns the new head.
func (w *listWriter) end(c *change, old listHead) (head listHead) {
	head = listHead{Segments: old.Segments, Saved: time.Now().UTC()}
	if w.records.records > 0 {
		head.Segments = append(slices.Clip(head.Segments), w.records.end(c))
	}
	head.Index = w.index.end(c)
	return head
}

// compactServers writes the records in use as one segment.
func (s *Store) compactServers(ctx context.Context) error {
	head, whole, err := s.baseOfList(ctx)
	if err != nil || whole || !head.replaced() {
		return err
	}
	wanted, err := s.loadIndex(ctx, head)
	if isDamage(err) {
		s.list.lost() // the next save writes everything
	}
	if err != nil {
		return err
	}
	w := generationWriter{store: s}
	for _, of := range slices.Backward(head.Segments) {
		if err := s.copyWanted(ctx, of, wanted, &w); err != nil {
			return err
		}
	}
	return s.putHead(ctx, func(c *change) listHead {
		head.Segments = []segment{w.end(c)}
		return head
	})
}

// copyWanted writes the records of a segment that are wanted, which they are no longer then.
func (s *Store) copyWanted(ctx context.Context, of segment, wanted map[netip.AddrPort]time.Time, w *generationWriter) (err error) {
	s.eachRecord(ctx, of, func(record []byte, bad error) bool {
		var source netip.AddrPort
		if err = bad; err == nil {
			source, err = recordSource(record)
		}
		if err != nil {
			return false
		}
		if _, ok := wanted[source]; !ok {
			return true
		}
		delete(wanted, source)
		err = w.add(ctx, record)
		return err == nil
	})
	if isDamage(err) {
		s.list.lost()
	}
	return err
}

// loadIndex returns the servers of a list with the times of their last reports.
// After an error, the first of possibly several, it returns the readable records.
func (s *Store) loadIndex(ctx context.Context, head listHead) (map[netip.AddrPort]time.Time, error) {
	seen := make(map[netip.AddrPort]time.Time)
	var first error
	s.eachRecord(ctx, head.Index, func(entry []byte, err error) bool {
		var source netip.AddrPort
		var at time.Time
		if err == nil {
			source, at, err = decodeSeen(entry)
		}
		if err != nil {
			if first == nil {
				first = err
			}
			return true
		}
		seen[source] = at
		return true
	})
	return seen, first
}

// LoadServers is described in [storage.Servers].
func (s *Store) LoadServers(ctx context.Context) iter.Seq2[storage.Server, error] {
	return func(yield func(storage.Server, error) bool) {
		head, err := s.acquireList(ctx)
		if err != nil {
			yield(storage.Server{}, err)
			return
		}
		defer s.list.release(head)
		l := listReader{store: s, yield: yield}
		if head.Index.Generation != 0 {
			if l.wanted, err = s.loadIndex(ctx, head); err != nil && !l.damaged(err) {
				return
			}
		}
		for _, of := range slices.Backward(head.Segments) {
			if !s.eachRecord(ctx, of, l.record) {
				return
			}
		}
	}
}

// listReader yields the records of a list, newest segment first.
type listReader struct {
	store  *Store
	wanted map[netip.AddrPort]time.Time // servers not yielded yet; nil: every record is used
	yield  func(storage.Server, error) bool
}

// damaged yields an error and reports whether to continue.
func (l *listReader) damaged(err error) bool {
	if isDamage(err) {
		l.store.list.lost()
	}
	return l.yield(storage.Server{}, err) && isDamage(err)
}

// record yields a record if it is used and reports whether to continue.
func (l *listReader) record(record []byte, err error) bool {
	if err != nil {
		return l.damaged(err)
	}
	source, err := recordSource(record)
	if err != nil {
		return l.damaged(err)
	}
	seen, ok := l.wanted[source]
	if !ok && l.wanted != nil {
		return true
	}
	delete(l.wanted, source)
	server, kept, err := decodeServer(record)
	switch {
	case err != nil:
		return l.damaged(err)
	case !kept:
		return true
	case l.wanted != nil:
		server.Seen = seen
	}
	return l.yield(server, nil)
}
