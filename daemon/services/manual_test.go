package services

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/configs"
)

// update makes the tests write the files that they otherwise compare with.
var update = flag.Bool("update", false, "write default.yaml and the table of limits in docs/ from the fields of Config")

// width is the length of the longest line of default.yaml.
const width = 80

// fieldComments returns the comments of the fields of all structs of a package, as
// "Type.Field".
func fieldComments(t *testing.T, pkg string) map[string]string {
	t.Helper()
	dir := filepath.Join("..", "..", filepath.FromSlash(strings.TrimPrefix(pkg, "github.com/respawnd/respawnd/")))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	comments := make(map[string]string)
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(content, []byte(`key:"`)) {
			continue // no configuration
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ParseComments)
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
						comments[spec.Name.Name+"."+id.Name] = f.Doc.Text()
					}
				}
			}
			return false
		})
	}
	return comments
}

// manual writes default.yaml below its head: each key with its default, under
// the comment of its field.
type manual struct {
	t        *testing.T
	keys     map[string]configs.Key
	packages map[string]map[string]string // see fieldComments
	b        strings.Builder
}

func newManual(t *testing.T) *manual {
	m := &manual{t: t, keys: make(map[string]configs.Key), packages: make(map[string]map[string]string)}
	for _, k := range configs.Keys(new(Config)) {
		m.keys[k.Name] = k
	}
	return m
}

// commentOf returns the comment of a field of a section.
func (m *manual) commentOf(section reflect.Type, f reflect.StructField) string {
	if at, _ := section.FieldByName(f.Name); len(at.Index) > 1 { // of an embedded struct
		section = section.FieldByIndex(at.Index[:len(at.Index)-1]).Type
	}
	pkg := section.PkgPath()
	if m.packages[pkg] == nil {
		m.packages[pkg] = fieldComments(m.t, pkg)
	}
	text := strings.TrimSpace(m.packages[pkg][section.Name()+"."+f.Name])
	if text == "" {
		m.t.Errorf("%v.%s has no comment", section, f.Name)
	}
	return text
}

// section writes the keys of a section. The prefix is empty or ends with a dot.
func (m *manual) section(prefix string, section reflect.Type) {
	indent := strings.Repeat("  ", strings.Count(prefix, "."))
	for i := range section.NumField() {
		f := section.Field(i)
		name := f.Tag.Get("key")
		if f.Anonymous && name == "" {
			m.section(prefix, f.Type)
			continue
		}
		m.comment(indent, m.commentOf(section, f), f.Tag)
		if configs.IsSection(f) {
			m.b.WriteString(indent + name + ":\n")
			m.section(prefix+name+".", f.Type)
		} else {
			m.entry(indent, name+": "+yamlValue(m.keys[prefix+name]))
		}
		if prefix == "" && i < section.NumField()-1 {
			m.b.WriteString("\n")
		}
	}
}

// entry writes a key and its value. A list that is too long for a line is broken after its commas.
func (m *manual) entry(indent, text string) {
	for more := indent + "  "; len(indent)+len(text) > width; indent = more {
		at := strings.LastIndexByte(text[:width-len(indent)], ',') + 1
		if at == 0 {
			break // a test finds the line
		}
		m.b.WriteString(indent + text[:at] + "\n")
		text = text[at:]
	}
	m.b.WriteString(indent + text + "\n")
}

// comment writes the comment of a field, with the names of all services for {services}. An empty line in it ends a line, and
// indented lines stand as they are.
func (m *manual) comment(indent, text string, tag reflect.StructTag) {
	text = strings.NewReplacer("{range}", tag.Get("range"), "{words}", tag.Get("words"), "{services}", strings.Join(configs.Names(new(Config)), ", "), "  {masters}", masterLines()).Replace(text)
	var words []string
	flush := func() {
		for len(words) > 0 {
			line := indent + "# " + words[0]
			for words = words[1:]; len(words) > 0 && len(line)+1+len(words[0]) <= width; words = words[1:] {
				line += " " + words[0]
			}
			m.b.WriteString(line + "\n")
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			flush()
			m.b.WriteString(indent + "# " + line + "\n")
		default:
			words = append(words, strings.Fields(line)...)
		}
	}
	flush()
}

// masterLines returns the forms of federation.masters as indented lines.
func masterLines() string {
	var b strings.Builder
	for _, form := range configs.MasterLines() {
		line := " "
		for word := range strings.FieldsSeq(form) {
			if len(line)+len(word) >= width-len("  # ") {
				b.WriteString(line + "\n")
				line = "   "
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// yamlValue returns the default of a key as default.yaml has it.
func yamlValue(k configs.Key) string {
	switch {
	case k.List:
		if strings.HasPrefix(k.Default, ":") { // an address, which YAML would take for a map
			return `["` + strings.ReplaceAll(k.Default, ",", `","`) + `"]`
		}
		return "[" + strings.ReplaceAll(k.Default, ",", ", ") + "]"
	case k.Nested:
		return "[]"
	case k.Default == "" || strings.HasPrefix(k.Default, ":"):
		return `"` + k.Default + `"`
	}
	return k.Default
}

// reloadWords returns the part of the head of default.yaml that lists the keys
// that a reload applies. It is generated from the keys.
func reloadWords() string {
	var b strings.Builder
	b.WriteString("# On SIGHUP the file is read again, with the catalogue of games, the bans and\n# Zandronum's ban files, and these keys are taken over:\n")
	line, section := "", ""
	flush := func() {
		if line != "" {
			b.WriteString(line + "\n")
		}
		line = ""
	}
	for _, k := range configs.Keys(new(Config)) {
		if !k.Live {
			continue
		}
		in, name, nested := strings.Cut(k.Name, ".")
		if in != section {
			flush()
			section, line = in, "#   "+in
			if nested {
				line += ": " + name
			}
			continue
		}
		if len(line)+len(", ,")+len(name) > 80 {
			line += ","
			flush()
			line = "#     " + name
			continue
		}
		line += ", " + name
	}
	flush()
	b.WriteString("# The log names other keys that changed: those need a restart. On Windows,\n# \"sc control respawnd paramchange\" does the same for the service.\n")
	return b.String()
}

// replaceBetween returns text with the part between two lines replaced.
func replaceBetween(t *testing.T, text, first, last, with string) string {
	t.Helper()
	from := strings.Index(text, first)
	to := strings.Index(text, last)
	if from < 0 || to < from {
		t.Fatalf("no text between %q and %q", first, last)
	}
	return text[:from] + with + text[to:]
}

func TestDefaultFileIsMadeOfTheFields(t *testing.T) {
	m := newManual(t)
	m.section("", reflect.TypeFor[Config]())
	now := string(configs.Default())
	first, _, _ := strings.Cut(m.b.String(), "\n")
	head, _, found := strings.Cut(now, first)
	if !found {
		t.Fatalf("default.yaml does not hold the line %q", first)
	}
	want := replaceBetween(t, head+m.b.String(), "# On SIGHUP", "\n"+first, reloadWords())
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", "configs", "default.yaml"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(now, want); diff != "" {
		t.Errorf("default.yaml, -is +should be (go test ./daemon/services -update writes it):\n%s", diff)
	}
}
