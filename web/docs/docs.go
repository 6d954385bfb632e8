// Package docs serves the documentation for players and operators under /docs:
// the pages of the folder docs of the repository, without those for contributors.
//
// The Markdown files are rendered when they change, by the test of this package
// with -update, into templates that fill the frame of all pages: a renderer in the
// program would take three quarters of a megabyte. Links to files that are not
// served become plain text, and paragraphs with a picture are left out. A page about services that do not run here is not served.
package docs

import (
	"embed"
	"net/http"
	"strings"
	"sync"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

// Path is where the index of the documentation is.
const Path = "/docs/"

//go:embed templates
var files embed.FS

// Pages answers requests for the documentation. All methods may be called
// concurrently.
type Pages struct {
	front *front.Front
	site  *page.Site
	about map[string]bool // pages that services are about, and whether one of those is on
	nouns noun.Set

	mu      sync.Mutex // guards the fields below
	look    *page.Look // of the answers
	answers *front.Cache
}

// New returns the pages with the frame of a site. Those about services that are off are
// left out; about are the pages that services are about, and whether one of those is on.
// The others are about noun.GameSpy.
func New(f *front.Front, site *page.Site, about map[string]bool, nouns noun.Set) *Pages {
	return &Pages{front: f, site: site, about: about, nouns: nouns}
}

// Routes returns the paths of the documentation.
func (p *Pages) Routes() []front.Route {
	return []front.Route{
		{Pattern: strings.TrimSuffix(Path, "/"), Serve: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, p.site.Base()+Path, http.StatusMovedPermanently)
		}},
		{Pattern: Path + "{name...}", Serve: p.serve},
	}
}

// cache returns the cache of the answers that have the present look.
func (p *Pages) cache() *front.Cache {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.site.Look(); p.look != now {
		p.look, p.answers = now, new(front.Cache)
	}
	return p.answers
}

func (p *Pages) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" {
		name = index
	}
	title, ok := titleOf(name)
	if !ok || name != index && !p.shown(name) {
		p.front.NotFound(w, r)
		return
	}
	p.front.ReplyTagged(w, r, front.HTML, p.cache(), name, func() []byte { return p.write(name, title) })
}

// index is the name of the first page.
const index = "README"

// titleOf returns the title of a page, which is its heading. name is its path
// below docs, without .md; ok is false if there is no such page.
func titleOf(name string) (title string, ok bool) {
	data, err := files.ReadFile("templates/" + name + ".html")
	if err != nil {
		return "", false
	}
	_, heading, _ := strings.Cut(string(data), "<h1 ")
	_, heading, _ = strings.Cut(heading, ">")
	title, _, _ = strings.Cut(heading, "<")
	return title, true
}
