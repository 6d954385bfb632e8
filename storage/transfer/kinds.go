package transfer

import (
	"context"
	"errors"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// kinds returns all kinds in the order in which they are copied: targets of references come first.
func kinds() []kind {
	all := []kind{
		{
			name: "games", each: func(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
				return each(s.Games(ctx), func(g *storage.Game) { g.Rev = 0 })
			},
			put: one(func(ctx context.Context, s Store, g storage.Game) error { return s.SetGames(ctx, []storage.Game{g}) }),
		},
		{
			name: "rooms", each: func(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
				return each(s.Rooms(ctx, ""), func(r *storage.Room) { r.Rev = 0 })
			},
			put: one(func(ctx context.Context, s Store, r storage.Room) error {
				_, err := s.PutRoom(ctx, r)
				return unlessTaken(err)
			}),
		},
		plain("bans", func(ctx context.Context, s Store) iter.Seq2[storage.Ban, error] { return s.Bans(ctx) }, Store.AddBan),
		plain("chat rules", func(ctx context.Context, s Store) iter.Seq2[storage.ChatRule, error] { return s.ChatRules(ctx) }, Store.PutChatRule),
		{
			name: "CD keys", each: func(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
				return each(s.ProductKeys(ctx), func(*storage.ProductKey) {})
			},
			putAll: several(Store.PutProductKeys),
		},
		plain("messages of the day", func(ctx context.Context, s Store) iter.Seq2[storage.Motd, error] { return s.Motds(ctx) }, Store.PutMotd),
		plain("patches", func(ctx context.Context, s Store) iter.Seq2[storage.Patch, error] { return s.Patches(ctx) }, Store.PutPatch),
		plain("added servers", func(ctx context.Context, s Store) iter.Seq2[storage.AddedServer, error] { return s.AddedServers(ctx) }, Store.AddServer),
		plain("hidden servers", func(ctx context.Context, s Store) iter.Seq2[storage.HiddenServer, error] { return s.HiddenServers(ctx) }, Store.HideServer),
	}
	all = append(all, accountKinds()...)
	all = append(all, sakeKinds()...)
	return append(all,
		kind{
			name: "files", each: func(ctx context.Context, s Store, after uint64) iter.Seq2[item, error] {
				return keyed(s.Files(ctx, storage.FileID(after)), func(f *storage.File) uint64 { return uint64(f.ID) })
			},
			putAll: several(Store.ImportFiles),
		},
		kind{
			name: "reports", each: func(ctx context.Context, s Store, after uint64) iter.Seq2[item, error] {
				return keyed(s.EveryReport(ctx, after), func(r *storage.Report) uint64 { return r.ID })
			},
			putAll: several(Store.ImportReports),
		},
		kind{
			name: "matches", each: func(ctx context.Context, s Store, after uint64) iter.Seq2[item, error] {
				return keyed(s.EveryMatch(ctx, after), func(m *storage.Match) uint64 { return m.ID })
			},
			putAll: several(Store.ImportMatches),
		},
		kind{
			name: "audit log", each: func(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
				return each(s.AuditLog(ctx, 0), func(*storage.AuditEntry) {})
			},
			putAll: several(Store.ImportAudit),
		},
		kind{name: "listed servers", each: savedList, whole: copyList},
	)
}

// each yields records as items without keys; clear removes the fields that belong to an engine.
func each[R any](records iter.Seq2[R, error], clear func(*R)) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for r, err := range records {
			clear(&r)
			if !yield(item{records: 1, record: r}, err) {
				return
			}
		}
	}
}

// keyed yields records as items with keys.
func keyed[R any](records iter.Seq2[R, error], key func(*R) uint64) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for r, err := range records {
			if !yield(item{key: key(&r), records: 1, record: r}, err) {
				return
			}
		}
	}
}

// one stores an item that is a record.
func one[R any](put func(context.Context, Store, R) error) func(context.Context, Store, item) error {
	return func(ctx context.Context, s Store, it item) error { return put(ctx, s, it.record.(R)) }
}

// several stores items that are records in one step.
func several[R any](put func(Store, context.Context, []R) error) func(context.Context, Store, []item) error {
	return func(ctx context.Context, s Store, items []item) error {
		records := make([]R, 0, len(items))
		for _, it := range items {
			records = append(records, it.record.(R))
		}
		return put(s, ctx, records)
	}
}

// plain is a kind whose records replace those with the same key.
func plain[R any](name string, read func(context.Context, Store) iter.Seq2[R, error], put func(Store, context.Context, R) error) kind {
	return kind{
		name: name,
		each: func(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
			return each(read(ctx, s), func(*R) {})
		},
		put: one(func(ctx context.Context, s Store, r R) error { return put(s, ctx, r) }),
	}
}

// unlessTaken ignores that a record is there already.
func unlessTaken(err error) error {
	if errors.Is(err, storage.ErrTaken) {
		return nil
	}
	return err
}

// savedList yields the saved list of servers.
func savedList(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
	return each(s.LoadServers(ctx), func(*storage.Server) {})
}

// copyList copies the saved list of servers, if there is one. Damaged parts are left
// out: servers report again.
func copyList(ctx context.Context, from, to Store) error {
	if _, err := from.ServersSavedAt(ctx); errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	var failed error
	_, err := to.SaveServers(ctx, storage.WholeList(func(yield func(storage.Server) bool) {
		for server, err := range from.LoadServers(ctx) {
			if errors.Is(err, storage.ErrDamaged) {
				continue
			}
			if err != nil {
				failed = err
				return
			}
			if !yield(server) {
				return
			}
		}
	}))
	return errors.Join(failed, err)
}
