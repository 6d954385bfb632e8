package verdicts

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for _, v := range texts {
		advice := v.Advice
		if v.lasting != "" {
			advice += " If it lasts: " + strings.ToLower(v.lasting[:1]) + v.lasting[1:]
		}
		if v.elsewhere {
			advice = "Use the port that the verdict names."
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", v.code, v.message, sentence(v.Cause), advice)
	}
	b.WriteString("\n## Texts of single services\n\nSome verdicts have another cause or advice for some services.\n\n" +
		"| service | verdict | cause | what to do |\n|---|---|---|---|\n")
	for _, own := range []struct {
		services string
		texts    map[Verdict]Explanation
	}{
		{"qr1", textProtocolTexts},
		{"zanmaster", zandronumTexts},
		{"utmaster", epicTexts},
		{"lan", lanTexts},
		{"probe", queryTexts},
		{"gpcm, gpsp, webservices", signInTexts},
		{"natneg", negotiationTexts},
		{"peerchat", chatTexts},
		{"cdkey", keyTexts},
		{"gstats", statsTexts},
		{"serverbrowse, legacylist, utmaster list", listTexts},
		{"ssq", tableTexts},
		{"dns", nameTexts},
	} {
		for v := range Verdict(len(texts)) {
			if x, differs := own.texts[v]; differs {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", own.services, v, sentence(x.Cause), x.Advice)
			}
		}
	}
	return b.String()
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
	for name, s := range speakers {
		if s.texts != nil && !slices.ContainsFunc(strings.Split(page, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "| ") && strings.Contains(strings.SplitN(line, "|", 3)[1], name)
		}) {
			t.Errorf("verdicts.md has no texts of %s", name)
		}
	}
}
