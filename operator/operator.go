package operator

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Errors that callers decide by. Storage's errors pass through unchanged.
var (
	// ErrNotRunning reports that only a running daemon has the answer.
	ErrNotRunning = errors.New("the daemon is not running")
	// ErrUnauthorized reports a wrong or missing token.
	ErrUnauthorized = errors.New("the admin token was not accepted")
	// ErrNoChat reports that the daemon serves no chat.
	ErrNoChat = errors.New("chat is off")
	// ErrBadRequest reports an invalid argument, which its text names.
	ErrBadRequest = errors.New("refused")
)

// Answers of operations that return no value of their own.
type (
	// Removed is how many were removed.
	Removed struct {
		Removed int `json:"removed"`
	}
	// Done is how many were changed.
	Done struct {
		Done int `json:"done"`
	}
)

// MaxImport is the size of one request of an import, in bytes of JSON. A single record may be larger.
const MaxImport = 4 << 20

// maxRecords is the maximum number of records in one request of an import.
const maxRecords = min(MaxAccountPage, MaxStatsImport)

// InParts calls f for parts of a list that fit into a request of an import, of up to limit bytes.
func InParts[T any](list []T, limit int, f func([]T) error) error {
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && n < maxRecords {
			b, err := json.Marshal(list[n])
			if err != nil {
				return err
			}
			if size += len(b); n > 0 && size > limit {
				break
			}
			n++
		}
		if err := f(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// subject says what an error is about; nil stays nil.
func subject(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
