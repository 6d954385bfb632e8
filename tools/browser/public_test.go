package browser

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/respawnd/respawnd/qr2"
)

// arena returns the report of a game server.
func arena(name string, players int) []qr2.Rule {
	rules := []qr2.Rule{
		{Name: "hostname", Value: name},
		{Name: "mapname", Value: "dm1"},
		{Name: "gametype", Value: "arena"},
		{Name: "numplayers", Value: strconv.Itoa(players)},
		{Name: "maxplayers", Value: "16"},
	}
	return rules
}

func TestPublicPages(t *testing.T) {
	t.Parallel()
	chromium(t)
	d := startDaemon(t)
	d.register(arena(`<script>alert(1)</script> "ünïcode" `+"\u202eright to left", 3)...)
	d.register(arena("Second", 0)...)
	b := open(t)
	b.visit(d.url("web", "/api/v1/servers?q=Second"))
	id := get(b, "read the list", chromedp.Evaluate[string](`JSON.parse(document.body.innerText).servers[0].id`))
	for name, path := range map[string]string{
		"few-home": "/", "few-servers": "/servers", "few-server": "/servers/" + id, "few-players": "/players", "few-game": "/games/" + game,
		"docs": "/docs/", "docs-lan": "/docs/operators/lan", "docs-limits": "/docs/operators/limits",
	} {
		b.inspect(name, d.url("web", path))
	}
}

// Where the system has no pictures of flags, as here, players see the letters of the country.
func TestFlagsAreSpelled(t *testing.T) {
	chromium(t)
	d := crowded(t, 8)
	b := open(t)
	b.visit(d.url("web", "/servers?country=FR"))
	b.wait("read the letters", `text => [...document.querySelectorAll('.servers .flag')].some(e => e.textContent === text && e.getAttribute('aria-label') === 'France')`, "FR")
}

func TestCopyAddress(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	d.register(arena("The only server", 1)...)
	b := open(t)
	b.visit(d.url("web", "/servers"))
	b.press("Copy")
	b.see("Copied")
	text := get(b, "read what was said", chromedp.Evaluate[string](`document.getElementById("copied").textContent`))
	address := get(b, "read the address", chromedp.Evaluate[string](`document.querySelector(".addr code").textContent`))
	if text != "Copied "+address {
		t.Errorf("after a press on Copy the page says %q, want the address %s", text, address)
	}
}

func TestCopyIsHiddenWithoutScript(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	d.register(arena("The only server", 1)...)
	b := open(t)
	b.withoutScript()
	b.visit(d.url("web", "/servers"))
	if get(b, "look for buttons", chromedp.Evaluate[bool](`[...document.querySelectorAll(".copy")].some(e => e.checkVisibility())`)) {
		t.Error("without scripts there are buttons that do nothing")
	}
}

func TestListShowsChangesWhileItIsOpen(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	d.register(arena("The first server", 1)...)
	b := open(t)
	b.visit(d.url("web", "/servers"))
	b.see("The first server")
	second := d.register(arena("The second server", 2)...)
	b.see("The second server")
	second.leave()
	b.miss("The second server")
	b.see("The first server")
}

func TestSearchNeedsNoScript(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	for n := range 3 {
		d.register(arena(fmt.Sprintf("Arena %d", n), n)...)
	}
	b := open(t)
	b.withoutScript()
	b.visit(d.url("web", "/servers"))
	b.see("Arena 0")
	b.fill("Search", "Arena 2")
	b.press("Show")
	b.see("Arena 2")
	b.miss("Arena 1")
}

func TestAccountIsMadeChangedAndDeleted(t *testing.T) {
	chromium(t)
	d := startDaemon(t)
	b := open(t)
	b.visit(d.url("web", "/account/register"))
	b.fill("E-mail address", "joe@example.com")
	b.fill("Nick", "Joe")
	b.fill("Unique nick", "joe")
	b.fill("Password", "correct horse")
	b.fill("Password again", "correct horse")
	b.press("Create the account")
	b.see("joe@example.com")
	b.inspectHere("account")

	b.unfold("Change the password")
	b.fill("Current password", "correct horse")
	b.fill("New password", "battery staple")
	b.fill("New password again", "battery staple")
	b.press("Change the password")
	b.see("The password was changed")
	b.press("Log out")
	b.see("You are logged out")

	b.visit(d.url("web", "/account/login"))
	b.fill("E-mail address", "joe@example.com")
	b.fill("Password", "correct horse")
	b.press("Log in")
	b.see("wrong")
	b.forgive("Failed to load resource")
	b.fill("Password", "battery staple")
	b.press("Log in")
	b.see("joe@example.com")

	b.unfold("Delete it with all profiles, buddies and messages")
	b.do("fill in the password", chromedp.SetValue(chromedp.ID("delete-password"), "battery staple"))
	b.do("be sure", chromedp.Click(chromedp.ID("sure")))
	b.press("Delete the account")
	b.see("deleted")
	b.see("Log in")
	b.visit(d.url("web", "/account/login"))
	b.fill("E-mail address", "joe@example.com")
	b.fill("Password", "battery staple")
	b.press("Log in")
	b.see("wrong")
	b.forgive("Failed to load resource")
}

// resetCode is a code of a link that was never sent.
const resetCode = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func TestResetLinkIsUsed(t *testing.T) {
	chromium(t)
	d := startDaemon(t, "RESPAWND_WEB_PUBLIC_URL=http://servers.example.org", "RESPAWND_WEB_CONTACT=admin@example.org",
		"RESPAWND_MAIL_SMTP_URL=smtp://127.0.0.1:1", "RESPAWND_MAIL_FROM=noreply@example.org")
	b := open(t)
	b.visit(d.url("web", "/account/reset"))
	b.see("Mail me a link")
	b.see("admin@example.org")

	// The code moves from the address into the form.
	b.visit(d.url("web", "/account/reset#"+resetCode))
	b.miss("Mail me a link")
	if got := get(b, "read the address", chromedp.Evaluate[string](`location.hash + document.getElementById("code").value + document.activeElement.id`)); got != resetCode+"new" {
		t.Errorf("the fragment, the code and the focus are %q, want no fragment, the code and the new password", got)
	}
	b.fill("New password", "battery staple")
	b.fill("New password again", "battery staple")
	b.press("Set the password")
	b.see("This link is not valid")
	b.see("Mail me a link")
	b.forgive("Failed to load resource")

	b.withoutScript()
	b.visit(d.url("web", "/account/reset"))
	b.fill("Link, or the part after #", resetCode)
	b.fill("New password", "battery staple")
	b.fill("New password again", "battery staple")
	b.press("Set the password")
	b.see("This link is not valid")
	b.forgive("Failed to load resource")
}

// On a phone, the pages that list servers show one without scrolling.
func TestServersAreInTheFirstScreen(t *testing.T) {
	chromium(t)
	d := crowded(t, 12)
	b := open(t)
	for _, path := range []string{"/", "/servers", "/games/gmtest"} {
		b.visit(d.url("web", path))
		b.do("hold a phone", chromedp.EmulateViewport(390, 844))
		const end = `document.querySelector('.servers tbody tr').getBoundingClientRect().bottom`
		if at := get(b, "look for a server", chromedp.Evaluate[float64](end)); at > 844 {
			t.Errorf("%s: the first server ends at %.0f of 844 pixels", path, at)
		}
		b.picture("first-screen")
	}
}
