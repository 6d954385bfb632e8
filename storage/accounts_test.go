package storage

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDeletedIsNotFound(t *testing.T) {
	if !errors.Is(ErrDeleted, ErrNotFound) || errors.Is(ErrNotFound, ErrDeleted) {
		t.Error("ErrDeleted must be ErrNotFound, and not the other way round")
	}
}

func TestNumbersThatAreStoredNeverChange(t *testing.T) {
	got := []int{
		int(ByNick), int(ByFirstName), int(ByLastName), int(ByICQ),
		int(MessageText), int(MessageAuthorized), int(MessageRevoked), int(SexUnset), int(SexMale), int(SexFemale),
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 1, 4, 6, 0, 1, 2}, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func TestBirthday(t *testing.T) {
	if got := Birthday(29, 2, 1980); got != 486672316 {
		t.Errorf("Birthday(29, 2, 1980) = %d, want 486672316", got)
	}
	tests := map[string]struct {
		day, month, year int
		ok               bool
	}{
		"none":               {0, 0, 0, true},
		"first":              {1, 1, 1900, true},
		"before the first":   {31, 12, 1899, false},
		"last":               {6, 6, 2079, true},
		"after the last":     {7, 6, 2079, false},
		"leap day":           {29, 2, 2000, true},
		"no leap day":        {29, 2, 1900, false},
		"day 0":              {0, 1, 2000, false},
		"month 0":            {1, 0, 2000, false},
		"everything too big": {255, 255, math.MaxUint16, false},
	}
	for name, tt := range tests {
		if err := checkBirthday(Birthday(tt.day, tt.month, tt.year)); (err == nil) != tt.ok {
			t.Errorf("%s: checkBirthday() = %v, want ok = %v", name, err, tt.ok)
		}
	}
}

func TestAccountBan(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		ban  AccountBan
		want bool
	}{
		"none":       {AccountBan{}, false},
		"for good":   {AccountBan{Added: now}, true},
		"still":      {AccountBan{Added: now, Expires: now.Add(1)}, true},
		"just over":  {AccountBan{Added: now, Expires: now}, false},
		"never from": {AccountBan{Expires: now.Add(1)}, false},
	}
	for name, tt := range tests {
		if got := tt.ban.In(now); got != tt.want {
			t.Errorf("%s: In() = %v, want %v", name, got, tt.want)
		}
	}
}

// FuzzRawTexts checks that any bytes survive the JSON of every record that may
// hold them.
func FuzzRawTexts(f *testing.F) {
	f.Add("J\xf6rg", "M\u00fcller")
	f.Add("", "\u0100\xff")
	f.Add("<&>\u2028", "\ufffd")
	f.Fuzz(func(t *testing.T, a, b string) {
		unique := []UniqueNick{{Namespace: 1, Nick: a, Key: b}, {Namespace: 2, Nick: b, Key: a}}
		sameJSON(t, Profile{Nick: a, LastName: b, Place: a + b, PublicMask: 1, UniqueNicks: unique})
		if unique[0].Nick != a || unique[1].Nick != b {
			t.Errorf("Marshal changed what it was given: %+v", unique)
		}
		sameJSON(t, Request{Reason: a})
		sameJSON(t, Message{Text: b})
	})
}

// sameJSON checks that a record comes back from its JSON.
func sameJSON[R any](t *testing.T, record R) {
	t.Helper()
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatalf("Marshal(%+v) = %v", record, err)
	}
	var got R
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("Unmarshal(%s) = %v", text, err)
	}
	if diff := cmp.Diff(record, got); diff != "" {
		t.Errorf("%s comes back different (-want +got):\n%s", text, diff)
	}
}
