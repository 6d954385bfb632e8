package fesl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// TestExamples replays the worked-out dialogue of Red Alert 3. The values of some keys are
// not the same each time.
func TestExamples(t *testing.T) {
	f := start(t, nil)
	f.register()
	all := examples(t)
	p := f.connect()
	for _, step := range []struct{ send, want string }{
		{"C1 Hello", "S1 Hello"},
		{"", "S2 MemCheck"},
		{"C2 MemCheck", ""},
		{"C3 NuLogin", "S3 NuLogin"},
		{"C4 NuGetPersonas", "S4 NuGetPersonas"},
		{"C5 NuLoginPersona", "S5 NuLoginPersona"},
		{"C6 GameSpyPreAuth", "S6 GameSpyPreAuth"},
	} {
		if step.send != "" {
			p.send(all[step.send])
		}
		if step.want == "" {
			continue
		}
		got, err := p.in.Next(p.r, maxFrame)
		if err != nil {
			t.Fatal(err)
		}
		text, err := wire.ParseText(got.Payload, wire.MaxLines)
		if err != nil {
			t.Fatal(err)
		}
		if again := text.Append(nil, wire.ServerEnd); !bytes.Equal(got.Payload, again) {
			t.Errorf("%s: %q is not the form of the examples, %q", step.want, got.Payload, again)
		}
		header, want := textOf(t, all[step.want])
		if got.Header != header || !cmp.Equal(settled(text), settled(want)) {
			t.Errorf("%s: %v %v\nwant %v %v", step.want, got.Header, settled(text), header, settled(want))
		}
	}
}

// settled returns a text without the values that are not the same each time.
func settled(t wire.Text) wire.Text {
	for i, f := range t {
		switch f.Key {
		case "curTime", "theaterPort", "salt", "lkey", "userId", "profileId", "challenge", "ticket":
			t[i].Value = strings.Repeat("?", min(len(f.Value), 1))
		}
	}
	return t
}

func TestErrorExample(t *testing.T) {
	f := start(t, nil)
	f.register()
	p := f.greeted(testGame)
	got := p.wantError(codePassword, "acct", "NuLogin", "nuid", testEmail, "password", "wrong")
	if _, want := textOf(t, examples(t)["S3e NuLogin error"]); !cmp.Equal(got, want) {
		t.Errorf("answer %v, want %v", got, want)
	}
}

// TestPlay makes an account, a persona and a ticket, with which presence would sign in.
func TestPlay(t *testing.T) {
	for family, names := range map[string]struct{ add, login, list, persona, enter, members string }{
		"Nu":         {"NuAddAccount", "NuLogin", "NuGetPersonas", "NuAddPersona", "NuLoginPersona", "personas"},
		"SubAccount": {"AddAccount", "Login", "GetSubAccounts", "AddSubAccount", "LoginSubAccount", "subAccounts"},
	} {
		t.Run(family, func(t *testing.T) {
			f := start(t, nil)
			p := f.greeted(testGame)
			email := testEmail
			if family == "Nu" {
				email = strings.Repeat("x", storage.MaxNick) + email // does not fit in a nick
			}
			var who []string
			personas := []string{"Second"}
			if family == "Nu" {
				who = []string{"nuid", email, "password", testPassword}
				p.want("acct", names.add, who...)
			} else {
				who = []string{"name", testPersona, "password", testPassword}
				p.want("acct", names.add, append(who, "email", email)...)
				personas = []string{testPersona, "Second"}
			}
			p.wantError(codeNotSignedIn, "acct", names.list)
			p.want("acct", names.login, who...)
			if got := p.want("acct", names.list).List(names.members); !cmp.Equal(got, personas[:len(personas)-1]) && len(got)+len(personas) != 1 {
				t.Errorf("first personas %q", got)
			}
			p.want("acct", names.persona, "name", "Second")
			if got := p.want("acct", names.list).List(names.members); !cmp.Equal(got, personas) {
				t.Errorf("personas %q, want %q", got, personas)
			}
			p.wantError(codeNotSignedIn, "acct", "GameSpyPreAuth")
			p.wantError(codeUnknownName, "acct", names.enter, "name", "Unknown")
			entered := p.want("acct", names.enter, "name", "sECOND")
			ticket := p.want("acct", "GameSpyPreAuth")
			l, err := f.accounts.SignIn.CheckProof(t.Context(), accounts.Proof{Token: ticket.Get("ticket"), Digest: ticket.Get("challenge"), Namespace: 1})
			if err != nil || l.UniqueNick != "Second" || entered.Get("userId") != "1" {
				t.Errorf("the ticket signs in %q, %v; entered as %v", l.UniqueNick, err, entered)
			}
			if _, err := f.accounts.SignIn.CheckProof(t.Context(), accounts.Proof{Token: ticket.Get("ticket"), Digest: ticket.Get("challenge")}); !errors.Is(err, accounts.ErrBadToken) {
				t.Errorf("the ticket again: %v", err)
			}
		})
	}
}

// TestOneAccount signs in to an account of another namespace with its unique nick.
func TestOneAccount(t *testing.T) {
	f := start(t, nil)
	if _, err := f.accounts.Users.Register(t.Context(), accounts.Registration{Namespace: 12, Email: testEmail, Nick: "Soldier", UniqueNick: "Soldier12", Password: testPassword}); err != nil {
		t.Fatal(err)
	}
	p := f.greeted("bf2142-pc")
	answer := p.want("acct", "Login", "name", "soldier12", "password", testPassword, "returnEncryptedInfo", "1")
	if answer.Get("displayName") != "soldier12" || answer.Get("entitledGameFeatureWrappers.0.gameFeatureId") != "2590" {
		t.Errorf("answer %v", answer)
	}
	token := answer.Get("encryptedLoginInfo")
	p = f.greeted(testGame)
	p.want("acct", "NuLogin", "encryptedInfo", token)
	if got := p.want("acct", "NuGetPersonas").List("personas"); !cmp.Equal(got, []string{"Soldier12"}) {
		t.Errorf("personas %q", got)
	}
	p.want("acct", "NuLoginPersona", "name", "Soldier12")
	if _, _, err := f.accounts.Profiles.ByUniqueNick(t.Context(), 1, "Soldier12"); err != nil {
		t.Errorf("the name in the other namespace: %v", err)
	}
	p.wantError(codePassword, "acct", "NuLogin", "encryptedInfo", token[:len(token)-4]+"AAA.")
	if err := f.accounts.Passwords.Change(t.Context(), 1, "another"); err != nil {
		t.Fatal(err)
	}
	f.greeted(testGame).wantError(codePassword, "acct", "NuLogin", "encryptedInfo", token)
}

func TestRefusals(t *testing.T) {
	f := start(t, func(o *Options) { o.MaxPersonas = 2; o.Registrations = 3 })
	f.register()
	p := f.greeted(testGame)
	p.wantError(codeUnknownName, "acct", "NuLogin", "nuid", "unknown@b.example", "password", "x")
	p.wantError(codeUnknownName, "acct", "Login", "name", "Unknown", "password", "x")
	p.wantError(codePassword, "acct", "Login", "name", testPersona, "password", "x")
	p.wantError(codeUnknownName, "acct", "NuPS3Login", "ticket", "$00")
	for field, fields := range map[string][]string{
		fieldEmail: {"nuid", "", "password", "x"}, fieldPassword: {"nuid", "b@b.example", "password", strings.Repeat("x", accounts.MaxPassword+1)},
	} {
		if got := p.wantError(codeFields, "acct", "NuAddAccount", fields...); got.Get("errorContainer.0.fieldName") != field {
			t.Errorf("answer %v, want field %s", got, field)
		}
	}
	p.wantError(codeFields, "acct", "NuAddAccount", "nuid", "no address", "password", "x")
	p.wantError(codeNameTaken, "acct", "NuAddAccount", "nuid", testEmail, "password", "x")
	p.wantError(codeNameTaken, "acct", "AddAccount", "name", testPersona, "email", "c@b.example", "password", "x")
	p.wantError(codeTooOften, "acct", "NuAddAccount", "nuid", "d@b.example", "password", "x")

	p = f.signedIn(testGame)
	for name, why := range map[string]string{
		"": "REQUIRED_FIELD", "ab": "TOO_SHORT", strings.Repeat("a", maxPersona+1): "TOO_LONG", "1abc": "MUST_BEGIN_WITH_LETTER", "a b": "NOT_ALLOWED", "a\nTXN=x": "NOT_ALLOWED",
	} {
		if got := p.wantError(codeFields, "acct", "NuAddPersona", "name", name); got.Get("errorContainer.0.value") != why {
			t.Errorf("persona %q: %v", name, got)
		}
	}
	p.wantError(codeNameTaken, "acct", "NuAddPersona", "name", "tanya")
	p.want("acct", "NuAddPersona", "name", strings.Repeat("b", maxPersona))
	p.wantError(codeTooMany, "acct", "NuAddPersona", "name", "Third")
	p.want("acct", "NuDisablePersona", "name", strings.Repeat("b", maxPersona))
	p.wantError(codeSystem, "acct", "NuDisablePersona", "name", testPersona) // the last one
	p.wantError(codeUnknownName, "acct", "NuDisablePersona", "name", "Third")
	p.wantError(codeKeyBad, "acct", "NuEntitleGame", "key", "")
	p.want("acct", "NuLoginPersona", "name", testPersona)
	p.wantError(codeNoRecord, "recp", "GetRecord")
}

// What an account says about its player, from its form on.
func TestDetails(t *testing.T) {
	f := start(t, nil)
	p := f.greeted("bf2142-pc")
	details := []string{"countryCode", "de", "zipCode", "10115", "DOBDay", "24", "DOBMonth", "11", "DOBYear", "1989"}
	p.want("acct", "AddAccount", append([]string{"name", "Ivan", "email", testEmail, "password", testPassword}, details...)...)
	p.want("acct", "Login", "name", "Ivan", "password", testPassword)
	want := func(country, name, day, zip, gender string) {
		t.Helper()
		got := p.want("acct", "GetAccount")
		is := [5]string{got.Get("countryCode"), got.Get("countryDesc"), got.Get("dobDay") + "." + got.Get("dobMonth") + "." + got.Get("dobYear"), got.Get("zipCode"), got.Get("gender")}
		if is != [5]string{country, name, day, zip, gender} {
			t.Errorf("account %v", got)
		}
	}
	want("DE", "Germany", "24.11.1989", "10115", "U")
	p.want("acct", "UpdateAccount", "email", testEmail, "countryCode", "FR", "gender", "F")
	want("FR", "France", "24.11.1989", "10115", "F")
	for _, bad := range [][]string{
		{"countryCode", "XYZ"}, {"email", "other@example.com"}, {"DOBDay", "31", "DOBMonth", "2", "DOBYear", "1990"}, {"DOBYear", "x"}, {"zipCode", strings.Repeat("1", 4000)},
	} {
		if bad[1] == "x" { // the birthday is taken back
			p.want("acct", "UpdateAccount", bad...)
			continue
		}
		p.wantError(codeFields, "acct", "UpdateAccount", bad...)
	}
	want("FR", "France", "..", "10115", "F")
}

// The first key of a game is kept, and belongs to no other account.
func TestGameKeys(t *testing.T) {
	f := start(t, nil)
	f.register()
	p := f.signedIn("bf2142-pc")
	p.want("acct", "RegisterGame", "code", "AAAA-BBBB", "game", "GAME-BF2142")
	p.want("acct", "RegisterGame", "code", "aaaabbbb")
	p.want("acct", "RegisterGame", "code", "CCCC-DDDD") // it has one
	kept, err := f.store.GetProfile(t.Context(), 1)
	if err != nil || len(kept.CDKeys) != 1 || kept.CDKeys[0].Game != "stella" {
		t.Errorf("keys %+v, %v", kept.CDKeys, err)
	}
	other := f.greeted("bf2142-pc")
	other.want("acct", "AddAccount", "name", "Oleg", "email", "oleg@b.example", "password", testPassword)
	other.want("acct", "Login", "name", "Oleg", "password", testPassword)
	other.wantError(codeKeyTaken, "acct", "RegisterGame", "code", "AAAA BBBB")
	other.wantError(codeKeyBad, "acct", "RegisterGame", "code", "")
	other.want("acct", "RegisterGame", "code", "CCCC-DDDD")
	unknown := f.signedIn("mercs2-pc")
	unknown.want("acct", "RegisterGame", "code", "AAAA-BBBB")
}

func TestPrivate(t *testing.T) {
	f := start(t, func(o *Options) { o.Private = func() bool { return true } })
	p := f.greeted(testGame)
	p.wantError(codePassword, "acct", "NuLogin", "nuid", "unknown@b.example", "password", "x")
}

// TestThrottle tries passwords until no more are checked.
func TestThrottle(t *testing.T) {
	f := start(t, nil)
	f.register()
	for range 50 {
		p := f.greeted(testGame)
		_, err := p.Ask(t.Context(), "acct", "NuLogin", "nuid", testEmail, "password", "wrong")
		if why, ok := errors.AsType[*Error](err); ok && why.Code == int(codeTooOften) {
			return
		}
	}
	t.Error("50 wrong passwords were checked")
}

// TestOthers asks for what games ask beside their accounts.
func TestOthers(t *testing.T) {
	f := start(t, nil)
	f.register()
	p := f.signedIn("bf2142-pc")
	pack := []string{"domainId", "eagames", "objectIds.[]", "1", "objectIds.0", northernStrike}
	for _, on := range []bool{true, false} {
		c := f.server.opt.Config
		c.NorthernStrike = on
		f.server.Reload(&c)
		if got := p.want("dobj", "GetObjectInventory", pack...).Get("entitlements.[]"); got != map[bool]string{true: "1", false: "0"}[on] {
			t.Errorf("northern_strike %v: %s objects", on, got)
		}
	}
	if got := p.want("subs", "GetEntitlementByBundle", "bundleId", "x"); got.Get("EntitlementByBundle.[]") != "0" {
		t.Errorf("subs: %v", got)
	}
	if got := p.want("acct", "GetCountryList"); got.Get("countryList.0.ISOCode") != "AR" {
		t.Errorf("countries: %v", got)
	}
	if got := p.want("acct", "GetTos").Get("tos"); !strings.Contains(got, "password") {
		t.Errorf("terms %q", got)
	}
	if got := p.want("acct", "GetAccount"); got.Get("email") != testEmail || got.Get("countryCode") != "" || got.Get("gender") != "U" {
		t.Errorf("account %v", got)
	}
	if got := p.want("fsys", "GetPingSites"); got.Get("pingSite.0.addr") != "127.0.0.1" {
		t.Errorf("ping sites %v", got)
	}
	got := p.want("acct", "LookupUserInfo", "userInfo.[]", "2", "userInfo.0.userName", "Nobody1", "userInfo.1.userName", testPersona)
	if got.Get("userInfo.[]") != "2" || got.Get("userInfo.0.userId") != "" {
		t.Errorf("looked up: %v", got)
	}
	p.want("acct", "LoginSubAccount", "name", testPersona)
	got = p.want("acct", "LookupUserInfo", "userInfo.[]", "3", "userInfo.0.userId", "1", "userInfo.1.userId", "99", "userInfo.2.userId", "one")
	if got.Get("userInfo.[]") != "3" || got.Get("userInfo.0.userName") != testPersona || got.Get("userInfo.0.masterUserId") != "1" ||
		got.Get("userInfo.1.userId") != "99" || got.Get("userInfo.2.userId") != "one" {
		t.Errorf("looked up by numbers: %v", got)
	}
	if _, ok := got.Look("userInfo.1.userName"); ok {
		t.Errorf("an unknown number has a name: %v", got)
	}
	if got := p.want("rank", "GetStats", "keys.[]", "1", "keys.0", "vz"); got.Get("stats.0.value") != "0.0000" {
		t.Errorf("stats %v", got)
	}
	if got := p.want("asso", "GetAssociations", "owner.id", "1"); got.Get("members.[]") != "0" {
		t.Errorf("associations %v", got)
	}
	if got := p.want("acct", "XBLLogin", "TID", "7"); !cmp.Equal(got, wire.Text{{Key: "TXN", Value: "XBLLogin"}, {Key: "TID", Value: "7"}}) {
		t.Errorf("unknown request: %v", got)
	}
}

// TestEnds ends sessions for all reasons.
func TestEnds(t *testing.T) {
	f := start(t, nil)
	f.register()
	persona := func() peer {
		p := f.signedIn(testGame)
		p.want("acct", "NuLoginPersona", "name", testPersona)
		return p
	}
	first := persona()
	second := persona()
	if err := first.wantEnd(); !errors.Is(err, ErrGoodbye) {
		t.Errorf("displaced: %v", err)
	}
	second.want("fsys", "Ping")
	f.hub.KickUser(t.Context(), 1, presence.ErrBanned)
	if err := second.wantEnd(); !errors.Is(err, ErrGoodbye) || !strings.Contains(err.Error(), "banned") {
		t.Errorf("banned: %v", err)
	}
	p := f.signedIn(testGame)
	if _, err := p.Ask(t.Context(), "fsys", "Goodbye", "reason", "GOODBYE_CLIENT_NORMAL"); !errors.Is(err, io.EOF) {
		t.Errorf("goodbye: %v", err)
	}
	p = persona()
	f.stop()
	if err := p.wantEnd(); !errors.Is(err, ErrGoodbye) {
		t.Errorf("shutdown: %v", err)
	}
}

// TestBad sends what no game sends.
func TestBad(t *testing.T) {
	frame := func(service string, k wire.Kind, text string) []byte {
		return (&wire.Frame{Header: wire.Header{Service: service, Kind: k, Number: 1}, Payload: []byte(text)}).Append(nil)
	}
	hello := frame("fsys", wire.Request, "TXN=Hello\nclientString=x\n\x00")
	for name, tc := range map[string]struct {
		send []byte
		told bool // the client is sent a Goodbye
	}{
		"scanner":               {[]byte("\x00\x01"), false},
		"handshake without TLS": {[]byte("\x16\x03\x01"), false},
		"HTTP":                  {[]byte("GET / HTTP/1.1\r\n\r\n"), false},
		"no Hello":              {frame("acct", wire.Request, "TXN=NuLogin\n\x00"), false},
		"unknown before Hello":  {frame("acct", wire.Request, "TXN=What\n\x00"), false},
		"answer before Hello":   {frame("fsys", wire.Reply, "TXN=Ping\n\x00"), false},
		"kind":                  {append(bytes.Clone(hello), frame("fsys", 0x11, "")...), true},
		"too long":              {append(bytes.Clone(hello), frame("fsys", wire.Request, strings.Repeat("x", maxEarly-wire.HeaderSize+1))...), true},
		"too many lines":        {append(bytes.Clone(hello), frame("fsys", wire.Request, strings.Repeat("a=\n", wire.MaxLines+1))...), true},
		"part before sign-in":   {append(bytes.Clone(hello), frame("fsys", wire.RequestPart, "size=8\ndata=QUFB")...), false},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, nil)
			p := f.connect()
			go func() { _, _ = p.conn.Write(tc.send) }()
			if err := p.wantEnd(); errors.Is(err, ErrGoodbye) != tc.told {
				t.Errorf("ended with %v, want a Goodbye: %v", err, tc.told)
			}
		})
	}
}

// TestLongest sends the longest frames, and a long message.
func TestLongest(t *testing.T) {
	f := start(t, nil)
	f.register()
	p := f.greeted(testGame)
	pad := func(n int) string { return strings.Repeat("\n", n) }
	send := func(size int, text string) {
		p.send((&wire.Frame{Header: wire.Header{Service: "fsys", Kind: wire.Request, Number: 99}, Payload: []byte(text + pad(size-wire.HeaderSize-len(text)))}).Append(nil))
		for {
			h, _, err := p.Next(t.Context())
			if err != nil {
				t.Fatalf("frame of %d bytes: %v", size, err)
			}
			if h.Number == 99 {
				return
			}
		}
	}
	send(maxEarly, "TXN=Ping\n")
	p.want("acct", "NuLogin", "nuid", testEmail, "password", testPassword)
	send(maxFrame, "TXN=Ping\n")
	over := f.signedIn(testGame)
	over.send((&wire.Frame{Header: wire.Header{Service: "fsys", Kind: wire.Request}, Payload: make([]byte, maxFrame-wire.HeaderSize+1)}).Append(nil))
	if err := over.wantEnd(); !errors.Is(err, ErrGoodbye) {
		t.Errorf("a frame of more than %d bytes: %v", maxFrame, err)
	}
	p.want("acct", "NuLoginPersona", "name", testPersona)
	fields := []string{"keys.[]", "600"}
	for i := range 600 {
		fields = append(fields, wire.Member("keys", i), "a key with a long name "+strings.Repeat("x", i%50))
	}
	if got := p.want("rank", "GetStats", fields...); got.Get("stats.599.value") != "0.0000" {
		t.Errorf("%d lines", len(got))
	}
}

// TestAlive counts the signs of life that a client is asked for.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		f.register()
		alive := f.signedIn(testGame)
		asked := make(map[string]int)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute+time.Second)
		defer cancel()
		for {
			_, text, err := alive.Next(ctx)
			if err != nil {
				break
			}
			asked[text.TXN()]++
		}
		if asked["MemCheck"] < 29 || asked["Ping"] < 14 {
			t.Errorf("in half an hour: %v", asked)
		}
		f.stop()
	})
}

// TestSilent times the end of clients that say nothing.
func TestSilent(t *testing.T) {
	hello := []byte("TXN=Hello\nclientString=x\n\x00")
	whole := (&wire.Frame{Header: wire.Header{Service: "fsys", Kind: wire.Request, Number: 1}, Payload: hello}).Append(nil)
	for name, tc := range map[string]struct {
		send []byte
		want time.Duration
	}{
		"nothing":         {nil, 10 * time.Second},
		"half of a frame": {whole[:20], helloTime},
		"Hello alone":     {whole, 5 * time.Minute},
		"and a half":      {append(bytes.Clone(whole), whole[:20]...), 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startPipe(t, nil)
				p := f.connect()
				began := time.Now()
				go func() { _, _ = p.conn.Write(tc.send) }()
				_, _ = io.Copy(io.Discard, p.conn)
				if got := time.Since(began); got < tc.want || got > tc.want+time.Second {
					t.Errorf("ended after %v, want %v", got, tc.want)
				}
				f.stop()
			})
		})
	}
}

// TestPace sends more requests than a game.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		p := f.greeted(testGame)
		began := time.Now()
		for range paceBurst + 2*paceRate {
			p.want("fsys", "Ping")
		}
		if got := time.Since(began); got < 2*time.Second-100*time.Millisecond || got > 3*time.Second {
			t.Errorf("%d requests took %v", paceBurst+2*paceRate, got)
		}
		if got := testutil.ToFloat64(f.server.metrics.paced); got < 2*paceRate-2 || got > 2*paceRate+2 {
			t.Errorf("%v requests that waited were counted, want %d", got, 2*paceRate)
		}
		f.stop()
	})
}

func TestBanned(t *testing.T) {
	var banned atomic.Bool
	f := start(t, func(o *Options) { o.Banned = func(netip.Addr) bool { return banned.Load() } })
	p := f.greeted(testGame)
	banned.Store(true)
	if _, err := p.Ask(t.Context(), "fsys", "Ping"); !errors.Is(err, ErrGoodbye) {
		t.Errorf("banned: %v", err)
	}
	if _, err := f.connect().Hello(t.Context(), testGame); err == nil {
		t.Error("a banned client was greeted")
	}
}

// TestLogHoldsNoSecrets has a client do everything that carries one, and searches the log.
func TestLogHoldsNoSecrets(t *testing.T) {
	log := new(nettest.Log)
	f := start(t, func(o *Options) {
		o.Log = zerolog.New(log).Level(zerolog.TraceLevel)
		o.Verdicts = verdicts.NewLog(o.Log, 0)
	})
	secrets := []string{"pass-one", "pass-wrong", "new@secret.example", "$00ffee112233", "AAAA-BBBB"}
	p := f.greeted(testGame)
	p.want("acct", "NuAddAccount", "nuid", "new@secret.example", "password", "pass-one")
	p.wantError(codePassword, "acct", "NuLogin", "nuid", "new@secret.example", "password", "pass-wrong", "macAddr", "$00ffee112233")
	answer := p.want("acct", "NuLogin", "nuid", "new@secret.example", "password", "pass-one", "returnEncryptedInfo", "1")
	secrets = append(secrets, answer.Get("lkey"), answer.Get("encryptedLoginInfo"))
	p.want("acct", "NuEntitleGame", "key", "AAAA-BBBB")
	p.want("acct", "NuUpdatePassword", "password", "pass-one")
	p.want("acct", "NuAddPersona", "name", testPersona)
	secrets = append(secrets, p.want("acct", "NuLoginPersona", "name", testPersona).Get("lkey"))
	ticket := p.want("acct", "GameSpyPreAuth")
	secrets = append(secrets, ticket.Get("ticket"), ticket.Get("challenge"))
	_ = p.Close()
	f.stop()
	for _, s := range secrets {
		if len(s) < 4 || strings.Contains(log.String(), s) {
			t.Errorf("the log has %q in it:\n%s", s, log)
		}
	}
	if !strings.Contains(log.String(), "connection ended") || !strings.Contains(log.String(), "unknown request") {
		t.Errorf("the log says nothing of the session:\n%s", log)
	}
}

// TestChangedPassword asks for a ticket after the password was changed where the hub does
// not end the session.
func TestChangedPassword(t *testing.T) {
	f := start(t, nil)
	f.register()
	p := f.signedIn(testGame)
	p.want("acct", "NuLoginPersona", "name", testPersona)
	if err := f.accounts.Passwords.Change(t.Context(), storage.UserID(1), "another"); err != nil {
		t.Fatal(err)
	}
	p.wantError(codePassword, "acct", "GameSpyPreAuth")
	p.wantError(codePassword, "acct", "NuAddPersona", "name", "Second")
	p.wantError(codePassword, "acct", "NuDisablePersona", "name", testPersona)
}
