package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
)

// What others need to know of a protocol's servers is in its master.Origin.
func TestOriginsAreNamedInTheirProtocolAlone(t *testing.T) {
	declared := 0
	for _, p := range packages(t) {
		own := short(p.ImportPath)
		if rank, ranked := ranks[own]; !ranked || rank == outside || own == "web/webtest" {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, foreign := range foreignOrigins(f) {
				t.Errorf("%s/%s names %s", own, name, foreign)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CompositeLit); ok && selector(c.Type) == "master.Origin" {
					declared++
				}
				return true
			})
		}
	}
	if declared < 9 {
		t.Errorf("%d origins are declared by protocols, want 9 or more", declared)
	}
}

// foreignOrigins returns the origins of other packages in a file, but those of master.
func foreignOrigins(f *ast.File) (found []string) {
	ours := make(map[string]bool)
	for _, i := range f.Imports {
		if at, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(at, module+"/") {
			ours[path.Base(at)] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		from, name, ok := strings.Cut(selector(e), ".")
		if ok && ours[from] && from != "master" && strings.HasSuffix(name, "Origin") {
			found = append(found, selector(e))
		}
		return true
	})
	return found
}

// selector returns an expression such as "master.Origin", "" for others.
func selector(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

func TestForeignOriginsAreFound(t *testing.T) {
	const source = `package p
import ("` + module + `/master"; "` + module + `/qr2"; "net/http")
var _, _, _ = qr2.Origin, master.Static, http.Origin
func _(o *master.Origin) bool { return o == qr2.OldOrigin }`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(foreignOrigins(f), " "); got != "qr2.Origin qr2.OldOrigin" {
		t.Errorf("found %q, want qr2.Origin qr2.OldOrigin", got)
	}
}

func TestOriginsOfAllServicesDiffer(t *testing.T) {
	names, numbers := make(map[string]string), make(map[byte]string)
	for _, e := range daemon.List(new(services.Config)) {
		for _, o := range e.Origins {
			if other := names[o.Name]; other != "" || o.Name == "" {
				t.Errorf("an origin of %s and one of %s have the name %q", e.Name, other, o.Name)
			}
			if other := numbers[o.Number]; other != "" && o.Number != 0 {
				t.Errorf("an origin of %s and one of %s have the number %d", e.Name, other, o.Number)
			}
			names[o.Name], numbers[o.Number] = e.Name, e.Name
		}
	}
	if len(names) < 12 {
		t.Errorf("%d origins, want 12 or more", len(names))
	}
}
