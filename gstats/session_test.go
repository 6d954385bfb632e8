package gstats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		game, secret string
		why          ended // empty: accepted
	}{
		"right":            {"gmtest", "HA6zkS", ended{}},
		"another key":      {"gmtest", "abcdef", ended{}},
		"in capitals":      {"GMTest", "HA6zkS", ended{}},
		"an alias":         {"gmalias", "HA6zkS", ended{}},
		"wrong key":        {"gmtest", "HA6zkT", endedResponse},
		"empty key":        {"gmtest", "", endedResponse},
		"unknown game":     {"nosuch", "HA6zkS", endedUnknownGame},
		"no name":          {"", "HA6zkS", endedUnknownGame},
		"long name":        {strings.Repeat("g", 500), "HA6zkS", endedUnknownGame},
		"game without key": {"nokey", "", endedNoSecret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			c := f.connect()
			err := c.Authenticate(t.Context(), tt.game, tt.secret)
			if tt.why == (ended{}) {
				if err != nil || c.Key <= 0 || c.Challenge != PlayerChallenge(c.Key) {
					t.Errorf("Authenticate: %v, session key %d", err, c.Key)
				}
				return
			}
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tt.why.Text()) || f.dropped(tt.why) != 1 {
				t.Errorf("Authenticate: %v, want %q", err, tt.why.Text())
			}
		})
	}
}

func TestSessionKeys(t *testing.T) {
	t.Parallel()
	var k sessionKeys
	draws := []uint64{1 << 31, 0, 5, 5 | 1<<63, 5, 6, 5}
	k.draw = func() (n uint64) { n, draws = draws[0], draws[1:]; return n }
	a, b := k.take(), k.take()
	k.give(a)
	if c := k.take(); a != 5 || b != 6 || c != 5 {
		t.Errorf("keys %d, %d and after the first is free %d, want 5, 6, 5", a, b, c)
	}
	var random sessionKeys
	seen := make(map[int32]bool)
	for range 1000 {
		key := random.take()
		if key <= 0 || seen[key] {
			t.Fatalf("key %d", key)
		}
		seen[key] = true
	}
}

func TestEarlyRequests(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`\getpd\\pid\1\ptype\3\dindex\0\keys\\lid\1`, `\authp\\pid\1\resp\x\lid\1`, `\newgame\\connid\1\sesskey\1`, `\ka\`, "", "garbage", `\\\\`,
	} {
		f := start(t, nil)
		c := f.connect()
		c.send(body)
		c.closed(endedEarly.Text())
		if f.dropped(endedEarly) != 1 {
			t.Errorf("%q is not counted", body)
		}
	}
}

func TestAuthenticatePlayer(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.game()
	other := f.game()
	proof := Proof(testPassword, c.Challenge)
	for _, tt := range []struct{ name, body, want string }{
		{"another connection's answer", `\authp\\pid\100001\resp\` + Proof(testPassword, other.Challenge) + `\lid\7`, `\pauthr\-1\lid\7\errmsg\` + accounts.ErrBadPassword.Error()},
		{"no profile", `\authp\\resp\` + proof + `\lid\8`, `\pauthr\-1\lid\8\errmsg\the request is malformed`},
		{"profile 0", `\authp\\pid\0\resp\` + proof + `\lid\8`, `\pauthr\-1\lid\8\errmsg\the request is malformed`},
		{"profile of no number", `\authp\\pid\x\resp\` + proof + `\lid\8`, `\pauthr\-1\lid\8\errmsg\the request is malformed`},
		{"negative profile", `\authp\\pid\-100001\resp\` + proof + `\lid\8`, `\pauthr\-1\lid\8\errmsg\the request is malformed`},
		{"huge profile", `\authp\\pid\4294967295\resp\` + proof + `\lid\8`, `\pauthr\-1\lid\8\errmsg\the request is malformed`},
		{"no local id", `\authp\\pid\100001\resp\` + proof, `\pauthr\100001\lid\0`},
		{"again", `\authp\\pid\100001\resp\` + proof + `\lid\-9`, `\pauthr\100001\lid\-9`},
		{"another player", `\authp\\pid\100002\resp\` + proof + `\lid\10`, `\pauthr\100002\lid\10`},
		{"token", `\authp\\authtoken\TOKEN123\resp\x\lid\11`, `\pauthr\100003\lid\11`},
		{"wrong token", `\authp\\authtoken\TOKEN124\resp\x\lid\11`, `\pauthr\-1\lid\11\errmsg\` + accounts.ErrBadProfile.Error()},
		{"unknown CD key", `\authp\\nick\Nick1\keyhash\00\resp\x\lid\12`, `\pauthr\-1\lid\12\errmsg\` + accounts.ErrBadProfile.Error()},
		{"profile by CD key", `\getpid\\nick\Nick1\keyhash\d3b07384d113edec49eaa6238ad5ff00\lid\13`, `\getpidr\100004\lid\13`},
		{"no profile by CD key", `\getpid\\nick\Nick2\keyhash\d3b07384d113edec49eaa6238ad5ff00\lid\14`, `\getpidr\-1\lid\14\errmsg\not found`},
	} {
		c.send(tt.body)
		if got := c.next(); got != tt.want {
			t.Errorf("%s: answer %q, want %q", tt.name, got, tt.want)
		}
	}
	if n := f.value("respawnd_gstats_players"); n != 3 {
		t.Errorf("%d players, want 3", n)
	}
}

func TestMaxPlayers(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.game()
	proof := Proof(testPassword, c.Challenge)
	for i := range maxPlayers {
		c.want(fmt.Sprintf(`\authp\\pid\%d\resp\%s\lid\1`, i+1, proof), fmt.Sprintf(`\pauthr\%d\lid\1`, i+1))
	}
	c.want(`\authp\\pid\500\resp\`+proof+`\lid\1`, `\pauthr\-1\lid\1\errmsg\too many players on one connection`)
	c.want(`\authp\\pid\5\resp\`+proof+`\lid\1`, `\pauthr\5\lid\1`)
	f.hub.KickProfile(t.Context(), 5, presence.ErrKicked)
	c.want(`\authp\\pid\500\resp\`+proof+`\lid\1`, `\pauthr\500\lid\1`)
}

// A ban, a deletion and a new password end the authentication, and nothing else.
func TestKick(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.player()
	c.want(`\authp\\pid\100002\resp\`+Proof(testPassword, c.Challenge)+`\lid\1`, `\pauthr\100002\lid\1`)
	const get, set = `\getpd\\pid\100001\ptype\1\dindex\0\keys\\lid\2`, `\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\3\length\1\data\x`
	c.want(set, `\setpdr\1\lid\3\pid\100001\mod\1700000123`)
	if n := f.hub.KickUser(t.Context(), 100001, presence.ErrBanned); n != 1 {
		t.Fatalf("%d sessions of the user", n)
	}
	c.want(get, `\getpdr\0\lid\2\pid\100001`)
	c.want(set, `\setpdr\0\lid\3\pid\100001\mod\0`)
	c.want(`\getpd\\pid\100002\ptype\1\dindex\0\keys\\lid\2`, `\getpdr\1\lid\2\pid\100002\mod\0\length\0\data\`)
	f.players.mu.Lock()
	f.players.banned[100001] = true // after the proof was checked
	f.players.mu.Unlock()
	c.want(`\authp\\pid\100001\resp\`+Proof(testPassword, c.Challenge)+`\lid\1`, `\pauthr\-1\lid\1\errmsg\the account is banned`)
	if n := f.hub.KickUser(t.Context(), 100001, presence.ErrBanned); n != 0 {
		t.Errorf("%d sessions of a user who was refused", n)
	}
	f.players.mu.Lock()
	f.players.changed[100003] = true // after the proof was checked
	f.players.mu.Unlock()
	c.want(`\authp\\pid\100003\resp\`+Proof(testPassword, c.Challenge)+`\lid\1`, `\pauthr\-1\lid\1\errmsg\the password is wrong or not valid`)
	if n := f.hub.KickUser(t.Context(), 100003, presence.ErrKicked); n != 0 {
		t.Errorf("%d sessions of a user with another password", n)
	}
}

func TestUnproven(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		allowed, present bool
		err              error
		want             string
	}{
		"off":            {false, true, accounts.ErrNotKept, `\pauthr\-1\lid\1\errmsg\the password itself is not kept`},
		"not signed in":  {true, false, accounts.ErrNotKept, `\pauthr\-1\lid\1\errmsg\the password itself is not kept`},
		"signed in":      {true, true, accounts.ErrNotKept, `\pauthr\100001\lid\1`},
		"wrong password": {true, true, accounts.ErrBadPassword, `\pauthr\-1\lid\1\errmsg\` + accounts.ErrBadPassword.Error()},
		"store broken":   {true, true, errors.New("broken"), `\pauthr\-1\lid\1\errmsg\the server cannot check that now`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, func(o *Options) {
				o.Unproven = tt.allowed
				o.Present = func(_ context.Context, id storage.ProfileID, from netip.Addr) bool {
					return tt.present && id == firstPlayer && from.IsLoopback()
				}
			})
			f.players.err = tt.err
			f.game().want(`\authp\\pid\100001\resp\x\lid\1`, tt.want)
		})
	}
}

func TestSetAndGet(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.player()
	stored := func(kind storage.StatKind, index int32) []byte {
		return f.book.blocks[blockOfTest(firstPlayer, kind, index)].Data
	}
	for _, tt := range []struct {
		name, body, want string
		kind             storage.StatKind
		index            int32
		data             string // of that block afterwards
	}{
		{"plain", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\3\data\abc`, `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 1, 5, "abc"},
		{"greatest index", `\setpd\\pid\100001\ptype\3\dindex\2147483647\kv\0\lid\1\length\1\data\z`, `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 3, 1<<31 - 1, "z"},
		{"any bytes", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\12\data\` + "\x00\\final\\\x01\\lid", `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 1, 5, "\x00\\final\\\x01\\li"},
		{"empty", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\0\data\`, `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 1, 5, ""},
		{"length of one more", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\4\data\abc`, `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 1, 5, "abc"},
		{"length of one less", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\2\data\abc`, `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 1, 5, "ab"},
		{"no length", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\data\abc`, `\setpdr\0\lid\1\pid\100001\mod\0`, 1, 5, "ab"},
		{"negative length", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\-1\data\abc`, `\setpdr\0\lid\1\pid\100001\mod\0`, 1, 5, "ab"},
		{"no data", `\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\3`, `\setpdr\0\lid\1\pid\100001\mod\0`, 1, 5, "ab"},
		{"private, read only", `\setpd\\pid\100001\ptype\0\dindex\5\kv\0\lid\1\length\1\data\x`, `\setpdr\0\lid\1\pid\100001\mod\0`, 0, 5, ""},
		{"public, read only", `\setpd\\pid\100001\ptype\2\dindex\5\kv\0\lid\1\length\1\data\x`, `\setpdr\0\lid\1\pid\100001\mod\0`, 2, 5, ""},
		{"no such kind", `\setpd\\pid\100001\ptype\4\dindex\5\kv\0\lid\1\length\1\data\x`, `\setpdr\0\lid\1\pid\100001\mod\0`, 1, 5, "ab"},
		{"negative index", `\setpd\\pid\100001\ptype\1\dindex\-1\kv\0\lid\1\length\1\data\x`, `\setpdr\0\lid\1\pid\100001\mod\0`, 1, -1, ""},
		{"huge index", `\setpd\\pid\100001\ptype\1\dindex\2147483648\kv\0\lid\1\length\1\data\x`, `\setpdr\0\lid\1\pid\100001\mod\0`, 1, 0, ""},
		{"another player", `\setpd\\pid\100002\ptype\1\dindex\5\kv\0\lid\1\length\1\data\x`, `\setpdr\0\lid\1\pid\100002\mod\0`, 1, 5, "ab"},
		{"negative profile", `\setpd\\pid\-1\ptype\1\dindex\5\kv\0\lid\77\length\1\data\x`, `\setpdr\0\lid\77\pid\-1\mod\0`, 1, 5, "ab"},
		{"repeated fields", `\setpd\\pid\100001\pid\100002\ptype\3\ptype\0\dindex\1\dindex\2\kv\0\lid\1\lid\9\length\1\length\7\data\y`, `\setpdr\1\lid\1\pid\100001\mod\1700000123`, 3, 1, "y"},
	} {
		c.send(tt.body)
		if got := c.next(); got != tt.want {
			t.Errorf("set %s: answer %q, want %q", tt.name, got, tt.want)
		}
		if got := string(stored(tt.kind, tt.index)); got != tt.data {
			t.Errorf("set %s: stored %q, want %q", tt.name, got, tt.data)
		}
	}
	stranger := f.game()
	const head = `\getpdr\1\lid\1\pid\100001\mod\1700000123\length\`
	for _, tt := range []struct {
		name, body, own, stranger string
	}{
		{"private", `\getpd\\pid\100001\ptype\1\dindex\5\keys\\lid\1`, head + `2\data\ab`, `\getpdr\0\lid\1\pid\100001`},
		{"private, absent", `\getpd\\pid\100001\ptype\0\dindex\5\keys\\lid\1`, `\getpdr\1\lid\1\pid\100001\mod\0\length\0\data\`, `\getpdr\0\lid\1\pid\100001`},
		{"public", `\getpd\\pid\100001\ptype\3\dindex\1\keys\\lid\1`, head + `1\data\y`, head + `1\data\y`},
		{"public, absent", `\getpd\\pid\100001\ptype\2\dindex\1\keys\\lid\1`, `\getpdr\1\lid\1\pid\100001\mod\0\length\0\data\`, `\getpdr\1\lid\1\pid\100001\mod\0\length\0\data\`},
		{"changed since", `\getpd\\pid\100001\ptype\3\dindex\1\keys\\lid\1\mod\1700000122`, head + `1\data\y`, head + `1\data\y`},
		{"not changed since", `\getpd\\pid\100001\ptype\3\dindex\1\keys\\lid\1\mod\1700000123`, `\getpdr\2\lid\1\pid\100001\mod\1700000123`, `\getpdr\2\lid\1\pid\100001\mod\1700000123`},
		{"absent since", `\getpd\\pid\100001\ptype\3\dindex\9\keys\\lid\1\mod\0`, `\getpdr\2\lid\1\pid\100001\mod\0`, `\getpdr\2\lid\1\pid\100001\mod\0`},
		{"no kind", `\getpd\\pid\100001\dindex\1\keys\\lid\1`, `\getpdr\0\lid\1\pid\100001`, `\getpdr\0\lid\1\pid\100001`},
		{"negative kind", `\getpd\\pid\100001\ptype\-1\dindex\1\keys\\lid\1`, `\getpdr\0\lid\1\pid\100001`, `\getpdr\0\lid\1\pid\100001`},
		{"too many keys", `\getpd\\pid\100001\ptype\3\dindex\1\keys\` + strings.Repeat("\x01abc", 257) + `\lid\1`, `\getpdr\0\lid\1\pid\100001`, `\getpdr\0\lid\1\pid\100001`},
	} {
		for who, by := range map[string]client{tt.own: c, tt.stranger: stranger} {
			by.send(tt.body)
			if got := by.next(); got != who {
				t.Errorf("get %s: answer %q, want %q", tt.name, got, who)
			}
		}
	}
	f.book.err = errors.New("broken")
	c.want(`\getpd\\pid\100001\ptype\3\dindex\1\keys\\lid\1`, `\getpdr\0\lid\1\pid\100001`)
	c.want(`\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\3\data\abc`, `\setpdr\0\lid\1\pid\100001\mod\0`)
	f.book.err = stats.ErrFull
	c.want(`\setpd\\pid\100001\ptype\1\dindex\5\kv\0\lid\1\length\3\data\abc`, `\setpdr\0\lid\1\pid\100001\mod\0`)
	if failed, large := f.value("respawnd_gstats_sets_total", "failed"), f.value("respawnd_gstats_sets_total", "too_large"); failed != 1 || large != 1 {
		t.Errorf("counted %d failures and %d blocks that are too large", failed, large)
	}
}

// Data whose obfuscated form holds the terminator arrive whole, and a length that lies is
// refused.
func TestDataWithTerminator(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.player()
	head := `\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\1\length\60\data\`
	data := hidden(len(head), 20, 60)
	c.want(head+data, `\setpdr\1\lid\1\pid\100001\mod\1700000123`)
	if got := f.book.blocks[blockOfTest(firstPlayer, 1, 0)].Data; string(got) != data {
		t.Errorf("stored %q, want %q", got, data)
	}
	c.send(`\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\2\length\80\data\short`, `\ka\`, `\ka\`, `\ka\`, `\ka\`, `\ka\`, `\ka\`, `\ka\`, `\ka\`)
	if got := c.next(); got != `\setpdr\0\lid\2\pid\100001\mod\0` {
		t.Errorf("a length that lies is answered with %q", got)
	}
	for range 8 {
		if got := c.next(); got != `\ka\` {
			t.Errorf("then %q", got)
		}
	}
	if f.dropped(droppedCut) != 1 || !bytes.Equal(f.book.blocks[blockOfTest(firstPlayer, 1, 0)].Data, []byte(data)) {
		t.Error("the short data were stored, or not counted")
	}
}

func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.game()
	c.send(`\nosuch\\a\b`, "", `\`, "text", `\auth\\gamename\gmtest`, strings.Repeat("\x00", 100))
	c.want(`\ka\`, `\ka\`)
	if n := f.dropped(droppedUnknown); n != 6 {
		t.Errorf("%d unknown requests, want 6", n)
	}
}
