package docs

import (
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/test/rig"
)

var (
	fencedShell = regexp.MustCompile("(?s)```sh\n(.*?)```")
	fencedYAML  = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	fenced      = regexp.MustCompile("(?s)```.*?```")
	inlineRun   = regexp.MustCompile("`((?:respawnd|make|FUZZ=\\S+ make|go test) [^`]+)`")
	inlineCode  = regexp.MustCompile("`([^`\n]+)`")
)

// fencedLines returns the command lines in the fences of a page.
func fencedLines(text string) (lines []string) {
	for _, block := range fencedShell.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	if n := strings.Count(rig.Docs(t)["README.md"], "\n"); n > 150 {
		t.Errorf("README.md has %d lines, want 150 or less: the rest belongs in docs/", n)
	}
}

// TestDocsCommands parses every command line, those in the text too. The lines in
// fences are run by TestDocsAreWalked.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	makefile := rig.ReadFile(t, filepath.Join(rig.Repository, "Makefile"))
	for name, text := range rig.Docs(t) {
		if name == "docs/operators/commands.md" {
			continue // made of the commands themselves
		}
		lines := fencedLines(text)
		for _, m := range inlineRun.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			words, ok := shellWords(line)
			if !ok {
				t.Errorf("%s: %s: a quote is not closed", name, line)
				continue
			}
			for strings.Contains(words[0], "=") {
				words = words[1:]
			}
			switch {
			case words[0] == "respawnd", words[0] == "./respawnd":
				checkCommand(t, name, line, words[1:])
			case len(words) > 2 && words[0] == "go" && words[1] == "run":
				checkCommand(t, name, line, words[3:])
			case words[0] == "go":
				checkPackages(t, name, line, words)
			case words[0] == "make":
				if !strings.Contains(makefile, "\n"+words[1]+":") {
					t.Errorf("%s: the Makefile has no target %s", name, words[1])
				}
			}
		}
	}
}

// checkCommand checks the arguments of a command line of respawnd.
func checkCommand(t *testing.T, page, line string, words []string) {
	t.Helper()
	cmd, rest, err := commands.Root(cli.New(nil, nil, nil, nil)).Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", page, line, err)
		return
	}
	args := cmd.Flags().Args()
	if len(args) == 0 {
		return // the text may name a command alone
	}
	if err := cmd.ValidateArgs(args); err != nil || cmd.HasSubCommands() && cmd.Args == nil {
		t.Errorf("%s: %s: %s does not take the arguments %q: %v", page, line, cmd.CommandPath(), args, err)
	}
}

// checkPackages checks that the folders which a line of the go command names are
// there.
func checkPackages(t *testing.T, page, line string, words []string) {
	t.Helper()
	for _, w := range words {
		if folder, _ := strings.CutSuffix(w, "/..."); strings.HasPrefix(folder, "./") {
			if _, err := os.Stat(filepath.Join(rig.Repository, filepath.FromSlash(folder))); err != nil {
				t.Errorf("%s: %s: %v", page, line, err)
			}
		}
	}
}

// shellWords splits a command line at spaces outside of double quotes.
func shellWords(line string) (words []string, ok bool) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words, strings.Count(line, `"`)%2 == 0 && len(words) > 0
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingLine  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors of the headings of a page, as GitHub makes them.
func anchors(text string) map[string]bool {
	out := make(map[string]bool)
	for _, m := range headingLine.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

func TestDocsLinks(t *testing.T) {
	t.Parallel()
	pages := rig.Docs(t)
	for name, text := range pages {
		for _, m := range markdownLink.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(rig.Repository, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
			if anchor != "" && !anchors(pages[target])[anchor] {
				t.Errorf("%s links to %s: no such heading", name, m[1])
			}
		}
	}
}

// TestDocsKeys checks that every key and metric that a page names exists.
// The pictures are those of make pictures: each is shown, and together they are small.
func TestPictures(t *testing.T) {
	t.Parallel()
	const most = 400_000
	files, err := filepath.Glob(filepath.Join(rig.Repository, "docs", "pictures", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("pictures: %v, %v", files, err)
	}
	shown := ""
	for _, text := range rig.Docs(t) {
		shown += text
	}
	var size int64
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		if !strings.Contains(shown, "pictures/"+info.Name()) {
			t.Errorf("no page shows %s", info.Name())
		}
	}
	if size > most {
		t.Errorf("the pictures have %d bytes, at most %d are allowed", size, most)
	}
}

func TestDocsKeys(t *testing.T) {
	t.Parallel()
	keys, sections := make(map[string]bool), make(map[string]bool)
	for _, k := range configs.Keys(new(services.Config)) {
		for name := k.Name; strings.Contains(name, "."); name = strings.TrimSuffix(name, path.Ext(name)) {
			keys[name] = true // and the sections that it is in
		}
		keys[k.Name] = true
		section, _, _ := strings.Cut(k.Name, ".")
		sections[section] = true
	}
	pages := rig.Docs(t)
	metrics := pages["docs/operators/metrics.md"]
	key := regexp.MustCompile(`^([a-z0-9]+)\.[a-z_][a-z0-9_]*(\.[a-z_]+)*`)
	for name, text := range pages {
		for _, m := range inlineCode.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if k := key.FindStringSubmatch(m[1]); k != nil && sections[k[1]] && !keys[k[0]] && !slices.Contains([]string{".go", ".yaml", ".token", ".key", ".outcomes", ".com"}, path.Ext(k[0])) {
				t.Errorf("%s names the key %s, which does not exist", name, k[0])
			}
			if strings.HasPrefix(m[1], "respawnd_") {
				metric, _, _ := strings.Cut(m[1], "{")
				if !strings.Contains(metrics, "`"+strings.TrimSuffix(metric, "*")) {
					t.Errorf("%s names the metric %s, which does not exist", name, m[1])
				}
			}
		}
	}
}

func TestHelpOfEveryCommandIsASentence(t *testing.T) {
	t.Parallel()
	cmds := commands.Root(cli.New(nil, nil, nil, nil)).Commands()
	for len(cmds) > 0 {
		c := cmds[0]
		cmds = append(cmds[1:], c.Commands()...)
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Short[:1] != strings.ToUpper(c.Short[:1]) {
			t.Errorf("%s: help text %q, want a phrase with a capital and no full stop", c.CommandPath(), c.Short)
		}
		if c.Args == nil {
			t.Errorf("%s does not check its arguments", c.CommandPath())
		}
	}
}

// pageAddress is a page that the documentation names, apiAddress an address of
// the JSON interface.
var (
	pageAddress = regexp.MustCompile("`http://127\\.0\\.0\\.1:8080(/[^`]*)`")
	apiAddress  = regexp.MustCompile(`http://localhost:8080(/[^"` + "`" + `]*)"`)
)

func TestDocsAddresses(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	rig.Register(t, d, "hostname", "The Inn")
	v := rig.NewVisitor(t, d) // follows redirects
	pages, addresses := 0, 0
	for name, text := range rig.Docs(t) {
		for _, m := range pageAddress.FindAllStringSubmatch(text, -1) {
			pages++
			if code := v.Do(http.MethodGet, m[1], nil); code != http.StatusOK || !strings.Contains(v.Page, "<h1") {
				t.Errorf("%s: GET %s: status %d, want a page", name, m[1], code)
			}
		}
		for _, m := range apiAddress.FindAllStringSubmatch(text, -1) {
			addresses++
			method := http.MethodGet
			if strings.HasPrefix(m[1], "/api/v1/events") {
				method = http.MethodHead // it has no end
			}
			if code, body := rig.Get(t, d, "web", method, m[1], ""); code != http.StatusOK || (method == http.MethodGet && !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[")) {
				t.Errorf("%s: %s: status %d, want 200 and JSON:\n%.200s", name, m[0], code, body)
			}
		}
	}
	if pages < 6 || addresses < 7 {
		t.Errorf("%d pages and %d addresses in the documentation, want 6 and 7 or more", pages, addresses)
	}
	d.Stop()
}

func TestDocsConfiguration(t *testing.T) {
	t.Parallel()
	found := 0
	for name, text := range rig.Docs(t) {
		for _, b := range fencedYAML.FindAllStringSubmatch(text, -1) {
			found++
			if _, _, err := services.Load(configs.Options{File: rig.WriteFile(t, "page.yaml", b[1])}); err != nil {
				t.Errorf("configuration in %s: %v", name, err)
			}
		}
	}
	if found < 4 {
		t.Errorf("%d configurations in the documentation, want 4 or more", found)
	}
	t.Run("lan.yaml", func(t *testing.T) {
		block := fencedYAML.FindStringSubmatch(rig.Docs(t)["docs/operators/lan.md"])
		page, _, err := services.Load(configs.Options{File: rig.WriteFile(t, "page.yaml", block[1])})
		if err != nil {
			t.Fatal(err)
		}
		sample, _, err := services.Load(configs.Options{File: filepath.Join(rig.Repository, "configs", "lan.yaml")})
		if err != nil {
			t.Fatal(err)
		}
		page.Log.Format = sample.Log.Format // the same on a terminal
		if !reflect.DeepEqual(sample, page) {
			t.Errorf("the page has other settings than lan.yaml:\n%+v\n%+v", page, sample)
		}
	})
}
