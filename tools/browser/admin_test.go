package browser

import "testing"

func TestAdminPages(t *testing.T) {
	t.Parallel()
	chromium(t)
	d := startDaemon(t)
	d.register(arena("A server", 2)...)
	b := open(t)
	b.inspect("admin-login", d.url("admin", "/login"))
	b.logIn(d)
	for name, path := range map[string]string{
		"overview": "/", "sessions": "/sessions", "servers": "/servers", "accounts": "/accounts", "bans": "/bans",
		"games": "/games", "game": "/games/gmtest", "files": "/files", "news": "/news", "federation": "/federation", "rooms": "/rooms", "verdicts": "/verdicts", "log": "/log", "audit": "/audit",
	} {
		b.inspect("admin-"+name, d.url("admin", path))
	}
}

func TestOperatorBansAndTheAuditLogTellsOfIt(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	b := open(t)
	b.visit(d.url("admin", "/"))
	b.fill("Admin token", "not the token")
	b.press("Log in")
	b.see("That is not the token")
	b.forgive("403")
	b.logIn(d)
	b.visit(d.url("admin", "/bans"))
	b.fill("Address or network", "192.0.2.0/24")
	b.fill("Reason", "fake <b>servers</b>")
	b.press("Ban")
	b.see("fake <b>servers</b>")
	b.press("Lift")
	b.see("There are no bans")
	b.visit(d.url("admin", "/audit"))
	b.see("192.0.2.0/24")
	b.visit(d.url("admin", "/log"))
	b.see("ready")
}

// logIn gives the token to the admin page.
func (b *tab) logIn(d *daemon) {
	b.t.Helper()
	b.visit(d.url("admin", "/login"))
	b.fill("Admin token", d.adminToken())
	b.press("Log in")
	b.see("Log out")
}
