// Package fault logs operations that a service could not complete because of a fault of the server.
package fault

import (
	"errors"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// Log begins a line about a request that failed with err: an error, but only a line for
// debugging while the database is away. The daemon logs that once, and every request
// that needs the database fails then.
func Log(log zerolog.Logger, err error) *zerolog.Event {
	if errors.Is(err, storage.ErrUnavailable) {
		return log.Debug()
	}
	return log.Error()
}
