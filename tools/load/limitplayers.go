package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	accountrules "github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/records"
)

// databaseFile is the name of the store in the data folder.
const databaseFile = "respawnd.db"

// storeWriters is how many accounts are stored at a time.
const storeWriters = 256

// storedNick returns the nick of the i-th stored account.
func storedNick(i int) string { return "p" + strconv.Itoa(i) }

// storeAccounts makes the accounts from first to n in the store of a data folder that
// no daemon uses. Their ids are theirs plus one. Nothing is on the disk before the end.
func storeAccounts(ctx context.Context, dir string, first, n int) (err error) {
	file, err := bolt.Open(ctx, filepath.Join(dir, databaseFile), bolt.Options{Layout: records.Layout(), NoSync: true, Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	store := records.New(file, records.Options{})
	defer func() { err = errors.Join(err, store.Close()) }()
	all, err := accountrules.Open(ctx, store, accountrules.Options{KeyFile: filepath.Join(dir, "account.key"), Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	var next atomic.Int64
	next.Store(int64(first))
	var wg sync.WaitGroup
	failed := make(chan error, storeWriters)
	for range storeWriters {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || len(failed) > 0 {
					return
				}
				nick := storedNick(i)
				_, err := all.Transfer.Import(ctx, accountrules.Account{
					ID: storage.UserID(i + 1), Email: nick + "@example.com", Password: password,
					Profiles: []accountrules.AccountProfile{{Profile: storage.Profile{
						ID: storage.ProfileID(i + 1), Nick: nick, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: nick}},
					}}},
				})
				if err != nil {
					failed <- fmt.Errorf("account %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// withStored stops the daemon of a world, stores n accounts, and starts it again.
func withStored(ctx context.Context, w *world, n int, restart func() error) error {
	if err := w.daemon.stop(); err != nil {
		return err
	}
	if err := storeAccounts(ctx, filepath.Join(w.dir, "data"), 0, n); err != nil {
		return err
	}
	w.players = nil
	for i := range n {
		w.players = append(w.players, account{storedNick(i), strconv.Itoa(i + 1)})
	}
	return restart()
}

// sessions measures the costs of players who are signed in and idle.
func (b *bench) sessions(ctx context.Context) error {
	const spare = 500 // files that are no sessions
	n := b.size(20_000)
	note := ""
	if room := maxFiles() - spare; n > room {
		n, note = room, "as many as the limit of open files allows; "
	}
	return b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := withStored(ctx, w, n, restart); err != nil {
			return err
		}
		before, err := w.daemon.measure()
		if err != nil {
			return err
		}
		return measured(ctx, w, n, sessions(0), func([]user) error {
			after, err := w.daemon.measure()
			if err != nil {
				return err
			}
			idle, err := b.idle(ctx, w.daemon)
			if err != nil {
				return err
			}
			return b.resident(w.daemon, fmt.Sprintf("%d idle sessions", n), 240, fmt.Sprintf("; %s%.1f KiB each; %.0f us CPU per sign-in, %.1f %% of a core idle", note,
				float64(after.rss-before.rss)/1024/float64(n), us(after.cpu-before.cpu)/float64(n), 100*idle))
		})
	})
}

// players measures sign-ins and messages.
func (b *bench) players(ctx context.Context) error {
	const visiting, pairs = 16, 32
	echoes := func(n int, held bool) (bare float64, err error) {
		err = measured(ctx, &world{daemon: b.bare}, n, streamEchoes(echoAnswer, held), func(users []user) error {
			cpu, err := b.looped(ctx, b.bare, users, "echo", 0)
			bare = us(cpu)
			return err
		})
		return bare, err
	}
	return b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := withStored(ctx, w, 2*pairs, restart); err != nil {
			return err
		}
		if err := makeBuddies(ctx, w); err != nil {
			return err
		}
		for _, r := range []struct {
			name  string
			users int
			open  opener
			held  bool
			goal  float64
		}{
			{"sign-in and sign-out, by connects", visiting, visitors(0), false, 2.5},
			{"relayed message, by echoes", pairs, openPair, true, 2.2},
		} {
			bare, err := echoes(r.users, r.held)
			if err != nil {
				return err
			}
			err = measured(ctx, w, r.users, r.open, func(users []user) error {
				cpu, err := b.looped(ctx, w.daemon, users, r.name, 0)
				b.write(figure{name: r.name, unit: "us", now: us(cpu), bare: bare, goal: r.goal})
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
