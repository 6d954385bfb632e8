// Package bolt is the storage engine for one machine: one file, no server.
//
// It implements the contract of package engine and adds functions for files: opening with
// a lock, upgrading, online backup, verification. It is not for several nodes, and not for
// data that may be lost: live lists, sessions and pairings belong in memory.
//
// # File
//
// One bucket per table, and two of the engine, whose names no table may have:
//
//	bucket         key                                   value
//	meta           "app"                                 "respawnd"
//	               "schema"                              8 bytes, number of the layout
//	               "probe"                               what Probe wrote
//	sequences      name of a table                       8 bytes, its last number
//
// Numbers are big-endian. What the tables hold is the business of the code above, which
// says by Options.Layout what must be there. The values of both buckets have a checksum
// (engine.Seal), except the first two. bbolt keeps a number with each bucket too, but without
// one.
//
// # Damage
//
// Disks change bits, and bbolt has no checksums on its pages. Open reads the
// whole file once and refuses it if a page, a key or an entry of an index is
// damaged: their data would otherwise silently be missing. A record with a
// damaged payload does not prevent the use of the file. It is logged at the
// start, and reading it returns an error. Values are checked again whenever
// they are read. Reading everything takes about as long as copying the file.
//
// With [Options.CheckLater], which is for daemons, Open of a file above 64 MiB checks only the data
// that a start reads as a whole, and the tree that leads to them
// (check.go). A goroutine, owned by the Engine, checks everything two seconds later, or when the
// first change or backup comes. Until it is done, records can be read, and changes and backups
// wait: no byte is written on the word of a page that may be damaged. If it finds an error that
// Open would have refused, the engine refuses everything from then on, and LastWrite returns the
// error.
//
// bbolt panics, or the process faults, when a page changes later. Both become
// errors that match [engine.ErrDamaged] and advise the operator to restore a
// backup. After such an error in a change the engine refuses further changes;
// undamaged data can still be read.
//
// # Writing
//
// Steps that change something run in groups (group.go): one goroutine, owned by the
// Engine, runs all that wait in one transaction.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/respawnd/respawnd/storage/engine"
)

// DefaultTimeout is how long Open waits for the lock of the file.
const DefaultTimeout = time.Second

// The buckets of the engine, and the keys of the first.
const (
	bucketMeta      = "meta"
	bucketSequences = "sequences"

	metaApp    = "app"
	metaSchema = "schema"
	metaProbe  = "probe"
)

// appName is the value of metaApp.
const appName = "respawnd"

// Options configure how a file is opened. Layout is needed; for the rest, the zero value is
// right for a daemon.
type Options struct {
	Timeout time.Duration // how long to wait for the lock; 0: DefaultTimeout
	NoSync  bool          // do not sync to disk; for tests only, a crash destroys the file
	// CheckLater lets Open return before a large file is checked as a whole, see
	// the section about damage.
	CheckLater bool
	Log        zerolog.Logger // upgrades and damage
	// Layout says what the file must hold. Its number is that of the newest schema.
	Layout engine.Layout

	atOpen int64         // for checkedAtOpen, in tests
	delay  time.Duration // for checkDelay, in tests
}

// Engine is an open storage file.
type Engine struct {
	path   string
	db     *bbolt.DB
	log    zerolog.Logger
	layout engine.Layout
	broken atomic.Pointer[error] // reason for refusing changes; nil: none
	writes engine.Writes
	check  *check
	group  *group // nil until the file is prepared
}

var _ engine.Engine = (*Engine)(nil)

// Open opens the file at path, creates it if it is missing and upgrades it if it
// is older (a copy of the old file stays beside it). The errors name the file and match
// ErrInUse, ErrNotOurs, ErrNewer or engine.ErrDamaged if that is the reason.
// After ErrDamaged the file may stay locked until the process ends.
//
// It starts a goroutine, which writes groups of changes, and with CheckLater
// another one; Close ends them and waits for them.
func Open(ctx context.Context, path string, opt Options) (*Engine, error) {
	return open(ctx, path, opt, migrations())
}

// open is Open with the upgrade steps as an argument.
func open(ctx context.Context, path string, opt Options, steps []migration) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opt.Layout.Version != uint64(len(steps)) {
		return nil, fmt.Errorf("storage file %s: layout %d is wanted, files have schema %d", path, opt.Layout.Version, len(steps))
	}
	if err := create(path, opt); err != nil {
		return nil, fmt.Errorf("storage file %s: %w", path, err)
	}
	db, err := openFile(path, &bbolt.Options{
		Timeout: opt.Timeout, NoSync: opt.NoSync, FreelistType: bbolt.FreelistMapType,
	})
	if err != nil {
		return nil, err
	}
	e := &Engine{path: path, db: db, log: opt.Log, layout: opt.Layout, check: newCheck(opt)}
	if err := e.upgrade(ctx, steps); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.group = newGroup()
	go e.writeGroups()
	if e.check.later {
		e.check.runs.Go(e.checkRest)
	}
	return e, nil
}

// Close implements [engine.Engine]. If the engine refuses
// changes because of damage, the file stays locked until the process ends: the
// failed step may hold a lock that closing would wait for.
func (e *Engine) Close() error {
	e.check.close()
	if e.group != nil {
		e.group.close()
	}
	if e.broken.Load() != nil {
		return nil
	}
	return e.db.Close()
}

// View implements [engine.Engine].
func (e *Engine) View(ctx context.Context, read func(engine.Reader) error) error {
	return e.view(ctx, func(tx *bbolt.Tx) error { return read(&reader{tx: tx}) })
}

// view runs fn in a reading transaction. fn must copy all data that it keeps.
func (e *Engine) view(ctx context.Context, fn func(*bbolt.Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.check.err(); err != nil {
		return err
	}
	defer catchDamage(e.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return closedError(e.db.View(fn))
}

// errIdle ends a transaction that changed nothing without a sync of the disk.
var errIdle = errors.New("nothing was written")

// update runs fn in a writing transaction, which is committed if fn returns nil
// and durable when update returns nil. fn returns errIdle if there is nothing to change.
// The check of the file is over.
func (e *Engine) update(fn func(*bbolt.Tx) error) (err error) {
	if err := e.check.err(); err != nil {
		if isDamage(err) {
			e.writes.Report(0, err)
		}
		return err
	}
	if broken := e.broken.Load(); broken != nil {
		e.writes.Report(0, *broken)
		return *broken
	}
	panicking := true
	defer func() {
		if panicking && err != nil {
			e.broken.Store(&err)
			e.writes.Report(0, err)
		}
	}()
	defer catchDamage(e.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var n uint64      // number of the write
	var refused error // error of the step, not of the disk
	err = e.db.Update(func(tx *bbolt.Tx) error {
		n = e.writes.Begin()
		refused = fn(tx)
		return refused
	})
	panicking = false
	if refused != nil || errors.Is(err, berrors.ErrDatabaseNotOpen) {
		e.writes.Drop(n)
	} else {
		e.writes.End(n, err)
	}
	if errors.Is(err, errIdle) {
		return nil
	}
	return closedError(err)
}
