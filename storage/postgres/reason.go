package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

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
