package account

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/web/page"
	"github.com/respawnd/respawnd/web/webtest"
)

// issue returns the code of a new reset link.
func (f *fixture) issue(email string) string {
	f.T.Helper()
	r, err := f.service.Passwords.IssueReset(f.T.Context(), f.user(email).ID)
	if err != nil {
		f.T.Fatal(err)
	}
	return r.Code
}

// reset sends the form of a reset link.
func (b *browser) reset(code, password string) string {
	b.f.T.Helper()
	b.get("/account/reset")
	w := b.send("/account/reset", "code", code, "new", password, "repeat", password)
	if w.Code == http.StatusSeeOther {
		return w.Header().Get("Location")
	}
	return problemIn(b.page)
}

const resetDone = "/account/login?done=reset"

func TestReset(t *testing.T) {
	f := newFixture(t)
	ann := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	profile := f.profile("ann@example.org", "Ann")
	ticket := f.service.Grants.IssueTicket(profile.ID)
	first, code := f.issue("ann@example.org"), f.issue("ann@example.org")

	b := f.browser("198.51.100.7:4000")
	if got := b.reset(first, "another"); !strings.Contains(got, "This link is not valid") {
		t.Errorf("a link that a new one ended: %q", got)
	}
	webtest.WantParts(t, "the page after a link that has ended", b.page, "To get one, ask", `value=""`)
	w := b.send("/account/reset", "code", code, "new", "another", "repeat", "typo")
	wantRefused(t, "two passwords", w, http.StatusUnprocessableEntity, problemRepeat)
	webtest.WantParts(t, "the page after a mistake", b.page, `value="`+code+`"`, "data-code hidden", "data-asking hidden")
	if got := b.reset("https://servers.example.org/account/reset#"+code, "another"); got != resetDone {
		t.Fatalf("the link: %q, want %q", got, resetDone)
	}
	if b.get(resetDone); !strings.Contains(b.page, "The password was changed.") {
		t.Error("the page to log in does not confirm the new password")
	}
	if !f.passwordFits("ann@example.org", "another") || f.passwordFits("ann@example.org", "secret") {
		t.Error("the account has another password than the one that was set")
	}
	if got := b.reset(code, "third"); !strings.Contains(got, "This link is not valid") || f.passwordFits("ann@example.org", "third") {
		t.Errorf("a second use: %q", got)
	}

	wantDone(t, "a session on the pages from before", ann.get("/account"), "/account/login")
	if len(f.hub.users) != 1 || f.hub.users[0] != profile.User || !errors.Is(f.hub.reasons[0], presence.ErrDisplaced) {
		t.Errorf("ended sessions of games: %v, %v, want those of account %d", f.hub.users, f.hub.reasons, profile.User)
	}
	if _, err := f.service.Grants.CheckTicket(ticket); err == nil {
		t.Error("a ticket from before is valid")
	}
	if strings.Contains(f.log.String(), code) {
		t.Error("the log has the code")
	}
}

// The same password is a new one, too: a thief's sessions have to end.
func TestResetToSamePassword(t *testing.T) {
	f := newFixture(t)
	thief := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	if got := f.browser(near).reset(f.issue("ann@example.org"), "secret"); got != resetDone {
		t.Fatalf("reset: %q", got)
	}
	wantDone(t, "a session from before", thief.get("/account"), "/account/login")
}

// A link in a mail on another site opens the page without the session's cookie,
// which comes with the form.
func TestResetWhileLoggedIn(t *testing.T) {
	f := newFixture(t)
	b := f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	session := b.cookies
	b.cookies = map[string]*http.Cookie{}
	b.get("/account/reset")
	for name, c := range session {
		if b.cookies[name] == nil {
			b.cookies[name] = c
		}
	}
	w := b.send("/account/reset", "code", f.issue("ann@example.org"), "new", "another", "repeat", "another")
	wantDone(t, "the form", w, resetDone)
}

func TestResetPage(t *testing.T) {
	f := newFixture(t)
	b := f.browser("198.51.100.7:4000")
	w := b.get("/account/reset")
	webtest.WantParts(t, "the page", b.page, "ask the operator of this site", "/assets/reset.js?v=", `autocomplete="new-password"`)
	for name, want := range map[string]string{"Cache-Control": "no-store"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f.pages.site.SetCommunity(page.Community{Contact: page.Link{Title: "<b>#help</b>\non IRC"}})
	b.get("/account/reset")
	webtest.WantParts(t, "the page", b.page, "To get one, ask <bdi>&lt;b&gt;#help&lt;/b&gt;")
	webtest.WantParts(t, "the page to log in", f.browserAt("/account/login"), `href="/account/reset"`)

	for name, code := range map[string]string{"empty": "", "short": "abc", "long": strings.Repeat("A", 2*maxCodeField), "unknown": strings.Repeat("A", 48), "hostile": `"><script>`} {
		got := b.reset(code, "another")
		if !strings.Contains(got, "This link is not valid") || strings.Contains(b.page, `"><script>`) {
			t.Errorf("%s code: %q", name, got)
		}
	}
	b.cookies = map[string]*http.Cookie{}
	wantRefused(t, "a form of another browser", b.send("/account/reset", "code", "x"), http.StatusForbidden, "the form has expired")
	b.get("/account/reset")
	b.origin = "https://evil.example.net"
	wantRefused(t, "a form of another site", b.send("/account/reset", "code", "x"), http.StatusForbidden, "another site")
	f.pages.SetLimits(false, 0, 0)
	if w := b.get("/account/reset"); w.Code != http.StatusNotFound {
		t.Errorf("with the pages of accounts off: %d, want 404", w.Code)
	}
}

// browserAt returns the page at a path.
func (f *fixture) browserAt(path string) string {
	b := f.browser(near)
	b.get(path)
	return b.page
}

func TestResetAudit(t *testing.T) {
	f := newFixture(t)
	f.browser(near).register("ann@example.org", "Ann", "ann", "secret")
	if got := f.browser("198.51.100.7:4000").reset(f.issue("ann@example.org"), "another"); got != resetDone {
		t.Fatalf("reset: %q", got)
	}
	for e, err := range f.store.AuditLog(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Action != "account.reset" || e.Subject != "Ann" || e.From.String() != "198.51.100.7" || e.ID != uint32(f.user("ann@example.org").ID) || e.Detail != "" {
			t.Errorf("the last entry of the audit log is %+v", e)
		}
		break
	}
}
