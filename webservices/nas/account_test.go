package nas

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

// profileOf signs a console in and returns the profile of its token.
func profileOf(f *fixture, form Form) storage.ProfileID {
	f.t.Helper()
	reply := f.ask(form)
	if code(reply) != codeSignedIn {
		f.t.Fatalf("code %s, verdicts %q", code(reply), f.noted())
	}
	l, err := f.accounts.SignIn.CheckProof(f.t.Context(), accounts.Proof{
		Token: string(reply.Value("token")), Digest: string(reply.Value("challenge")), Namespace: Namespace, From: home.Addr(),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if l.UniqueNick == "" || strings.Contains(l.UniqueNick, "1234567890123") {
		f.t.Errorf("unique nick %q", l.UniqueNick)
	}
	return l.Profile.ID
}

// TestLogin has one profile for each user id, game and console.
func TestLogin(t *testing.T) {
	f := build(t, nil)
	first := profileOf(f, login())
	for name, tt := range map[string]struct {
		changes []string
		same    bool
	}{
		"once more":              {nil, true},
		"another region":         {[]string{"gamecd", "RMCE"}, true},
		"another name":           {[]string{"ingamesn", "\x00B"}, true},
		"case of the game":       {[]string{"gsbrcd", "rmcj"}, true},
		"no gsbrcd":              {[]string{"gsbrcd", ""}, true},
		"case of the hardware":   {[]string{"macadr", "0017AB123456"}, true},
		"another game":           {[]string{"gsbrcd", "RSBJ"}, false},
		"another user id":        {[]string{"userid", "1234567890124"}, false},
		"another console":        {[]string{"macadr", "0017ab123457"}, false},
		"hardware is not stated": {[]string{"macadr", ""}, false},
	} {
		if got := profileOf(f, login(tt.changes...)); (got == first) != tt.same {
			t.Errorf("%s: profile %d, the first was %d", name, got, first)
		}
	}
	f = build(t, func(o *Options) { o.Config.NASHardware = false })
	if a, b := profileOf(f, login()), profileOf(f, login("macadr", "0017ab123457")); a != b {
		t.Errorf("profiles %d and %d of one user id, want one: the hardware does not count", a, b)
	}
}

// TestLoginFields refuses logins with values that are missing or wrong.
func TestLoginFields(t *testing.T) {
	f := build(t, nil)
	for name, form := range map[string]Form{
		"userid": without(login(), "userid"), "gamecd": without(login(), "gamecd"),
		"userid 0": login("userid", "0"), "userid too large": login("userid", "8796093022208"), "userid of letters": login("userid", "12a"),
		"gamecd too short": login("gamecd", "RMC"), "gamecd with a slash": login("gamecd", "R/.."), "gsbrcd too short": login("gsbrcd", "RMC"),
		"gsbrcd too long": login("gsbrcd", "RMCJRMCJR"), "gsbrcd with @": login("gsbrcd", "RM@J"), "unitcd": login("unitcd", "2"),
		"lang": login("lang", "1"), "region": login("region", "zz"), "cfc": login("cfc", "10000000000000000"),
		"macadr too long": login("macadr", strings.Repeat("0", maxHardware+1)), "macadr binary": login("macadr", "\x01"),
		"half a character": login("ingamesn", "\x00A\x00"), "half a pair": login("ingamesn", "\xD8\x3D"), "name too long": login("ingamesn", strings.Repeat("\x00A", maxName/2+1)),
		"devname": login("devname", "x"),
	} {
		reply := f.ask(form)
		if code(reply) != codeBadField || reply.Has("token") || string(reply.Value("retry")) != "0" {
			t.Errorf("%s: %s", name, reply.Append(nil))
		}
	}
	for name, form := range map[string]Form{
		"least": without(without(without(without(login(), "macadr"), "lang"), "ingamesn"), "cfc"), "highest user id": login("userid", "8796093022207"),
		"longest brand": login("gsbrcd", "RMCJRMCJ"), "no unitcd": without(login(), "unitcd"), "longest name": login("ingamesn", strings.Repeat("\x00A", maxName/2)),
		"unknown fields": login("wl:x", "\xFF", "bssid", ""),
	} {
		if reply := f.ask(form); code(reply) != codeSignedIn {
			t.Errorf("%s: code %s", name, code(reply))
		}
	}
	if n := f.counted(requestLogin, resultBadField); n != 20 {
		t.Errorf("%v logins were counted as wrong, want 20", n)
	}
	if !slices.ContainsFunc(f.noted(), func(s string) bool { return strings.HasPrefix(s, "malformed request: /ac login: ") }) {
		t.Errorf("verdicts %q", f.noted())
	}
}

func TestLoginRefused(t *testing.T) {
	allowed := 1
	f := build(t, func(o *Options) {
		o.MayRegister = func(from netip.Addr) bool {
			allowed--
			return from == home.Addr() && allowed >= 0
		}
	})
	refused := func(form Form, want, result string, reason bool) {
		t.Helper()
		before := f.counted(requestLogin, result)
		reply := f.ask(form)
		if code(reply) != want || reply.Has("token") || reply.Has("reason") != reason || f.counted(requestLogin, result) != before+1 {
			t.Errorf("%s, %v times %s; want code %s", reply.Append(nil), f.counted(requestLogin, result), result, want)
		}
	}
	id := profileOf(f, login())
	profileOf(f, login()) // the account is there
	refused(login("userid", "77"), codeTooMany, resultThrottled, false)
	allowed = 10
	c := f.backend.opt.Config
	c.NASNewConsoles = false
	f.backend.Reload(c)
	refused(login("userid", "77"), codeBanned, resultClosed, true)
	profileOf(f, login())
	if allowed != 10 {
		t.Errorf("%d accounts may still be made, want 10: none was", allowed)
	}

	p, err := f.store.GetProfile(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.accounts.Users.Ban(t.Context(), p.User, time.Time{}, "cheats", "test"); err != nil {
		t.Fatal(err)
	}
	refused(login(), codeBanned, resultBanned, true)
	if err := f.accounts.Users.Unban(t.Context(), p.User); err != nil {
		t.Fatal(err)
	}
	profileOf(f, login())

	email, ok := c.AccountOf(login())
	u, err := f.store.GetUser(t.Context(), p.User)
	if !ok || err != nil || u.Email != email {
		t.Errorf("the account has the address %s, AccountOf() says %s, %v", u.Email, email, ok)
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	refused(login(), codeFailed, resultFailed, false)
	for _, want := range []string{
		"account made: Wii, game RMCP, Ann", "console signed in: Wii, game RMCP, Ann", "new console refused: Wii, game RMCP, Ann",
		"account banned: Wii, game RMCP, Ann",
	} {
		if !slices.Contains(f.noted(), want) {
			t.Errorf("no verdict %q in %q", want, f.noted())
		}
	}
}

func TestNewUserID(t *testing.T) {
	seen := make(map[uint64]bool)
	for range 100 {
		id := newUserID()
		if id == 0 || id >= maxUserID || seen[id] {
			t.Errorf("user id %d", id)
		}
		seen[id] = true
	}
}

// TestGuessedToken does not accept tokens and challenges that were not issued.
func TestGuessedToken(t *testing.T) {
	f := build(t, nil)
	reply := f.ask(login())
	for _, p := range []accounts.Proof{
		{Token: string(reply.Value("token")), Digest: "ABCDEFGH"}, {Token: "NDS" + strings.Repeat("A", 32), Digest: string(reply.Value("challenge"))},
	} {
		p.From = home.Addr()
		if _, err := f.accounts.SignIn.CheckProof(t.Context(), p); !errors.Is(err, accounts.ErrBadPassword) && !errors.Is(err, accounts.ErrBadToken) {
			t.Errorf("CheckProof(%+v) = %v", p, err)
		}
	}
}

func TestWords(t *testing.T) {
	f := build(t, nil)
	for name, tt := range map[string]struct {
		form Form
		want string // prwords; empty: refused
	}{
		"DS":               {Form{{"words", []byte("A\x00\t\x00B\x00")}, {"unitcd", []byte("0")}}, "00"},
		"Wii":              {Form{{"words", []byte("\x00A")}, {"unitcd", []byte("1")}}, "0"},
		"wenc":             {Form{{"words", []byte("\x00A\x00\t\x00B\x00\t")}, {"wenc", []byte("utf-16be")}}, "000"},
		"wenc of a DS":     {Form{{"words", []byte("A\x00")}, {"wenc", []byte("UTF-16LE")}, {"unitcd", []byte("1")}}, "0"},
		"most":             {Form{{"words", []byte(strings.Repeat("a\t", maxWords-1))}, {"wenc", []byte("UTF-8")}}, strings.Repeat("0", maxWords)},
		"too many":         {Form{{"words", []byte(strings.Repeat("a\t", maxWords))}, {"wenc", []byte("UTF-8")}}, ""},
		"none":             {Form{{"unitcd", []byte("0")}}, ""},
		"half a character": {Form{{"words", []byte("A\x00B")}, {"unitcd", []byte("0")}}, ""},
		"other wenc":       {Form{{"words", []byte("A")}, {"wenc", []byte("Shift_JIS")}}, ""},
		"not UTF-8":        {Form{{"words", []byte("\xFF")}, {"wenc", []byte("UTF-8")}}, ""},
	} {
		w := f.send("POST", "naswii.nintendowifi.net", "/pr", string(tt.form.Append(nil)))
		reply, err := ParseForm(w.Body.Bytes())
		good := tt.want != ""
		if err != nil || string(reply.Value("prwords")) != tt.want || (code(reply) == "000") != good || (code(reply) == codeBadField) == good {
			t.Errorf("%s: %s, %v", name, reply.Append(nil), err)
		}
	}
}

// TestOthers checks the answers to requests that are not a form, and to other paths.
func TestOthers(t *testing.T) {
	f := build(t, nil)
	for _, tt := range []struct {
		method, host, path, body string
		status                   int
		organization             string
	}{
		{"GET", "nas.nintendowifi.net", "/ac", "", 200, "Nintendo"},
		{"HEAD", "conntest.nintendowifi.net", "/", "", 200, "Nintendo"},
		{"GET", "conntest.example.org", "/x/y", "", 200, "Nintendo"},
		{"GET", "dls1.nintendowifi.net", "/download", "", 200, "Nintendo"},
		{"POST", "nas.nintendowifi.net", "/other", "a=MQ**", 404, ""},
		{"DELETE", "conntest.nintendowifi.net", "/", "", 404, ""},
		{"POST", "nas.nintendowifi.net", "/ac", "nonsense", 400, ""},
		{"POST", "nas.nintendowifi.net", "/ac", "a=" + strings.Repeat("A", maxBody), 400, ""},
		{"POST", "nas.nintendowifi.net", "/ac", "", 200, ""},
	} {
		w := f.send(tt.method, tt.host, tt.path, tt.body)
		if w.Code != tt.status || w.Header().Get("X-Organization") != tt.organization {
			t.Errorf("%s %s%s: %d %v", tt.method, tt.host, tt.path, w.Code, w.Header())
		}
	}
	for _, host := range []string{"conntest", "", "conntest.", "www.nintendowifi.net", "xconntest.nintendowifi.net"} {
		if _, _, ok := f.backend.Find(host, "/"); ok {
			t.Errorf("%q is taken for a host of consoles", host)
		}
	}
	if !slices.Contains(f.noted(), "connection tested: ") {
		t.Errorf("verdicts %q", f.noted())
	}
}
