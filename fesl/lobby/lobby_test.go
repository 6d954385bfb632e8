package lobby

import (
	"testing"
	"time"
)

// TestKeys follows the keys of two players, one of whom leaves and one of whom is sent away.
func TestKeys(t *testing.T) {
	var l Lobby
	now := time.Unix(1000, 0)
	has := func(key string, at time.Time) bool {
		_, ok := l.Player(key, at)
		return ok
	}
	if l.Leave("a", now); has("a", now) {
		t.Error("a key is valid that was never given")
	}
	l.Enter("a", Player{Profile: 1, Name: "Ann"})
	l.Enter("b", Player{Profile: 2, Name: "Bob"})
	if p, ok := l.Player("a", now); !ok || p.Name != "Ann" {
		t.Errorf("the key of Ann is that of %+v", p)
	}
	l.Leave("a", now)
	l.Leave("a", now.Add(Grace/2)) // the first one counts
	l.Revoke("b")
	if has("b", now) || !has("a", now.Add(Grace-1)) || has("a", now.Add(Grace)) {
		t.Error("a key that was revoked is valid, or one of a session that ended for another time than Grace")
	}
	if len(l.players) != 0 || len(l.leaving) != 0 {
		t.Errorf("%d keys and %d that leave are kept", len(l.players), len(l.leaving))
	}
}

// TestSearch asks before and after there is a list.
func TestSearch(t *testing.T) {
	var l Lobby
	if got := l.Search("mercs2-pc", nil, 1); got != nil || l.Port() != 0 {
		t.Errorf("without a list: %v at port %d", got, l.Port())
	}
	l.Open(18715, func(client string, where []Condition, most int) []Found {
		return []Found{{Lobby: len(client) + len(where) + most, Game: 1}}
	})
	if got := l.Search("x", []Condition{{"B-version", "1"}}, 3); len(got) != 1 || got[0] != (Found{5, 1}) || l.Port() != 18715 {
		t.Errorf("with a list: %v at port %d", got, l.Port())
	}
}
