package storage

import (
	"context"
	"strings"
)

const (
	maxPostPlace = 64 // bytes
	maxPostID    = 20 // digits
)

// CheckPost returns an error that matches ErrInvalid for a message that cannot be stored.
func CheckPost(place, id string) error {
	if err := checkName("place of a message", place, maxPostPlace); err != nil {
		return err
	}
	if id == "" || len(id) > maxPostID || strings.Trim(id, "0123456789") != "" {
		return invalid("the number of a message in a chat has 1 to %d digits", maxPostID)
	}
	return nil
}

// Posts keeps which messages in chats are edited again and again, so that they are found after a
// restart.
type Posts interface {
	// Post returns the number of the message at a place, or ErrNotFound.
	Post(ctx context.Context, place string) (id string, err error)

	// PutPost stores the number of the message at a place, in place of the one before. A place is
	// a name of at most 64 bytes; there is no limit of their number, so strangers must not choose
	// them.
	PutPost(ctx context.Context, place, id string) error
}
