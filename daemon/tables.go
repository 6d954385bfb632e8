package daemon

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/coherence"
	"github.com/respawnd/respawnd/internal/engine"
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

// tableStore returns the store for the tables that all nodes hold in memory.
func (h *shared) tableStore() engine.Store {
	if h.tables == nil {
		return h.store
	}
	return sharedStore{h.store, h.tables.Changed, h.tables.Doubt}
}

// sharedStore reports the changes of tables that all nodes hold in memory, after they
// are committed.
type sharedStore struct {
	engine.Store

	changed func(table string)
	doubt   func(table string)
}

// note reports a change that succeeded, or may have.
func (s sharedStore) note(table string, err error) error {
	switch {
	case err == nil:
		s.changed(table)
	case unsure(err):
		s.doubt(table)
	}
	return err
}

// some is note for a change of n records.
func (s sharedStore) some(table string, n int, err error) (int, error) {
	if n > 0 {
		s.changed(table)
	}
	if unsure(err) {
		s.doubt(table)
	}
	return n, err
}

// unsure reports whether the change that failed with err may have been made.
func unsure(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// AddBan implements storage.Bans.
func (s sharedStore) AddBan(ctx context.Context, b storage.Ban) error {
	return s.note(storage.TableBans, s.Store.AddBan(ctx, b))
}

// RemoveBan implements storage.Bans.
func (s sharedStore) RemoveBan(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (int, error) {
	n, err := s.Store.RemoveBan(ctx, prefix, scope)
	return s.some(storage.TableBans, n, err)
}

// SweepBans implements storage.Bans.
func (s sharedStore) SweepBans(ctx context.Context, now time.Time) (int, error) {
	n, err := s.Store.SweepBans(ctx, now)
	return s.some(storage.TableBans, n, err)
}

// PutChatRule implements storage.ChatRules.
func (s sharedStore) PutChatRule(ctx context.Context, r storage.ChatRule) error {
	return s.note(storage.TableChatRules, s.Store.PutChatRule(ctx, r))
}

// RemoveChatRule implements storage.ChatRules.
func (s sharedStore) RemoveChatRule(ctx context.Context, key storage.ChatRuleKey) error {
	return s.note(storage.TableChatRules, s.Store.RemoveChatRule(ctx, key))
}

// SweepChatRules implements storage.ChatRules.
func (s sharedStore) SweepChatRules(ctx context.Context, now time.Time) (int, error) {
	n, err := s.Store.SweepChatRules(ctx, now)
	return s.some(storage.TableChatRules, n, err)
}

// PutGame implements storage.Games.
func (s sharedStore) PutGame(ctx context.Context, g storage.Game) (storage.Game, error) {
	g, err := s.Store.PutGame(ctx, g)
	return g, s.note(storage.TableGames, err)
}

// SetGames implements storage.Games.
func (s sharedStore) SetGames(ctx context.Context, list []storage.Game) error {
	return s.note(storage.TableGames, s.Store.SetGames(ctx, list))
}

// DeleteGame implements storage.Games.
func (s sharedStore) DeleteGame(ctx context.Context, name string) error {
	return s.note(storage.TableGames, s.Store.DeleteGame(ctx, name))
}

// PutRoom implements storage.Rooms.
func (s sharedStore) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	r, err := s.Store.PutRoom(ctx, r)
	return r, s.note(storage.TableGames, err)
}

// DeleteRoom implements storage.Rooms.
func (s sharedStore) DeleteRoom(ctx context.Context, id uint32) error {
	return s.note(storage.TableGames, s.Store.DeleteRoom(ctx, id))
}

// AddServer implements storage.Listings.
func (s sharedStore) AddServer(ctx context.Context, a storage.AddedServer) error {
	return s.note(storage.TableListings, s.Store.AddServer(ctx, a))
}

// RemoveAddedServer implements storage.Listings.
func (s sharedStore) RemoveAddedServer(ctx context.Context, address string) error {
	return s.note(storage.TableListings, s.Store.RemoveAddedServer(ctx, address))
}

// HideServer implements storage.Listings.
func (s sharedStore) HideServer(ctx context.Context, h storage.HiddenServer) error {
	return s.note(storage.TableListings, s.Store.HideServer(ctx, h))
}

// UnhideServer implements storage.Listings.
func (s sharedStore) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	return s.note(storage.TableListings, s.Store.UnhideServer(ctx, address))
}

// PutPlayReport implements storage.PlayReports.
func (s sharedStore) PutPlayReport(ctx context.Context, p storage.PlayReport) error {
	return s.note(storage.TablePlayReports, s.Store.PutPlayReport(ctx, p))
}

// RemovePlayReports implements storage.PlayReports.
func (s sharedStore) RemovePlayReports(ctx context.Context, before time.Time) (int, error) {
	n, err := s.Store.RemovePlayReports(ctx, before)
	return s.some(storage.TablePlayReports, n, err)
}

// PutMotd implements storage.News.
func (s sharedStore) PutMotd(ctx context.Context, m storage.Motd) error {
	return s.note(storage.TableNews, s.Store.PutMotd(ctx, m))
}

// RemoveMotd implements storage.News.
func (s sharedStore) RemoveMotd(ctx context.Context, game string) error {
	return s.note(storage.TableNews, s.Store.RemoveMotd(ctx, game))
}

// PutPatch implements storage.News.
func (s sharedStore) PutPatch(ctx context.Context, p storage.Patch) error {
	return s.note(storage.TableNews, s.Store.PutPatch(ctx, p))
}

// RemovePatch implements storage.News.
func (s sharedStore) RemovePatch(ctx context.Context, id storage.PatchID) error {
	return s.note(storage.TableNews, s.Store.RemovePatch(ctx, id))
}

// PutProductKeys implements storage.ProductKeys.
func (s sharedStore) PutProductKeys(ctx context.Context, keys []storage.ProductKey) error {
	return s.note(storage.TableKeys, s.Store.PutProductKeys(ctx, keys))
}

// RemoveProductKey implements storage.ProductKeys.
func (s sharedStore) RemoveProductKey(ctx context.Context, id storage.ProductKeyID) error {
	return s.note(storage.TableKeys, s.Store.RemoveProductKey(ctx, id))
}
