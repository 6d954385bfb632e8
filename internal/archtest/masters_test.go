package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/master"
)

// namesOfMasters are the files outside a master's folder that may name it, with what they say of it.
var namesOfMasters = map[string]string{
	"internal/games/service.go": "qr2", // to which the names lead that all of GameSpy's games look up
}

// What others need to know of a master is in its Descriptor, its Origin or its games.Kind.
func TestMastersAreNamedInTheirFolderAlone(t *testing.T) {
	masters := masterNames()
	if len(masters) < 8 {
		t.Fatalf("the masters are %q, want 8 or more", masters)
	}
	found := make(map[string]bool)
	for _, p := range packages(t) {
		own := short(p.ImportPath)
		if rank, ranked := ranks[own]; !ranked || rank == outside || strings.HasPrefix(own, "test/") || strings.HasSuffix(own, "test") {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts(f) {
				if !slices.Contains(masters, text) || path.Base(own) == text {
					continue
				}
				file := own + "/" + name
				found[file+" "+text] = true
				if !slices.Contains(strings.Fields(namesOfMasters[file]), text) {
					t.Errorf("%s names %s", file, text)
				}
			}
		}
	}
	for file, names := range namesOfMasters {
		for name := range strings.FieldsSeq(names) {
			if !found[file+" "+name] {
				t.Errorf("%s does not name %s any more", file, name)
			}
		}
	}
}

// masterNames returns the names of the services that list servers of an origin of their own.
func masterNames() (names []string) {
	for _, e := range daemon.List(new(services.Config)) {
		if slices.ContainsFunc(e.Origins, func(o *master.Origin) bool { return o != master.Static && o != master.Found && o != master.Federated }) {
			names = append(names, e.Name)
		}
	}
	return names
}

// texts returns the strings of a file.
func texts(f *ast.File) (list []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				list = append(list, text)
			}
		}
		return true
	})
	return list
}
