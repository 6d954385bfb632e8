package daemon

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/internal/coherence"
	"github.com/respawnd/respawnd/storage"
)

// makeTables makes the part that keeps the tables of all nodes of a cluster equal; there
// is none on a node that is alone.
func (d *Daemon) makeTables(ctx context.Context) (revisions map[string]int64, err error) {
	if d.cluster == nil {
		return nil, nil
	}
	opt := coherence.Options{Bus: d.cluster, Registerer: d.metrics, Log: d.log.With().Str("service", "cluster").Logger()}
	if s, ok := d.store.(storage.Revisions); ok {
		opt.Revisions = s.Revisions
		if revisions, err = s.Revisions(ctx); err != nil {
			return nil, err
		}
	}
	d.tables = coherence.New(opt)
	d.store.OnChange(observer(d.tables.Changed, d.tables.Doubt))
	return revisions, nil
}

// followTables loads the tables again that other nodes change. Everything is loaded;
// revisions are those from before.
func (d *Daemon) followTables(revisions map[string]int64) {
	if d.tables == nil {
		return
	}
	d.tables.Add(storage.TableBans, d.loadBans)
	d.tables.Add(storage.TableChatRules, d.chatRules.Load)
	d.tables.Add(storage.TableGames, d.catalogue.Reload)
	d.tables.Add(storage.TableListings, d.takeListings)
	d.tables.Add(storage.TableNews, d.news.Load)
	d.tables.Add(storage.TablePlayReports, d.played.Load)
	d.tables.Add(storage.TableKeys, func(ctx context.Context) error { return d.keys.Load(ctx, d.accounts.Keys) })
	d.tables.Assume(revisions)
}

// followTableChanges loads tables that other nodes change until ctx ends.
func (d *Daemon) followTableChanges(ctx context.Context) {
	if d.tables != nil {
		d.tables.Run(ctx)
	}
}

// loadBans loads the bans. Those that are damaged are logged and left out.
func (d *Daemon) loadBans(ctx context.Context) error {
	err := d.bans.Load(ctx)
	if errors.Is(err, storage.ErrDamaged) {
		d.log.Warn().Err(err).Msg("some bans cannot be read; the others are in force")
		return nil
	}
	return err
}

// takeListings applies the added and hidden servers of the store.
func (d *Daemon) takeListings(ctx context.Context) error { return d.listings.take(ctx) }

// observer returns the function that reports the changes of tables that all nodes hold in memory,
// after they are committed: those that succeeded, and those that may have.
func observer(changed, doubt func(table string)) func(table string, err error) {
	return func(table string, err error) {
		switch {
		case err == nil:
			changed(table)
		case unsure(err):
			doubt(table)
		}
	}
}

// unsure reports whether the change that failed with err may have been made.
func unsure(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
