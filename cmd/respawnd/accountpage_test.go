package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// visitor is a browser on the pages of a daemon.
type visitor struct {
	t      testing.TB
	client *http.Client
	base   string
	page   string // the last one
}

func newVisitor(t testing.TB, d *running) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: hang, Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &visitor{t: t, client: client, base: "http://" + d.address["web"].String()}
}

func (v *visitor) do(method, path string, body io.Reader) int {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.base)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	v.page = string(page)
	return resp.StatusCode
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// send opens a page, fills in one of its forms and follows to the next page.
func (v *visitor) send(page, path string, fields ...string) int {
	v.t.Helper()
	if code := v.do(http.MethodGet, page, nil); code != http.StatusOK {
		v.t.Fatalf("GET %s: status %d", page, code)
	}
	m := formToken.FindStringSubmatch(v.page)
	if m == nil {
		v.t.Fatalf("GET %s: no form", page)
	}
	form := url.Values{"token": {m[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.do(http.MethodPost, path, strings.NewReader(form.Encode()))
}

// wants fails unless the last page has the parts.
func (v *visitor) wants(parts ...string) {
	v.t.Helper()
	for _, p := range parts {
		if !strings.Contains(v.page, p) {
			v.t.Errorf("the page lacks %q:\n%s", p, v.page)
		}
	}
}

func TestAccountMadeOnThePageSignsInWithAGame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	v := newVisitor(t, d)
	v.send("/account/register", "/account/register", "email", "ann@example.com", "nick", "Ann", "uniquenick", "ann", "new", stormPassword, "repeat", stormPassword)
	v.wants("Your account", "ann@example.com")
	wantAccountNamed(t, d, "Ann", "ann", stormPassword)
	ann := signedIn(t, d, "uniquenick", "ann")
	byEmail := greeted(t, d)
	if err := byEmail.enter("user", "Ann@ann@example.com", stormPassword); err != nil {
		t.Fatalf("login with nick and e-mail: %v", err)
	}
	ann.isOut() // one at a time

	v.send("/account", "/account/password", "password", stormPassword, "new", "another one", "repeat", "another one")
	v.wants("The password was changed.")
	byEmail.isOut()
	old := greeted(t, d)
	if err := old.knock("uniquenick", "ann", stormPassword); err != nil {
		t.Fatal(err)
	}
	old.hears(`\error\`)
	again := greeted(t, d)
	if err := again.enter("uniquenick", "ann", "another one"); err != nil {
		t.Fatalf("login with the new password: %v", err)
	}
	v.send("/account", "/account/delete", "password", "another one", "sure", "1")
	v.wants("The account was deleted.")
	again.isOut()
	gone := greeted(t, d)
	if err := gone.knock("uniquenick", "ann", "another one"); err != nil {
		t.Fatal(err)
	}
	gone.hears(`\error\`)
	for _, password := range []string{stormPassword, "another one"} {
		if strings.Contains(d.log.String(), password) {
			t.Error("a password is in the log")
		}
	}
	d.stop()
	wantNoPassword(t, dir)
}

// wantAccountNamed fails unless the search service knows an account.
func wantAccountNamed(t *testing.T, d *running, nick, local, password string) {
	t.Helper()
	answer, err := askSearch(t.Context(), d.address["gpsp"], fmt.Sprintf(
		`\check\\nick\%s\email\%s@example.com\partnerid\0\passenc\%s\gamename\gmtest\final\`, nick, local, gamespy.EncodePassword(password)))
	if err != nil || !strings.HasPrefix(answer, `\cur\0\pid\`) {
		t.Errorf("the account of %s is answered with %q, %v", nick, answer, err)
	}
}

func TestAccountMadeInAGameLogsInOnThePage(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	if newUser(t.Context(), d.address["gpsp"], "ben") == "" {
		t.Fatal("newuser was refused")
	}
	v := newVisitor(t, d)
	if code := v.send("/account/login", "/account/login", "email", "ben@example.com", "password", "guess"); code != http.StatusUnprocessableEntity {
		t.Errorf("login with a wrong password: status %d", code)
	}
	v.wants("The e-mail address or the password is wrong.")
	v.send("/account/login", "/account/login", "email", "ben@example.com", "password", stormPassword)
	v.wants("Your account", "ben")
	ben := signedIn(t, d, "uniquenick", "ben")

	v.send("/account", "/account/email", "email", "benny@example.com", "password", stormPassword)
	v.wants("The e-mail address was changed.")
	ben.hearsNothing() // this player stays signed in
	wantAccountNamed(t, d, "ben", "benny", stormPassword)

	d.cli("account", "ban", "benny@example.com")
	v.do(http.MethodGet, "/account", nil)
	v.wants("Log in")
	v.send("/account/login", "/account/login", "email", "benny@example.com", "password", stormPassword)
	v.wants("This account is banned")
	d.stop()
}

func TestPagesOfAccountsObeyTheConfiguration(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("web.accounts", "false"))
	for _, path := range []string{"/account", "/account/login", "/account/register"} {
		if code, _ := get(t, d, "web", http.MethodGet, path, ""); code != http.StatusNotFound {
			t.Errorf("GET %s with web.accounts false: status %d, want 404", path, code)
		}
	}
	d.stop()

	d = start(t, t.TempDir(), variable("web.registrations", "1"), variable("gpsp.private", "true"))
	v := newVisitor(t, d)
	fields := []string{"email", "ann@example.com", "nick", "Ann", "new", stormPassword, "repeat", stormPassword}
	v.send("/account/register", "/account/register", fields...)
	v.wants("If that e-mail address was free")
	if code := v.send("/account/register", "/account/register", fields...); code != http.StatusTooManyRequests {
		t.Errorf("second account in a minute: status %d, want 429", code)
	}
	if got := metric(t, d, `respawnd_dropped_total{reason="registration_rate",service="web"}`); got != "1" {
		t.Errorf("refused registrations counted: %q, want 1", got)
	}
	v.send("/account/login", "/account/login", "email", "ann@example.com", "password", stormPassword)
	v.wants("Your account")
	if got := metric(t, d, "respawnd_web_account_sessions"); got != "1" {
		t.Errorf("sessions counted: %q, want 1", got)
	}
	d.stop()
}

func TestNewSealingKeyKeepsSessions(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	v := newVisitor(t, d)
	v.send("/account/register", "/account/register", "email", "ann@example.com", "nick", "Ann", "uniquenick", "ann", "new", stormPassword, "repeat", stormPassword)
	v.wants("Your account")
	d.cli("account", "rotate-key")
	v.do(http.MethodGet, "/account", nil)
	v.wants("Your account", "ann@example.com")
	d.stop()
}
