package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
)

// Longest texts in a page, in characters.
const (
	maxNameText  = 80
	maxAreaText  = 40
	maxGameText  = 60
	maxFieldText = 60  // names of rules and columns
	maxValueText = 300 // values of rules
)

//go:embed templates assets
var files embed.FS

// pages are the templates and what they all show.
type pages struct {
	base, version string
	accounts      atomic.Bool // there is something behind the link to accounts
	named         map[string]*template.Template
	style         asset
	live          asset
	icon          asset
}

// pageNames are the templates that fill the frame.
func pageNames() []string {
	return []string{"home", "list", "server", "games", "game", "why", "message", "login", "register", "account"}
}

// newPages reads the embedded files. A mistake in them is found by any test.
func newPages(base, version string) *pages {
	p := &pages{base: base, version: version, named: make(map[string]*template.Template)}
	for _, name := range pageNames() {
		p.named[name] = template.Must(template.ParseFS(files, "templates/frame.html", "templates/parts.html", "templates/"+name+".html"))
	}
	p.style = newAsset(base, stylePath, cssType)
	p.live = newAsset(base, livePath, scriptType)
	p.icon = newAsset(base, iconPath, svgType)
	return p
}

// asset is a file that pages name with its hash, so that browsers may keep it.
type asset struct {
	answer           *answer
	tag, url, format string
}

func newAsset(base, path, format string) asset {
	body, err := files.ReadFile(strings.TrimPrefix(path, "/"))
	if err != nil {
		panic(err) // the files are part of the program
	}
	tag := contentTag(body)
	return asset{&answer{body: body}, tag, base + path + "?v=" + strings.Trim(tag, `"`), format}
}

// serveAsset returns the handler of a file.
func (s *Server) serveAsset(a asset) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=86400")
		if s.notModified(w, r, a.tag) {
			return
		}
		s.send(w, r, a.format, a.answer)
	}
}

// frame is what all pages show around their content.
type frame struct {
	Base, Style, Icon, Version, Title string
	Script                            string // empty: the page does not renew itself
	Place                             string // which entry of the navigation the page belongs to
	Accounts                          bool
}

// The entries of the navigation.
const (
	placeHome    = "home"
	placeServers = "servers"
	placeGames   = "games"
	placeWhy     = "why"
	placeAccount = "account"
)

func (p *pages) frame(title, place string) frame {
	return frame{
		Base: p.base, Style: p.style.url, Icon: p.icon.url, Version: p.version, Title: title, Place: place, Accounts: p.accounts.Load(),
	}
}

// liveFrame is frame for a page that renews itself where scripts run.
func (p *pages) liveFrame(title, place string) frame {
	f := p.frame(title, place)
	f.Script = p.live.url
	return f
}

// render runs a template, which fails only if it does not fit its data.
func (p *pages) render(name string, data any) []byte {
	var b bytes.Buffer
	if err := p.named[name].ExecuteTemplate(&b, "frame.html", data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// failure returns the page of an error.
func (p *pages) failure(status int, text string) []byte {
	return p.render("message", struct {
		frame
		Status int
		Text   string
	}{p.frame(http.StatusText(status), ""), status, text})
}

// sendPage sends a page that was made for this visitor alone.
func (s *Server) sendPage(w http.ResponseWriter, r *http.Request, name string, data any) {
	s.send(w, r, htmlType, &answer{body: s.pages.render(name, data)})
}

// ageText returns a duration in its largest whole unit.
func ageText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 2*day:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/day)) + " days"
}

// agoText returns how long ago something was, with seconds.
func agoText(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(max(int(d/time.Second), 0)) + " s ago"
	}
	return ageText(d) + " ago"
}

// displayText is foreign text for a cell of a table.
func displayText(s string, n int) string { return clean.Line(s, n) }
