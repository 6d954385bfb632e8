package records

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// mailbox is the value of tableMailboxes: all messages that wait for one
// profile. The limits of the contract keep it small, so that one key per
// profile suffices.
type mailbox struct {
	Messages []storage.Message `json:"messages"`
}

// firstMessageID is the lowest ID that is assigned. Lower ones are for messages
// that older versions of the program stored without one.
const firstMessageID = 1 << 16

// mailboxKey names the mailbox of a profile, to load it.
func mailboxKey(to storage.ProfileID) engine.Key {
	return engine.Key{Table: tableMailboxes, Key: idKey(to)}
}

// mailboxOf returns the mailbox of a profile, or storage.ErrNotFound. Messages
// without an ID get their position as ID, which holds until the mailbox is
// written, with the ID in it.
func mailboxOf(v *view, to storage.ProfileID) (mailbox, error) {
	box, err := get[mailbox](v, tableMailboxes, idKey(to))
	for i := range box.Messages {
		if m := &box.Messages[i]; m.ID == 0 {
			m.ID = uint64(i) + 1
		}
	}
	return box, err
}

// putMailbox stores a mailbox, or removes it if it is empty.
func (c *change) putMailbox(to storage.ProfileID, box mailbox) {
	if len(box.Messages) == 0 {
		c.delete(tableMailboxes, idKey(to))
		return
	}
	c.put(tableMailboxes, idKey(to), box)
}

// fits reports whether the limits allow m to be left.
func (b *mailbox) fits(m storage.Message) bool {
	if m.Again {
		return len(b.Messages) < storage.MaxReturned && b.size()+len(m.Text) <= storage.MaxReturnedBytes
	}
	n, size, from := 0, len(m.Text), 0
	for _, w := range b.Messages {
		if w.Again || w.Shown {
			continue
		}
		n, size = n+1, size+len(w.Text)
		if w.From == m.From {
			from++
		}
	}
	return n < storage.MaxMessages && size <= storage.MaxMessageBytes && from < storage.MaxMessagesFrom
}

// has reports whether a copy of m waits.
func (b *mailbox) has(m storage.Message) bool {
	return slices.ContainsFunc(b.Messages, func(w storage.Message) bool { return w.IsCopy(&m) })
}

// place returns where m belongs: before newer ones of its sender.
func (b *mailbox) place(m storage.Message) int {
	i := slices.IndexFunc(b.Messages, func(w storage.Message) bool { return m.Number != 0 && w.From == m.From && w.Number > m.Number })
	if i < 0 {
		return len(b.Messages)
	}
	return i
}

// dropExpired removes the messages that have expired at now and returns how
// many there were.
func (b *mailbox) dropExpired(now time.Time) int {
	before := len(b.Messages)
	b.Messages = slices.DeleteFunc(b.Messages, func(m storage.Message) bool { return m.Expired(now) })
	return before - len(b.Messages)
}

// size returns the total length of the texts in bytes.
func (b *mailbox) size() int {
	size := 0
	for _, m := range b.Messages {
		size += len(m.Text)
	}
	return size
}

// Leave is described in [storage.Buddies].
func (s *Store) Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		box := c.openMailbox(to, m.Sent)
		if box.has(m) {
			return nil
		}
		if !box.fits(m) {
			return fmt.Errorf("messages for profile %d: %w", to, storage.ErrFull)
		}
		c.addMessage(&box, len(box.Messages), m)
		c.putMailbox(to, box)
		return nil
	})
}

// Return is described in [storage.Buddies].
func (s *Store) Return(ctx context.Context, to storage.ProfileID, messages []storage.Message) (int, error) {
	for i := range messages {
		if err := messages[i].Check(); err != nil {
			return 0, err
		}
	}
	return perform(ctx, s, func(c *change) (n int, err error) {
		box := c.openMailbox(to, time.Time{})
		if len(messages) == 0 {
			return 0, nil
		}
		for size := box.size(); n < len(messages); n++ {
			m := messages[n]
			if box.has(m) {
				continue
			}
			if size += len(m.Text); len(box.Messages) >= storage.MaxReturned || size > storage.MaxReturnedBytes {
				break
			}
			c.addMessage(&box, box.place(m), m)
		}
		c.putMailbox(to, box)
		return n, nil
	})
}

// openMailbox returns the mailbox of a profile, which must exist, without
// messages that have expired at now.
func (c *change) openMailbox(to storage.ProfileID, now time.Time) mailbox {
	c.load(profiles.key(to), mailboxKey(to))
	c.failed(c.wantProfile(to))
	box, err := mailboxOf(c.view, to)
	if !isMissing(err) {
		c.failed(err)
	}
	box.dropExpired(now)
	return box
}

// addMessage inserts a message into a mailbox, which is not stored yet.
func (c *change) addMessage(box *mailbox, at int, m storage.Message) {
	m.ID = firstMessageID + c.next(tableMailboxes)
	m.Sent = m.Sent.Round(0).UTC()
	box.Messages = slices.Insert(box.Messages, at, m)
}

// Messages is described in [storage.Buddies].
func (s *Store) Messages(ctx context.Context, to storage.ProfileID, now time.Time) ([]storage.Message, error) {
	box, err := read(ctx, s, func(v *view) (mailbox, error) { return mailboxOf(v, to) })
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	box.dropExpired(now)
	if len(box.Messages) == 0 {
		return nil, nil
	}
	return box.Messages, nil
}

// ShowMessages is described in [storage.Buddies].
func (s *Store) ShowMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error {
	return s.changeMailbox(ctx, to, ids, func(box *mailbox) (changed bool) {
		for i := range box.Messages {
			if m := &box.Messages[i]; !m.Shown && slices.Contains(ids, m.ID) {
				m.Shown, changed = true, true
			}
		}
		return changed
	})
}

// RemoveMessages is described in [storage.Buddies].
func (s *Store) RemoveMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error {
	return s.changeMailbox(ctx, to, ids, func(box *mailbox) (changed bool) {
		before := len(box.Messages)
		box.Messages = slices.DeleteFunc(box.Messages, func(m storage.Message) bool { return slices.Contains(ids, m.ID) })
		return len(box.Messages) != before
	})
}

// changeMailbox stores a mailbox if do, which changes messages with some IDs, reports that it did.
func (s *Store) changeMailbox(ctx context.Context, to storage.ProfileID, ids []uint64, do func(*mailbox) (changed bool)) error {
	if len(ids) == 0 {
		return ctx.Err()
	}
	return s.change(ctx, func(c *change) error {
		box, err := mailboxOf(c.view, to)
		if err == nil && do(&box) {
			c.putMailbox(to, box)
		}
		if isMissing(err) {
			return nil
		}
		return err
	})
}

// CountMessages is described in [storage.Buddies].
func (s *Store) CountMessages(ctx context.Context) (messages, profiles int, err error) {
	err = eachReadable(iterate(ctx, s, whole(tableMailboxes), readRecord[mailbox]), func(box mailbox) {
		messages += len(box.Messages)
		profiles++
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count messages: %w", err)
	}
	return messages, profiles, nil
}

// SweepMessages is described in [storage.Buddies].
func (s *Store) SweepMessages(ctx context.Context, now time.Time) (int, error) {
	type owned struct {
		mailbox
		owner storage.ProfileID
	}
	boxes := iterate(ctx, s, whole(tableMailboxes), func(v *view, e engine.Entry) (owned, error) {
		box, err := readRecord[mailbox](v, e)
		return owned{box, secondID(e.Key)}, err
	})
	over := func(o *owned) (storage.ProfileID, bool) { return o.owner, o.dropExpired(now) > 0 }
	drop := func(c *change, to storage.ProfileID) (int, error) { return c.sweepMailbox(to, now) }
	return sweep(ctx, s, "messages", boxes, over, drop, mailboxKey)
}

// sweepMailbox removes the messages of one mailbox that have expired at now. A damaged one
// stays.
func (c *change) sweepMailbox(to storage.ProfileID, now time.Time) (int, error) {
	box, err := mailboxOf(c.view, to)
	n := box.dropExpired(now)
	if err != nil || n == 0 {
		return 0, unlessDamage(err)
	}
	c.putMailbox(to, box)
	return n, nil
}
