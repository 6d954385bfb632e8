package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

func leave(t *testing.T, s storage.Store, to storage.ProfileID, m storage.Message) {
	t.Helper()
	noErr(t, s.Leave(t.Context(), to, m), "Leave", to, m)
}

// waiting returns the messages that wait for a profile, without their IDs.
func waiting(t *testing.T, s storage.Store, to storage.ProfileID, now time.Time) []storage.Message {
	t.Helper()
	messages := must(s.Messages(t.Context(), to, now))(t)
	for i := range messages {
		messages[i].ID = 0
	}
	return messages
}

// idsOf returns the IDs of messages.
func idsOf(messages []storage.Message) []uint64 {
	var ids []uint64
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// empty removes the messages that wait for a profile and returns them.
func empty(t *testing.T, s storage.Store, to storage.ProfileID) []storage.Message {
	t.Helper()
	messages := must(s.Messages(t.Context(), to, moment()))(t)
	noErr(t, s.RemoveMessages(t.Context(), to, idsOf(messages)), "RemoveMessages", to)
	return messages
}

func testMessageWaits(t *testing.T, s storage.Store) {
	p := people(t, s, 3)
	differ(t, "Messages() of nothing", must(s.Messages(t.Context(), p[0].ID, moment()))(t), nil)
	wantErr(t, s.RemoveMessages(t.Context(), p[0].ID, []uint64{1}), nil, "RemoveMessages() of nothing")
	want := []storage.Message{
		{From: p[1].ID, Kind: storage.MessageText, Text: "b\xe4r\n<1>", Sent: moment()},
		{From: p[2].ID, Kind: storage.MessageAuthorized, Sent: moment().Add(-time.Hour)},
		{From: p[1].ID, Kind: storage.MessageText, Text: "b\u00e4r", Sent: moment()},
		{From: p[1].ID, Kind: storage.MessageRevoked, Sent: moment()},
	}
	for _, m := range want {
		leave(t, s, p[0].ID, m)
	}
	leave(t, s, p[1].ID, storage.Message{From: p[0].ID, Kind: storage.MessageText, Text: "other box", Sent: moment()})
	differ(t, "messages", waiting(t, s, p[0].ID, moment()), want)
	got := must(s.Messages(t.Context(), p[0].ID, moment()))(t)
	differ(t, "messages read again", waiting(t, s, p[0].ID, moment()), want)
	if zone := got[0].Sent.Location(); zone != time.UTC {
		t.Errorf("Sent is in %v, want UTC", zone)
	}
	noErr(t, s.RemoveMessages(t.Context(), p[0].ID, []uint64{got[2].ID, 999_999_999, got[0].ID}))
	differ(t, "messages that were not removed", waiting(t, s, p[0].ID, moment()), []storage.Message{want[1], want[3]})
	empty(t, s, p[0].ID)
	if got := waiting(t, s, p[0].ID, moment()); got != nil {
		t.Errorf("Messages() = %v after all were removed, want nothing", got)
	}
	if got := waiting(t, s, p[1].ID, moment()); len(got) != 1 {
		t.Errorf("the other's messages = %v, want 1", got)
	}
}

func testMessageID(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	m := storage.Message{From: p[1].ID, Kind: storage.MessageText, Text: "hi", Sent: moment()}
	seen := map[uint64]bool{0: true}
	for range 3 { // an empty mailbox does not reuse IDs
		leave(t, s, p[0].ID, m)
		leave(t, s, p[0].ID, m)
		for _, id := range idsOf(empty(t, s, p[0].ID)) {
			if seen[id] {
				t.Errorf("ID %d was used twice", id)
			}
			seen[id] = true
		}
	}
}

func testMessageReturn(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	p := people(t, s, 2)
	to := p[0].ID
	many := make([]storage.Message, storage.MaxReturned)
	for i := range many {
		many[i] = storage.Message{From: p[1].ID, Kind: storage.MessageText, Text: fmt.Sprint(i), Sent: moment(), Again: i%2 == 1}
	}
	returned := func(messages []storage.Message, want int) {
		t.Helper()
		if n, err := s.Return(t.Context(), to, messages); n != want || err != nil {
			t.Errorf("Return() of %d messages = %d, %v, want %d", len(messages), n, err, want)
		}
	}
	returned(nil, 0)
	leave(t, s, to, many[0])
	returned(many[1:3], 2)
	returned(many[3:], len(many)-3)
	differ(t, "messages", waiting(t, s, to, moment()), many)
	returned(many[:1], 0)
	wantErr(t, s.Leave(t.Context(), to, many[0]), storage.ErrFull, "Leave() behind messages that were returned")
	empty(t, s, to)

	long := many[:storage.MaxReturnedBytes/storage.MaxMessageText+1]
	for i := range long {
		long[i].Text = strings.Repeat("x", storage.MaxMessageText)
	}
	returned(long, len(long)-1)
	wantErr(t, errOf(s.Return(t.Context(), 77_777, long[:1])), storage.ErrNotFound, "Return() to an unknown profile")
	long[1].Text = "\x00"
	wantErr(t, errOf(s.Return(t.Context(), to, long[:2])), storage.ErrInvalid, "Return() of a NUL")
}

// Messages that may have been delivered before take no room from new ones.
func testMessageAgain(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	again := make([]storage.Message, storage.MaxMessages)
	for i := range again {
		again[i] = storage.Message{From: p[1].ID, Kind: storage.MessageText, Text: strings.Repeat("x", storage.MaxMessageBytes/storage.MaxMessages), Sent: moment(), Again: true}
	}
	if n, err := s.Return(t.Context(), p[0].ID, again); n != len(again) || err != nil {
		t.Fatalf("Return() of %d messages = %d, %v", len(again), n, err)
	}
	for range storage.MaxMessagesFrom {
		leave(t, s, p[0].ID, storage.Message{From: p[1].ID, Kind: storage.MessageText, Text: "new", Sent: moment()})
	}
	leave(t, s, p[0].ID, again[0]) // one that another node may have delivered is bounded like those of Return
	if n, err := s.Return(t.Context(), p[0].ID, slices.Repeat(again[:1], storage.MaxReturned)); n == storage.MaxReturned || err != nil {
		t.Errorf("Return() beyond the limits = %d, %v", n, err)
	}
	wantErr(t, s.Leave(t.Context(), p[0].ID, again[0]), storage.ErrFull, "Leave() of a copy beyond the limits")
}

// Messages that a client was sent take no room from new ones, although they wait until it is
// known that they arrived.
func testMessageShown(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	to := p[0].ID
	m := storage.Message{From: p[1].ID, Kind: storage.MessageText, Text: "hi", Sent: moment()}
	wantErr(t, s.ShowMessages(t.Context(), to, []uint64{1}), nil, "ShowMessages() of nothing")
	for range 3 {
		for range storage.MaxMessagesFrom {
			leave(t, s, to, m)
		}
		wantErr(t, s.Leave(t.Context(), to, m), storage.ErrFull, "Leave() beyond the limit of a sender")
		all := must(s.Messages(t.Context(), to, moment()))(t)
		noErr(t, s.ShowMessages(t.Context(), to, append(idsOf(all), 999_999_999)))
	}
	m.Shown = true
	differ(t, "messages that were shown", waiting(t, s, to, moment()), slices.Repeat([]storage.Message{m}, 3*storage.MaxMessagesFrom))
}

// A message waits once, and one that comes back is before newer ones of its sender.
func testMessageNumber(t *testing.T, s storage.Store) {
	p := people(t, s, 3)
	to := p[0].ID
	nth := func(from int, number uint64) storage.Message {
		return storage.Message{From: p[from].ID, Kind: storage.MessageText, Text: fmt.Sprint(number), Sent: moment(), Number: number}
	}
	leave(t, s, to, nth(1, 5))
	leave(t, s, to, nth(2, 1)) // numbers are those of a sender
	leave(t, s, to, nth(1, 7))
	leave(t, s, to, nth(1, 6)) // the clocks of its nodes differ
	leave(t, s, to, nth(1, 7))
	back := []storage.Message{nth(1, 4), nth(1, 5), nth(2, 2), nth(1, 0)}
	for range 2 {
		differ(t, "Return()", must(s.Return(t.Context(), to, back[:3]))(t), 3)
	}
	differ(t, "Return() of one without a number", must(s.Return(t.Context(), to, back[3:]))(t), 1)
	want := []storage.Message{nth(1, 4), nth(1, 5), nth(2, 1), nth(1, 7), nth(1, 6), nth(2, 2), nth(1, 0)}
	differ(t, "messages", waiting(t, s, to, moment()), want)
}

func testMessageFull(t *testing.T, s storage.Store) {
	p := people(t, s, 10)
	to := p[0].ID
	left := func(from, size int) error {
		m := storage.Message{From: p[from].ID, Kind: storage.MessageText, Text: strings.Repeat("x", size), Sent: moment()}
		return s.Leave(t.Context(), to, m)
	}
	for from := 1; from <= 5; from++ {
		for range storage.MaxMessagesFrom {
			noErr(t, left(from, 1))
		}
		wantErr(t, left(from, 1), storage.ErrFull, "Leave() beyond the limit of a sender")
	}
	wantErr(t, left(6, 1), storage.ErrFull, "Leave() beyond the number")
	if got := empty(t, s, to); len(got) != storage.MaxMessages {
		t.Errorf("Messages() has %d, want %d", len(got), storage.MaxMessages)
	}
	total := 0
	for total+storage.MaxMessageText <= storage.MaxMessageBytes {
		noErr(t, left(1+total/storage.MaxMessageText%9, storage.MaxMessageText))
		total += storage.MaxMessageText
	}
	wantErr(t, left(1, storage.MaxMessageBytes-total+1), storage.ErrFull, "Leave() beyond the bytes")
	wantErr(t, left(1, storage.MaxMessageBytes-total), nil, "Leave() up to the last byte")
}

func testMessageExpiry(t *testing.T, s storage.Store) {
	p := people(t, s, 4)
	old := func(age time.Duration) storage.Message {
		return storage.Message{From: p[3].ID, Kind: storage.MessageText, Text: age.String(), Sent: moment().Add(-age)}
	}
	for _, to := range p[:3] {
		leave(t, s, to.ID, old(storage.MessageLife))
	}
	leave(t, s, p[0].ID, old(0)) // drops the old one
	leave(t, s, p[1].ID, old(storage.MessageLife-1))
	if got := empty(t, s, p[1].ID); len(got) != 1 || got[0].Sent.Equal(old(storage.MessageLife).Sent) {
		t.Errorf("Messages() = %+v, want the one that is not expired", got) // the other stays for the sweep
	}
	leave(t, s, p[1].ID, old(storage.MessageLife))
	leave(t, s, p[1].ID, old(storage.MessageLife-1))
	for _, want := range []int{3, 0} {
		differ(t, "SweepMessages()", must(s.SweepMessages(t.Context(), moment()))(t), want)
	}
	for i, want := range []int{1, 1, 0} {
		if got := waiting(t, s, p[i].ID, moment().Add(-time.Hour)); len(got) != want {
			t.Errorf("profile %d: Messages() = %+v, want %d", i, got, want)
		}
	}
}

func testMessageRace(t *testing.T, s storage.Store) {
	p := people(t, s, racers+1)
	to := p[racers].ID
	got := make([][]storage.Message, racers)
	errs := race(func(i int) (err error) {
		for n := range 5 {
			m := storage.Message{From: p[i].ID, Kind: storage.MessageText, Text: fmt.Sprint(n), Sent: moment()}
			if err := s.Leave(t.Context(), to, m); err != nil {
				return err
			}
			if i%4 == 0 {
				some, err := s.Messages(t.Context(), to, moment())
				if err != nil {
					return err
				}
				got[i] = append(got[i], some...)
				if err := s.RemoveMessages(t.Context(), to, idsOf(some)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	noErr(t, errors.Join(errs...))
	seen := map[string]uint64{}
	for _, some := range append(got, empty(t, s, to)) {
		for _, m := range some {
			key := fmt.Sprint(m.From, m.Text)
			if id := seen[key]; id != 0 && id != m.ID {
				t.Errorf("message %s has the IDs %d and %d", key, id, m.ID)
			}
			seen[key] = m.ID
		}
	}
	if len(seen) != 5*racers {
		t.Errorf("%d messages were read, want %d", len(seen), 5*racers)
	}
}
