package filter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master/filter"
)

func FuzzCompile(f *testing.F) {
	s := loadSamples(f)
	for _, c := range s.Expect {
		f.Add(c.Filter)
	}
	for _, text := range append(s.MustParse, s.SyntaxErrors...) {
		f.Add(text)
	}
	for _, text := range []string{
		"a=\x91b\x92\x92c\x92", "a=\u2018b\u2019 or \u201cc\u201d like d", `a like '%a\%_%'`, "not not -(1<<b)/c is not null",
		"gametype in ('a','b') and not numplayers in(1,2)", "a NOT IN (null, b+1, (c in (0)))", "a in ()", "a in (1", "a in 1", "a in (1,)",
		"a in (" + strings.Repeat("1,", 500) + "2)", "a" + strings.Repeat(" in(1)", 100), strings.Repeat("(", 80) + "a" + strings.Repeat(" in(1,1))", 80),
		strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500), strings.Repeat("!", 1000) + "a", strings.Repeat("a=1&&", 200) + "1.5f",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := filter.Compile(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		again, err := filter.Compile(compiled.String())
		if err != nil {
			t.Fatalf("Compile(%q), canonical form of %q: %v", compiled, text, err)
		}
		if again.String() != compiled.String() {
			t.Fatalf("String() of %q = %q, compiled again %q", text, compiled, again)
		}
		const longest = 300 // bytes of a field below
		fields := s.Server
		fields["a"], fields["b"], fields["c"] = strings.Repeat("ab", longest/2), "7", "0.0"
		const enough = 5000
		b := &filter.Budget{Steps: enough}
		got := compiled.Match(fields.row(compiled.Names()), b)
		if b.Steps > enough || b.Steps < -filter.MaxLength-longest {
			t.Fatalf("Match(%q) leaves %d steps of %d", text, b.Steps, enough)
		}
		if b.Exhausted() {
			if got {
				t.Fatalf("Match(%q) = true with an exhausted budget", text)
			}
			return
		}
		if same := matches(again, fields); same != got {
			t.Fatalf("Match(%q) = %v, of the canonical form %q %v", text, got, compiled, same)
		}
	})
}

// checkError fails unless err is one of those Compile may return for text.
func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *filter.SyntaxError
	switch {
	case errors.Is(err, filter.ErrTooLong):
		if len(text) <= filter.MaxLength {
			t.Fatalf("Compile of %d bytes: %v", len(text), err)
		}
	case !errors.As(err, &syntax):
		t.Fatalf("Compile(%q): %v, want a *SyntaxError", text, err)
	case syntax.Offset < 0 || syntax.Offset > len(text) || syntax.Message == "":
		t.Fatalf("Compile(%q): offset %d, message %q", text, syntax.Offset, syntax.Message)
	}
}
