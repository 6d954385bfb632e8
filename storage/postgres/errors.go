package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage"
)

// Codes of PostgreSQL's errors.
const (
	codeForeignKey    = "23503"
	codeUnique        = "23505"
	codeReadOnly      = "25006"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeCancelled     = "57014"
	codeShutdown      = "57P01"
	codeCrash         = "57P02"
	codeStarting      = "57P03"
	codeIdle          = "25P03"

	classConnection = "08"
	classResources  = "53"
)

// errLost means that the connection was lost during a step.
var errLost = errors.New("the connection was lost")

// retryReason returns why a step that failed with err runs again, as the label
// of a metric; "": it does not.
func retryReason(err error) string {
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

// unavailable returns an error that matches storage.ErrUnavailable if err says
// that the server, rather than the step, has a problem; otherwise nil.
func (s *Store) unavailable(conn *pgxpool.Conn, err error) error {
	if err == nil {
		return nil
	}
	kind := ""
	pgErr, fromServer := errors.AsType[*pgconn.PgError](err)
	switch {
	case !fromServer && errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	case !fromServer && conn.Conn().IsClosed():
		kind = "lost"
	case !fromServer:
		return nil
	case pgErr.Code == codeCancelled:
		kind = "timeout"
	case pgErr.Code == codeReadOnly:
		kind = "read_only"
	case pgErr.Code == codeShutdown, pgErr.Code == codeCrash, pgErr.Code == codeStarting, pgErr.Code == codeIdle,
		pgErr.Code[:2] == classConnection:
		kind = "lost"
	case pgErr.Code[:2] == classResources:
		kind = "resources"
	default:
		return nil
	}
	s.metrics.failures.WithLabelValues(kind).Inc()
	if kind == "lost" {
		return fmt.Errorf("%w: %w: %w", storage.ErrUnavailable, errLost, err)
	}
	return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
}

// explain replaces PostgreSQL's errors by those of the contract.
func explain(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return storage.ErrNotFound
	}
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pgErr.Code {
	case codeUnique:
		if index := takenIndex(pgErr.ConstraintName); index != "" {
			return &storage.TakenError{Index: index}
		}
	case codeForeignKey: // a row that the new one belongs to does not exist
		return fmt.Errorf("%w (%s)", storage.ErrNotFound, pgErr.ConstraintName)
	}
	return err
}
