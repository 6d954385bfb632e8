package storagetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func leave(t *testing.T, s storage.Store, to storage.ProfileID, m storage.Message) {
	t.Helper()
	if err := s.Leave(t.Context(), to, m); err != nil {
		t.Fatalf("Leave(%d, %+v) = %v", to, m, err)
	}
}

func testMessageOnce(t *testing.T, s storage.Store) {
	p := people(t, s, 3)
	if got, err := s.Collect(t.Context(), p[0].ID, moment()); got != nil || err != nil {
		t.Errorf("Collect() of nothing = %v, %v", got, err)
	}
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
	got := must(s.Collect(t.Context(), p[0].ID, moment()))(t)
	differ(t, "messages", got, want)
	if zone := got[0].Sent.Location(); zone != time.UTC {
		t.Errorf("Sent is in %v, want UTC", zone)
	}
	if got := must(s.Collect(t.Context(), p[0].ID, moment()))(t); got != nil {
		t.Errorf("second Collect() = %v, want nothing", got)
	}
	if got := must(s.Collect(t.Context(), p[1].ID, moment()))(t); len(got) != 1 {
		t.Errorf("the other's messages = %v, want 1", got)
	}
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
			if err := left(from, 1); err != nil {
				t.Fatalf("Leave() within the limits = %v", err)
			}
		}
		if err := left(from, 1); !errors.Is(err, storage.ErrFull) {
			t.Errorf("Leave() beyond the limit of a sender = %v, want ErrFull", err)
		}
	}
	if err := left(6, 1); !errors.Is(err, storage.ErrFull) {
		t.Errorf("Leave() beyond the number = %v, want ErrFull", err)
	}
	if got := must(s.Collect(t.Context(), to, moment()))(t); len(got) != storage.MaxMessages {
		t.Errorf("Collect() has %d, want %d", len(got), storage.MaxMessages)
	}
	total := 0
	for total+storage.MaxMessageText <= storage.MaxMessageBytes {
		if err := left(1+total/storage.MaxMessageText%9, storage.MaxMessageText); err != nil {
			t.Fatalf("Leave() within the limits = %v", err)
		}
		total += storage.MaxMessageText
	}
	if err := left(1, storage.MaxMessageBytes-total+1); !errors.Is(err, storage.ErrFull) {
		t.Errorf("Leave() beyond the bytes = %v, want ErrFull", err)
	}
	if err := left(1, storage.MaxMessageBytes-total); err != nil {
		t.Errorf("Leave() up to the last byte = %v", err)
	}
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
	if got := must(s.Collect(t.Context(), p[1].ID, moment()))(t); len(got) != 1 || got[0].Sent.Equal(old(storage.MessageLife).Sent) {
		t.Errorf("Collect() = %+v, want the one that is not expired", got) // the other stays for the sweep
	}
	leave(t, s, p[1].ID, old(storage.MessageLife))
	leave(t, s, p[1].ID, old(storage.MessageLife-1))
	for _, want := range []int{3, 0} {
		if n, err := s.SweepMessages(t.Context(), moment()); n != want || err != nil {
			t.Errorf("SweepMessages() = %d, %v, want %d", n, err, want)
		}
	}
	for i, want := range []int{1, 1, 0} {
		if got := must(s.Collect(t.Context(), p[i].ID, moment().Add(-time.Hour)))(t); len(got) != want {
			t.Errorf("profile %d: Collect() = %+v, want %d", i, got, want)
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
				some, err := s.Collect(t.Context(), to, moment())
				if err != nil {
					return err
				}
				got[i] = append(got[i], some...)
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, some := range append(got, must(s.Collect(t.Context(), to, moment()))(t)) {
		for _, m := range some {
			seen[fmt.Sprint(m.From, m.Text)]++
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("message %s was delivered %d times", key, n)
		}
	}
	if len(seen) != 5*racers {
		t.Errorf("%d messages were delivered, want %d", len(seen), 5*racers)
	}
}
