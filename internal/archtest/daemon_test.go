package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
)

// builtServices returns the names of the services that are part of the build.
func builtServices() (names []string) {
	for _, e := range daemon.List(new(services.Config)) {
		names = append(names, e.Name)
	}
	return names
}

// The daemon knows a protocol only through its descriptor.
func TestDaemonKnowsNoProtocol(t *testing.T) {
	protocols := make(map[string]bool)
	for _, e := range daemon.List(new(services.Config)) {
		protocols[reflect.TypeOf(e.Service).Elem().PkgPath()] = true
	}
	if len(protocols) < 14 {
		t.Fatalf("%d services are packages of their own, want 14 or more", len(protocols))
	}
	for _, p := range packages(t) {
		if short(p.ImportPath) != "daemon" {
			continue
		}
		for _, path := range p.Imports {
			if protocols[path] {
				t.Errorf("daemon imports %s", short(path))
			}
		}
	}
	names := builtServices()
	sourceFiles(t, func(name string, content []byte) {
		if path.Dir(filepath.ToSlash(name)) != "daemon" || strings.HasSuffix(name, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			for _, what := range compared(n) {
				if slices.Contains(names, what) || what == "master.Static" {
					t.Errorf("%s asks for %s", name, what)
				}
			}
			return true
		})
	})
}

// compared returns the strings and names in a switch or a comparison.
func compared(n ast.Node) (out []string) {
	var list []ast.Expr
	switch n := n.(type) {
	case *ast.CaseClause:
		list = n.List
	case *ast.BinaryExpr:
		list = []ast.Expr{n.X, n.Y}
	}
	for _, e := range list {
		switch e := e.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(e.Value); err == nil {
				out = append(out, text)
			}
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok {
				out = append(out, x.Name+"."+e.Sel.Name)
			}
		}
	}
	return out
}
