// Package engine opens the storage engine that the configuration names.
//
// The rest of the daemon uses a [Store] without knowing which engine it is. Parts that only one of
// them needs are here: the lock of the data folder, the wait for a database, and a copy of it as a
// file.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/storage/records"
)

// FileName is the name of the file of a bolt store in the data folder, and of the copy
// of any store in a backup.
const FileName = "respawnd.db"

// lockName is the file in the data folder that a daemon locks if its store is
// elsewhere.
const lockName = "respawnd.lock"

// HeldFile returns the name of the file in the data folder that a daemon holds.
func (c *Config) HeldFile() string {
	if c.Shared() {
		return lockName
	}
	return FileName
}

// Upgraded reports whether the store of a data folder was upgraded from one of an older
// version, of which the engine bolt leaves a copy.
func Upgraded(dataDir string) bool {
	saved, _ := fs.Glob(os.DirFS(dataDir), FileName+".schema*.bak") // the pattern is a good one
	return len(saved) > 0
}

// Lock holds a data folder whose store is elsewhere, as a daemon does. If another process
// holds it, the error matches ErrInUse.
func Lock(dataDir string, wait time.Duration) (io.Closer, error) {
	lock, err := bolt.Lock(filepath.Join(dataDir, lockName), wait)
	if err != nil {
		return nil, folderError(dataDir, err)
	}
	return lock, nil
}

// ErrInUse means that another process uses the data folder.
var ErrInUse = bolt.ErrInUse

// Store is an open store with the other resources of the daemon.
type Store interface {
	storage.Store

	// Backup writes a copy of the store, as it is at one moment or copied record by
	// record, in the form of a file of storage/bolt. It returns the number of bytes.
	Backup(ctx context.Context, w io.Writer) (int64, error)
	// OnWrite sets the function that is called after each change with its duration and
	// the error of the disk or the database. It is called before the store is used.
	OnWrite(observe func(took time.Duration, err error))
	// OnChange sets the function that is called after each change of a table that daemons hold in
	// memory, see storage.Revisions, with its error. It is called before the store is used.
	OnChange(observe func(table string, err error))
	// LastWrite returns the time and the error of the last change.
	LastWrite() (time.Time, error)
	// WriteUnderWay returns the duration of the change that has run longest.
	WriteUnderWay() time.Duration
	// Probe changes something without a meaning.
	Probe(ctx context.Context) error
}

// Keys is implemented by stores that several nodes share, and that therefore know the
// keys that these must share.
type Keys interface {
	// CheckKey compares the fingerprint of a key with that of the first node that used
	// the store, or keeps it. The error matches ErrOtherKey if they differ.
	CheckKey(ctx context.Context, name, fingerprint string) error
}

// ErrOtherKey means that another node has another key.
var ErrOtherKey = records.ErrOtherKey

// Options say which store is opened, and how.
type Options struct {
	Config  Config
	DataDir string
	// LockWait is how long to wait for another process that uses the data folder.
	LockWait time.Duration
	// Patient waits for a database that does not answer, as long as the configuration
	// says.
	Patient bool
	// CheckLater lets Open return before a large file is checked as a whole: see
	// bolt.Options. It is for daemons.
	CheckLater bool
	Node       string // name of this node in its cluster; empty: there is none
	Log        zerolog.Logger
	// Registerer registers the metrics of the engine; nil: none.
	Registerer prometheus.Registerer
}

// Open opens the store. The data folder exists. If another process uses the folder, the
// error matches ErrInUse. Errors name the key and quote no password.
func Open(ctx context.Context, opt Options) (Store, error) {
	if err := opt.Config.Check(); err != nil {
		return nil, err
	}
	if opt.Config.Shared() {
		return openPostgres(ctx, opt)
	}
	eng, err := bolt.Open(ctx, filepath.Join(opt.DataDir, FileName), bolt.Options{
		Timeout: opt.LockWait, CheckLater: opt.CheckLater, Log: opt.Log, Layout: records.Layout(),
	})
	if err != nil {
		return nil, folderError(opt.DataDir, err)
	}
	store := &file{records.New(eng, records.Options{Log: opt.Log}), eng}
	if err := finished(ctx, store.Store); err != nil {
		return nil, errors.Join(folderError(opt.DataDir, err), store.Close())
	}
	return store, nil
}

// finished refuses a store into which a copy was interrupted.
func finished(ctx context.Context, s *records.Store) error {
	mark, err := s.CopyMark(ctx)
	if err == nil && mark != "" {
		err = fmt.Errorf("%w: run the same \"respawnd storage copy\" or \"respawnd restore\" again to complete it", copying.ErrUnfinished)
	}
	return err
}

// folderError explains why the data folder cannot be used.
func folderError(dir string, err error) error {
	if errors.Is(err, bolt.ErrInUse) {
		return fmt.Errorf("data_dir: %s is in use: %w", dir, err)
	}
	return fmt.Errorf("data_dir: %w", err)
}

// file is a store in a file.
type file struct {
	*records.Store
	*bolt.Engine
}

// database is a store in a PostgreSQL database.
type database struct {
	records.Shared
	*postgres.Engine

	dir  string // data folder
	lock io.Closer
}

var (
	_ Store = (*file)(nil)
	_ Store = (*database)(nil)
	_ Keys  = (*database)(nil)
)

// Close implements storage.Store.
func (f *file) Close() error { return f.Store.Close() }

func openPostgres(ctx context.Context, opt Options) (Store, error) {
	lock, err := Lock(opt.DataDir, opt.LockWait)
	if err != nil {
		return nil, err
	}
	eng, err := waitForPostgres(ctx, opt)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	db := &database{records.NewShared(eng, opt.Node, opt.Log), eng, opt.DataDir, lock}
	if err := db.complete(ctx, opt); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// complete refuses a database into which a copy was interrupted, and warns if the data
// folder has a store that nothing was copied from.
func (d *database) complete(ctx context.Context, opt Options) error {
	if err := finished(ctx, d.Store); err != nil {
		return fmt.Errorf("%s: %w", opt.Config.Postgres.key(), err)
	}
	n, err := d.CountUsers(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", opt.Config.Postgres.key(), err)
	}
	path := filepath.Join(opt.DataDir, FileName)
	if _, err := os.Stat(path); n == 0 && !errors.Is(err, fs.ErrNotExist) {
		opt.Log.Warn().Str("file", path).
			Msg("the database has no accounts, and the store in the data folder is not used; \"respawnd storage copy\" copies it into the database")
	}
	return nil
}

// Close implements storage.Store.
func (d *database) Close() error { return errors.Join(d.Shared.Close(), d.lock.Close()) }

// retryEvery is the time between two attempts to reach a database at a start.
const retryEvery = time.Second

// waitForPostgres connects to the database. If it does not answer, one line is logged.
func waitForPostgres(ctx context.Context, opt Options) (*postgres.Engine, error) {
	c := &opt.Config.Postgres
	began, said := time.Now(), false
	for {
		store, err := connect(ctx, opt)
		if err == nil {
			if said {
				opt.Log.Info().Stringer("waited", time.Since(began).Round(time.Second)).Msg("the database answers")
			}
			return store, nil
		}
		waited := time.Since(began)
		if !opt.Patient || !errors.Is(err, storage.ErrUnavailable) || postgres.NeedsOperator(err) || waited >= c.StartWait || ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", c.key(), err)
		}
		if !said {
			said = true
			opt.Log.Warn().Err(err).Stringer("at_most", c.StartWait).Msg("the database does not answer; the start waits for it")
		}
		clock.Pause(ctx, min(retryEvery, c.StartWait-waited))
	}
}

// connect opens the database once. Its metrics are registered only if that succeeds.
func connect(ctx context.Context, opt Options) (*postgres.Engine, error) {
	c := &opt.Config.Postgres
	url, err := c.url()
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	store, err := postgres.Open(ctx, url, postgres.Options{
		Node: opt.Node, MaxConns: c.MaxConns, StatementTimeout: c.StatementTimeout, Log: opt.Log, Registerer: metrics,
		Layout: records.Layout(), Strict: records.Strict(),
	})
	if err == nil && opt.Registerer != nil {
		err = opt.Registerer.Register(metrics)
	}
	if err != nil && store != nil {
		err = errors.Join(err, store.Close())
	}
	return store, err
}

// Check describes the store that a configuration names, without
// changing anything: nothing about a file, which a start creates.
func Check(ctx context.Context, c Config, log zerolog.Logger) (summary string, err error) {
	if err := c.Check(); err != nil || !c.Shared() {
		return "", err
	}
	url, err := c.Postgres.url()
	if err != nil {
		return "", err
	}
	r, err := postgres.Check(ctx, url, postgres.Options{StatementTimeout: c.Postgres.StatementTimeout, Log: log, Layout: records.Layout()})
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Postgres.key(), err)
	}
	switch {
	case r.Empty:
		return fmt.Sprintf("the database is reachable (PostgreSQL %s) and empty", r.Server), nil
	case r.Pending > 0:
		return fmt.Sprintf("the database is reachable (PostgreSQL %s); the next start upgrades it", r.Server), nil
	}
	return fmt.Sprintf("the database is reachable (PostgreSQL %s) and up to date", r.Server), nil
}
