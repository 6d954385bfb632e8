package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func TestTakenErrorIsErrTaken(t *testing.T) {
	err := fmt.Errorf("room %q: %w", "a", &TakenError{Index: IndexRoomID})
	if !errors.Is(err, ErrTaken) || errors.Is(err, ErrConflict) {
		t.Errorf("errors.Is(%v, ErrTaken) is wrong", err)
	}
}

func TestScopeNumbersAreStoredAndNeverChange(t *testing.T) {
	want := map[Scope]string{1: "all", 2: "lists", 3: "presence", 4: "zandronum"}
	if len(Scopes()) != len(want) {
		t.Errorf("Scopes() = %v, want %d", Scopes(), len(want))
	}
	for s, word := range want {
		if got, err := ParseScope(word); got != s || err != nil || s.String() != word {
			t.Errorf("ParseScope(%q) = %d, %v, want %d", word, got, err, s)
		}
	}
}

func TestScopeTextIsClosed(t *testing.T) {
	for _, word := range []string{"", "every", "ALL", "scope(9)"} {
		if s, err := ParseScope(word); !errors.Is(err, ErrInvalid) {
			t.Errorf("ParseScope(%q) = %v, %v, want ErrInvalid", word, s, err)
		}
	}
	for _, s := range []Scope{EveryScope, 9} {
		if text, err := json.Marshal(s); err == nil {
			t.Errorf("Marshal(%v) = %s, want an error", s, text)
		}
	}
}

func TestBanExpiresAtItsInstant(t *testing.T) {
	now := time.Now()
	for expires, want := range map[time.Time]bool{{}: false, now.Add(-1): true, now: true, now.Add(1): false} {
		b := Ban{Expires: expires}
		if got := b.Expired(now); got != want {
			t.Errorf("Expired(%v) with Expires %v = %v, want %v", now, expires, got, want)
		}
	}
}

func FuzzCanonicalPrefix(f *testing.F) {
	f.Add([]byte{192, 0, 2, 1}, 24)
	f.Add(netip.MustParseAddr("::ffff:192.0.2.1").AsSlice(), 120)
	f.Add(netip.MustParseAddr("::ffff:192.0.2.1").AsSlice(), 95)
	f.Fuzz(func(t *testing.T, raw []byte, bits int) {
		addr, _ := netip.AddrFromSlice(raw)
		p := netip.PrefixFrom(addr, bits)
		got, err := CanonicalPrefix(p)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("CanonicalPrefix(%v) = %v, want ErrInvalid", p, err)
			}
			return
		}
		if again, err := CanonicalPrefix(got); again != got || err != nil {
			t.Errorf("CanonicalPrefix(%v) = %v, but again %v, %v", p, got, again, err)
		}
		if got.Addr().Is4In6() || !got.Contains(addr.Unmap()) {
			t.Errorf("CanonicalPrefix(%v) = %v, which does not hold %v", p, got, addr)
		}
	})
}
