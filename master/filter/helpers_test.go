package filter_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master/filter"
)

// server is a server's fields by name in lower case.
type server map[string]string

// row returns s in the order of names.
func (s server) row(names []string) filter.Row {
	r := make(row, len(names))
	for i, name := range names {
		r[i].value, r[i].ok = s[name]
	}
	return r
}

type field struct {
	value string
	ok    bool
}

// row is a filter.Row with minimal cost.
type row []field

func (r row) Field(i int) (value string, ok bool) { return r[i].value, r[i].ok }

func compile(t testing.TB, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(text)
	if err != nil {
		t.Fatalf("Compile(%q): %v", text, err)
	}
	return f
}

func matches(f *filter.Filter, s server) bool {
	return f.Match(s.row(f.Names()), nil)
}

// samples are filters of games with their results for one server.
type samples struct {
	Server server `json:"server"`
	Expect []struct {
		Filter string `json:"filter"`
		Match  bool   `json:"match"`
	} `json:"expect"`
	MustParse    []string `json:"must_parse"`
	SyntaxErrors []string `json:"syntax_errors"`
}

func loadSamples(t testing.TB) samples {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "filters.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s samples
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Server) == 0 || len(s.Expect) == 0 || len(s.MustParse) == 0 || len(s.SyntaxErrors) == 0 {
		t.Fatal("testdata/filters.json lacks a part")
	}
	return s
}

// padded returns a filter of exactly n bytes made of head, many unit, and tail.
func padded(n int, head, unit, tail string) string {
	body := strings.Repeat(unit, (n-len(head)-len(tail))/len(unit))
	return head + body + strings.Repeat(" ", n-len(head)-len(body)-len(tail)) + tail
}
