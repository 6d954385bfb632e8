package web

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestPainted(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"^1Red^7 & ^2<b>":       `<span class="ink-red">Red</span> &amp; <span class="ink-green">&lt;b&gt;</span>`,
		`^1"><script>x`:         `<span class="ink-red">&#34;&gt;&lt;script&gt;x</span>`,
		"^1":                    "",
		"^4\u202eevil\x1b[31m'": `<span class="ink-blue">evil[31m&#39;</span>`,
	} {
		if got := string(painted(colour.Parts(colour.Quake, in, 80))); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// coloured answers for every server.
type coloured struct{}

func (coloured) Status(context.Context, netip.AddrPort) (query.Status, error) {
	return query.Status{
		Rules:   []query.Field{{Name: "hostname", Value: "^3Live <i>Inn"}},
		Players: query.Table{Columns: []string{"player_", "score_"}, Rows: [][]string{{"^6Zo^5e", "3"}}},
	}, nil
}

// TestColouredPages: names of games with colour codes are coloured, and no code is left.
func TestColouredPages(t *testing.T) {
	f := newFixture(t)
	for game, codes := range map[string]bool{"gmother": true, "gmtest": false} {
		at := map[bool]string{true: "192.0.2.1:6500", false: "192.0.2.2:6500"}[codes]
		f.Put(webtest.Listed{Addr: at, Game: game, Rules: []string{"hostname", "^1The ^2<b>Inn"}, Players: [][]string{{"player_"}, {"^4Ann"}}})
		path := "/servers/qr2-" + strings.Replace(at, ":", "-", 1)
		page := f.Page(path)
		webtest.CheckFit(t, page)
		h1 := webtest.Elements(webtest.Parse(t, page), atom.H1)[0]
		title := webtest.Content(webtest.Elements(webtest.Parse(t, page), atom.Title)[0])
		if codes {
			webtest.WantParts(t, path, page, `<span class="ink-red">The </span><span class="ink-green">&lt;b&gt;Inn</span>`, `<span class="ink-blue">Ann</span>`)
			if webtest.Content(h1) != "The <b>Inn" || strings.Contains(title, "^") {
				t.Errorf("%s: heading %q, title %q", path, webtest.Content(h1), title)
			}
			continue
		}
		webtest.WantNoParts(t, path, page, "ink-")
		webtest.WantParts(t, path, page, "^1The ^2&lt;b&gt;Inn", "^4Ann")
	}
	f.server.opt.Prober = coloured{}
	page := f.Page("/servers/qr2-192.0.2.1-6500")
	webtest.WantParts(t, "the answer of a server", page, `<span class="ink-purple">Zo</span><span class="ink-cyan">e</span>`, `<span class="ink-yellow">Live &lt;i&gt;Inn</span>`)
	for _, path := range []string{"/", "/servers", "/games/gmother", "/players"} {
		page := f.Page(path)
		webtest.WantParts(t, path, page, `<span class="ink-red">The </span><span class="ink-green">&lt;b&gt;Inn</span>`)
		webtest.WantNoParts(t, path, strings.ReplaceAll(page, "^1The ^2&lt;b&gt;Inn", ""), "^1", "^2", "<b>Inn")
		if path == "/players" {
			webtest.WantParts(t, path, page, `<span class="ink-blue">Ann</span>`)
		}
	}
}
