package browser

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// playerPages are the pages for players, but for those of the list and of the documentation, which is English.
var playerPages = map[string]string{
	"home": "/", "servers": "/servers?q=a", "servers-none": "/servers?q=nothing-has-this-name", "country": "/servers?country=FR&sort=name",
	"players": "/players", "player": "/players/1", "connect": "/connect", "several": "/connect?several=gmtest,+swat+4,+bf1942,+ut99,+no+such+game#games",
	"games": "/games", "games-found": "/games?q=unreal&state=playable", "game": "/games/gmtest", "game-needing": "/games/swat4",
	"charts": "/charts", "why": "/why", "login": "/account/login", "register": "/account/register", "reset": "/account/reset",
	"reset-link": "/account/reset#" + resetCode, "nothing": "/nothing-here",
}

// community is a daemon with a full list, with names that break tables, and with players, of whom the first can log in.
func community(t *testing.T) *daemon {
	t.Helper()
	file := filepath.Join(t.TempDir(), "games.yaml")
	if err := os.WriteFile(file, []byte(boards), 0o600); err != nil {
		t.Fatal(err)
	}
	d := oddCrowd.start(t, 48, "RESPAWND_GAMES_FILE="+file, "RESPAWND_MAIL_SMTP_URL=smtp://127.0.0.1:1", "RESPAWND_MAIL_FROM=noreply@example.org")
	for _, p := range players {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url("admin", "/api/v1/"+p[0]), bytes.NewReader([]byte(p[1])))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+d.adminToken())
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", p[0], resp.Status)
		}
	}
	return d
}

// All pages for players are looked at in English with the keyboard too, and at each width in languages whose words are
// longer and whose letters are wider.
func TestPlayerPages(t *testing.T) {
	t.Parallel()
	chromium(t)
	d := community(t)
	for _, tag := range []string{"en", "de", "fr", "ru"} {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			at := d.firstServer(b)
			b.visit(d.url("web", "/servers?q=a"))
			b.fill("Language", tag)
			b.press("Choose")
			b.wait("read it in "+tag, `tag => document.documentElement.lang === tag && location.search === '?q=a'`, tag)
			b.inspectIn(tag, "server", d.url("web", at))
			for name, path := range playerPages {
				b.inspectIn(tag, name, d.url("web", path))
				if name == "nothing" {
					b.forgive("404")
				}
			}
			b.visit(d.url("web", "/account/login"))
			b.do("log in", chromedp.SetValue(chromedp.ID("email"), "ann@example.com"), chromedp.SetValue(chromedp.ID("password"), "secret"),
				chromedp.Click(`//main//button[@type="submit"]`))
			b.see("ann@example.com")
			b.do("unfold all", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('details').forEach(e => e.open = true)`))
			for _, l := range looks[:widths] {
				b.lookAt(tag+"-account", l)
			}
			b.picture(tag + "-account-unfolded")
		})
	}
}
