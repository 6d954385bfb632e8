package records

import (
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// TestOldMailbox reads a mailbox whose messages have no IDs, as older versions
// of the program wrote it.
func TestOldMailbox(t *testing.T) {
	s := openNew(t)
	_, p := newAccount(t, s, "a")
	now := time.Now().UTC()
	text := func(text string) storage.Message {
		return storage.Message{From: p.ID, Kind: storage.MessageText, Text: text, Sent: now}
	}
	err := s.change(t.Context(), func(c *change) error {
		c.put(tableMailboxes, idKey(p.ID), mailbox{[]storage.Message{text("1"), text("2"), text("3")}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(want string) []storage.Message {
		t.Helper()
		messages, err := s.Messages(t.Context(), p.ID, now)
		got := ""
		for _, m := range messages {
			got += m.Text
		}
		if got != want || err != nil {
			t.Errorf("Messages() = %q, %v, want %q", got, err, want)
		}
		return messages
	}
	before := read("123")
	if err := s.Leave(t.Context(), p.ID, text("4")); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveMessages(t.Context(), p.ID, []uint64{before[0].ID, before[2].ID}); err != nil {
		t.Fatal(err)
	}
	after := read("24")
	if len(after) == 2 && (after[0].ID != before[1].ID || after[1].ID <= firstMessageID) {
		t.Errorf("IDs %d and %d, want %d and one above %d", after[0].ID, after[1].ID, before[1].ID, firstMessageID)
	}
}
