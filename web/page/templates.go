package page

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"sync"

	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/front"
)

// Templates are those of a folder, in each language. They are parsed when a language is first
// used. All methods may be called concurrently.
type Templates struct {
	from  fs.FS
	names []string

	mu     sync.Mutex                               // guards parsed
	parsed map[string]map[string]*template.Template // by tag of a language
}

// NewTemplates returns the templates in a folder of their name, each to fill the frame. All of
// them have the definitions of parts.html, if there is one.
func NewTemplates(from fs.FS, names ...string) *Templates {
	return &Templates{from: from, names: names, parsed: make(map[string]map[string]*template.Template)}
}

// In returns a template in a language. It panics if one cannot be parsed, which any test finds.
func (t *Templates) In(l *lang.Language, name string) *template.Template {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parsed[l.String()] == nil {
		t.parsed[l.String()] = t.parse(l)
	}
	return t.parsed[l.String()][name]
}

func (t *Templates) parse(l *lang.Language) map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(Funcs(l)).ParseFS(files, "templates/frame.html"))
	if parts, err := fs.Glob(t.from, "templates/parts.html"); err == nil && len(parts) > 0 {
		template.Must(frame.ParseFS(t.from, parts...))
	}
	named := make(map[string]*template.Template, len(t.names))
	for _, name := range t.names {
		named[name] = template.Must(template.Must(frame.Clone()).ParseFS(t.from, "templates/"+name+".html"))
	}
	return named
}

// View is the data of a template: a Frame is part of it.
type View interface{ language() *lang.Language }

func (f Frame) language() *lang.Language { return f.Lang }

// Render runs a template in the language of its data. It panics if they do not fit.
func (t *Templates) Render(name string, data View) []byte {
	var b bytes.Buffer
	if err := t.In(data.language(), name).ExecuteTemplate(&b, "frame.html", data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Show sends a page made for this visitor only.
func (t *Templates) Show(f *front.Front, w http.ResponseWriter, r *http.Request, name string, data View) {
	var body []byte
	f.InTurn(func() { body = t.Render(name, data) })
	f.Send(w, r, front.HTML, front.NewAnswer(body))
}

// Funcs are the functions of templates: t is lang.Language.T and n is lang.Language.N, of texts
// that may have HTML in them, unlike their arguments, which are escaped.
func Funcs(l *lang.Language) template.FuncMap {
	return template.FuncMap{
		"t": func(text string, args ...any) template.HTML { return trusted(l.T(text, escaped(args)...)) },
		"n": func(n int, text string, args ...any) template.HTML { return trusted(l.N(n, text, escaped(args)...)) },
	}
}

// trusted marks a text of a language as safe: it is part of the program.
func trusted(text string) template.HTML {
	return template.HTML(text) //nolint:gosec // as said above
}

// escaped escapes the arguments of a text, but for numbers and HTML.
func escaped(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a.(type) {
		case int, template.HTML:
			out[i] = a
		default:
			out[i] = template.HTMLEscapeString(fmt.Sprint(a))
		}
	}
	return out
}
