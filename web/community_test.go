package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/web/webtest"
)

var _ configs.Entry = (*Link)(nil)

func TestCommunity(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		c := o.Config
		c.Title, c.Contact, c.Message = "Old <Games> Club", "admin@example.org", "First line\n<b>Second</b> line"
		c.Links = []Link{{"Discord & friends", "https://discord.example/x?a=1&b=2"}, {"Mail", "mailto:a@example.org"}}
	})
	for _, target := range []string{"/", "/servers", "/players", "/games", "/connect", "/why", "/docs/"} {
		webtest.WantParts(t, target, f.Page(target), "Old &lt;Games&gt; Club", `<a href="mailto:admin@example.org">admin@example.org</a>`,
			`<a href="https://discord.example/x?a=1&amp;b=2" rel="noopener">Discord &amp; friends</a>`, `href="mailto:a@example.org"`)
	}
	webtest.WantParts(t, "home", f.Page("/"), "<title>Old &lt;Games&gt; Club</title>", "First line\n&lt;b&gt;Second&lt;/b&gt; line", "<h1>Old &lt;Games&gt; Club</h1>")
	w := f.Get("/nothing")
	webtest.WantParts(t, "the page of an error", w.Body.String(), "Old &lt;Games&gt; Club", "admin@example.org")

	t.Run("reload", func(t *testing.T) {
		next := *f.server.opt.Config
		next.Title, next.Contact, next.Message, next.Links = "Another", "", "", nil
		f.server.Reload(&next)
		for _, target := range []string{"/", "/servers", "/docs/"} {
			page := f.Page(target)
			webtest.WantParts(t, target, page, "Another")
			webtest.WantNoParts(t, target, page, "Club", "admin@example.org", "Discord", "First line")
		}
	})
	t.Run("defaults", func(t *testing.T) {
		page := newFixture(t).Page("/")
		webtest.WantParts(t, "home", page, "<title>respawnd</title>", "<h1>Game servers</h1>")
		webtest.WantNoParts(t, "home", page, "Contact:", "Links of this site", `class="note message"`)
	})
}

func TestPreviews(t *testing.T) {
	for name, tc := range map[string]struct{ public, root string }{"host": {"https://example.org", ""}, "path": {"https://example.org/list", "/list"}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Config.PublicURL = tc.public })
			f.Put(webtest.Listed{Rules: []string{"hostname", `A "server" <b>`, "mapname", "deck", "numplayers", "3", "maxplayers", "8"}})
			for target, want := range map[string][2]string{
				"/":               {"respawnd", "Game servers: 1 server, 3 players."},
				"/servers":        {"Servers", "1 server, 3 players."},
				serverPath:        {"A &#34;server&#34; &lt;b&gt;", "Test &lt;game&gt;: 3 players of 8 on deck, 192.0.2.1:6500."},
				"/games/gmtest":   {"Test &lt;game&gt;", "Test &lt;game&gt;: 1 server, 3 players."},
				"/players":        {"Players online", "Players online: 3."},
				"/connect":        {"How to connect", "How games and game servers find this site."},
				"/servers?q=deck": {"Servers", "1 server, 3 players."},
			} {
				page := f.Get(target, "Host", "evil.example").Body.String()
				webtest.WantParts(t, target, page, `<meta property="og:title" content="`+want[0]+`">`, `<meta property="og:description" content="`+want[1]+`">`,
					`<meta property="og:url" content="https://example.org`+tc.root+target+`">`, `<meta property="og:site_name" content="respawnd">`)
				webtest.WantNoParts(t, target, page, "evil.example")
			}
		})
	}
	t.Run("no public address", func(t *testing.T) {
		f := newFixture(t)
		f.Put(webtest.Listed{})
		page := f.Get("/", "Host", "evil.example").Body.String()
		webtest.WantNoParts(t, "home", page, "og:", "evil.example")
		webtest.WantParts(t, "home", page, `<meta name="description" content="Game servers: 1 server, 0 players.">`)
	})
}

func TestLinkCheckEntry(t *testing.T) {
	for name, tc := range map[string]struct {
		link Link
		want string // part of the error; empty: none
	}{
		"https":            {Link{"A", "https://example.org/x"}, ""},
		"http":             {Link{"A", "http://example.org"}, ""},
		"mail":             {Link{"A", "mailto:a@example.org"}, ""},
		"longest title":    {Link{strings.Repeat("ü", maxLinkTitle), "http://example.org"}, ""},
		"longer title":     {Link{strings.Repeat("ü", maxLinkTitle+1), "http://example.org"}, "61 characters"},
		"longest url":      {Link{"A", "http://" + strings.Repeat("a", maxLinkURL-7)}, ""},
		"longer url":       {Link{"A", "http://" + strings.Repeat("a", maxLinkURL-6)}, "more than 1000 bytes"},
		"no title":         {Link{" ", "https://example.org"}, "has no title"},
		"control in title": {Link{"a\x1bb", "https://example.org"}, "control character"},
		"script":           {Link{"A", "javascript:alert(1)"}, "has a bad url"},
		"data":             {Link{"A", "data:text/html,x"}, "has a bad url"},
		"relative":         {Link{"A", "//example.org"}, "has a bad url"},
		"no host":          {Link{"A", "https:///x"}, "has a bad url"},
		"no mailbox":       {Link{"A", "mailto:x"}, "has a bad url"},
		"not a url":        {Link{"A", "https://exa mple.org/%zz"}, "cannot be read"},
		"nothing":          {Link{"A", ""}, "has a bad url"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.link.CheckEntry()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("CheckEntry(%+v): got %v, want %q", tc.link, err, tc.want)
			}
		})
	}
}

func TestContactLink(t *testing.T) {
	for contact, want := range map[string]string{
		"admin@example.org": "mailto:admin@example.org", "mailto:a@b.c": "mailto:a@b.c", "https://example.org/contact": "https://example.org/contact",
		"Ask Olga": "", "Olga on IRC, #club": "", "javascript:alert(1)": "", "": "", "a@b <script>": "",
	} {
		if got := contactLink(contact); got != want {
			t.Errorf("contactLink(%q): got %q, want %q", contact, got, want)
		}
	}
}

func TestFavicon(t *testing.T) {
	w := newFixture(t).Get("/favicon.ico")
	if to := w.Header().Get("Location"); w.Code != http.StatusFound || !strings.HasPrefix(to, "/assets/icon.svg?v=") {
		t.Errorf("GET /favicon.ico: got %d to %q, want the icon", w.Code, to)
	}
}
