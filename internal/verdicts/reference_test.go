package verdicts_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/verdicts"
)

var update = flag.Bool("update", false, "write docs/operators/verdicts.md")

// reference is the table of all verdicts, and of the texts that differ between
// services.
func reference() string {
	sentence := func(text string) string {
		if text == "" {
			return ""
		}
		return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
	}
	var b strings.Builder
	b.WriteString("| verdict | message in the log | cause | what to do |\n|---|---|---|---|\n")
	for v := range verdicts.Count() {
		message, elsewhere, x := v.Words()
		if x.Lasting != "" {
			x.Advice += " If it lasts: " + strings.ToLower(x.Lasting[:1]) + x.Lasting[1:]
		}
		if elsewhere {
			x.Advice = "Use the port that the verdict names."
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", v, message, sentence(x.Cause), x.Advice)
	}
	b.WriteString("\n## Texts of single services\n\nSome verdicts have another cause or advice for some services.\n\n" +
		"| service | verdict | cause | what to do |\n|---|---|---|---|\n")
	for _, services := range alike() {
		own := verdicts.Speakers[services[0]].Texts
		for v := range verdicts.Count() {
			if x, differs := own[v]; differs {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.Join(services, ", "), v, sentence(x.Cause), x.Advice)
			}
		}
	}
	return b.String()
}

// alike returns the names of the services, those with the same texts together.
func alike() (groups [][]string) {
	for _, name := range slices.Sorted(maps.Keys(verdicts.Speakers)) {
		texts := reflect.ValueOf(verdicts.Speakers[name].Texts).Pointer()
		i := slices.IndexFunc(groups, func(g []string) bool {
			return reflect.ValueOf(verdicts.Speakers[g[0]].Texts).Pointer() == texts
		})
		if i < 0 {
			groups = append(groups, []string{name})
		} else {
			groups[i] = append(groups[i], name)
		}
	}
	return groups
}

func TestReference(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "operators", "verdicts.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(data), "\r\n", "\n")
	head, _, found := strings.Cut(page, "| verdict |")
	if !found {
		t.Fatal("verdicts.md has no table")
	}
	want := head + reference()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, want); diff != "" {
		t.Errorf("verdicts.md, -is +should be (go test ./internal/verdicts -update writes it):\n%s", diff)
	}
}
