package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage"
)

// Sizes of the steps of a save.
const (
	indexPart   = 2048    // servers in a row of the index
	recordBatch = 256     // records that are sent at once
	recordBytes = 1 << 20 // or as many as exceed this size
)

// SaveServers is described in [storage.Servers]. It saves the list of the node of
// the store.
func (s *Store) SaveServers(ctx context.Context, list iter.Seq[storage.ListedServer]) (saved storage.SavedServers, err error) {
	err = s.changeList(ctx, func(ctx context.Context, tx *slowTx) error {
		w, err := newListWriter(tx, s.node)
		if err != nil {
			return err
		}
		for l := range list {
			if err := w.add(ctx, &l); err != nil {
				return err
			}
		}
		if err := w.end(ctx); err != nil {
			return err
		}
		if w.leftOut > 0 {
			s.log.Warn().Int("left_out", w.leftOut).Msg("servers beyond the storage limits were not saved")
		}
		saved = storage.SavedServers{Servers: w.servers, Written: w.written}
		return nil
	})
	if err != nil {
		return storage.SavedServers{}, fmt.Errorf("save servers: %w", err)
	}
	return saved, nil
}

// changeList runs fn in a transaction that has the saved list of the node for
// itself. It is not repeated: a list can be read once. The context is checked
// between its statements.
func (s *Store) changeList(ctx context.Context, fn func(context.Context, *slowTx) error) error {
	select {
	case s.saving <- struct{}{}:
		defer func() { <-s.saving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release(conn)
	n := s.writes.begin()
	err = s.listStep(ctx, conn, fn)
	s.writes.end(n, unavailable(conn, err))
	return s.result(conn, err)
}

// listStep is the transaction of changeList.
func (s *Store) listStep(ctx context.Context, conn *pgxpool.Conn, fn func(context.Context, *slowTx) error) error {
	t := &slowTx{limit: s.timeout + s.slack}
	err := t.each(func(ctx context.Context) (err error) {
		t.tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		return err
	})
	if err != nil {
		return err
	}
	if err := fn(ctx, t); err != nil {
		_ = t.each(t.tx.Rollback) // otherwise the connection is closed
		return err
	}
	return t.each(t.tx.Commit)
}

// A slowTx is a transaction that may take longer than a step, because its
// statements, not the whole, have a deadline. A caller's code runs between them.
type slowTx struct {
	tx    pgx.Tx
	limit time.Duration
}

// each runs one statement.
func (t *slowTx) each(fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	return fn(ctx)
}

// send sends a batch.
func (t *slowTx) send(b *pgx.Batch) error {
	return t.each(func(ctx context.Context) error { return t.tx.SendBatch(ctx, b).Close() })
}

// A listWriter writes a list. Its memory does not grow with the list.
type listWriter struct {
	tx    *slowTx
	node  string
	save  int64 // number of this save
	whole bool  // there was no list: every record is written

	part    int // of the index
	sources []string
	seen    []int64

	changed []string // sources of records to write
	docs    []string
	size    int
	broken  []string // sources of records that are left out

	servers, written, leftOut int
}

// newListWriter locks the list of the node and removes its index.
func newListWriter(tx *slowTx, node string) (*listWriter, error) {
	w := &listWriter{tx: tx, node: node}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO server_lists (node, saved, saves, servers) VALUES ($1, 0, 1, 0)
		ON CONFLICT (node) DO UPDATE SET saves = server_lists.saves + 1 RETURNING saves`, node).
		QueryRow(func(row pgx.Row) error { return row.Scan(&w.save) })
	b.Queue(`DELETE FROM server_index WHERE node = $1`, node)
	err := tx.send(b)
	w.whole = w.save == 1
	return w, err
}

// add adds a server of the list.
func (w *listWriter) add(ctx context.Context, l *storage.ListedServer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.Changed || w.whole {
		record := l.Record()
		if record.Check() != nil || record.Source != l.Source {
			w.leftOut++
			w.broken = append(w.broken, l.Source.String())
			return w.flushIf()
		}
		record.First, record.Seen = record.First.Round(0).UTC(), time.Time{} // Seen is in the index
		doc, err := json.Marshal(record)
		if err != nil {
			return err
		}
		w.changed, w.docs = append(w.changed, l.Source.String()), append(w.docs, string(doc))
		w.size += len(doc)
		w.written++
	}
	w.sources, w.seen = append(w.sources, l.Source.String()), append(w.seen, seenColumn(l.Seen))
	w.servers++
	return w.flushIf()
}

// seenColumn is nanoseconds for an instant of which the zero value means never.
func seenColumn(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return nanoseconds(t)
}

// flushIf sends the collected rows.
func (w *listWriter) flushIf() error {
	if len(w.sources) < indexPart && len(w.changed)+len(w.broken) < recordBatch && w.size < recordBytes {
		return nil
	}
	return w.flush(len(w.sources) >= indexPart)
}

// flush sends the records, and the index too if it is full or at its end.
func (w *listWriter) flush(index bool) error {
	b := &pgx.Batch{}
	if len(w.changed) > 0 {
		b.Queue(`INSERT INTO server_records (node, source, save, doc)
			SELECT DISTINCT ON (source) $1, source, $2::bigint, doc::json FROM unnest($3::text[], $4::text[]) AS r (source, doc)
			ON CONFLICT (node, source) DO UPDATE SET save = excluded.save, doc = excluded.doc`,
			w.node, w.save, w.changed, w.docs)
	}
	if len(w.broken) > 0 { // their old records are not those of the list
		b.Queue(`DELETE FROM server_records WHERE node = $1 AND source = ANY($2) AND save <> $3`, w.node, w.broken, w.save)
	}
	if index && len(w.sources) > 0 {
		b.Queue(`INSERT INTO server_index (node, part, sources, seen) VALUES ($1, $2, $3, $4)`,
			w.node, w.part, w.sources, w.seen)
		w.part++
	}
	if err := w.tx.send(b); err != nil {
		return err
	}
	w.changed, w.docs, w.broken, w.size = w.changed[:0], w.docs[:0], w.broken[:0], 0
	if index {
		w.sources, w.seen = w.sources[:0], w.seen[:0]
	}
	return nil
}

// end completes the list.
func (w *listWriter) end(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.flush(true); err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE server_lists SET saved = $2, servers = $3 WHERE node = $1`, w.node, time.Now().UnixNano(), w.servers)
	return w.tx.send(b)
}

// CompactServers is described in [storage.Servers].
func (s *Store) CompactServers(ctx context.Context) error {
	err := s.changeList(ctx, func(ctx context.Context, tx *slowTx) error {
		var listed, records int
		b := &pgx.Batch{}
		b.Queue(`SELECT servers, (SELECT count(*) FROM server_records WHERE node = $1)
			FROM server_lists WHERE node = $1 FOR UPDATE`, s.node).
			QueryRow(func(row pgx.Row) error { return row.Scan(&listed, &records) })
		err := tx.send(b)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case records <= 2*listed:
			return nil
		}
		b = &pgx.Batch{}
		b.Queue(`DELETE FROM server_records r WHERE node = $1 AND NOT EXISTS (
			SELECT FROM server_index i, unnest(i.sources) AS source WHERE i.node = $1 AND source = r.source)`, s.node)
		return tx.send(b)
	})
	if err != nil {
		return fmt.Errorf("compact the saved server list: %w", err)
	}
	return nil
}

// savedServer is a row of a saved list.
type savedServer struct {
	source string
	seen   int64
	doc    []byte
}

// decode returns the server.
func (v *savedServer) decode() (r storage.Server, err error) {
	if err := decode(v.doc, &r, "server", v.source); err != nil {
		return storage.Server{}, err
	}
	if r.Source, err = netip.ParseAddrPort(v.source); err != nil {
		return storage.Server{}, fmt.Errorf("server %s: %w: %w", v.source, storage.ErrDamaged, err)
	}
	if v.seen != math.MinInt64 {
		r.Seen = time.Unix(0, v.seen).UTC()
	}
	return r, nil
}

// LoadServers is described in [storage.Servers]. It reads the whole list of the
// node before it yields the first server: the list may be replaced meanwhile, and
// no connection is held while the caller's loop body runs.
func (s *Store) LoadServers(ctx context.Context) iter.Seq2[storage.Server, error] {
	return func(yield func(storage.Server, error) bool) {
		var all []savedServer
		err := s.read(ctx, func(ctx context.Context, q querier) error {
			all = nil
			rows, err := q.Query(ctx, `SELECT l.source, l.seen, r.doc
				FROM server_index i, unnest(i.sources, i.seen) WITH ORDINALITY AS l (source, seen, n)
				JOIN server_records r ON r.source = l.source AND r.node = $1
				WHERE i.node = $1 ORDER BY i.part, l.n`, s.node)
			if err != nil {
				return err
			}
			all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (v savedServer, err error) {
				err = row.Scan(&v.source, &v.seen, &v.doc)
				return v, err
			})
			return err
		})
		if err != nil {
			yield(storage.Server{}, err)
			return
		}
		for i := range all {
			if i%pageRecords == 0 && ctx.Err() != nil {
				yield(storage.Server{}, ctx.Err())
				return
			}
			server, err := all[i].decode()
			all[i].doc = nil
			if !yield(server, err) {
				return
			}
		}
	}
}

// ServersSavedAt is described in [storage.Servers].
func (s *Store) ServersSavedAt(ctx context.Context) (at time.Time, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		var saved int64
		if err := q.QueryRow(ctx, `SELECT saved FROM server_lists WHERE node = $1`, s.node).Scan(&saved); err != nil {
			return err
		}
		at = time.Unix(0, saved).UTC()
		return nil
	})
	return at, err
}
