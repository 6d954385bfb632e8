package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
	"github.com/respawnd/respawnd/web/webtest"
)

// fixture is pages of accounts in a store of their own.
type fixture struct {
	*webtest.Fixture
	pages   *Pages
	site    *page.Site
	store   *records.Store
	service *accounts.Service
	hub     *kicks
	log     *bytes.Buffer
}

// kicks records the accounts whose sessions were ended.
type kicks struct {
	users    []storage.UserID
	profiles []storage.ProfileID
	reasons  []error
}

func (k *kicks) KickUser(_ context.Context, id storage.UserID, reason error) int {
	k.users, k.reasons = append(k.users, id), append(k.reasons, reason)
	return 1
}

func (k *kicks) KickProfile(_ context.Context, id storage.ProfileID, reason error) int {
	k.profiles, k.reasons = append(k.profiles, id), append(k.reasons, reason)
	return 1
}

func newFixture(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	dir := t.TempDir()
	store := storetest.New(t)
	service, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(dir, "account.key"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Fixture: webtest.New(t, append(front.DropReasons(), DropReasons()...)...), store: store, service: service, hub: &kicks{}, log: &bytes.Buffer{}}
	opt := Options{Service: service, Store: store, Sessions: f.hub}
	for _, c := range change {
		c(&opt)
	}
	f.site = page.New("", "1.2.3")
	shared := front.New(front.Options{
		TakesForms: func(path string) bool { return f.pages.TakesForms(path) }, ErrorPage: f.site.Error,
		Log: zerolog.New(zerolog.SyncWriter(f.log)), Metrics: f.Metrics, Registerer: f.Gauges,
	})
	f.pages = New(shared, f.site, opt)
	f.pages.SetLimits(true, 0, 0)
	f.Handler = shared.Handler(f.pages.Routes())
	return f
}

// browser is a visitor with cookies.
type browser struct {
	f       *fixture
	peer    string
	host    string
	cookies map[string]*http.Cookie
	page    string // the last one
	origin  string // of forms; empty: none is sent
}

func (f *fixture) browser(peer string) *browser {
	return &browser{f: f, peer: peer, host: "servers.example.org", cookies: make(map[string]*http.Cookie), origin: "http://servers.example.org"}
}

func (b *browser) do(r *http.Request) *httptest.ResponseRecorder {
	r.RemoteAddr, r.Host = b.peer, b.host
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.f.Handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c
	}
	b.page = w.Body.String()
	return w
}

func (b *browser) get(path string) *httptest.ResponseRecorder {
	return b.do(httptest.NewRequestWithContext(b.f.T.Context(), http.MethodGet, path, nil))
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// send fills in a form of the last page and returns the answer.
func (b *browser) send(path string, fields ...string) *httptest.ResponseRecorder {
	b.f.T.Helper()
	form := url.Values{}
	if m := tokenField.FindStringSubmatch(b.page); m != nil {
		form.Set("token", m[1])
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.post(path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

func (b *browser) post(path, kind string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.f.T.Context(), http.MethodPost, path, body)
	r.Header.Set("Content-Type", kind)
	if b.origin != "" {
		r.Header.Set("Origin", b.origin)
	}
	return b.do(r)
}

// register makes an account and follows to its page.
func (b *browser) register(email, nick, unique, password string) *browser {
	b.f.T.Helper()
	b.get("/account/register")
	w := b.send("/account/register", "email", email, "nick", nick, "uniquenick", unique, "new", password, "repeat", password)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/account" {
		b.f.T.Fatalf("registering %s: got %d to %q: %s", email, w.Code, w.Header().Get("Location"), problemIn(b.page))
	}
	b.get("/account")
	return b
}

// login logs in and returns the answer to the form.
func (b *browser) login(email, password string) *httptest.ResponseRecorder {
	b.f.T.Helper()
	b.get("/account/login")
	return b.send("/account/login", "email", email, "password", password)
}

var problemNote = regexp.MustCompile(`role="alert">([^<]*)<`)

// problemIn returns the error shown on a page.
func problemIn(page string) string {
	if m := problemNote.FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}

// wantDone fails unless a form led to a page of ours.
func wantDone(t *testing.T, what string, w *httptest.ResponseRecorder, to string) {
	t.Helper()
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != to {
		t.Fatalf("%s: got %d to %q, want 303 to %q; %s", what, w.Code, got, to, problemIn(w.Body.String()))
	}
}

// wantRefused fails unless a form came back with a problem.
func wantRefused[S ~string](t *testing.T, what string, w *httptest.ResponseRecorder, code int, part S) {
	t.Helper()
	if w.Code != code || !strings.Contains(w.Body.String(), string(part)) {
		t.Errorf("%s: got %d, %q; want %d and %q", what, w.Code, problemIn(w.Body.String()), code, part)
	}
}

func (f *fixture) user(email string) storage.User {
	f.T.Helper()
	u, err := f.store.UserByEmail(f.T.Context(), 0, email)
	if err != nil {
		f.T.Fatalf("user %s: %v", email, err)
	}
	return u
}

func (f *fixture) passwordFits(email, password string) bool {
	f.T.Helper()
	_, err := f.service.SignIn.CheckPassword(f.T.Context(), accounts.Credentials{Email: email, Password: password})
	return err == nil
}

const near = "127.0.0.1:4000"

func TestAccountLife(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	webtest.WantParts(t, "the account", b.page, "ann@example.org", "Ann", "namespace 1")
	if !f.passwordFits("ann@example.org", "secret") {
		t.Error("the account that was made here has another password")
	}
	id := fmt.Sprint(f.profile("ann@example.org", "Ann").ID)

	wantDone(t, "nick", b.send("/account/nick", "profile", id, "nick", "Anne"), "/account?done=renamed")
	b.get("/account?done=renamed")
	webtest.WantParts(t, "the account", b.page, "The nick was changed.", "Anne")
	wantDone(t, "unique nick", b.send("/account/uniquenick", "profile", id, "uniquenick", "anne2", "namespace", "2"), "/account?done=uniquenick")
	b.get("/account")
	wantDone(t, "profile", b.send("/account/profile", "nick", "Second"), "/account?done=nick")
	b.get("/account")
	webtest.WantParts(t, "the account", b.page, "anne2", "Second")
	second := fmt.Sprint(f.profile("ann@example.org", "Second").ID)
	wantRefused(t, "profile, not sure", b.send("/account/drop", "profile", second), 422, problemSure)
	wantDone(t, "drop", b.send("/account/drop", "profile", second, "sure", "1"), "/account?done=dropped")
	b.get("/account")
	wantRefused(t, "last profile", b.send("/account/drop", "profile", id, "sure", "1"), 422, "at least one profile")

	wantRefused(t, "e-mail, wrong password", b.send("/account/email", "email", "anne@example.org", "password", "guess"), 422, problemPassword)
	wantDone(t, "e-mail", b.send("/account/email", "email", "anne@example.org", "password", "secret"), "/account?done=email")
	b.get("/account")
	webtest.WantParts(t, "the account", b.page, "anne@example.org")

	wantDone(t, "logout", b.send("/account/logout"), "/account/login?done=out")
	wantDone(t, "the account after the logout", b.get("/account"), "/account/login")
	wantRefused(t, "old e-mail", b.login("ann@example.org", "secret"), 422, problemLogin)
	wantDone(t, "login", b.login("ANNE@example.org", "secret"), "/account")

	b.get("/account")
	wantRefused(t, "deletion, wrong password", b.send("/account/delete", "password", "guess", "sure", "1"), 422, problemPassword)
	wantRefused(t, "deletion, not sure", b.send("/account/delete", "password", "secret"), 422, problemSure)
	user := f.user("anne@example.org").ID
	wantDone(t, "deletion", b.send("/account/delete", "password", "secret", "sure", "1"), "/account/login?done=deleted")
	if _, err := f.store.GetUser(t.Context(), user); err == nil {
		t.Error("the account is still there")
	}
	if n := len(f.hub.users); n != 1 || !errors.Is(f.hub.reasons[len(f.hub.reasons)-1], presence.ErrDeleted) {
		t.Errorf("sessions ended: %+v, want those of the deleted account", f.hub)
	}
	wantDone(t, "the account after the deletion", b.get("/account"), "/account/login")
	if strings.Contains(f.log.String(), "secret") || strings.Contains(f.log.String(), "guess") {
		t.Errorf("a password is in the log:\n%s", f.log)
	}
}

func (f *fixture) profile(email, nick string) storage.Profile {
	f.T.Helper()
	p, err := f.store.ProfileByNick(f.T.Context(), f.user(email).ID, nick)
	if err != nil {
		f.T.Fatalf("profile %s: %v", nick, err)
	}
	return p
}

func TestChangePassword(t *testing.T) {
	f := newFixture(t)
	mine := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	other := f.browser("127.0.0.1:5000")
	wantDone(t, "second browser", other.login("ann@example.org", "secret"), "/account")
	p := f.profile("ann@example.org", "Ann")
	ticket := f.service.Grants.IssueTicket(p.ID)

	fields := []string{"password", "secret", "new", "better", "repeat", "better"}
	wantRefused(t, "not the same twice", mine.send("/account/password", append(fields, "repeat", "bitter")...), 422, problemRepeat)
	wantRefused(t, "too long", mine.send("/account/password", append(fields, "new", strings.Repeat("x", 31), "repeat", strings.Repeat("x", 31))...), 422, problemLength)
	wantRefused(t, "empty", mine.send("/account/password", append(fields, "new", "", "repeat", "")...), 422, problemLength)
	wantRefused(t, "not for games", mine.send("/account/password", append(fields, "new", "日本", "repeat", "日本")...), 422, "western keyboards")
	wantRefused(t, "wrong present one", mine.send("/account/password", append(fields, "password", "x")...), 422, problemPassword)
	if len(f.hub.users) != 0 {
		t.Fatal("sessions ended although nothing was changed")
	}
	wantDone(t, "password", mine.send("/account/password", fields...), "/account?done=password")
	if !f.passwordFits("ann@example.org", "better") || f.passwordFits("ann@example.org", "secret") {
		t.Error("the password is not the new one")
	}
	if w := mine.get("/account"); w.Code != http.StatusOK {
		t.Errorf("the browser that changed it: got %d, want its account", w.Code)
	}
	wantDone(t, "the other browser", other.get("/account"), "/account/login")
	if len(f.hub.users) != 1 || f.hub.users[0] != p.User || !errors.Is(f.hub.reasons[0], presence.ErrDisplaced) {
		t.Errorf("sessions of games ended: %+v, want those of the account", f.hub)
	}
	if _, err := f.service.Grants.CheckTicket(ticket); err == nil {
		t.Error("a login ticket outlived the password")
	}
}

func TestSessionEnd(t *testing.T) {
	tests := map[string]func(*fixture, storage.UserID) error{
		"password": func(f *fixture, id storage.UserID) error {
			return f.service.Passwords.Change(f.T.Context(), id, "other")
		},
		"ban": func(f *fixture, id storage.UserID) error {
			return f.service.Users.Ban(f.T.Context(), id, time.Time{}, "", "")
		},
		"deletion": func(f *fixture, id storage.UserID) error { return f.service.Users.Delete(f.T.Context(), id) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			b := f.browser(near).register("ann@example.org", "Ann", "", "secret")
			if err := change(f, f.user("ann@example.org").ID); err != nil {
				t.Fatal(err)
			}
			if w := b.send("/account/profile", "nick", "Late"); w.Code == http.StatusOK || w.Header().Get("Location") == "/account?done=nick" {
				t.Errorf("a form after it: got %d to %q", w.Code, w.Header().Get("Location"))
			}
			wantDone(t, "the account after it", b.get("/account"), "/account/login")
			if f.pages.sessions.Len() != 0 {
				t.Error("the session is still kept")
			}
		})
	}
}

func TestSessionAfterKeyRotation(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "", "secret")
	if _, err := f.service.RotateKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := b.get("/account"); w.Code != http.StatusOK {
		t.Errorf("the account after it: got %d to %q, want the page", w.Code, w.Header().Get("Location"))
	}
}

func TestRegister(t *testing.T) {
	f := newFixture(t)
	f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	good := []string{"email", "ben@example.org", "nick", "Ben", "uniquenick", "ben", "new", "secret", "repeat", "secret"}
	tests := map[string]struct {
		fields []string
		part   string
	}{
		"no e-mail":             {[]string{"email", ""}, "not an e-mail address"},
		"two e-mails":           {[]string{"email", "a@b@c"}, "not an e-mail address"},
		"e-mail with a line":    {[]string{"email", "a@b\r\nBcc: c"}, "not an e-mail address"},
		"backslash in the nick": {[]string{"nick", `a\b`}, "nick has 1 to 30"},
		"key word as nick":      {[]string{"nick", "final"}, "nick has 1 to 30"},
		"hidden characters":     {[]string{"nick", "a\u200bb"}, "western keyboards"},
		"turned text":           {[]string{"nick", "\u202eab"}, "western keyboards"},
		"terminal":              {[]string{"nick", "\x1b[31m"}, "western keyboards"},
		"short unique nick":     {[]string{"uniquenick", "ab"}, "unique nick has 3"},
		"unique nick, digit":    {[]string{"uniquenick", "1ben"}, "unique nick has 3"},
		"taken unique nick":     {[]string{"uniquenick", "ANN"}, "or one like it, is taken"},
		"like a taken one":      {[]string{"uniquenick", "-a-n-n-"}, "or one like it, is taken"},
		"namespace":             {[]string{"namespace", "x"}, "are numbers"},
		"unknown game":          {[]string{"game", "nosuch"}, "does not know a game"},
		"negative partner":      {[]string{"partner", "-1"}, "are numbers"},
		"partner too large":     {[]string{"partner", "99999999999"}, "are numbers"},
		"no password":           {[]string{"new", "", "repeat", ""}, string(problemLength)},
		"two passwords":         {[]string{"repeat", "other"}, string(problemRepeat)},
		"e-mail in use":         {[]string{"email", "ann@example.org", "new", "x", "repeat", "x"}, "with another password"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := f.browser("127.0.0.2:1")
			b.get("/account/register")
			w := b.send("/account/register", append(append([]string{}, good...), tc.fields...)...)
			wantRefused(t, "registration", w, 422, tc.part)
			if strings.Contains(b.page, `type="password" value`) {
				t.Error("the page has the password")
			}
		})
	}
	b := f.browser(near).register("m@example.org", "M\u00fcnch", "", "p\u00e4ss")
	webtest.WantParts(t, "the account", b.page, "M\u00fcnch")
	f.profile("m@example.org", "M\xfcnch") // as a game would have sent it
	if !f.passwordFits("m@example.org", "p\xe4ss") {
		t.Error("the password is not what a game sends for it")
	}
	wantDone(t, "login with it", f.browser(near).login("m@example.org", "p\u00e4ss"), "/account")
	more := f.browser(near)
	more.get("/account/register")
	wantDone(t, "second profile", more.send("/account/register", "email", "ann@example.org", "nick", "Ann2", "new", "secret", "repeat", "secret"), "/account")
	f.profile("ann@example.org", "Ann2")
}

func TestLoginWithAccountOfGame(t *testing.T) {
	f := newFixture(t)
	for _, r := range []accounts.Registration{
		{Email: "game@example.org", Nick: "Game", Namespace: 1, UniqueNick: "game", Password: "secret"},
		{Email: "game@example.org", Nick: "Partner", Partner: 17, Password: "other"},
	} {
		if _, err := f.service.Users.Register(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	b := f.browser(near)
	wantDone(t, "login", b.login("game@example.org", "secret"), "/account")
	b.get("/account")
	webtest.WantParts(t, "the account", b.page, "Game")
	other := f.browser(near)
	other.get("/account/login")
	wantDone(t, "login of a partner", other.send("/account/login", "email", "game@example.org", "password", "other", "partner", "17"), "/account")
	other.get("/account")
	webtest.WantParts(t, "the account of a partner", other.page, "Partner")
	wantRefused(t, "wrong partner", f.browser(near).login("game@example.org", "other"), 422, problemLogin)
}

// TestPrivate compares the answers to a stranger for an e-mail with an account and for
// one without: status, place and text.
func TestPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(o *Options) { o.Private = func() bool { return true } })
		if _, err := f.service.Users.Register(t.Context(), accounts.Registration{Email: "ann@example.org", Nick: "Ann", Namespace: 1, UniqueNick: "ann", Password: "secret"}); err != nil {
			t.Fatal(err)
		}
		type seen struct {
			code     int
			to, page string
			took     time.Duration
			loggedIn bool
		}
		try := func(path, email string, fields ...string) seen {
			b := f.browser("192.0.2.1:1")
			b.get(path)
			began := time.Now()
			w := b.send(path, append([]string{"email", email}, fields...)...)
			page := strings.ReplaceAll(tokenField.ReplaceAllString(b.page, ""), email, "EMAIL")
			return seen{w.Code, w.Header().Get("Location"), page, time.Since(began), b.cookies["respawnd-session"] != nil}
		}
		forms := map[string][]string{
			"/account/login":               {"password", "guess"},
			"/account/register?new":        {"nick", "Ann", "new", "guess", "repeat", "guess"},
			"/account/register?unique":     {"nick", "Ann", "uniquenick", "fresh", "new", "guess", "repeat", "guess"},
			"/account/register?taken":      {"nick", "Ann", "uniquenick", "ann", "new", "guess", "repeat", "guess"},
			"/account/register?bad":        {"nick", `\`, "new", "guess", "repeat", "guess"},
			"/account/register?characters": {"nick", "A", "uniquenick", "a", "new", "guess", "repeat", "guess"},
		}
		n := 0
		for path, fields := range forms {
			n++
			have, lack := try(path, "ann@example.org", fields...), try(path, fmt.Sprintf("no%d@example.org", n), fields...)
			if have != lack {
				t.Errorf("%s: with an account %+v, without %+v", path, have, lack)
			}
			if lack.loggedIn {
				t.Errorf("%s: logged in", path)
			}
		}
		if !f.passwordFits("ann@example.org", "secret") {
			t.Error("the account was changed")
		}
		webtest.WantParts(t, "the page after it", f.Page("/account/login?done=asked"), "If that e-mail address was free")
	})
}

func TestLoginThrottled(t *testing.T) {
	f := newFixture(t)
	f.browser(near).register("ann@example.org", "Ann", "", "secret")
	b := f.browser("192.0.2.1:1")
	for range accounts.MaxFailures {
		wantRefused(t, "guess", b.login("ann@example.org", "guess"), 422, problemLogin)
	}
	wantRefused(t, "one guess too many, even the right one", b.login("ann@example.org", "secret"), 429, problemThrottled)
	wantDone(t, "the owner, elsewhere", f.browser("192.0.2.2:1").login("ann@example.org", "secret"), "/account")
}

func TestFormLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.pages.SetLimits(true, 20, 2)
		for i := range 2 {
			f.browser("192.0.2.1:1").register(fmt.Sprintf("a%d@example.org", i), "A", "", "secret")
		}
		b := f.browser("192.0.2.1:1")
		b.get("/account/register")
		fields := []string{"email", "a3@example.org", "nick", "A", "new", "secret", "repeat", "secret"}
		wantRefused(t, "third account in a minute", b.send("/account/register", fields...), 429, "Too many changes at once")
		f.browser("192.0.2.2:1").register("b@example.org", "B", "", "secret")

		c := f.browser("192.0.2.3:1").register("c@example.org", "C", "", "secret")
		for range changesAtOnce {
			c.get("/account")
			c.send("/account/profile", "nick", `\`)
		}
		wantRefused(t, "one change too many", c.send("/account/profile", "nick", "Next"), 429, "Too many changes at once")
		for range 20 - changesAtOnce - 2 {
			c.send("/account/logout?", "token", "wrong")
		}
		if w := c.send("/account/profile", "nick", "Next"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("one form too many: got %d, want 429", w.Code)
		}
		time.Sleep(time.Minute)
		c.get("/account")
		wantDone(t, "a minute later", c.send("/account/profile", "nick", "Next"), "/account?done=nick")
		for reason, want := range map[string]float64{dropRegistrations: 1, dropForms: 2, dropForgery: 8} {
			if got := f.Count("respawnd_dropped_total", "service", "web", "reason", reason); got != want {
				t.Errorf("dropped as %s: got %v, want %v", reason, got, want)
			}
		}
	})
}

func TestForgedForms(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "", "secret")
	foreign := f.browser(near)
	foreign.get("/account/login")
	otherToken := tokenField.FindStringSubmatch(foreign.page)[1]
	account := b.page
	tests := map[string]func(){
		"no token":                func() { b.page = "" },
		"token of another":        func() { b.page = `name="token" value="` + otherToken + `"` },
		"token of an unknown one": func() { b.page = `name="token" value="x"` },
		"foreign origin":          func() { b.origin = "https://evil.example" },
		"null origin":             func() { b.origin = "null" },
		"other port":              func() { b.origin = "http://servers.example.org:81" },
		"name that begins like":   func() { b.origin = "http://servers.example.org.evil.example" },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			b.page, b.origin = account, "http://servers.example.org"
			spoil()
			for _, path := range []string{"/account/password", "/account/email", "/account/profile", "/account/delete", "/account/logout", "/account/login", "/account/register"} {
				page := b.page
				w := b.send(path, "password", "secret", "new", "x", "repeat", "x", "email", "x@example.org", "nick", "X", "sure", "1")
				if w.Code != http.StatusForbidden || !strings.Contains(b.page, "nothing was changed") {
					t.Errorf("POST %s: got %d, want 403", path, w.Code)
				}
				b.page = page
			}
		})
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/account/delete", strings.NewReader(""))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if w := b.do(r); w.Code != http.StatusForbidden {
		t.Errorf("a form that the browser says is another site's: got %d, want 403", w.Code)
	}
	if !f.passwordFits("ann@example.org", "secret") {
		t.Error("a forged form changed the account")
	}
	if w := b.get("/account"); w.Code != http.StatusOK {
		t.Errorf("the session after forged forms: got %d", w.Code)
	}
}

func TestGetChangesNothing(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "", "secret")
	token := tokenField.FindStringSubmatch(b.page)[1]
	for _, path := range []string{"logout", "password", "email", "profile", "nick", "uniquenick", "drop", "delete"} {
		w := b.get("/account/" + path + "?sure=1&password=secret&new=x&repeat=x&nick=X&token=" + token)
		wantDone(t, "GET of "+path, w, "/account")
	}
	if w := b.get("/account"); w.Code != http.StatusOK || !f.passwordFits("ann@example.org", "secret") {
		t.Errorf("after all: got %d, want the account as it was", w.Code)
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS"} {
		if w := b.do(httptest.NewRequestWithContext(t.Context(), method, "/account/delete", nil)); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d, want 405", method, w.Code)
		}
	}
	if w := b.post("/account", "application/x-www-form-urlencoded", strings.NewReader("")); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /account: got %d, want 405", w.Code)
	}
}

// endless is a body without an end that counts the bytes read from it.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	e.taken += len(p)
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestFormBody(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near)
	b.get("/account/login")
	large := &endless{}
	if w := b.post("/account/login", "application/x-www-form-urlencoded", large); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("endless form: got %d, want 413", w.Code)
	}
	if large.taken > 4*maxForm {
		t.Errorf("%d bytes of an endless form were read, want about %d", large.taken, maxForm)
	}
	token := tokenField.FindStringSubmatch(f.browserPage(b, "/account/login"))[1]
	head := "token=" + url.QueryEscape(token) + "&email=a&password="
	exact := head + strings.Repeat("x", maxForm-len(head))
	if w := b.post("/account/login", "application/x-www-form-urlencoded", strings.NewReader(exact)); w.Code != 422 {
		t.Errorf("form of %d bytes: got %d, want it read", len(exact), w.Code)
	}
	if w := b.post("/account/login", "application/x-www-form-urlencoded", strings.NewReader(exact+"x")); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("form of %d bytes: got %d, want 413", len(exact)+1, w.Code)
	}
	for _, kind := range []string{"", "text/plain", "application/json", "multipart/form-data; boundary=x"} {
		if w := b.post("/account/login", kind, &endless{}); w.Code != http.StatusUnsupportedMediaType {
			t.Errorf("content type %q: got %d, want 415", kind, w.Code)
		}
	}
	if w := b.post("/account/login", "application/x-www-form-urlencoded", strings.NewReader("a=%zz")); w.Code != http.StatusBadRequest {
		t.Errorf("broken form: got %d, want 400", w.Code)
	}
	many := strings.Repeat("a=1&", maxForm/4)
	if w := b.post("/account/login", "application/x-www-form-urlencoded", strings.NewReader(many)); w.Code != http.StatusForbidden && w.Code != http.StatusBadRequest {
		t.Errorf("form of many fields: got %d", w.Code)
	}
}

func (f *fixture) browserPage(b *browser, path string) string {
	b.get(path)
	return b.page
}

func TestCookies(t *testing.T) {
	tests := map[string]struct {
		public, prefix string
		secure         bool
	}{
		"plain":         {"", "respawnd-", false},
		"public, plain": {"http://servers.example.org", "respawnd-", false},
		"public, HTTPS": {"https://servers.example.org", "__Host-respawnd-", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.PublicURL = tc.public })
			b := f.browser(near)
			if tc.public != "" {
				b.origin = tc.public
			}
			b.host = "inner.example:8080" // a proxy in front may change it
			if tc.public == "" {
				b.host = "servers.example.org"
			}
			var seen []*http.Cookie
			seen = append(seen, b.get("/account/register").Result().Cookies()...)
			w := b.send("/account/register", "email", "ann@example.org", "nick", "Ann", "new", "secret", "repeat", "secret")
			wantDone(t, "registration", w, "/account")
			seen = append(seen, w.Result().Cookies()...)
			for _, c := range seen {
				if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != tc.secure || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Name, tc.prefix) {
					t.Errorf("cookie %s: %+v", c.Name, c)
				}
			}
			if len(b.cookies) != 1 || len(b.cookies[tc.prefix+"session"].Value) < 43 {
				t.Errorf("cookies after the login: %v, want a session of 256 bits alone", b.cookies)
			}
			if got := b.get("/account").Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control of the account: %q", got)
			}
		})
	}
}

func TestSessionFixation(t *testing.T) {
	f := newFixture(t)
	f.browser(near).register("ann@example.org", "Ann", "", "secret")
	b := f.browser(near)
	planted := strings.Repeat("A", 43)
	b.cookies["respawnd-session"] = &http.Cookie{Name: "respawnd-session", Value: planted}
	wantDone(t, "login", b.login("ann@example.org", "secret"), "/account")
	if b.cookies["respawnd-session"].Value == planted {
		t.Error("the session has the token of the planted cookie")
	}
	first := b.cookies["respawnd-session"].Value
	wantDone(t, "second login", b.login("ann@example.org", "secret"), "/account")
	if b.cookies["respawnd-session"].Value == first || f.pages.sessions.Find(first, time.Now()) != nil {
		t.Error("a login keeps the session from before it")
	}
}

func TestSessions(t *testing.T) {
	k, now := newFixture(t).pages, time.Now()
	first := k.openSession(1, 1, now)
	for range sessionsPerUser {
		k.openSession(1, 1, now)
	}
	last := k.sessions.Find(k.openSession(1, 2, now), now)
	if k.sessions.Find(first, now) != nil || k.sessions.Len() != sessionsPerUser {
		t.Errorf("%d sessions of one account, want %d without the oldest", k.sessions.Len(), sessionsPerUser)
	}
	other := k.sessions.Find(k.openSession(1, 1, now), now)
	if last.Data.mark.Load() != 2 || last.Data.quota != other.Data.quota {
		t.Error("a session has the mark of another, or another quota than one of its account")
	}
	stranger := k.openSession(2, 0, now)
	if k.sessions.Find(stranger, now).Data.quota == other.Data.quota {
		t.Error("two accounts share a quota")
	}
	for at := time.Duration(0); at < sessionLife; at += sessionIdle - 1 {
		if k.sessions.Find(stranger, now.Add(at)) == nil {
			t.Fatalf("the session ended after %v", at)
		}
	}
	if k.sessions.Find(stranger, now.Add(sessionLife)) != nil {
		t.Errorf("the session is open after %v", sessionLife)
	}
}

func TestPlainWarning(t *testing.T) {
	f := newFixture(t)
	safe := newFixture(t, func(o *Options) { o.PublicURL = "https://servers.example.org" })
	for _, path := range []string{"/account/login", "/account/register"} {
		for peer, warned := range map[string]bool{"127.0.0.1:1": false, "192.168.1.4:1": false, "[fe80::1]:1": false, "203.0.113.4:1": true, "[2001:db8::1]:1": true} {
			b := f.browser(peer)
			b.get(path)
			if got := strings.Contains(b.page, "not encrypted"); got != warned {
				t.Errorf("%s from %s: warns %v, want %v", path, peer, got, warned)
			}
			b = safe.browser(peer)
			if b.get(path); strings.Contains(b.page, "not encrypted") {
				t.Errorf("%s from %s over HTTPS: warns", path, peer)
			}
		}
	}
}

func TestOff(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "", "secret")
	if !f.site.Look().Accounts {
		t.Error("the pages have no link to accounts")
	}
	f.pages.SetLimits(false, 0, 0)
	if f.site.Look().Accounts {
		t.Error("the pages link to accounts that are switched off")
	}
	for _, path := range []string{"/account", "/account/login", "/account/register"} {
		if w := b.get(path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", path, w.Code)
		}
		if w := b.send(path); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: got %d, want 405", path, w.Code)
		}
	}
	banned := newFixture(t, func(o *Options) {
		o.Banned = func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.66") }
	})
	if w := banned.browser("192.0.2.66:1").get("/account/login"); w.Code != http.StatusForbidden {
		t.Errorf("banned address: got %d, want 403", w.Code)
	}
	if w := banned.browser("192.0.2.67:1").get("/account/login"); w.Code != http.StatusOK {
		t.Errorf("address beside it: got %d, want 200", w.Code)
	}
}

func TestForeignProfile(t *testing.T) {
	f := newFixture(t)
	f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	hers := fmt.Sprint(f.profile("ann@example.org", "Ann").ID)
	b := f.browser(near).register("ben@example.org", "Ben", "ben", "secret")
	for _, id := range []string{hers, "", "-1", "99999999999999"} {
		wantRefused(t, "nick of profile "+id, b.send("/account/nick", "profile", id, "nick", "Evil"), 422, "That profile does not exist")
		wantRefused(t, "unique nick of profile "+id, b.send("/account/uniquenick", "profile", id, "uniquenick", "evil"), 422, "That profile does not exist")
	}
	b = f.browser(near)
	b.login("ben@example.org", "secret")
	b.get("/account")
	wantRefused(t, "deletion of profile "+hers, b.send("/account/drop", "profile", hers, "sure", "1"), 422, "")
	f.profile("ann@example.org", "Ann")
}

func FuzzLatin1(f *testing.F) {
	for _, s := range webtest.HostileTexts() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, ok := latin1(in)
		if !ok {
			return
		}
		back := make([]rune, 0, len(out))
		for _, c := range []byte(out) {
			back = append(back, rune(c))
		}
		if string(back) != in {
			t.Errorf("latin1(%q): got %q, which reads %q", in, out, string(back))
		}
	})
}

func TestPagesAreAccessible(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	for _, path := range []string{"/account", "/account/login", "/account/register", "/account/nothing"} {
		b.get(path)
		t.Run(path, func(t *testing.T) { webtest.CheckFit(t, b.page) })
	}
}
