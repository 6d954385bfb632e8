package signin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/test/rig"
)

func TestAccountMadeOnThePageSignsInWithAGame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	v := rig.NewVisitor(t, d)
	v.MustSend("/account/register", "/account/register", "email", "ann@example.com", "nick", "Ann", "uniquenick", "ann", "new", rig.StormPassword, "repeat", rig.StormPassword)
	v.Wants("Your account", "ann@example.com")
	wantAccountNamed(t, d, "Ann", "ann", rig.StormPassword)
	ann := rig.SignedIn(t, d, "uniquenick", "ann")
	byEmail := rig.Greeted(t, d)
	if err := byEmail.Enter("user", "Ann@ann@example.com", rig.StormPassword); err != nil {
		t.Fatalf("login with nick and e-mail: %v", err)
	}
	ann.IsOut() // one at a time

	v.MustSend("/account", "/account/password", "password", rig.StormPassword, "new", "another one", "repeat", "another one")
	v.Wants("The password was changed.")
	byEmail.IsOut()
	old := rig.Greeted(t, d)
	if err := old.Knock("uniquenick", "ann", rig.StormPassword); err != nil {
		t.Fatal(err)
	}
	old.Hears(`\error\`)
	again := rig.Greeted(t, d)
	if err := again.Enter("uniquenick", "ann", "another one"); err != nil {
		t.Fatalf("login with the new password: %v", err)
	}
	v.MustSend("/account", "/account/delete", "password", "another one", "sure", "1")
	v.Wants("The account was deleted.")
	again.IsOut()
	gone := rig.Greeted(t, d)
	if err := gone.Knock("uniquenick", "ann", "another one"); err != nil {
		t.Fatal(err)
	}
	gone.Hears(`\error\`)
	for _, password := range []string{rig.StormPassword, "another one"} {
		if strings.Contains(d.Log.String(), password) {
			t.Error("a password is in the log")
		}
	}
	d.Stop()
	rig.WantNoPassword(t, dir)
}

// wantAccountNamed fails unless the search service knows an account.
func wantAccountNamed(t *testing.T, d *rig.Running, nick, local, password string) {
	t.Helper()
	answer, err := rig.AskSearch(t.Context(), d.Address["gpsp"], fmt.Sprintf(
		`\check\\nick\%s\email\%s@example.com\partnerid\0\passenc\%s\gamename\gmtest\final\`, nick, local, gamespy.EncodePassword(password)))
	if err != nil || !strings.HasPrefix(answer, `\cur\0\pid\`) {
		t.Errorf("the account of %s is answered with %q, %v", nick, answer, err)
	}
}

func TestAccountMadeInAGameLogsInOnThePage(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	if rig.NewUser(t.Context(), d.Address["gpsp"], "ben") == "" {
		t.Fatal("newuser was refused")
	}
	v := rig.NewVisitor(t, d)
	if code := v.MustSend("/account/login", "/account/login", "email", "ben@example.com", "password", "guess"); code != http.StatusUnprocessableEntity {
		t.Errorf("login with a wrong password: status %d", code)
	}
	v.Wants("The e-mail address or the password is wrong.")
	v.MustSend("/account/login", "/account/login", "email", "ben@example.com", "password", rig.StormPassword)
	v.Wants("Your account", "ben")
	ben := rig.SignedIn(t, d, "uniquenick", "ben")

	v.MustSend("/account", "/account/email", "email", "benny@example.com", "password", rig.StormPassword)
	v.Wants("The e-mail address was changed.")
	ben.HearsNothing() // this player stays signed in
	wantAccountNamed(t, d, "ben", "benny", rig.StormPassword)

	d.Cli("account", "ban", "benny@example.com")
	v.Do(http.MethodGet, "/account", nil)
	v.Wants("Log in")
	v.MustSend("/account/login", "/account/login", "email", "benny@example.com", "password", rig.StormPassword)
	v.Wants("This account is banned")
	d.Stop()
}

func TestPagesOfAccountsObeyTheConfiguration(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("web.accounts", "false"))
	for _, path := range []string{"/account", "/account/login", "/account/register"} {
		if code, _ := rig.Get(t, d, "web", http.MethodGet, path, ""); code != http.StatusNotFound {
			t.Errorf("GET %s with web.accounts false: status %d, want 404", path, code)
		}
	}
	d.Stop()

	d = rig.Start(t, t.TempDir(), rig.Variable("web.registrations", "1"), rig.Variable("gpsp.private", "true"))
	v := rig.NewVisitor(t, d)
	fields := []string{"email", "ann@example.com", "nick", "Ann", "new", rig.StormPassword, "repeat", rig.StormPassword}
	v.MustSend("/account/register", "/account/register", fields...)
	v.Wants("If that e-mail address was free")
	if code := v.MustSend("/account/register", "/account/register", fields...); code != http.StatusTooManyRequests {
		t.Errorf("second account in a minute: status %d, want 429", code)
	}
	if got := rig.Metric(t, d, `respawnd_dropped_total{reason="registration_rate",service="web"}`); got != "1" {
		t.Errorf("refused registrations counted: %q, want 1", got)
	}
	v.MustSend("/account/login", "/account/login", "email", "ann@example.com", "password", rig.StormPassword)
	v.Wants("Your account")
	if got := rig.Metric(t, d, "respawnd_web_account_sessions"); got != "1" {
		t.Errorf("sessions counted: %q, want 1", got)
	}
	d.Stop()
}

func TestNewSealingKeyKeepsSessions(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	v := rig.NewVisitor(t, d)
	v.MustSend("/account/register", "/account/register", "email", "ann@example.com", "nick", "Ann", "uniquenick", "ann", "new", rig.StormPassword, "repeat", rig.StormPassword)
	v.Wants("Your account")
	d.Cli("account", "rotate-key")
	v.Do(http.MethodGet, "/account", nil)
	v.Wants("Your account", "ann@example.com")
	d.Stop()
}
