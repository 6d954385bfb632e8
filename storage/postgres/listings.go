package postgres

import (
	"context"
	"fmt"
	"iter"
	"net/netip"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// AddServer is described in [storage.Listings].
func (s *Store) AddServer(ctx context.Context, a storage.AddedServer) error {
	if err := a.Check(); err != nil {
		return err
	}
	a.Added = a.Added.Round(0).UTC()
	doc, err := encode(a, "address")
	if err != nil {
		return err
	}
	return s.putBounded(ctx, "added_servers", a.Address, doc, storage.MaxAddedServers)
}

// RemoveAddedServer is described in [storage.Listings].
func (s *Store) RemoveAddedServer(ctx context.Context, address string) error {
	if !isText(address) {
		return storage.ErrNotFound
	}
	return s.remove(ctx, `DELETE FROM added_servers WHERE address = $1`, address)
}

// AddedServers is described in [storage.Listings].
func (s *Store) AddedServers(ctx context.Context) iter.Seq2[storage.AddedServer, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.AddedServer) ([]item[storage.AddedServer], error) {
		after := "" // no server has an empty address
		if last != nil {
			after = last.Address
		}
		rows, err := q.Query(ctx, `SELECT address, doc FROM added_servers WHERE address > $1 ORDER BY address LIMIT $2`,
			after, pageRecords)
		return collect(rows, err, func(row pgx.Row, a *storage.AddedServer) error {
			var address string
			var doc []byte
			if err := row.Scan(&address, &doc); err != nil {
				return err
			}
			err := decode(doc, a, "added server", address)
			a.Address = address
			return err
		})
	})
}

// hiddenAddress is the key of a hidden server.
func hiddenAddress(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// HideServer is described in [storage.Listings].
func (s *Store) HideServer(ctx context.Context, h storage.HiddenServer) error {
	if err := h.Check(); err != nil {
		return err
	}
	h.Added = h.Added.Round(0).UTC()
	doc, err := encode(h, "address")
	if err != nil {
		return err
	}
	return s.putBounded(ctx, "hidden_servers", hiddenAddress(h.Address).String(), doc, storage.MaxHiddenServers)
}

// UnhideServer is described in [storage.Listings].
func (s *Store) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	return s.remove(ctx, `DELETE FROM hidden_servers WHERE address = $1`, hiddenAddress(address).String())
}

// HiddenServers is described in [storage.Listings].
func (s *Store) HiddenServers(ctx context.Context) iter.Seq2[storage.HiddenServer, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.HiddenServer) ([]item[storage.HiddenServer], error) {
		after := ""
		if last != nil {
			after = last.Address.String()
		}
		rows, err := q.Query(ctx, `SELECT address, doc FROM hidden_servers WHERE address > $1 ORDER BY address LIMIT $2`,
			after, pageRecords)
		return collect(rows, err, func(row pgx.Row, h *storage.HiddenServer) error {
			var address string
			var doc []byte
			if err := row.Scan(&address, &doc); err != nil {
				return err
			}
			err := decode(doc, h, "hidden server", address)
			var wrong error
			if h.Address, wrong = netip.ParseAddrPort(address); wrong != nil {
				return wrong
			}
			return err
		})
	})
}

// lockClass is the first half of the numbers of advisory locks, "resp": another
// program may use the same database.
const lockClass = 0x72657370

// The advisory locks of tables whose rows are counted, besides lockIDs.
const (
	lockAddedServers  = 2
	lockHiddenServers = 3
)

// putBounded stores a row if it replaces an earlier one or the table has fewer
// than most rows.
func (s *Store) putBounded(ctx context.Context, table, address string, doc []byte, most int) error {
	lock := lockAddedServers
	if table == "hidden_servers" {
		lock = lockHiddenServers
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		b := &pgx.Batch{}
		b.Queue(`SELECT pg_advisory_xact_lock($1, $2)`, lockClass, lock)
		var stored bool
		b.Queue(`
			WITH stored AS (
				INSERT INTO `+table+` (address, doc) SELECT $1, $2
				WHERE (SELECT count(*) FROM `+table+`) < $3 OR EXISTS (SELECT FROM `+table+` WHERE address = $1)
				ON CONFLICT (address) DO UPDATE SET doc = excluded.doc RETURNING 1
			)
			SELECT EXISTS (SELECT FROM stored)`, address, doc, most).
			QueryRow(func(row pgx.Row) error { return row.Scan(&stored) })
		if err := c.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if !stored {
			return fmt.Errorf("%w: there are %d already", storage.ErrFull, most)
		}
		return nil
	})
}
