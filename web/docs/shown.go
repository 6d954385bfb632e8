package docs

import (
	"embed"
	"html"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/page"
)

// shown reports whether a page is about a service that is on.
func (p *Pages) shown(name string) bool {
	on, about := p.about[name]
	return on || !about && p.nouns.Has(noun.GameSpy)
}

//go:embed short
var short embed.FS

// shownPage is a page in the short index.
type shownPage struct{ Name, Title string }

// shortIndex writes the index of a site without the services of GameSpy: its few pages.
func (p *Pages) shortIndex() []byte {
	v := struct {
		page.Frame
		Pages []shownPage
	}{Frame: p.site.Frame(nil, "Documentation", page.Help)}
	_ = fs.WalkDir(files, "templates", func(file string, _ fs.DirEntry, err error) error {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if title, ok := titleOf(name); ok && p.shown(name) {
			v.Pages = append(v.Pages, shownPage{name, html.UnescapeString(title)})
		}
		return err // there is none: the files are embedded
	})
	from, err := fs.Sub(short, "short")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return page.NewTemplates(from, "index").Render("index", v)
}

var (
	row    = regexp.MustCompile(`(?s)<tr>.*?</tr>\n|<li>[^\n]*</li>\n`)
	anchor = regexp.MustCompile(`(?s)<a href="([^":/#][^":#]*)(?:#[^"]*)?">(.*?)</a>`)
)

// prune removes the links to pages that are not shown. In the index their lines go too.
func (p *Pages) prune(name string, body []byte) []byte {
	hidden := func(link string) bool {
		to := path.Join(path.Dir(name), link)
		_, exists := titleOf(to)
		return exists && !p.shown(to)
	}
	if name == index {
		body = row.ReplaceAllFunc(body, func(line []byte) []byte {
			links := anchor.FindAllSubmatch(line, -1)
			if len(links) > 0 && !slices.ContainsFunc(links, func(l [][]byte) bool { return !hidden(string(l[1])) }) {
				return nil
			}
			return line
		})
	}
	return anchor.ReplaceAllFunc(body, func(a []byte) []byte {
		if parts := anchor.FindSubmatch(a); hidden(string(parts[1])) {
			return parts[2]
		}
		return a
	})
}

func (p *Pages) write(name, title string) []byte {
	if name == index && !p.nouns.Has(noun.GameSpy) {
		return p.shortIndex()
	}
	return p.prune(name, page.NewTemplates(files, name).Render(name, p.site.Frame(nil, title, page.Help)))
}
