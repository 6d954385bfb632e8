package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/rooms"
	"github.com/respawnd/respawnd/storage"
)

// Store is a storage engine that can write a copy of itself while it is in use.
type Store interface {
	storage.Store
	Backup(ctx context.Context, w io.Writer) (int64, error)
}

// Local carries out operations in this process.
type Local struct {
	Store     Store
	Table     *bans.Table
	Catalogue *Catalogue
	// Unlisted returns servers that a service knows and hides, each with the
	// reason; nil: there are none.
	Unlisted func() []Listed

	DataDir string
	// StoreName is the name of the store in a backup.
	StoreName string
	// Files are the paths of further files that belong into a backup, by their
	// names in it. One that does not exist is left out.
	Files   map[string]string
	Version string

	// OpenAccounts returns the rules of accounts. It may be called often.
	OpenAccounts func(context.Context) (*accounts.Service, error)

	// StaticServers returns the servers that the configuration names; nil: none.
	StaticServers func() []storage.AddedServer
	// AskedServers returns the state of those and of the added ones; nil where no
	// daemon runs.
	AskedServers func() []AskedServer
	// CheckAdded refuses a server that cannot be asked, and brings its fields into
	// canonical form; nil: every server that the store accepts is added.
	CheckAdded func(*storage.AddedServer) error
	// ServersChanged applies the added and hidden servers of the store; nil where
	// no daemon runs.
	ServersChanged func(context.Context) error

	// Listening returns when the daemon started, and the addresses of its services
	// by name; nil where no daemon runs.
	Listening func() (started time.Time, services map[string]string)
	// Registry, the books and Sessions are nil where no daemon runs.
	Registry *master.Registry
	Book     *verdicts.Log // of servers
	Visits   *verdicts.Log // of players
	Sessions Sessions
}

var _ Operator = (*Local)(nil)

// Bans implements Operator.
func (l *Local) Bans(context.Context) ([]storage.Ban, error) {
	return append([]storage.Ban{}, l.Table.List()...), nil // never null as JSON
}

// AddBan implements Operator.
func (l *Local) AddBan(ctx context.Context, b storage.Ban) error {
	now := time.Now()
	if b.Added.IsZero() {
		b.Added = now
	}
	begin := b.Added
	if begin.Before(now) { // a date that was copied does not make it begin earlier
		begin = now
	}
	if err := checkBanEnd(begin, b.Expires); err != nil {
		return err
	}
	return l.Table.Add(noted(ctx, actBanAdd, banText(b.Prefix, b.Scope), banDetail(b.Expires, b.Reason)), b)
}

// checkBanEnd refuses a ban that ends before it begins; a zero end is never.
func checkBanEnd(begin, end time.Time) error {
	if end.IsZero() || end.After(begin) {
		return nil
	}
	return fmt.Errorf("%w: the ban would end at %s, before it begins at %s",
		ErrBadRequest, end.UTC().Format(time.RFC3339), begin.UTC().Format(time.RFC3339))
}

// RemoveBan implements Operator.
func (l *Local) RemoveBan(ctx context.Context, p netip.Prefix, scope storage.Scope) (int, error) {
	return l.Table.Remove(noted(ctx, actBanRemove, banText(p, scope), ""), p, scope)
}

// banText returns the subject of a ban in the audit log.
func banText(p netip.Prefix, scope storage.Scope) string {
	return p.String() + " (" + scope.String() + ")"
}

// banDetail returns the end and the reason of a ban, for the audit log.
func banDetail(expires time.Time, reason string) string {
	until := "for good"
	if !expires.IsZero() {
		until = "until " + expires.UTC().Format(time.RFC3339)
	}
	if reason == "" {
		return until
	}
	return until + ": " + reason
}

// Games implements Operator.
func (l *Local) Games(context.Context) ([]games.Game, error) {
	return l.Catalogue.Catalog().All(), nil
}

// PutGames implements Operator. Nothing is stored unless the catalogue accepts
// all of the records.
func (l *Local) PutGames(ctx context.Context, list []games.Game) error {
	return l.putGames(ctx, list, actGamePut, "")
}

// putGames is PutGames under the name of an action.
func (l *Local) putGames(ctx context.Context, list []games.Game, action, detail string) error {
	if err := l.Catalogue.try(ctx, list); err != nil {
		return err
	}
	if err := l.Catalogue.put(ctx, list, action, detail); err != nil {
		return err
	}
	return l.Catalogue.Reload(ctx)
}

// DeleteGame implements Operator.
func (l *Local) DeleteGame(ctx context.Context, name string) error {
	if err := l.Store.DeleteGame(noted(ctx, actGameRemove, name, ""), name); err != nil {
		return fmt.Errorf("game %s: %w", name, err)
	}
	return l.Catalogue.Reload(ctx)
}

// Rooms implements Operator.
func (l *Local) Rooms(ctx context.Context, game string) ([]storage.Room, error) {
	out := []storage.Room{}
	for r, err := range l.Store.Rooms(ctx, game) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// PutRoom implements Operator.
func (l *Local) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	g, ok := l.Catalogue.Catalog().Lookup(r.Game)
	if !ok {
		return r, fmt.Errorf("%w: unknown game %q", ErrBadRequest, r.Game)
	}
	r.Game = g.Name
	if other, of, taken := l.Catalogue.Catalog().Room(r.ID); r.ID != 0 && taken {
		return r, fmt.Errorf("%w: room %d is %q of %s in the catalogue", ErrBadRequest, r.ID, other.Name, of.Name)
	}
	if known := l.Catalogue.Rooms(g.Name); len(known) >= rooms.MaxStored && !hasRoom(known, r.ID) {
		return r, fmt.Errorf("%w: %s has %d rooms in the store, and no more are listed", ErrBadRequest, g.Name, len(known))
	}
	r, err := l.storeRoom(ctx, r)
	if err != nil {
		return r, err
	}
	return r, l.Catalogue.Reload(ctx)
}

func hasRoom(list []games.Room, id uint32) bool {
	return slices.ContainsFunc(list, func(r games.Room) bool { return r.ID == id })
}

// storeRoom stores a room. The store gives out numbers and does not know those of
// the catalogue, so a number that is taken there is passed over.
func (l *Local) storeRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	for {
		stored, err := l.Store.PutRoom(notedID(ctx, actRoomPut, r.ID, r.Name, "of "+r.Game), r)
		if err != nil || r.ID != 0 {
			return stored, err
		}
		if _, _, taken := l.Catalogue.Catalog().Room(stored.ID); !taken {
			return stored, nil
		}
		ctx := notedID(ctx, actRoomRemove, stored.ID, stored.Name, "the number is taken by the catalogue")
		if err := l.Store.DeleteRoom(ctx, stored.ID); err != nil {
			return r, err
		}
	}
}

// DeleteRoom implements Operator.
func (l *Local) DeleteRoom(ctx context.Context, id uint32) error {
	r, err := l.Store.GetRoom(ctx, id)
	if err != nil && !errors.Is(err, storage.ErrDamaged) { // what cannot be read can still be removed
		return fmt.Errorf("room %d: %w", id, err)
	}
	if err := l.Store.DeleteRoom(notedID(ctx, actRoomRemove, id, r.Name, "of "+r.Game), id); err != nil {
		return fmt.Errorf("room %d: %w", id, err)
	}
	return l.Catalogue.Reload(ctx)
}

// Servers implements Operator.
func (l *Local) Servers(_ context.Context, game string) ([]Listed, error) {
	if l.Registry == nil {
		return nil, ErrNotRunning
	}
	out := []Listed{}
	for _, h := range l.Registry.All() {
		if game == "" || h.Game == game {
			out = append(out, summary(h))
		}
	}
	unlisted := l.concealed()
	if l.Unlisted != nil {
		unlisted = append(unlisted, l.Unlisted()...)
	}
	for _, h := range unlisted {
		if game == "" || h.Game == game {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b Listed) int {
		return cmp.Or(strings.Compare(a.Game, b.Game), a.Address.Compare(b.Address))
	})
	return out, nil
}

func summary(h master.Heard) Listed {
	rule := func(name string) string { v, _ := h.Rules.Get(name); return clean.UTF8(v) }
	return Listed{
		Game: h.Game, Origin: h.Origin.String(), Address: h.Public, Source: h.Key.Source,
		Name: rule("hostname"), Players: rule("numplayers"), MaxPlayers: rule("maxplayers"),
		Reachable: h.Direct(), Reached: h.Findings.Reached.String(), NATNeg: h.NATNeg, Restored: h.Restored,
		First: h.First.UTC(), Last: h.Last.UTC(),
	}
}

// recentVerdicts is how many addresses Verdicts returns if none is given.
const recentVerdicts = 200

// Verdicts implements Operator.
func (l *Local) Verdicts(_ context.Context, addr netip.Addr) ([]Verdict, error) {
	if l.Book == nil {
		return nil, ErrNotRunning
	}
	var entries []verdicts.Entry
	if addr.IsValid() {
		entries = append(l.Book.Of(addr.Unmap()), l.Visits.Of(addr.Unmap())...)
		slices.SortStableFunc(entries, func(a, b verdicts.Entry) int { return a.First.Compare(b.First) })
	} else {
		entries = append(l.Book.Recent(recentVerdicts), l.Visits.Recent(recentVerdicts)...)
		slices.SortStableFunc(entries, func(a, b verdicts.Entry) int { return b.Last.Compare(a.Last) })
		entries = entries[:min(len(entries), recentVerdicts)]
	}
	out := []Verdict{}
	for _, e := range entries {
		x := e.Explain()
		out = append(out, Verdict{
			Service: e.Service, Address: e.Addr, Game: clean.UTF8(e.Game), Verdict: e.Verdict.String(),
			What: x.What, Cause: x.Cause, Advice: x.Advice,
			First: e.First.UTC(), Last: e.Last.UTC(), Times: e.Times,
		})
	}
	return out, nil
}

// BackupWork returns the name under which a data folder holds what a backup is
// made of.
func BackupWork(dataDir string) string { return filepath.Join(dataDir, "backup") }

// Backup implements Operator. The store is copied into the data folder first,
// so that a slow reader of the backup delays no writer. backup.SweepDirs finds at
// BackupWork what a killed process left there.
func (l *Local) Backup(ctx context.Context, w io.Writer) (err error) {
	dir, err := backup.PartDir(BackupWork(l.DataDir))
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var paths []string
	err = l.whileKeyStays(ctx, func() (err error) {
		paths, err = l.collect(ctx, dir)
		return err
	})
	if err != nil {
		return err
	}
	return backup.Write(w, l.Version, time.Now(), paths)
}

func (l *Local) copyStore(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := l.Store.Backup(ctx, f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// whileKeyStays runs f while the key that seals passwords cannot change. Where no
// daemon runs, the process owns the store, and the key with it.
func (l *Local) whileKeyStays(ctx context.Context, f func() error) error {
	if l.Registry == nil || l.OpenAccounts == nil {
		return f()
	}
	service, err := l.OpenAccounts(ctx)
	if err != nil {
		return err
	}
	return service.WhileKeyStays(f)
}

// collect copies what belongs into a backup to dir and returns the paths.
func (l *Local) collect(ctx context.Context, dir string) ([]string, error) {
	copied := filepath.Join(dir, l.StoreName)
	if err := l.copyStore(ctx, copied); err != nil {
		return nil, err
	}
	paths := []string{copied}
	for name, path := range l.Files {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		named := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(named, b, 0o600)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, named)
	}
	return paths, nil
}
