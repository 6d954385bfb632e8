// Package bolt is the storage engine for one machine: one file, no server.
//
// It implements the contract of package storage and adds functions for files:
// opening with a lock, upgrading, online backup, verification. It is not for
// several nodes, and not for data that may be lost: live lists, sessions and
// pairings belong in memory.
//
// # File
//
// One bucket per kind of record and one per index:
//
//	bucket         key                                   value
//	meta           "app"                                 "respawnd"
//	               "schema"                              8 bytes, number of the layout
//	               "room"                                4 bytes, id given out last
//	servers        "head"                                list head: generation, chunks, time
//	               generation (8 bytes)                  bucket: chunk number (8 bytes) -> chunk
//	games          name                                  game
//	rooms          id (4 bytes)                          room
//	rooms_by_game  game, NUL, id (4 bytes)               empty
//	bans           family, address, bits, scope          ban
//	chat_rules     kind, profile or address, channel     chat rule
//	product_keys   product (4 bytes), hash               CD key
//	users          id (4 bytes)                          user
//	users_by_email partner (4 bytes), folded e-mail      user id
//	profiles       id (4 bytes)                          profile
//	nicks          user id, folded nick                  profile id
//	uniquenicks    namespace (4 bytes), key              profile id
//	cdkeys         game, NUL, digest or hash             profile id
//	found_by       index (1 byte), folded value, NUL, id empty
//	buddies        owner, buddy (ids)                    empty
//	buddy_of       buddy, owner                          empty
//	blocks         owner, other                          empty
//	blocked_by     other, owner                          empty
//	requests       to, from                              request
//	requests_from  from, to                              empty
//	mailboxes      to                                    messages that wait
//	sake_tables    game, NUL, folded name of table       SAKE table: number, columns
//	sake_records   table, id (4 bytes each)              SAKE record in binary form, see storage.SakeRow
//	sake_by_owner  owner, table, id                      empty
//	sake_ratings   table, id, author                     rating (1 byte)
//	sake_meta      see sakekeys.go                       counts, numbers
//	added_servers  host:port                             server to be asked
//	hidden_servers address (4 or 16 bytes), port         server that is hidden
//	audit          number (8 bytes)                      entry of the audit log
//	audit_players  number (8 bytes)                      likewise, of changes by players
//	stat_blocks    profile, game, NUL, index, kind       data of a game for a player
//	stat_sums      profile, game or kind of record       number and size of records
//	reports        id (8 bytes)                          game that a server reported
//	reports_of     game, NUL, id (8 bytes)               empty
//	report_runs    game, NUL, connection, session        report id
//	scores         profile, game, NUL, board             score
//	ranks          game, NUL, board, NUL, value, profile empty
//	rank_chunks    likewise, of the first of a chunk     number of ranks in the chunk
//	matches        id (8 bytes)                          match of the competition service
//	matches_of     game, NUL, inverted id                empty
//	matches_open   id (8 bytes)                          empty: reports are missing
//	match_players  profile, id (8 bytes)                 empty
//
// "meta" also has "user" and "profile", 4 bytes: the ids given out last, "users", 8
// bytes: how many there are (usercount.go), and "audit" and "audit_players", 8 bytes: how many entries there are, and "probe",
// which Probe writes.
// Numbers are big-endian, so that byte order is number order. The sequence of a bucket gives the revisions.
//
// Every value has checksums, also those that are "empty" here: records over their
// key and their payload, the others over both together (value.go, entry.go).
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
// that a start reads as a whole: bans, rules, games, rooms, and the tree that leads to them
// (check.go). A goroutine, owned by the Store, checks everything two seconds later, or when the
// first change or backup comes. Until it is done, records can be read, and changes and backups
// wait: no byte is written on the word of a page that may be damaged. If it finds an error that
// Open would have refused, the store refuses everything from then on, and LastWrite returns the
// error.
//
// bbolt panics, or the process faults, when a page changes later. Both become
// errors that match [storage.ErrDamaged] and advise the operator to restore a
// backup. After such an error in a change the store refuses further changes;
// undamaged data can still be read.
//
// # Writing
//
// Accounts and buddies change in groups (group.go): one goroutine, owned by the
// Store, runs all waiting steps in one transaction. Other changes have a
// transaction of their own.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/respawnd/respawnd/storage"
)

// DefaultTimeout is how long Open waits for the lock of the file.
const DefaultTimeout = time.Second

// Errors of Open and Verify.
var (
	// ErrInUse means that another process has the file open.
	ErrInUse = errors.New("in use by another process; is the daemon running already?")
	// ErrNotOurs means that the file is not a respawnd store.
	ErrNotOurs = errors.New("not a respawnd storage file, or its beginning is damaged; \"respawnd restore\" puts a backup in its place")
	// ErrNewer means that a newer version of the program wrote the file.
	ErrNewer = errors.New("written by a newer version of respawnd")
)

// errEmptyFile reports an empty file.
var errEmptyFile = errors.New("it is empty; remove it to begin without accounts")

// Options configure how a file is opened. The zero value is right for a daemon.
type Options struct {
	Timeout time.Duration // how long to wait for the lock; 0: DefaultTimeout
	NoSync  bool          // do not sync to disk; for tests only, a crash destroys the file
	// CheckLater lets Open return before a large file is checked as a whole, see
	// the section about damage.
	CheckLater bool
	Log        zerolog.Logger // upgrades and repairs

	atOpen int64         // for checkedAtOpen, in tests
	delay  time.Duration // for checkDelay, in tests
}

// Store is an open storage file. It implements [storage.Store].
type Store struct {
	path   string
	db     *bbolt.DB
	log    zerolog.Logger
	broken atomic.Pointer[error] // reason for refusing changes; nil: none
	writes writes
	check  *check

	saving chan struct{} // full while a list is saved
	list   savedList

	group     *group // changes of accounts and buddies; nil until the file is prepared
	relations relations

	users    userCount
	maxAudit atomic.Int64 // entries
}

var _ storage.Store = (*Store)(nil)

// Open opens the file at path, creates it if it is missing, upgrades it if it
// is older (a copy of the old file stays beside it) and removes the leftovers
// of an unfinished save of the server list. The errors name the file and match
// ErrInUse, ErrNotOurs, ErrNewer or storage.ErrDamaged if that is the reason.
// After ErrDamaged the file may stay locked until the process ends.
//
// It starts a goroutine, which writes groups of changes, and with CheckLater
// another one; Close ends them and waits for them.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	return open(ctx, path, opt, migrations())
}

// open is Open with the upgrade steps as an argument.
func open(ctx context.Context, path string, opt Options, steps []migration) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Store{path: path, log: opt.Log, check: newCheck(opt), saving: make(chan struct{}, 1)}
	s.users.counted = -1
	s.maxAudit.Store(storage.DefaultAuditEntries)
	if err := create(path, opt); err != nil {
		return nil, fmt.Errorf("storage file %s: %w", path, err)
	}
	var err error
	s.db, err = openFile(path, &bbolt.Options{
		Timeout: opt.Timeout, NoSync: opt.NoSync, FreelistType: bbolt.FreelistMapType,
	})
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, steps); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.group = newGroup()
	go s.writeGroups()
	if s.check.later {
		s.check.runs.Go(s.checkRest)
	} else if err := s.correctUsers(ctx); err != nil {
		s.log.Warn().Str("file", path).Err(err).Msg("the number of accounts was not stored; the next start tries again")
	}
	return s, nil
}

// prepare brings an open file to the present layout.
func (s *Store) prepare(ctx context.Context, steps []migration) error {
	if err := s.upgrade(ctx, steps); err != nil {
		return err
	}
	if err := s.loadListHead(ctx); err != nil {
		return err
	}
	if err := s.loadUsers(ctx); err != nil || s.check.later {
		return err
	}
	return s.dropGenerations(ctx)
}

// Close waits for running steps and closes the file. If the store refuses
// changes because of damage, the file stays locked until the process ends: the
// failed step may hold a lock that closing would wait for.
func (s *Store) Close() error {
	s.check.close()
	if s.group != nil {
		s.group.close()
	}
	s.relations.close()
	if s.broken.Load() != nil {
		return nil
	}
	return s.db.Close()
}

// view runs fn in a reading transaction. fn must copy all data that it keeps.
func (s *Store) view(ctx context.Context, fn func(*bbolt.Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.check.err(); err != nil {
		return err
	}
	defer catchDamage(s.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return closedError(s.db.View(fn))
}

// update runs fn in a writing transaction, which is committed if fn returns nil
// and durable when update returns nil. It includes the audit entry of ctx. fn
// returns errIdle if there is nothing to change.
func (s *Store) update(ctx context.Context, fn func(*bbolt.Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.check.wait(ctx); err != nil {
		if isDamage(err) {
			s.writes.report(0, err)
		}
		return err
	}
	if broken := s.broken.Load(); broken != nil {
		s.writes.report(0, *broken)
		return *broken
	}
	panicking := true
	defer func() {
		if panicking && err != nil {
			s.broken.Store(&err)
			s.writes.report(0, err)
		}
	}()
	defer catchDamage(s.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var began time.Time
	var refused error // error of the step, not of the disk
	err = s.db.Update(func(tx *bbolt.Tx) error {
		began = s.writes.begin()
		if refused = ctx.Err(); refused == nil { // waiting for the transaction may have taken long
			refused = fn(tx)
		}
		if refused == nil {
			refused = s.note(ctx, tx)
		}
		return refused
	})
	panicking = false
	s.writes.end(began, err, refused)
	if errors.Is(err, errIdle) {
		return nil
	}
	return closedError(err)
}

// closedError replaces bbolt's error for a closed file by the contract's.
func closedError(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return storage.ErrClosed
	}
	return err
}

// catchDamage turns a panic into an error. It is deferred around all code that
// reads pages, and not around code that calls foreign functions.
func catchDamage(path string, err *error) {
	if r := recover(); r != nil {
		*err = damagedFile(path, r)
	}
}

// isDamage reports whether err reports damaged data.
func isDamage(err error) bool { return errors.Is(err, storage.ErrDamaged) }

// damagedFile is the error for a file that needs its operator.
func damagedFile(path string, cause any) error {
	return fmt.Errorf("storage file %s is %w (%v): stop the daemon and restore the last backup with \"respawnd restore\"",
		path, storage.ErrDamaged, cause)
}

// openFile opens a bbolt file, which must exist, and explains errors. An empty
// file does not count as a new one: it may have lost its content.
func openFile(path string, opt *bbolt.Options) (db *bbolt.DB, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, damagedFile(path, errEmptyFile)
	}
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	defer catchDamage(path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	db, err = bbolt.Open(path, 0o600, opt)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return db, nil
}

// explainOpen names the file and the reason.
func explainOpen(path string, err error) error {
	_, system := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("storage file %s: %w", path, ErrInUse)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("storage file %s: %w", path, ErrNotOurs)
	case errors.Is(err, berrors.ErrChecksum):
		return damagedFile(path, err)
	case !system && tooSmall(path):
		return fmt.Errorf("storage file %s: %w (it is too short)", path, ErrNotOurs)
	}
	return fmt.Errorf("storage file %s: %w", path, err)
}

// tooSmall reports whether path is a file that is not empty but shorter than
// the four pages of every bbolt file.
func tooSmall(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() < int64(4*os.Getpagesize())
}
