package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// mailbox is the value of bucketMailboxes: all messages that wait for one
// profile. The limits of the contract keep it small, so that leaving and
// collecting touch one key.
type mailbox struct {
	Messages []storage.Message `json:"messages"`
}

// roomFor reports whether m may be put behind the messages.
func (b *mailbox) roomFor(m storage.Message) bool {
	size, from := len(m.Text), 0
	for _, w := range b.Messages {
		size += len(w.Text)
		if w.From == m.From {
			from++
		}
	}
	return len(b.Messages) < storage.MaxMessages && size <= storage.MaxMessageBytes && from < storage.MaxMessagesFrom
}

// dropExpired removes the messages that are expired at now and returns how
// many there were.
func (b *mailbox) dropExpired(now time.Time) int {
	before := len(b.Messages)
	b.Messages = slices.DeleteFunc(b.Messages, func(m storage.Message) bool { return m.Expired(now) })
	return before - len(b.Messages)
}

// split parts the messages that are good at now from those that are expired.
func (b *mailbox) split(now time.Time) (good []storage.Message, expired mailbox) {
	for _, m := range b.Messages {
		if m.Expired(now) {
			expired.Messages = append(expired.Messages, m)
		} else {
			good = append(good, m)
		}
	}
	return good, expired
}

// Leave is described in [storage.Buddies].
func (s *Store) Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	m.Sent = m.Sent.Round(0).UTC()
	return s.change(ctx, func(c *change) error {
		if c.Bucket([]byte(bucketProfiles)).Get(idKey(to)) == nil {
			return fmt.Errorf("profile %d: %w", to, storage.ErrNotFound)
		}
		box, err := get[mailbox](c.Tx, bucketMailboxes, idKey(to))
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		box.dropExpired(m.Sent)
		if !box.roomFor(m) {
			return fmt.Errorf("messages for profile %d: %w", to, storage.ErrFull)
		}
		box.Messages = append(box.Messages, m)
		return c.put(bucketMailboxes, idKey(to), box)
	})
}

// Collect is described in [storage.Buddies].
func (s *Store) Collect(ctx context.Context, to storage.ProfileID, now time.Time) ([]storage.Message, error) {
	// Most mailboxes are empty; looking costs no trip to the disk.
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(bucketMailboxes)).Get(idKey(to)) == nil {
			return storage.ErrNotFound
		}
		return nil
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var collected []storage.Message
	err = s.change(ctx, func(c *change) error {
		box, err := get[mailbox](c.Tx, bucketMailboxes, idKey(to))
		if errors.Is(err, storage.ErrNotFound) {
			err = nil
		}
		var stay mailbox
		collected, stay = box.split(now)
		switch {
		case err != nil || collected == nil:
			return err
		case len(stay.Messages) == 0:
			return c.delete(bucketMailboxes, idKey(to))
		}
		return c.put(bucketMailboxes, idKey(to), stay)
	})
	if err != nil {
		return nil, err
	}
	return collected, nil
}

// CountMessages is described in [storage.Buddies].
func (s *Store) CountMessages(ctx context.Context) (messages, profiles int, err error) {
	for box, err := range iterate(ctx, s, bucketMailboxes, []byte{}, readRecord[mailbox]) {
		switch {
		case isDamage(err):
		case err != nil:
			return 0, 0, fmt.Errorf("count messages: %w", err)
		default:
			messages += len(box.Messages)
			profiles++
		}
	}
	return messages, profiles, nil
}

// SweepMessages is described in [storage.Buddies].
func (s *Store) SweepMessages(ctx context.Context, now time.Time) (int, error) {
	type found struct {
		to   storage.ProfileID
		over bool
	}
	look := func(_ *bbolt.Tx, k, v []byte) (found, error) {
		box, err := decode[mailbox](v)
		return found{storage.ProfileID(binary.BigEndian.Uint32(k)), box.dropExpired(now) > 0}, err
	}
	var boxes []storage.ProfileID
	for f, err := range iterate(ctx, s, bucketMailboxes, []byte{}, look) {
		switch {
		case isDamage(err):
		case err != nil:
			return 0, fmt.Errorf("sweep messages: %w", err)
		case f.over:
			boxes = append(boxes, f.to)
		}
	}
	total := 0
	for part := range slices.Chunk(boxes, sweepStep) {
		n := 0
		err := s.change(ctx, func(c *change) error {
			n = 0
			for _, to := range part {
				dropped, err := c.sweepMailbox(to, now)
				if err != nil {
					return err
				}
				n += dropped
			}
			return nil
		})
		if err != nil {
			return total, fmt.Errorf("sweep messages: %w", err)
		}
		total += n
	}
	return total, nil
}

// sweepMailbox removes the messages of one mailbox that are expired at now.
func (c *change) sweepMailbox(to storage.ProfileID, now time.Time) (int, error) {
	box, err := get[mailbox](c.Tx, bucketMailboxes, idKey(to))
	if err != nil {
		return 0, nil // collected meanwhile, or damaged and left alone
	}
	n := box.dropExpired(now)
	switch {
	case n == 0:
		return 0, nil
	case len(box.Messages) == 0:
		return n, c.delete(bucketMailboxes, idKey(to))
	}
	return n, c.put(bucketMailboxes, idKey(to), box)
}
