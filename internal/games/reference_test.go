package games

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of facts in docs/operators/games.md")

// fieldComments returns the comments of the fields of the structs here, as "Type.Field".
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := make(map[string]string)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, id := range f.Names {
						comments[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return false
		})
	}
	return comments
}

// describe returns the form of the value of a fact.
func (f *fact) describe() string {
	switch {
	case f.kind == listKind:
		if f.item.kind != numberKind {
			return fmt.Sprintf("list of at most %d", f.most)
		}
		return fmt.Sprintf("list of at most %d: %s", f.most, f.item.describe())
	case f.kind == numberKind:
		return fmt.Sprintf("number, %d to %d", f.low, f.high)
	case f.kind == spanKind:
		return fmt.Sprintf("[least, greatest], %d to %d", f.low, f.high)
	case f.kind == toggleKind || f.kind == switchKind:
		return "on or off"
	case f.kind == partsKind || f.kind == pairsKind:
		return "keys with values"
	case f.words != nil:
		return oneOf(f.words)
	case f.max > 0:
		return fmt.Sprintf("text of at most %d bytes", f.max)
	case f.as == "text":
		return fmt.Sprintf("text of at most %d bytes", MaxTextLen)
	}
	return "text"
}

// reference returns the tables of the facts of a struct and of its parts.
func reference(t *testing.T, b *strings.Builder, r *record, of reflect.Type, comments map[string]string) {
	t.Helper()
	b.WriteString("| key | value | meaning |\n|---|---|---|\n")
	type part struct {
		key  string
		r    *record
		from reflect.Type
	}
	var parts []part
	for i := range r.facts {
		f := &r.facts[i]
		owner, field := of, of.Field(f.outer)
		if f.inner >= 0 {
			owner, field = field.Type, field.Type.Field(f.inner)
		}
		comment := comments[owner.Name()+"."+field.Name]
		if comment == "" {
			t.Errorf("%s.%s has no comment", owner.Name(), field.Name)
		}
		value := f.describe()
		if f.required {
			value += "; required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.key, strings.ReplaceAll(value, "|", `\|`), strings.ReplaceAll(comment, "|", `\|`))
		switch {
		case f.parts != nil:
			parts = append(parts, part{f.key, f.parts, field.Type})
		case f.item != nil && f.item.parts != nil:
			parts = append(parts, part{f.key, f.item.parts, field.Type.Elem()})
		}
	}
	for _, p := range parts {
		fmt.Fprintf(b, "\n### %s\n\n", p.key)
		reference(t, b, p.r, p.from, comments)
	}
}

// TestReferenceOfFacts checks that the page for operators has every fact, with the comment of its field.
func TestReferenceOfFacts(t *testing.T) {
	var b strings.Builder
	b.WriteString("## All keys\n\n")
	reference(t, &b, gameRecord(), reflect.TypeFor[Game](), fieldComments(t))
	file := filepath.Join("..", "..", "docs", "operators", "games.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(data), "\r\n", "\n")
	head, _, found := strings.Cut(page, "## All keys\n")
	want := head + b.String()
	switch {
	case !found:
		t.Fatalf("%s has no heading for the keys", file)
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		if diff := cmp.Diff(page, want); diff != "" {
			t.Errorf("%s, -is +should be (go test ./internal/games -update writes it):\n%s", file, diff)
		}
	}
}
