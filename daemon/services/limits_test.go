package services

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/configs"
)

// bounds returns the description of a limit from its comment: the first
// sentence without the range.
func bounds(comment string) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(comment), " ")+" ", ". ")
	for _, around := range []string{", {range},", ", {range}", " {range}"} {
		first = strings.Replace(first, around, "", 1)
	}
	return strings.TrimSuffix(strings.TrimSpace(first), ".")
}

// limitsTable returns the table of docs/operators/limits.md: every key that is
// a number, a size or a duration.
func limitsTable(t *testing.T) string {
	t.Helper()
	m := newManual(t)
	var b strings.Builder
	b.WriteString("| key | default | range | what it bounds | taken over on |\n|---|---|---|---|---|\n")
	for _, k := range configs.Keys(new(Config)) {
		if !strings.Contains(k.Allowed, " to ") {
			continue
		}
		when := "restart"
		if k.Live {
			when = "SIGHUP"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Name, k.Default, k.Allowed, bounds(m.commentOf(k.Section, k.Field)), when)
	}
	return b.String()
}

func TestEveryLimitIsInOneTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "operators", "limits.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(data), "\r\n", "\n")
	before, _, found := strings.Cut(page, "| key | default | range |")
	if !found {
		t.Fatal("limits.md has no table")
	}
	want := before + limitsTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, want); diff != "" {
		t.Errorf("limits.md, -is +should be (go test ./daemon/services -update writes it):\n%s", diff)
	}
}
