// Package storage says what survives a restart: the records, the contract that
// every engine keeps, and the errors that callers decide by.
//
// It is not an engine (see storage/bolt) and it holds no rules about what an
// operator may do; it only knows limits, uniqueness and atomic steps.
//
// # Contract
//
// Every method is one atomic step. No transaction is handed out. A method that
// changes something has either happened completely and durably when it returns
// nil, or not at all. Methods may be called from any number of goroutines.
//
// The context comes first and is looked at before a step begins and between
// the pages of an iteration; a step that has begun is finished.
//
// Records that go in are copied, records that come out belong to the caller.
// Times come back in UTC without a monotonic part. An empty slice comes back
// as nil.
//
// An iteration never holds a transaction open while the caller's loop body
// runs, so the body may call the store. Unless a method says otherwise, a
// record that exists from the start of the iteration to its end is seen exactly
// once; one that is added or removed meanwhile may or may not be seen. A record
// that cannot be read is an item with an error that matches [ErrDamaged], and
// the iteration continues; any other error is the last item.
//
// A change whose context carries an [AuditEntry] stores the entry in the same
// atomic step, see [WithAudit].
//
// Each kind of record has one file here: its type, its limits, its checks and
// its part of the contract.
package storage

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Store is everything that an engine offers.
type Store interface {
	Servers
	Games
	Rooms
	Bans
	ChatRules
	Listings
	Accounts
	Buddies
	Audit

	// Close ends the use of the store. Steps that have begun are finished;
	// later calls answer ErrClosed. Closing twice is not an error.
	Close() error
}

// Rev tells one version of a record from the next. The engine sets it; 0 means
// that the record has not been stored yet. A value is never used again for a
// record of the same kind, not even after a deletion.
type Rev uint64

// Errors that callers decide by.
var (
	// ErrNotFound means that no record has that key.
	ErrNotFound = errors.New("not found")
	// ErrTaken means that another record already has a key that must be
	// unique. The error itself is a TakenError.
	ErrTaken = errors.New("already taken")
	// ErrConflict means that the record was changed since the caller read it.
	ErrConflict = errors.New("changed in the meantime")
	// ErrInvalid means that a record breaks one of the limits of its kind.
	ErrInvalid = errors.New("invalid record")
	// ErrDamaged means that something stored cannot be read any more.
	ErrDamaged = errors.New("damaged")
	// ErrFull means that something has as many entries as it may have.
	ErrFull = errors.New("full")
	// ErrLast means that the last one of its kind cannot be removed.
	ErrLast = errors.New("the last one")
	// ErrDeleted means that no record has that id any more, but one had. It
	// matches ErrNotFound too.
	ErrDeleted = fmt.Errorf("deleted: %w", ErrNotFound)
	// ErrClosed means that the store is closed.
	ErrClosed = errors.New("store is closed")
)

// TakenError says which unique index refused a record. It matches [ErrTaken].
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

// checkName refuses an empty name and everything that checkText refuses.
func checkName(what, s string, limit int) error {
	if s == "" {
		return invalid("%s is empty", what)
	}
	return checkText(what, s, limit)
}

// checkText refuses text that is longer than limit bytes, is not UTF-8 or has
// control characters in it.
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
