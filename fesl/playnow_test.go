package fesl

import (
	"testing"
	"time"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/internal/presence"
)

// TestPlayNow searches for games as three games do, with and without a list of them.
func TestPlayNow(t *testing.T) {
	f := start(t, nil)
	f.register()
	var asked []lobby.Condition
	var found []lobby.Found
	for _, test := range []struct {
		game, sessionType string
		games             int
		want              string
	}{
		{"mercs2-pc", "listServers", 0, "LIST"},
		{"mercs2-pc", "listServers", 2, "LIST"},
		{"mohair-pc", "", 0, "NOMATCH"},
		{"mohair-pc", "", 1, "JOIN"},
		{"lotr-pandemic-pc", "", 0, "NOSERVER"},
	} {
		found = make([]lobby.Found, test.games)
		for i := range found {
			found[i] = lobby.Found{Lobby: 257, Game: i + 1}
		}
		if test.games > 0 {
			f.server.opt.Lobby.Open(18715, func(_ string, where []lobby.Condition, _ int) []lobby.Found {
				asked = where
				return found
			})
		} else {
			f.server.opt.Lobby.Open(0, nil)
		}
		p := f.signedIn(test.game)
		p.want("acct", "LoginSubAccount", "name", testPersona)
		answer := p.want("pnow", "Start", playNow+"{sessionType}", test.sessionType, playNow+"{filterToGame-mode}", "U-Mode", playNow+"{filter-mode}", "coop",
			playNow+"{filterToGame-version}", "version", playNow+"{filter-version}", "")
		h, status, err := p.Next(t.Context())
		if err != nil || h.Number != 0 || status.TXN() != "Status" || status.Get("props.{resultType}") != test.want || status.Get("id.id") != answer.Get("id.id") {
			t.Errorf("%s with %d games: %v, %v, %v", test.game, test.games, h, status, err)
		}
		if n := status.Get("props.{games}.[]"); len(n) != 1 || int(n[0]-'0') != test.games {
			t.Errorf("%s: %s games, want %d", test.game, n, test.games)
		}
		if test.games > 0 && (status.Get("props.{games}.0.gid") != "1" || status.Get("props.{games}.0.lid") != "257" ||
			len(asked) != 1 || asked[0] != (lobby.Condition{Key: "B-U-Mode", Value: "coop"})) {
			t.Errorf("%s: games that meet %v: %v", test.game, asked, status)
		}
		p.want("pnow", "Cancel", "id.id", "1")
		_ = p.Close()
	}
}

// TestKeysOfTheLobby follows the session key of a player who leaves and of one who is kicked.
func TestKeysOfTheLobby(t *testing.T) {
	f := start(t, nil)
	f.register()
	l := f.server.opt.Lobby
	l.Open(18715, nil)
	enter := func() (peer, string) {
		p := f.greeted("mercs2-pc")
		account := p.want("acct", "Login", "name", testPersona, "password", testPassword)
		if _, ok := l.Player(account.Get("lkey"), time.Now()); ok {
			t.Error("the key of an account opens the list")
		}
		return p, p.want("acct", "LoginSubAccount", "name", testPersona).Get("lkey")
	}
	p, key := enter()
	if who, ok := l.Player(key, time.Now()); !ok || who != (lobby.Player{Profile: 1, User: 1, Name: testPersona, Client: "mercs2-pc", Game: "mercs2"}) {
		t.Errorf("the key is that of %+v, %v", who, ok)
	}
	if again := p.want("fsys", "Hello", "clientString", "mercs2-pc"); again.Get("theaterPort") != "18715" {
		t.Errorf("Hello names port %s", again.Get("theaterPort"))
	}
	p.want("acct", "LoginSubAccount", "name", testPersona)
	_ = p.Close()
	f.hub.KickUser(t.Context(), 1, presence.ErrKicked)
	p, key = enter()
	f.hub.KickUser(t.Context(), 1, presence.ErrKicked)
	_ = p.wantEnd()
	if _, ok := l.Player(key, time.Now()); ok {
		t.Error("the key of a player who was kicked is valid")
	}
}
