package operator

import (
	"errors"
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
