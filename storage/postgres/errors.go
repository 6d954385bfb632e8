package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage/engine"
)

// Codes of PostgreSQL's errors.
const (
	codeUnique        = "23505"
	codeReadOnly      = "25006"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeMemory        = "53200"
	codeLockTimeout   = "55P03"
	codeCancelled     = "57014"
	codeShutdown      = "57P01"
	codeCrash         = "57P02"
	codeStarting      = "57P03"
	codeIdle          = "25P03"

	classConnection = "08"
	classResources  = "53"
)

// errChanged means that another step changed what this one read.
var errChanged = errors.New("what the step read was changed by another")

// errLocks means that the server has no memory for the locks of a step.
var errLocks = errors.New("the server has no memory for the locks of the step")

// errNeed ends a run of a step before which something else must be done.
var errNeed = errors.New("a step must be prepared first")

// retryReason returns why a step that failed with err runs again, as the label
// of a metric; "": it does not.
func retryReason(err error) string {
	if errors.Is(err, errChanged) {
		return "changed"
	}
	if errors.Is(err, errLocks) {
		return "locks"
	}
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return ""
	}
	switch pgErr.Code {
	case codeSerialization:
		return "serialization"
	case codeDeadlock:
		return "deadlock"
	}
	return ""
}

// An unavailableError says that the server, rather than the step, has a problem.
// It matches engine.ErrUnavailable.
type unavailableError struct {
	kind string // label of a metric
	err  error
}

func (e *unavailableError) Error() string {
	return engine.ErrUnavailable.Error() + ": " + oneLine(e.err.Error())
}

// oneLine shortens an error of pgx, which has a line for each attempt to connect, with
// TLS and without, to its first line and the different reasons.
func oneLine(text string) string {
	lines := strings.Split(text, "\n")
	kept := lines[:1]
	for _, l := range lines[1:] {
		if l = strings.TrimSpace(l); !slices.Contains(kept, l) {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, " ")
}
func (e *unavailableError) Unwrap() error { return e.err }

// Is reports whether target is engine.ErrUnavailable.
func (e *unavailableError) Is(target error) bool { return target == engine.ErrUnavailable }

// The kinds of unavailableError.
const (
	kindConnect   = "connect"       // no connection could be opened
	kindNone      = "no_connection" // none became free
	kindLost      = "lost"          // the connection was lost during the step
	kindTimeout   = "timeout"       // a statement took too long
	kindReadOnly  = "read_only"     // the server is a standby
	kindResources = "resources"     // it lacks disk, memory or connections
	kindContended = "contended"     // other steps changed the same entries all the time
)

// unavailable returns an unavailableError if the error of a step is one, otherwise
// nil.
func unavailable(conn *pgxpool.Conn, err error) error {
	if err == nil {
		return nil
	}
	kind := ""
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		if kind = kindOf(pgErr.Code); pgErr.Code == codeMemory && pgErr.Hint != "" {
			err = fmt.Errorf("%w: %s", err, pgErr.Hint) // such as to raise max_locks_per_transaction
		}
	} else if errors.Is(err, context.DeadlineExceeded) {
		kind = kindTimeout
	} else if conn.Conn().IsClosed() {
		kind = kindLost
	}
	if kind == "" {
		return nil
	}
	return &unavailableError{kind, err}
}

// kindOf returns the kind of unavailableError of a code, "" if it is none.
func kindOf(code string) string {
	switch code {
	case codeCancelled:
		return kindTimeout
	case codeLockTimeout:
		return kindContended
	case codeReadOnly:
		return kindReadOnly
	case codeShutdown, codeCrash, codeStarting, codeIdle:
		return kindLost
	}
	switch {
	case strings.HasPrefix(code, classConnection):
		return kindLost
	case strings.HasPrefix(code, classResources):
		return kindResources
	}
	return ""
}

// lost reports whether the connection was lost.
func lost(err error) bool {
	e, ok := errors.AsType[*unavailableError](err)
	return ok && e.kind == kindLost
}

// silent reports whether a connection was lost because nothing came from the server for too long:
// on a bad link that happens to one, and if the server is gone the others find it out.
func silent(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// Codes of errors that no waiting cures.
const (
	classAuthorization = "28"
	classCatalog       = "3D"
	codeNoPrivilege    = "42501"
)

// NeedsOperator reports whether an error of Open stays until an operator changes
// something: a wrong password, a missing database, missing rights. A server that does
// not answer, or that is just starting, may come back by itself.
func NeedsOperator(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(e.Code) == 5 && (e.Code[:2] == classAuthorization || e.Code[:2] == classCatalog || e.Code == codeNoPrivilege)
}
