// Package languages tests that every language has the texts for players, and no others.
package languages

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

var update = flag.Bool("update", false, "add missing texts to the files of languages, without a translation, and remove unused ones")

var root = filepath.Join("..", "..")

// keys are texts in the order in which they were found, without repetitions.
type keys struct {
	found map[string]bool
	order []string
}

func (k *keys) add(texts ...string) {
	for _, text := range texts {
		if text != "" && !k.found[text] {
			k.found[text] = true
			k.order = append(k.order, text)
		}
	}
}

// collect returns all texts that players are shown.
func collect(t *testing.T) *keys {
	t.Helper()
	k := &keys{found: make(map[string]bool)}
	k.add(lang.Names()...)
	for _, folder := range []string{"web/page", "web", "web/account"} {
		k.templates(t, filepath.Join(root, folder, "templates", "*.html"))
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "tools"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			k.source(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{400, 403, 404, 405, 413, 415, 429, 500, 503} {
		k.add(http.StatusText(status))
	}
	k.services()
	k.verdicts()
	k.games(t)
	for r := range meeting.Router(meeting.RouterKinds) {
		w := r.Words()
		k.add(w.Name, w.Hosting, w.Joining, w.Advice)
	}
	for _, o := range storage.MatchOutcomes() {
		k.add(string(o))
	}
	k.add(storage.PlaySteps()...)
	k.add("win", "loss", "draw", "disconnect", "desync") // results of players in matches
	return k
}

// inTemplate finds the functions t and n of page.Funcs with their texts.
var inTemplate = regexp.MustCompile("[{(=| ](?:t|n (?:[$.\\w]+|\\([^()]*\\))) (\"[^\"]*\"|`[^`]*`)")

func (k *keys) templates(t *testing.T, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range inTemplate.FindAllStringSubmatch(string(data), -1) {
			k.add(unquoted(t, found[1]))
		}
	}
}

func unquoted(t *testing.T, literal string) string {
	t.Helper()
	text, err := strconv.Unquote(literal)
	if err != nil {
		t.Errorf("%s: %v", literal, err)
	}
	return text
}

// textAt has which argument of a function is a text, by its name.
var textAt = map[string]int{"T": 0, "Key": 0, "N": 1, "Time": 1, "Fail": 3}

func (k *keys) source(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.HasPrefix(filepath.ToSlash(path), "../../web/") && !strings.Contains(filepath.ToSlash(path), "/web/api/")
	if !pages && !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, `/internal/lang"`) }) {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fun := call.Fun
		if generic, ok := fun.(*ast.IndexExpr); ok {
			fun = generic.X
		}
		called, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if at, ok := textAt[called.Sel.Name]; ok && at < len(call.Args) {
			if text, ok := call.Args[at].(*ast.BasicLit); ok && text.Kind == token.STRING {
				k.add(unquoted(t, text.Value))
			}
		}
		return true
	})
}

// services adds what services say of themselves and of servers.
func (k *keys) services() {
	for _, s := range daemon.List(new(services.Config)) {
		k.add(s.Title, s.Connect)
		for _, o := range s.Origins {
			k.add(o.Story, o.Source)
		}
	}
}

// verdicts adds the texts of verdicts on servers, and of those on NAT negotiations.
func (k *keys) verdicts() {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	explain := func(service string, v verdicts.Verdict) {
		k.add(v.String())
		for _, e := range []verdicts.Entry{
			{Service: service, Verdict: v, Times: 1}, {Service: service, Verdict: v, Times: 9, First: since, Last: since.Add(time.Hour)},
		} {
			x := e.Explain()
			k.add(x.What, x.Cause, x.Advice)
		}
	}
	names := []string{"", "qr1"} // a service without words of its own, and one that is part of another
	for _, s := range daemon.List(new(services.Config)) {
		names = append(names, s.Name)
	}
	for _, name := range names {
		for v := verdicts.Heard; v <= verdicts.NotUnderstood && !verdicts.OfPlayer(name); v++ {
			explain(name, v)
		}
	}
	explain("", verdicts.SpeaksOther)
	for v := verdicts.Met; v <= verdicts.HalfWay; v++ {
		explain("natneg", v)
	}
	for _, v := range []verdicts.Verdict{verdicts.Banned, verdicts.Limited, verdicts.Malformed, verdicts.NotUnderstood} {
		explain("natneg", v)
	}
}

// games adds what is said of playing games, but for facts of one game.
func (k *keys) games(t *testing.T) {
	t.Helper()
	for _, w := range games.AllWords() {
		k.add(w.String())
	}
	for _, c := range []games.Change{games.HTTPSToHTTP, games.NewDomain, games.AuthKey} {
		k.add(c.String())
	}
	for _, p := range []games.Platform{games.DS, games.Wii, games.PS2, games.PS3, games.PSP, games.Xbox, games.IPhone} {
		k.add(p.Sentence())
	}
	layers, err := operator.BuiltIn().Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range slices.Concat(layers...) {
		for _, s := range slices.Concat(g.Needs, g.Uses) {
			k.add(s.Words())
		}
		if g.Via == "" {
			k.add(g.Means())
		}
	}
}

// file is the file of a language.
type file struct {
	path  string
	head  []string // its comments
	texts map[string]string
	order []string
}

func read(t *testing.T, l *lang.Language) *file {
	t.Helper()
	f := &file{path: filepath.Join(root, "internal", "lang", "texts", l.Tag+".txt"), texts: make(map[string]string)}
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	key := ""
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		text, isText := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			f.head = append(f.head, line)
		case line == "":
		case !isText:
			key = line
			f.order = append(f.order, key)
		default:
			if _, twice := f.texts[key]; twice || key == "" {
				t.Errorf("%s:%d: a text without a key, or a second one", f.path, i+1)
			}
			f.texts[key] = text
		}
	}
	return f
}

// write writes the file with all keys.
func (f *file) write(t *testing.T, k *keys) {
	t.Helper()
	text := strings.Join(f.head, "\n") + "\n"
	for _, key := range k.order {
		text += "\n" + key + "\n\t" + f.texts[key] + "\n"
	}
	if err := os.WriteFile(f.path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// forms is how many forms of a plural each language has.
var forms = map[string]int{"cs": 3, "de": 2, "es": 2, "fr": 2, "it": 2, "pl": 3, "pt": 2, "ru": 3, "zh-Hans": 1}

func TestEveryLanguageHasAllTexts(t *testing.T) {
	k := collect(t)
	for _, l := range lang.All() {
		if l.Tag == "en" {
			continue
		}
		t.Run(l.Tag, func(t *testing.T) {
			f := read(t, l)
			if *update {
				f.write(t, k)
				return
			}
			for _, key := range k.order {
				if f.texts[key] == "" {
					t.Errorf("no text for %q", key)
				} else if why := differs(key, f.texts[key], forms[l.Tag]); why != "" {
					t.Errorf("%q: %s", f.texts[key], why)
				}
			}
			for _, key := range f.order {
				if !k.found[key] {
					t.Errorf("the text for %q is not used", key)
				}
			}
			if !slices.ContainsFunc(f.head, func(line string) bool { return strings.Contains(line, "native readers") }) {
				t.Error("the head does not say who has read the texts")
			}
		})
	}
}

var (
	placeholder = regexp.MustCompile("%[1-9]|\\{address\\}|\\{port\\}|`[^`]*`")
	markup      = regexp.MustCompile(`</?[^>]*>`)
)

// differs says in which way a text cannot stand for its key, which has two forms if it is a plural.
func differs(key, text string, forms int) string {
	parts := strings.Split(text, "|")
	if !strings.Contains(key, "|") {
		forms = 1
	}
	if len(parts) != forms {
		return fmt.Sprintf("%d forms, want %d", len(parts), forms)
	}
	key = key[strings.LastIndexByte(key, '|')+1:]
	for i, part := range parts {
		have, want := counts(placeholder, part), counts(placeholder, key)
		if i == 0 && have["%1"] == 0 && forms > 1 {
			delete(want, "%1") // "once"
		}
		if !maps.Equal(have, want) {
			return fmt.Sprintf("placeholders %v, want %v", have, want)
		}
		if have, want := counts(markup, part), counts(markup, key); !maps.Equal(have, want) {
			return fmt.Sprintf("markup %v, want %v", have, want)
		}
		if !strings.ContainsAny(markup.ReplaceAllString(key, ""), `"&<`) && strings.ContainsAny(markup.ReplaceAllString(part, ""), `"&<`) {
			return "a quotation mark or sign that HTML would misread"
		}
	}
	return ""
}

func counts(of *regexp.Regexp, text string) map[string]int {
	n := make(map[string]int)
	for _, one := range of.FindAllString(text, -1) {
		n[one]++
	}
	return n
}

func TestNames(t *testing.T) {
	for _, l := range lang.All() {
		for _, key := range lang.Names() {
			if got, want := len(strings.Fields(l.T(key))), len(strings.Fields(key)); got != want {
				t.Errorf("%s: %d names for %q, want %d", l, got, key, want)
			}
		}
	}
}

// TestDiffers has a text for each reason to refuse one.
func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		key, text string
		forms     int
		good      bool
	}{
		{"%1 of <b>%2</b>", "<b>%2</b> %1", 2, true},
		{"%1 of %2", "%1", 2, false},
		{"a <b>", "a", 2, false},
		{"a", `"a"`, 2, false},
		{"%1 a|%1 b", "%1 a|%1 b|%1 c", 3, true},
		{"%1 a|%1 b", "%1 a|%1 b", 3, false},
		{"a", "a|b", 2, false},
	} {
		if why := differs(c.key, c.text, c.forms); (why == "") != c.good {
			t.Errorf("%q for %q: %q, want good %v", c.text, c.key, why, c.good)
		}
	}
}
