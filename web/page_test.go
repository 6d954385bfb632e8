package web

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/respawnd/respawnd/master"
)

// cells returns the visible text of the rows of the list in a page, by cells
// joined with "|".
func cells(t *testing.T, page string) []string {
	t.Helper()
	doc, err := nethtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatalf("the page is not HTML: %v", err)
	}
	var out []string
	for _, n := range all(doc, atom.Table) {
		if !strings.HasPrefix(text(n), "Servers ") {
			continue
		}
		for _, tr := range all(n, atom.Tr) {
			var row []string
			for c := range tr.ChildNodes() {
				if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
					row = append(row, strings.TrimSpace(text(c)))
				}
			}
			out = append(out, strings.Join(row, "|"))
		}
	}
	return out
}

func all(n *nethtml.Node, a atom.Atom) (found []*nethtml.Node) {
	for d := range n.Descendants() {
		if d.DataAtom == a {
			found = append(found, d)
		}
	}
	return found
}

func text(n *nethtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == nethtml.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestPageShowsServersMostPlayersFirst(t *testing.T) {
	f := newFixture(t)
	f.put(listed{addr: "192.0.2.1:1", game: "gmtest", rules: []string{"hostname", "Few", "numplayers", "1", "maxplayers", "8"}})
	f.put(listed{
		addr: "192.0.2.2:2", game: "gmother",
		rules: []string{"hostname", "Many", "mapname", "deck", "numplayers", "9", "password", "1"},
		change: func(s *master.Server) {
			s.Country = "NZ"
			s.Findings.Reachable = true
			s.First = s.Seen.Add(-3 * time.Hour)
		},
	})
	f.put(listed{addr: "[2001:db8::1]:3", game: "gmtest"})
	page := f.page("/")
	want := []string{
		"Name|Game|Map|Players|Country|Address|Listed for|Reachable",
		"Many password|Other game|deck|9|NZ|192.0.2.2:2|3 h|yes",
		"Few|Test <game>||1/8||192.0.2.1:1|just now|not confirmed",
		"no name|Test <game>||0||[2001:db8::1]:3|just now|not confirmed",
	}
	if got := cells(t, page); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, part := range []string{
		"3 servers of 2 games,\nwith 10 players.", `href="/?game=gmother"`, `<html lang="en">`, `name="viewport"`, "respawnd 1.2.3",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	for _, part := range []string{"<script", " style=", " onclick"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %q", part)
		}
	}
}

func TestPageFilters(t *testing.T) {
	f := newFixture(t)
	f.put(listed{addr: "192.0.2.1:1", game: "gmtest", rules: []string{"hostname", "One"}})
	f.put(listed{addr: "192.0.2.2:1", game: "gmother", rules: []string{"hostname", "Two", "mapname", "One"}})
	tests := map[string]struct {
		target string
		want   string // addresses
	}{
		"game":                {"/?game=gmtest", "192.0.2.1:1"},
		"game, upper case":    {"/?game=GMTEST", "192.0.2.1:1"},
		"text":                {"/?q=oNe", "192.0.2.1:1 192.0.2.2:1"},
		"text in a game":      {"/?q=one&game=gmother", "192.0.2.2:1"},
		"empty form":          {"/?game=&q=", "192.0.2.1:1 192.0.2.2:1"},
		"unknown parameter":   {"/?utm_source=x&fbclid=1", "192.0.2.1:1 192.0.2.2:1"},
		"wrong game is none":  {"/?game=%3Cb%3E", "192.0.2.1:1 192.0.2.2:1"},
		"wrong page is first": {"/?page=-1", "192.0.2.1:1 192.0.2.2:1"},
		"page behind the end": {"/?page=9", "192.0.2.1:1 192.0.2.2:1"},
		"broken query":        {"/?game=gmtest&q=%zz", "192.0.2.1:1"},
		"game without any":    {"/?game=gmquiet", ""},
		"no such text":        {"/?q=nothing", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			page := f.page(tc.target)
			var got []string
			for i, row := range cells(t, page) {
				if i > 0 {
					got = append(got, strings.Split(row, "|")[5])
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("GET %s: got %q, want %q", tc.target, got, tc.want)
			}
			if tc.want == "" && !strings.Contains(page, "No server is listed that fits") {
				t.Errorf("GET %s does not say that nothing fits", tc.target)
			}
		})
	}
	if page := f.page("/?q=%22%3E%3Cscript%3E&game=gmtest"); strings.Contains(page, "<script") {
		t.Error("the text that was searched for comes back as markup")
	}
}

func TestEmptyPage(t *testing.T) {
	page := newFixture(t).page("/")
	for _, part := range []string{"0 servers of 0 games", "No server is listed at the moment."} {
		if !strings.Contains(page, part) {
			t.Errorf("the page without servers lacks %q", part)
		}
	}
}

func TestLongListHasPages(t *testing.T) {
	f := newFixture(t)
	links := func(page string) string {
		var out []string
		for _, rel := range []string{"prev", "next"} {
			if m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(page); m != nil {
				out = append(out, rel+" "+html.UnescapeString(m[1]))
			}
		}
		return strings.Join(out, ", ")
	}
	f.fill(PageRows)
	if page := f.page("/"); len(cells(t, page)) != PageRows+1 || links(page) != "" {
		t.Errorf("%d servers: got %d lines and links %q, want all and none", PageRows, len(cells(t, page))-1, links(page))
	}
	for i := range PageRows + 1 {
		f.put(listed{addr: fmt.Sprintf("10.9.%d.%d:1", i>>8, i&255)})
	}
	tests := map[string]struct {
		target string
		rows   int
		links  string
	}{
		"first":          {"/?game=gmtest&q=", PageRows, "next /?game=gmtest&page=2"},
		"middle":         {"/?page=2", PageRows, "prev /, next /?page=3"},
		"last":           {"/?page=3", 1, "prev /?page=2"},
		"behind last":    {"/?page=1048576", 1, "prev /?page=2"},
		"filter is kept": {"/?page=1&q=server", PageRows, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			page := f.page(tc.target)
			if got := len(cells(t, page)) - 1; got != tc.rows || links(page) != tc.links {
				t.Errorf("GET %s: got %d rows, links %q; want %d, %q", tc.target, got, links(page), tc.rows, tc.links)
			}
		})
	}
}

func TestHostileTextsAreHarmlessInThePage(t *testing.T) {
	f := newFixture(t)
	clean := f.page("/")
	allowed := map[string]bool{}
	note := func(page string, add bool) {
		doc, err := nethtml.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatalf("the page is not HTML: %v", err)
		}
		for n := range doc.Descendants() {
			if n.Type != nethtml.ElementNode {
				continue
			}
			for _, what := range append([]string{n.Data}, attributes(n)...) {
				if add {
					allowed[what] = true
				} else if !allowed[what] {
					t.Errorf("the page has a %q that our templates do not make", what)
				}
			}
		}
	}
	note(clean, true)
	f.put(listed{addr: "198.51.100.1:1", rules: []string{"hostname", "x", "mapname", "y", "password", "1"}})
	f.put(listed{addr: "198.51.100.2:1"})
	note(f.page("/"), true)
	note(f.page("/?q=x&game=gmtest"), true)
	for i, text := range hostileTexts() {
		f.put(listed{
			addr: fmt.Sprintf("192.0.2.%d:6500", i), rules: []string{"hostname", text, "mapname", text, "numplayers", text},
			change: func(s *master.Server) { s.Country = text },
		})
	}
	page := f.page("/")
	note(page, false)
	checkNothingHidden(t, strings.ReplaceAll(page, "\n", ""))
	for i, row := range cells(t, page) {
		if n := len([]rune(row)); n > 2*maxNameText+maxAreaText+maxGameText+100 {
			t.Errorf("row %d is %d characters long", i, n)
		}
	}
}

func attributes(n *nethtml.Node) (out []string) {
	for _, a := range n.Attr {
		out = append(out, n.Data+" "+a.Key)
	}
	return out
}

func TestLinksFollowThePublicPath(t *testing.T) {
	tests := map[string]struct{ public, base string }{
		"none":         {"", ""},
		"host":         {"https://servers.example.org", ""},
		"host, slash":  {"https://servers.example.org/", ""},
		"path":         {"https://example.org/games/list", "/games/list"},
		"not a URL":    {"http://[", ""},
		"hostile path": {`https://example.org/"><b>`, "/%22%3E%3Cb%3E"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.PublicURL = tc.public })
			f.put(listed{})
			page := f.page("/")
			for _, part := range []string{
				`href="` + tc.base + `/?game=gmtest"`, `href="` + tc.base + `/assets/style.css?v=`, `action="` + tc.base + `/"`,
			} {
				if !strings.Contains(page, part) {
					t.Errorf("PublicURL %q: the page lacks %q", tc.public, part)
				}
			}
		})
	}
}

func TestAgeText(t *testing.T) {
	tests := map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min",
		time.Hour: "1 h", 47*time.Hour + 59*time.Minute: "47 h", 48 * time.Hour: "2 days", 240 * time.Hour: "10 days",
	}
	for d, want := range tests {
		if got := ageText(d); got != want {
			t.Errorf("ageText(%v): got %q, want %q", d, got, want)
		}
	}
}

func TestStyleSheetIsNamedByItsContent(t *testing.T) {
	f := newFixture(t)
	m := regexp.MustCompile(`href="(/assets/style\.css\?v=[0-9a-f]{16})"`).FindStringSubmatch(f.page("/"))
	if m == nil {
		t.Fatal("the page names no style sheet")
	}
	w := f.get(m[1])
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != cssType || !strings.Contains(w.Header().Get("Cache-Control"), "max-age") {
		t.Errorf("GET %s: got %d %v, want a style sheet that may be kept", m[1], w.Code, w.Header())
	}
	if w := f.get(m[1], "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("GET %s with its tag: got %d, want 304", m[1], w.Code)
	}
}
