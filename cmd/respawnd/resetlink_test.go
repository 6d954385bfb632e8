package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/mail/mailtest"
)

// resetCode returns the code of a reset link of the account of Ann.
func resetCode(t *testing.T, env []string, want string) string {
	t.Helper()
	code, out, errOut := command(t, env, "account", "reset-link", "ann@example.com")
	link, rest, _ := strings.Cut(out, "\n")
	path, fragment, ok := strings.Cut(link, "#")
	if code != 0 || !ok || path != want || !strings.Contains(rest, "ann@example.com") || strings.Contains(rest, "web.public_url") != (path[0] == '/') {
		t.Fatalf("account reset-link: exit code %d, printed %q, want a link to %s\n%s", code, out, want, errOut)
	}
	return fragment
}

func TestResetLinkSignsOutEverywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	v := newVisitor(t, d)
	v.send("/account/register", "/account/register", "email", "ann@example.com", "nick", "Ann", "uniquenick", "ann", "new", stormPassword, "repeat", stormPassword)
	ann := signedIn(t, d, "uniquenick", "ann")
	first := resetCode(t, d.cliEnv(), "/account/reset")
	d.stop()
	ann.isOut()

	// The link survives a restart, and can be made on the closed store.
	second := resetCode(t, d.cliEnv(), "/account/reset")
	d = start(t, dir)
	v = newVisitor(t, d)
	v.send("/account/login", "/account/login", "email", "ann@example.com", "password", stormPassword)
	v.wants("Your account")
	ann = signedIn(t, d, "uniquenick", "ann")
	other := newVisitor(t, d)
	set := func(code, password string) {
		t.Helper()
		other.send("/account/reset", "/account/reset", "code", code, "new", password, "repeat", password)
	}
	set(first, "another one")
	other.wants("This link is not valid")
	set(second, "another one")
	other.wants("The password was changed.")
	ann.isOut()
	v.do("GET", "/account", nil)
	v.wants("Log in")
	set(second, "a third one")
	other.wants("This link is not valid")
	again := greeted(t, d)
	if err := again.enter("uniquenick", "ann", "another one"); err != nil {
		t.Fatalf("login with the new password: %v", err)
	}
	out := d.cli("audit")
	wantIn(t, out, "account.reset_link", "account.reset", "Ann")
	if strings.Contains(out, "ann@example.com") {
		t.Errorf("the audit log has the e-mail address:\n%s", out)
	}
	for _, secret := range []string{first, second, "another one", "a third one"} {
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	d.stop()
	b, err := os.ReadFile(filepath.Join(dir, "respawnd.db"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), second) {
		t.Error("the store has the code of a link")
	}
}

func TestResetLinkByMail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := mailtest.New(t, mailtest.Options{STARTTLS: true, Auth: "PLAIN"})
	// The public address is that of the mail, whatever the Host header says.
	d := start(t, dir, variable("mail.smtp_url", "smtp://me:hidden-token@"+server.Address), variable("mail.from", "noreply@example.org"),
		variable("web.public_url", "http://servers.example.org/games"), variable("web.contact", "#help"))
	v := newVisitor(t, d)
	post := func(path string, fields ...string) {
		t.Helper()
		form := url.Values{"token": {formToken.FindStringSubmatch(v.page)[1]}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		v.do(http.MethodPost, path, strings.NewReader(form.Encode()))
	}
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	typed(t, d.cliEnv(), stormPassword+"\n", "account", "create", "--email", "ann@example.com", "--nick", "Ann", "--uniquenick", "ann", "--password-stdin")
	ann := signedIn(t, d, "uniquenick", "ann")
	for _, email := range []string{"none@example.com", "ann@example.com"} {
		v.do(http.MethodGet, "/account/reset", nil)
		v.wants("Mail me a link", "#help")
		post("/account/reset/mail", "email", email)
	}
	m := <-server.Mails
	if m.From != "noreply@example.org" || m.To != "ann@example.com" || !m.Encrypted || m.User != "me" || m.Password != "hidden-token" {
		t.Errorf("the mail is %+v", m)
	}
	_, rest, ok := strings.Cut(m.Text, "http://servers.example.org/games/account/reset#")
	code, _, _ := strings.Cut(rest, "\n")
	if !ok {
		t.Fatalf("no link in the mail:\n%s", m.Text)
	}
	v.do(http.MethodGet, "/account/reset", nil)
	post("/account/reset", "code", code, "new", "another one", "repeat", "another one")
	ann.isOut()
	if err := greeted(t, d).enter("uniquenick", "ann", "another one"); err != nil {
		t.Errorf("login with the new password: %v", err)
	}
	eventually(t, "both requests are counted", func() bool {
		got := metrics(t, d, "respawnd_web_reset_mails_total")
		return got[`respawnd_web_reset_mails_total{result="sent"}`] == "1" && got[`respawnd_web_reset_mails_total{result="unknown"}`] == "1"
	})
	for _, secret := range []string{code, "hidden-token", "ann@example.com"} {
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	d.stop()
}

func TestResetLinkNeedsThePages(t *testing.T) {
	t.Parallel()
	env := []string{variable("data_dir", t.TempDir()), variable("admin.listen", ""), variable("web.public_url", "https://servers.example.org/games")}
	typed(t, env, stormPassword+"\n", "account", "create", "--email", "ann@example.com", "--nick", "Ann", "--password-stdin")
	resetCode(t, env, "https://servers.example.org/games/account/reset")
	for _, off := range []string{variable("web.accounts", "false"), variable("web.listen", "")} {
		code, out, errOut := command(t, append(env, off), "account", "reset-link", "ann@example.com")
		if code != 1 || out != "" || !strings.Contains(errOut, "web.listen, web.accounts") {
			t.Errorf("with %s: exit code %d, printed %q and %q", off, code, out, errOut)
		}
	}
}
