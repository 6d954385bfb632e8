package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// defaultValues returns what default.yaml says for each key, as it stands there.
func defaultValues(t *testing.T) map[string]string {
	t.Helper()
	values := make(map[string]string)
	var walk func(prefix string, n *yaml.Node)
	walk = func(prefix string, n *yaml.Node) {
		for i := 0; i < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if v.Kind == yaml.MappingNode {
				walk(prefix+k.Value+".", v)
				continue
			}
			values[prefix+k.Value] = v.Value
		}
	}
	var document yaml.Node
	if err := yaml.Unmarshal(Default(), &document); err != nil {
		t.Fatal(err)
	}
	walk("", document.Content[0])
	return values
}

// bounds returns what the comment of a limit says that it bounds: its first
// sentence without the range.
func bounds(comment, allowed string) string {
	first, _, _ := strings.Cut(comment+" ", ". ")
	for _, around := range []string{", " + allowed + ",", ", " + allowed, " " + allowed} {
		first = strings.Replace(first, around, "", 1)
	}
	return strings.TrimSuffix(strings.TrimSpace(first), ".")
}

// limitsTable is the table of all limits as the README has it: every key that is
// a number, a size or a duration.
func limitsTable(t *testing.T) string {
	t.Helper()
	comments, values := make(map[string]string), defaultValues(t)
	for _, d := range documentedKeys(t) {
		comments[d.name] = d.comment
	}
	var b strings.Builder
	b.WriteString("| key | default | range | what it bounds | taken over on |\n|---|---|---|---|---|\n")
	for _, k := range new(Config).keys() {
		if !strings.Contains(k.allowed, " to ") {
			continue
		}
		when := "restart"
		if k.live {
			when = "SIGHUP"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.name, values[k.name], k.allowed, bounds(comments[k.name], k.allowed), when)
	}
	return b.String()
}

func TestReadmeHasEveryLimitInOneTable(t *testing.T) {
	path := filepath.Join("..", "README.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.ReplaceAll(string(data), "\r\n", "\n")
	want := replaceBetween(t, readme, "| key | default | range |", "\n## Develop it", limitsTable(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(readme, want); diff != "" {
		t.Errorf("README.md, -is +should be (go test ./configs -update writes it):\n%s", diff)
	}
}
