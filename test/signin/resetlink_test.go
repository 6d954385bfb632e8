package signin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/mail/mailtest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/test/rig"
)

// resetCode returns the code of a reset link of the account of Ann.
func resetCode(t *testing.T, env []string, want string) string {
	t.Helper()
	var object operator.ResetLink // ends with the next one
	if err := json.Unmarshal([]byte(rig.Cli(t, env, "account", "reset-link", "ann@example.com", "--json")), &object); err != nil || object.Link == "" || object.Expires.IsZero() {
		t.Errorf("account reset-link --json: %+v, %v", object, err)
	}
	code, out, errOut := rig.Command(t, env, "account", "reset-link", "ann@example.com")
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
	d := rig.Start(t, dir)
	v := rig.NewVisitor(t, d)
	v.MustSend("/account/register", "/account/register", "email", "ann@example.com", "nick", "Ann", "uniquenick", "ann", "new", rig.StormPassword, "repeat", rig.StormPassword)
	ann := rig.SignedIn(t, d, "uniquenick", "ann")
	first := resetCode(t, d.CliEnv(), "/account/reset")
	d.Stop()
	ann.IsOut()

	// The link survives a restart, and can be made on the closed store.
	second := resetCode(t, d.CliEnv(), "/account/reset")
	d = rig.Start(t, dir)
	v = rig.NewVisitor(t, d)
	v.MustSend("/account/login", "/account/login", "email", "ann@example.com", "password", rig.StormPassword)
	v.Wants("Your account")
	ann = rig.SignedIn(t, d, "uniquenick", "ann")
	other := rig.NewVisitor(t, d)
	set := func(code, password string) {
		t.Helper()
		other.MustSend("/account/reset", "/account/reset", "code", code, "new", password, "repeat", password)
	}
	set(first, "another one")
	other.Wants("This link is not valid")
	set(second, "another one")
	other.Wants("The password was changed.")
	ann.IsOut()
	v.Do("GET", "/account", nil)
	v.Wants("Log in")
	set(second, "a third one")
	other.Wants("This link is not valid")
	again := rig.Greeted(t, d)
	if err := again.Enter("uniquenick", "ann", "another one"); err != nil {
		t.Fatalf("login with the new password: %v", err)
	}
	out := d.Cli("audit")
	rig.WantIn(t, out, "account.reset_link", "account.reset", "Ann")
	if strings.Contains(out, "ann@example.com") {
		t.Errorf("the audit log has the e-mail address:\n%s", out)
	}
	for _, secret := range []string{first, second, "another one", "a third one"} {
		if strings.Contains(d.Log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	d.Stop()
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
	d := rig.Start(t, dir, rig.Variable("mail.smtp_url", "smtp://me:hidden-token@"+server.Address), rig.Variable("mail.from", "noreply@example.org"),
		rig.Variable("web.public_url", "http://servers.example.org/games"), rig.Variable("web.contact", "#help"))
	v := rig.NewVisitor(t, d)
	post := func(path string, fields ...string) {
		t.Helper()
		form := url.Values{"token": {rig.FormToken.FindStringSubmatch(v.Page)[1]}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		v.Do(http.MethodPost, path, strings.NewReader(form.Encode()))
	}
	v.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	rig.Typed(t, d.CliEnv(), rig.StormPassword+"\n", "account", "create", "--email", "ann@example.com", "--nick", "Ann", "--uniquenick", "ann", "--password-stdin")
	ann := rig.SignedIn(t, d, "uniquenick", "ann")
	for _, email := range []string{"none@example.com", "ann@example.com"} {
		v.Do(http.MethodGet, "/account/reset", nil)
		v.Wants("Mail me a link", "#help")
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
	v.Do(http.MethodGet, "/account/reset", nil)
	post("/account/reset", "code", code, "new", "another one", "repeat", "another one")
	ann.IsOut()
	if err := rig.Greeted(t, d).Enter("uniquenick", "ann", "another one"); err != nil {
		t.Errorf("login with the new password: %v", err)
	}
	rig.Eventually(t, "both requests are counted", func() bool {
		got := rig.Metrics(t, d, "respawnd_web_reset_mails_total")
		return got[`respawnd_web_reset_mails_total{result="sent"}`] == "1" && got[`respawnd_web_reset_mails_total{result="unknown"}`] == "1"
	})
	for _, secret := range []string{code, "hidden-token", "ann@example.com"} {
		if strings.Contains(d.Log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	d.Stop()
}

func TestResetLinkNeedsThePages(t *testing.T) {
	t.Parallel()
	env := []string{rig.Variable("data_dir", t.TempDir()), rig.Variable("admin.listen", ""), rig.Variable("web.public_url", "https://servers.example.org/games")}
	rig.Typed(t, env, rig.StormPassword+"\n", "account", "create", "--email", "ann@example.com", "--nick", "Ann", "--password-stdin")
	resetCode(t, env, "https://servers.example.org/games/account/reset")
	for _, off := range []string{rig.Variable("web.accounts", "false"), rig.Variable("web.listen", "")} {
		code, out, errOut := rig.Command(t, append(env, off), "account", "reset-link", "ann@example.com")
		if code != 1 || out != "" || !strings.Contains(errOut, "web.listen, web.accounts") {
			t.Errorf("with %s: exit code %d, printed %q and %q", off, code, out, errOut)
		}
	}
}
