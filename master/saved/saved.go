// Package saved keeps the list of servers over a restart: it writes the list to the
// store while the daemon runs, and lists the saved servers again after a start.
//
// Saving writes only the changes since the last time. A restored server stays
// listed for a while without a report, see [List.Restore].
package saved

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

const (
	// lastSave bounds the save of a daemon that stops.
	lastSave = 3 * time.Second
	// saveAfter is the number of new records after which the list is saved
	// before master.save_every has passed: it bounds the work that is left when
	// the daemon stops.
	saveAfter = 50_000
	// saveLook is the interval at which their number is checked.
	saveLook = time.Second
)

// Store is the part of the store that a List needs.
type Store interface {
	SaveServers(context.Context, iter.Seq[storage.ListedServer]) (storage.SavedServers, error)
	CompactServers(context.Context) error
	LoadServers(context.Context) iter.Seq2[storage.Server, error]
}

// List saves and restores a list. All fields are required. Its methods must not run
// concurrently.
type List struct {
	Registry *master.Registry
	Store    Store
	Games    *games.Catalog
	Verdicts *verdicts.Log
	Origins  master.Origins // servers of others are not restored
	// Sources parse the saved reports of servers, by origin. Those of other
	// origins are saved as rules and tables.
	Sources map[*master.Origin]*master.Source
	// Noting returns the name under which verdicts on servers of an origin are noted.
	Noting func(*master.Origin) string
	// Banned reports whether servers of an origin may not be listed from an address.
	Banned func(*master.Origin, netip.Addr) bool
	Log    zerolog.Logger

	saved uint64 // revision of the list that is saved; 0: none is
}

// Run saves the list until ctx ends. every returns the interval; it may change.
func (l *List) Run(ctx context.Context, every func() time.Duration) {
	last, failed := time.Now(), false
	for range clock.Ticks(ctx, saveLook) {
		early := !failed && l.Registry.Revision()-l.saved >= saveAfter
		if !early && time.Since(last) < every() {
			continue
		}
		err := l.save(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrUnavailable) { // else the daemon has logged it
			l.Log.Error().Err(err).Msg("the server list was not saved")
		}
		if err == nil {
			l.compact(ctx)
		}
		last, failed = time.Now(), err != nil
	}
}

// save saves the changes of the list since the last save.
func (l *List) save(ctx context.Context) error {
	began := time.Now()
	list, revision := l.Registry.Records()
	saved, err := l.Store.SaveServers(ctx, l.listed(list))
	if err != nil {
		return fmt.Errorf("saving the server list: %w", err)
	}
	l.saved = revision
	l.Log.Debug().Int("servers", saved.Servers).Int("written", saved.Written).Stringer("took", time.Since(began).Round(time.Millisecond)).Msg("server list saved")
	return nil
}

// compact removes from the store the records that the last saves have replaced.
func (l *List) compact(ctx context.Context) {
	if err := l.Store.CompactServers(ctx); err != nil && ctx.Err() == nil {
		l.Log.Warn().Err(err).Msg("the saved server list was not compacted")
	}
}

// SaveLast saves the list of a daemon that stops. A save that takes too long is
// given up: the list saved before stays, and the other servers report again.
func (l *List) SaveLast() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastSave)
	defer cancel()
	err := l.save(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		l.Log.Warn().Err(err).Msg("the last changes of the server list were not saved")
		return nil
	}
	return err
}

// listed yields the list as records of the store. Records up to the saved
// revision are already written.
func (l *List) listed(list []master.Record) iter.Seq[storage.ListedServer] {
	return func(yield func(storage.ListedServer) bool) {
		var h master.Record
		record := func() storage.Server { return l.pack(h) }
		for _, h = range list {
			if h.Origin == master.Federated {
				continue // read again soon after a start
			}
			if h.Restored {
				h.LastSeen = h.Seen // being restored is not a sign of life
			}
			s := storage.ListedServer{Source: h.Key.Source, Seen: h.LastSeen, Changed: h.Revision > l.saved, Record: record}
			if !yield(s) {
				return
			}
		}
	}
}

// LostServers is logged if the saved list was damaged.
const LostServers = "part of the saved server list is damaged and was dropped; those servers are listed again when they report"

// Restore lists the saved servers that were alive within a window before now, or may have been:
// a daemon that was killed has not saved what it heard in the time between two saves. They
// stay listed for the window without a report. Nothing is restored if that is 0.
func (l *List) Restore(ctx context.Context, window, saveEvery time.Duration) error {
	if window <= 0 {
		return nil
	}
	read := make(chan found, 2)
	go func() { // ends with the list that is stored; the loop below waits for it
		defer close(read)
		l.read(ctx, window, saveEvery, read)
	}()
	var all found
	restored := 0
	for f := range read {
		all.damage, all.damaged = cmp.Or(all.damage, f.damage), all.damaged+f.damaged
		for _, s := range f.servers {
			if l.restore(s) {
				restored++
			}
		}
	}
	l.saved = l.Registry.Revision() // servers that were not restored are not in the next list
	if all.damaged > 0 {
		l.Log.Warn().Err(all.damage).Int("parts", all.damaged).Msg(LostServers)
	}
	if restored > 0 {
		l.Log.Info().Int("servers", restored).Stringer("for", window).Msg("server list restored")
	}
	return nil
}

// found is a part of the saved list.
type found struct {
	servers []master.Server
	damage  error // the first one
	damaged int   // parts that could not be read
}

// foundAtOnce is the number of servers in a part.
const foundAtOnce = 256

// read sends the saved servers that are to be listed. Their reports are parsed, which the first
// list would wait for.
func (l *List) read(ctx context.Context, window, saveEvery time.Duration, to chan<- found) {
	now := time.Now()
	alive := now.Add(-window - saveEvery)
	var f found
	for rec, err := range l.Store.LoadServers(ctx) {
		if err == nil {
			err = checkSaved(&rec)
		}
		if err != nil {
			f.damaged++
			f.damage = cmp.Or(f.damage, err)
			continue
		}
		if rec.Seen.Before(alive) || now.Before(rec.Seen.Add(-window)) {
			continue
		}
		s, ok := l.unpack(rec)
		if !ok {
			continue
		}
		s.Seen, s.Lifetime, s.Restored = rec.Seen, window, true
		s.Rules.Len()
		if f.servers = append(f.servers, s); len(f.servers) == foundAtOnce {
			to <- f
			f = found{}
		}
	}
	to <- f
}

// restore lists one saved server and reports whether it is listed.
func (l *List) restore(s master.Server) bool {
	if l.Banned(s.Origin, s.Key.Source.Addr()) {
		l.Verdicts.Note(l.Noting(s.Origin), s.Key.Source, s.Game, verdicts.Banned)
		return false
	}
	if err := l.Registry.Put(s); err != nil {
		return false // the limits were lowered since
	}
	l.Verdicts.Note(l.Noting(s.Origin), s.Key.Source, s.Game, verdicts.Restored)
	return true
}

// checkSaved rejects a record that no save has written: other code relies on
// the addresses of listed servers.
func checkSaved(rec *storage.Server) error {
	if err := rec.Check(); err != nil {
		return err
	}
	if !rec.Public.IsValid() || slices.ContainsFunc(rec.Local, func(a netip.AddrPort) bool { return !a.IsValid() }) {
		return fmt.Errorf("%w: server without an address", storage.ErrInvalid)
	}
	return nil
}
