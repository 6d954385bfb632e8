// Package storage defines the data that survives a restart: the records, the
// contract of every engine, and its errors.
//
// It is not an engine (see storage/bolt) and has no rules about permissions; it
// only defines limits, uniqueness and atomic steps.
//
// # Contract
//
// Every method is one atomic step; there are no transactions. A change is
// complete and durable when its method returns nil, and has not happened if it
// returns an error; after [ErrUnavailable] it may have happened, but not in
// part. Methods may be called from any number of goroutines.
//
// The context is checked before a step begins and between the pages of an
// iteration; a step that has begun is finished.
//
// Records passed in are copied, returned records belong to the caller. Times
// are returned in UTC without a monotonic part, empty slices as nil.
//
// An iteration never holds a lock while the caller's loop body runs, so the
// body may call the store. Unless a method says otherwise, a record that exists
// from the start of the iteration to its end is seen exactly once; one that is
// added or removed meanwhile may or may not be seen. A record that cannot be
// read is an item with an error that matches [ErrDamaged], and the iteration
// continues; any other error is the last item.
//
// A change whose context carries an [AuditEntry] stores the entry in the same
// atomic step, see [WithAudit].
//
// Each kind of record has one file with its type, its limits, its checks and
// its part of the contract.
package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/respawnd/respawnd/storage/engine"
)

// Store is the interface of an engine.
type Store interface {
	Servers
	Games
	Rooms
	Bans
	ChatRules
	ProductKeys
	Files
	News
	PlayReports
	Posts
	Listings
	Accounts
	Buddies
	Sake
	Audit
	Stats
	Matches

	// Close ends the use of the store. Steps that have begun are finished;
	// later calls return ErrClosed. Closing twice is not an error.
	Close() error
}

// Rev identifies a version of a record. The engine sets it; 0 means that the
// record has not been stored yet. A value is never reused for a record of the
// same kind, not even after a deletion.
type Rev uint64

// The errors of stores.
var (
	// ErrNotFound means that no record has that key.
	ErrNotFound = errors.New("not found")
	// ErrTaken means that another record already has a key that must be
	// unique. The error itself is a TakenError.
	ErrTaken = errors.New("already taken")
	// ErrConflict means that the record was changed since the caller read it.
	ErrConflict = errors.New("changed in the meantime")
	// ErrInvalid means that a record exceeds a limit of its kind.
	ErrInvalid = errors.New("invalid record")
	// ErrDamaged means that stored data can no longer be read.
	ErrDamaged = engine.ErrDamaged
	// ErrFull means that a maximum number of entries is reached.
	ErrFull = errors.New("full")
	// ErrLast means that the last one of its kind cannot be removed.
	ErrLast = errors.New("the last one")
	// ErrDeleted means that the record with that id was deleted. It matches
	// ErrNotFound too.
	ErrDeleted = fmt.Errorf("deleted: %w", ErrNotFound)
	// ErrUnavailable means that the server that keeps the data cannot be used at
	// present. Trying later may succeed.
	ErrUnavailable = engine.ErrUnavailable
	// ErrClosed means that the store is closed.
	ErrClosed = engine.ErrClosed
)

// TakenError names the unique index that refused a record. It matches
// [ErrTaken].
type TakenError struct {
	Index string // one of the Index constants
}

// Error names the index.
func (e *TakenError) Error() string { return e.Index + " is already taken" }

// Is reports whether target is ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// invalid returns an error that matches ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// checkName is checkText for a text that must not be empty.
func checkName(what, s string, limit int) error {
	if s == "" {
		return invalid("%s is empty", what)
	}
	return checkText(what, s, limit)
}

// checkText returns an error for a text that is longer than limit bytes, is not
// UTF-8 or has control characters.
func checkText(what, s string, limit int) error {
	if len(s) > limit {
		return invalid("%s is longer than %d bytes", what, limit)
	}
	if !utf8.ValidString(s) {
		return invalid("%s is not UTF-8", what)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return invalid("%s has a control character", what)
		}
	}
	return nil
}

// wordOf returns the word for a number, the first one being that for 0; what is the word for
// those that have none.
func wordOf[T ~uint8](n T, what string, words ...string) string {
	if int(n) < len(words) && words[n] != "" {
		return words[n]
	}
	return fmt.Sprintf("%s(%d)", what, uint8(n))
}

// parseWord returns the one of several values that has a word.
func parseWord[T fmt.Stringer](what, word string, all []T) (v T, err error) {
	for _, v := range all {
		if v.String() == word {
			return v, nil
		}
	}
	return v, invalid("%s %.40q is not one of %v", what, word, all)
}

// The tables that daemons hold in memory, as Revisions names them.
const (
	TableBans      = "bans"
	TableChatRules = "chat_rules"
	TableGames     = "games"    // and rooms
	TableListings  = "listings" // added and hidden servers
	TableNews      = "news"     // messages of the day and patches
	TableKeys      = "product_keys"

	TablePlayReports = "play_reports"
)

// Revisions is implemented by engines that several daemons use at once.
type Revisions interface {
	// Revisions returns a number for each table that daemons hold in memory. It grows
	// with every change of the table, in the same step. A table that never changed may
	// be missing.
	Revisions(ctx context.Context) (map[string]int64, error)
}

// Collect returns the records of an iteration, or none and its first error.
func Collect[T any](all iter.Seq2[T, error]) (list []T, err error) {
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
