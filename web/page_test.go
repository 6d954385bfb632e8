package web

import (
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
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
	for _, n := range webtest.Elements(doc, atom.Table) {
		if !strings.HasPrefix(webtest.Content(n), "Servers") {
			continue
		}
		for _, tr := range webtest.Elements(n, atom.Tr) {
			var row []string
			for c := range tr.ChildNodes() {
				if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
					row = append(row, webtest.Visible(c))
				}
			}
			out = append(out, strings.Join(row, "|"))
		}
	}
	return out
}

func TestListRows(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Game: "gmtest", Rules: []string{"hostname", "Few", "numplayers", "1", "maxplayers", "8"}})
	f.Put(webtest.Listed{
		Addr: "192.0.2.2:2", Game: "gmother",
		Rules: []string{"hostname", "Many", "mapname", "deck", "numplayers", "9", "password", "1"},
		Change: func(s *master.Server) {
			s.Country = "NZ"
			s.Findings.Reached = master.ReachedDirect
			s.First = s.Seen.Add(-3 * time.Hour)
		},
	})
	f.Put(webtest.Listed{Addr: "[2001:db8::1]:3", Game: "gmtest"})
	page := f.Page("/servers")
	want := []string{
		"Name|Game|Map|Players|Address|Listed for|Connection",
		"(New Zealand) Many password|Other game|deck|9|192.0.2.2:2|3 h|direct",
		"Few|Test <game>||1/8|192.0.2.1:1|just now|not confirmed",
		"no name|Test <game>||0|[2001:db8::1]:3|just now|not confirmed",
	}
	if got := cells(t, page); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, part := range []string{
		"Servers 1 to 3 of 3", `href="/games/gmother"`, `href="/servers/qr2-192.0.2.2-2"`, `aria-sort="descending"`,
		`<html lang="en">`, `name="viewport"`, "respawnd 1.2.3",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	for _, part := range []string{"<script>", " style=", " onclick"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %q", part)
		}
	}
}

func TestListFilters(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Game: "gmtest", Rules: []string{"hostname", "One"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmother", Rules: []string{"hostname", "Two", "mapname", "One", "numplayers", "3", "password", "1"}})
	tests := map[string]struct {
		target string
		want   string // addresses
	}{
		"game":                {"/servers?game=gmtest", "192.0.2.1:1"},
		"game, upper case":    {"/servers?game=GMTEST", "192.0.2.1:1"},
		"text":                {"/servers?q=oNe", "192.0.2.2:1 192.0.2.1:1"},
		"text in a game":      {"/servers?q=one&game=gmother", "192.0.2.2:1"},
		"empty form":          {"/servers?game=&q=", "192.0.2.2:1 192.0.2.1:1"},
		"unknown parameter":   {"/servers?utm_source=x&fbclid=1", "192.0.2.2:1 192.0.2.1:1"},
		"wrong game is none":  {"/servers?game=%3Cb%3E", "192.0.2.2:1 192.0.2.1:1"},
		"wrong page is first": {"/servers?page=-1", "192.0.2.2:1 192.0.2.1:1"},
		"page behind the end": {"/servers?page=9", "192.0.2.2:1 192.0.2.1:1"},
		"broken query":        {"/servers?game=gmtest&q=%zz", "192.0.2.1:1"},
		"game without any":    {"/servers?game=gmquiet", ""},
		"no such text":        {"/servers?q=nothing", ""},
		"with players":        {"/servers?peopled=1", "192.0.2.2:1"},
		"no password":         {"/servers?open=1", "192.0.2.1:1"},
		"neither":             {"/servers?open=1&peopled=1", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			page := f.Page(tc.target)
			var got []string
			for i, row := range cells(t, page) {
				if i > 0 {
					got = append(got, address(row))
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("GET %s: got %q, want %q", tc.target, got, tc.want)
			}
			if tc.want == "" && !strings.Contains(page, "No server matches") {
				t.Errorf("GET %s does not say that nothing fits", tc.target)
			}
		})
	}
	if page := f.Page("/servers?q=%22%3E%3Cscript%3E&game=gmtest"); strings.Contains(page, "<script>") {
		t.Error("the text that was searched for comes back as markup")
	}
}

func TestListEmpty(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/", "/servers", "/servers?sort=name", "/games/gmtest"} {
		if page := f.Page(target); !strings.Contains(page, " is listed at the moment.") {
			t.Errorf("GET %s without servers does not say so", target)
		}
	}
}

func TestListPages(t *testing.T) {
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
	f.Fill(PageRows)
	if page := f.Page("/servers"); len(cells(t, page)) != PageRows+1 || links(page) != "" {
		t.Errorf("%d servers: got %d lines and links %q, want all and none", PageRows, len(cells(t, page))-1, links(page))
	}
	for i := range PageRows + 1 {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("10.9.%d.%d:1", i>>8, i&255)})
	}
	tests := map[string]struct {
		target string
		rows   int
		links  string
	}{
		"first":          {"/servers?game=gmtest&q=", PageRows, "next /servers?game=gmtest&page=2"},
		"middle":         {"/servers?page=2", PageRows, "prev /servers, next /servers?page=3"},
		"last":           {"/servers?page=3", 1, "prev /servers?page=2"},
		"behind last":    {"/servers?page=1048576", 1, "prev /servers?page=2"},
		"filter is kept": {"/servers?page=1&q=server", PageRows, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			page := f.Page(tc.target)
			if got := len(cells(t, page)) - 1; got != tc.rows || links(page) != tc.links {
				t.Errorf("GET %s: got %d rows, links %q; want %d, %q", tc.target, got, links(page), tc.rows, tc.links)
			}
		})
	}
}

func TestForeignTextInList(t *testing.T) {
	f := newFixture(t)
	clean := f.Page("/servers")
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
	f.Put(webtest.Listed{Addr: "198.51.100.1:1", Rules: []string{"hostname", "x", "mapname", "y", "password", "1"}})
	f.Put(webtest.Listed{Addr: "198.51.100.2:1"})
	note(f.Page("/servers"), true)
	note(f.Page("/servers?q=x&game=gmtest"), true)
	for i, text := range webtest.HostileTexts() {
		f.Put(webtest.Listed{
			Addr: fmt.Sprintf("192.0.2.%d:6500", i), Rules: []string{"hostname", text, "mapname", text, "numplayers", text},
			Change: func(s *master.Server) { s.Country = text },
		})
	}
	page := f.Page("/servers")
	note(page, false)
	webtest.CheckNothingHidden(t, strings.ReplaceAll(page, "\n", ""))
	for i, row := range cells(t, page) {
		if n := len([]rune(row)); n > maxNameText+2*maxAreaText+maxGameText+100 {
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

func TestPublicPath(t *testing.T) {
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
			f := newFixture(t, func(o *Options) { o.Config.PublicURL = tc.public })
			f.Put(webtest.Listed{})
			page := f.Page("/")
			for _, part := range []string{
				`href="` + tc.base + `/games/gmtest"`, `href="` + tc.base + `/assets/style.css?v=`, `action="` + tc.base + `/servers"`,
			} {
				if !strings.Contains(page, part) {
					t.Errorf("PublicURL %q: the page lacks %q", tc.public, part)
				}
			}
		})
	}
}

// address returns the address in a row of the list.
func address(row string) string {
	for cell := range strings.SplitSeq(row, "|") {
		if _, err := netip.ParseAddrPort(cell); err == nil {
			return cell
		}
	}
	return row
}

func TestListSort(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	since := func(d time.Duration, country string) func(*master.Server) {
		return func(s *master.Server) { s.First, s.Country = now.Add(-d), country }
	}
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "b", "mapname", "y", "numplayers", "1"}, Change: since(time.Hour, "NZ")})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmother", Rules: []string{"hostname", "A", "mapname", "x", "numplayers", "3"}, Change: since(time.Minute, "DE")})
	f.Put(webtest.Listed{Addr: "192.0.2.3:1", Rules: []string{"numplayers", "2"}, Change: since(2*time.Hour, "")})
	for sort, want := range map[string]string{
		"": "2 3 1", "players": "2 3 1", "-players": "1 3 2", "name": "2 1 3", "-name": "3 1 2", "game": "2 3 1", "-game": "3 1 2",
		"map": "2 1 3", "country": "2 1 3", "age": "2 1 3", "-age": "3 1 2", "nonsense": "2 3 1", "--name": "2 3 1",
	} {
		page := f.Page("/servers?sort=" + sort)
		var got []string
		for _, row := range cells(t, page)[1:] {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(address(row), "192.0.2."), ":1"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("sort=%s: got %v, want %s", sort, got, want)
		}
		columns := 1
		if sort == "country" { // its flags are in front of the names
			columns = 0
		}
		if n := strings.Count(page, "aria-sort="); n != columns {
			t.Errorf("sort=%s: %d columns say that the list is sorted by them, want %d", sort, n, columns)
		}
	}
	if page := f.Page("/servers?sort=name&q=b"); !strings.Contains(page, `href="/servers?q=b&amp;sort=-name"`) {
		t.Error("the head of the column by which the list is sorted does not turn it round, with the search kept")
	}
}

func TestAgeText(t *testing.T) {
	tests := map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min",
		time.Hour: "1 h", 47*time.Hour + 59*time.Minute: "47 h", 48 * time.Hour: "2 days", 240 * time.Hour: "10 days",
	}
	for d, want := range tests {
		if got := ageText(nil, d); got != want {
			t.Errorf("ageText(%v): got %q, want %q", d, got, want)
		}
	}
}

func TestAssetURL(t *testing.T) {
	f := newFixture(t)
	m := regexp.MustCompile(`href="(/assets/style\.css\?v=[0-9a-f]{16})"`).FindStringSubmatch(f.Page("/"))
	if m == nil {
		t.Fatal("the page names no style sheet")
	}
	w := f.Get(m[1])
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(w.Header().Get("Cache-Control"), "max-age") {
		t.Errorf("GET %s: got %d %v, want a style sheet that may be kept", m[1], w.Code, w.Header())
	}
	if w := f.Get(m[1], "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("GET %s with its tag: got %d, want 304", m[1], w.Code)
	}
}
