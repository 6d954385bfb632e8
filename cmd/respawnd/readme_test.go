package main

import (
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/internal/verdicts"
)

func readme(t *testing.T) string {
	t.Helper()
	return readFile(t, filepath.Join("..", "..", "README.md"))
}

var (
	fenced = regexp.MustCompile("(?s)```sh\n(.*?)```")
	inline = regexp.MustCompile("`(respawnd [^`]+)`")
)

// readmeCommands returns the command lines of the README: those in fences, and
// those in the text that call respawnd.
func readmeCommands(t *testing.T) (lines []string) {
	t.Helper()
	text := readme(t)
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, m := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		lines = append(lines, m[1])
	}
	if len(lines) < 10 {
		t.Fatalf("%d command lines in the README", len(lines))
	}
	return lines
}

func TestReadmeStartsAndTestsAsWeDo(t *testing.T) {
	t.Parallel()
	lines := readmeCommands(t)
	for _, want := range []string{"go run ./cmd/respawnd serve", "go test ./...", "go build -o respawnd ./cmd/respawnd"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line of the README is %q", want)
		}
	}
}

func TestReadmeCommandsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, line := range readmeCommands(t) {
		words, ok := shellWords(line)
		if !ok {
			t.Errorf("%s: a quote is not closed", line)
			continue
		}
		switch {
		case words[0] == "respawnd":
			words = words[1:]
		case len(words) > 2 && words[0] == "go" && words[1] == "run":
			words = words[3:]
		default:
			continue
		}
		p := &program{flags: make(map[string]string)}
		cmd, rest, err := p.rootCommand().Find(words)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if args := cmd.Flags().Args(); len(args) > 0 || cmd.HasSubCommands() {
			if err := cmd.ValidateArgs(args); err != nil || cmd.HasSubCommands() {
				t.Errorf("%s: %s does not take the arguments %q: %v", line, cmd.CommandPath(), args, err)
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

func TestReadmeExplainsEveryVerdict(t *testing.T) {
	t.Parallel()
	text := readme(t)
	for v := verdicts.Heard; v.String() != "unknown"; v++ {
		word, _, _ := strings.Cut(v.String(), " (")
		if !strings.Contains(text, word) {
			t.Errorf("the README does not explain the verdict %q", v)
		}
	}
}

func TestHelpOfEveryCommandIsASentence(t *testing.T) {
	t.Parallel()
	p := &program{flags: make(map[string]string)}
	cmds := p.rootCommand().Commands()
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

// pageAddress is a page that the README names.
var pageAddress = regexp.MustCompile("`http://127\\.0\\.0\\.1:8080(/[^`]*)`")

func TestReadmePagesAreThere(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	v := newVisitor(t, d) // follows redirects
	found := pageAddress.FindAllStringSubmatch(readme(t), -1)
	if len(found) < 6 {
		t.Fatalf("%d addresses of pages in the README", len(found))
	}
	for _, m := range found {
		if code := v.do(http.MethodGet, m[1], nil); code != http.StatusOK || !strings.Contains(v.page, "<h1>") {
			t.Errorf("GET %s: status %d, want a page", m[1], code)
		}
	}
	d.stop()
}

var addressed = regexp.MustCompile(`http://localhost:8080(/[^"` + "`" + `]*)"`)

func TestReadmeAddressesAnswer(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	register(t, d, "hostname", "The Inn")
	found := 0
	for _, m := range addressed.FindAllStringSubmatch(readme(t), -1) {
		found++
		method := http.MethodGet
		if strings.HasPrefix(m[1], "/api/v1/events") {
			method = http.MethodHead // it has no end
		}
		if code, body := get(t, d, "web", method, m[1], ""); code != http.StatusOK || (method == http.MethodGet && !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[")) {
			t.Errorf("%s: status %d, want 200 and JSON:\n%.200s", m[0], code, body)
		}
	}
	if found < 7 {
		t.Errorf("%d addresses in the README, want 7 or more", found)
	}
	d.stop()
}

var yamlFence = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func TestReadmeConfigurationIsAccepted(t *testing.T) {
	t.Parallel()
	blocks := yamlFence.FindAllStringSubmatch(readme(t), -1)
	if len(blocks) == 0 {
		t.Fatal("no configuration in the README")
	}
	for _, b := range blocks {
		if _, _, err := services.Load(configs.Options{File: writeFile(t, "readme.yaml", b[1])}); err != nil {
			t.Errorf("configuration in the README: %v", err)
		}
	}
}
