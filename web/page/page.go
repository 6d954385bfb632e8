// Package page has the common parts of all pages: the frame with the
// navigation, the style sheet and the script, and the error page.
//
// Pages work without scripts. One fetches a page again when the list changes and
// replaces the parts with a data-live attribute, one copies addresses and spells countries where
// the system has no flags, one takes the code of a reset link from the address of the page.
//
// It is not for the content of pages.
package page

import (
	"cmp"
	"embed"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/front"
)

//go:embed templates assets
var files embed.FS

// Site holds the data of all pages. All methods may be called concurrently.
type Site struct {
	base, origin, version string
	look                  atomic.Pointer[Look] // never nil
	made                  func() time.Time

	style, icon       asset
	live, reset, copy asset // scripts

	origins *http.CrossOriginProtection
}

// Community is the operator's description of the site: plain text.
type Community struct {
	Title   string // empty: the name of the program
	Contact Link   // without URL: not a link; empty: none
	Message string // on the first page; may have several lines
	Links   []Link
}

// Link is a link to another site.
type Link struct{ Title, URL string }

// Look holds the shared parts of all pages, which may change while the site runs. It is
// immutable: answers that were written with the same Look have the same frame.
type Look struct {
	Community
	Accounts bool // there is a link to the pages of accounts
	// Mirror is when the list was made that this one is a mirror of, cut to minutes, and Behind how
	// many minutes ago; zero: it is none.
	Mirror time.Time
	Behind int
}

// IsMirror reports whether the list is a mirror of another one.
func (l *Look) IsMirror() bool { return !l.Mirror.IsZero() }

// program is the name of a site without a title.
const program = "respawnd"

var messages = NewTemplates(files, "message")

// New returns a Site. public is the address under which visitors find the pages,
// without a slash at its end; empty if it is not known. version may be empty.
func New(public, version string) *Site {
	s := &Site{version: version, made: func() (no time.Time) { return no }, origins: http.NewCrossOriginProtection()}
	if u, err := url.Parse(public); err == nil && u.Host != "" {
		s.base = strings.TrimRight(u.EscapedPath(), "/")
		s.origin = u.Scheme + "://" + u.Host
		_ = s.origins.AddTrustedOrigin(s.origin) // our own, even if a proxy changes the Host header
	}
	s.look.Store(new(Look))
	s.style = newAsset("/assets/style.css", "text/css; charset=utf-8", "assets/charts.css")
	s.live = newAsset("/assets/live.js", "text/javascript; charset=utf-8")
	s.reset = newAsset("/assets/reset.js", "text/javascript; charset=utf-8")
	s.copy = newAsset("/assets/copy.js", "text/javascript; charset=utf-8", "assets/flags.js")
	s.icon = newAsset("/assets/icon.svg", "image/svg+xml")
	return s
}

// Base returns the path under which visitors find the pages.
func (s *Site) Base() string { return s.base }

// Origin returns the scheme and host under which visitors find the pages, "" if
// they are not known.
func (s *Site) Origin() string { return s.origin }

// Look returns the present shared parts of all pages.
func (s *Site) Look() *Look {
	l := s.look.Load()
	made := s.made()
	if made.IsZero() {
		return l
	}
	mirror, behind := made.UTC().Truncate(time.Minute), int(time.Since(made).Minutes())
	if !mirror.Equal(l.Mirror) || behind != l.Behind {
		s.change(func(l *Look) { l.Mirror, l.Behind = mirror, behind })
		l = s.look.Load()
	}
	return l
}

// Name returns the name of the site.
func (s *Site) Name() string { return cmp.Or(s.Look().Title, program) }

// SetMirror has pages say that the list is a mirror of one that was made at a time, unless that
// is zero. It is called before the site is used.
func (s *Site) SetMirror(made func() time.Time) { s.made = made }

// SetAccounts shows the link to the pages of accounts, or hides it.
func (s *Site) SetAccounts(on bool) { s.change(func(l *Look) { l.Accounts = on }) }

// SetCommunity replaces the operator's description of the site.
func (s *Site) SetCommunity(c Community) { s.change(func(l *Look) { l.Community = c }) }

// change replaces the look by one that differs.
func (s *Site) change(edit func(*Look)) {
	for {
		old := s.look.Load()
		next := *old
		if edit(&next); reflect.DeepEqual(*old, next) || s.look.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Frame is the data around the content of a page.
type Frame struct {
	*Look
	Base, Style, Icon, Version, Title string
	Site                              string // its name
	Copy                              string // script of buttons that copy, and of flags; empty: there are none
	Script                            string // empty: the page does not renew itself
	Events                            string // the event stream that triggers the script
	Place                             string // which entry of the navigation the page belongs to
	Lang                              *lang.Language
	Preview
}

// Translated reports whether scripts need the texts of the page's language.
func (f Frame) Translated() bool { return f.Lang.String() != "en" }

// Made returns when the list was made that this one is a mirror of.
func (f Frame) Made() string { return f.Lang.Time(f.Mirror, "15:04 UTC on 2 January 2006") }

// Preview is how other sites show a link to the page.
type Preview struct {
	URL         string // of the page, with its host; empty: no preview
	Description string // a sentence
	Image       string // address of a picture; empty: none
	origin      string
}

// With returns the preview with a picture.
func (p Preview) With(path string) Preview {
	if p.origin != "" && path != "" {
		p.Image = p.origin + path
	}
	return p
}

// The entries of the navigation.
const (
	Home    = "home"
	Servers = "servers"
	Players = "players"
	Games   = "games"
	Connect = "connect"
	Why     = "why"
	Account = "account"
	Help    = "help"
)

// Frame returns the frame of a static page in a language; nil: it is English, and there is no other.
func (s *Site) Frame(l *lang.Language, title, place string) Frame {
	look := s.Look()
	return Frame{
		Look: look, Base: s.base, Style: s.base + s.style.url, Icon: s.base + s.icon.url,
		Version: s.version, Title: title, Site: s.Name(), Place: place, Lang: l,
	}
}

// Preview returns how other sites show a link to a page. path is that of the page,
// with the base.
func (s *Site) Preview(path, description string) Preview {
	p := Preview{Description: description, origin: s.origin}
	if s.origin != "" {
		p.URL = s.origin + path
	}
	return p
}

// CopyFrame is Frame for a page with buttons that copy.
func (s *Site) CopyFrame(l *lang.Language, title, place string) Frame {
	f := s.Frame(l, title, place)
	f.Copy = s.base + s.copy.url
	return f
}

// LiveFrame is CopyFrame for a page that renews itself, where scripts run, when the
// list of a game changes; game may be empty, for all.
func (s *Site) LiveFrame(l *lang.Language, title, place, game string) Frame {
	f := s.CopyFrame(l, title, place)
	f.Script, f.Events = s.base+s.live.url, s.base+front.EventsPath
	if game != "" {
		f.Events += "?game=" + url.QueryEscape(game)
	}
	return f
}

// ResetScript returns the address of the script of the page for reset links.
func (s *Site) ResetScript() string { return s.base + s.reset.url }

// Error returns the page of an error, whose text may have a translation.
func (s *Site) Error(w http.ResponseWriter, r *http.Request, status int, text string) []byte {
	l := s.Language(w, r)
	return messages.Render("message", struct {
		Frame
		Status int
		Text   string
	}{s.Frame(l, l.T(http.StatusText(status)), ""), status, l.T(text)})
}

// asset is a file that pages name with its hash, so that browsers may keep it.
type asset struct {
	path, url, tag, format string
	answer                 *front.Answer
}

// newAsset returns a file, with others behind it.
func newAsset(path, format string, others ...string) asset {
	var body []byte
	for _, name := range append([]string{strings.TrimPrefix(path, "/")}, others...) {
		part, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the files are part of the program
		}
		body = append(body, part...)
	}
	tag := front.ContentTag(body)
	return asset{path, path + "?v=" + strings.Trim(tag, `"`), tag, format, front.NewAnswer(body)}
}

// Routes returns the paths of the files that pages need.
func (s *Site) Routes(f *front.Front) (routes []front.Route) {
	for _, a := range []asset{s.style, s.live, s.reset, s.copy, s.icon} {
		routes = append(routes, front.Route{Pattern: a.path, Serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=86400")
			if !front.NotModified(w, r, a.tag) {
				f.Send(w, r, a.format, a.answer)
			}
		}})
	}
	// Browsers ask for this one beside answers that are not pages.
	return append(routes, front.Route{Pattern: "/favicon.ico", Serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.base+s.icon.url, http.StatusFound)
	}})
}
