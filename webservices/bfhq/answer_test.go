package bfhq

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examples returns the answers in testdata.
func examples(t testing.TB) (all []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line[0] != '#' {
			all = append(all, strings.NewReplacer("⇥", "\t", "⏎", "\n").Replace(line))
		}
	}
	return all
}

func TestAnswerExamples(t *testing.T) {
	all := examples(t)
	for _, text := range all {
		a, err := ParseAnswer(text)
		if err != nil {
			t.Errorf("ParseAnswer(%q): %v", text, err)
			continue
		}
		if got := string(a.AppendTo(nil)); got != text {
			t.Errorf("AppendTo() = %q, want %q", got, text)
		}
	}
	if got, _ := ParseAnswer(all[1]); !got.Failed || got.Code != 107 {
		t.Errorf("ParseAnswer(%q) = %+v", all[1], got)
	}
	if got, _ := ParseAnswer(all[2]); got.Failed || len(got.Tables) != 3 || cmp.Diff(got.Tables[2].Rows, [][]string{{"11", "n"}, {"22", "s"}, {"88", "n"}}) != "" {
		t.Errorf("ParseAnswer(%q) = %+v", all[2], got)
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"wrong count":      "O\nH\ta\nD\t1\n$\t6\t$",
		"no count":         "O\nH\ta\nD\t1\n",
		"line feed at end": "O\n$\t1\t$\n",
		"row without head": "O\nD\t1\n$\t3\t$",
		"row too short":    "O\nH\ta\tb\nD\t1\n$\t6\t$",
		"other mark":       "O\nX\ta\n$\t3\t$",
		"other word":       "P\n$\t1\t$",
		"code of success":  "O\t1\n$\t2\t$",
		"odd code":         "E\t01\n$\t3\t$",
		"empty line":       "O\n\n$\t1\t$",
	} {
		if a, err := ParseAnswer(text); err == nil {
			t.Errorf("%s: ParseAnswer(%q) = %+v, want an error", name, text, a)
		}
	}
}

func TestAnswerCleansValues(t *testing.T) {
	a := new(Answer).table([]string{"nick"}, []string{"a\tb\nD\t1\x00"})
	if got := string(a.AppendTo(nil)); got != "O\nH\tnick\nD\ta b D 1 \n$\t15\t$" {
		t.Errorf("AppendTo() = %q", got)
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, text := range examples(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAnswer(text)
		if err != nil {
			return
		}
		again := string(a.AppendTo(nil))
		b, err := ParseAnswer(again)
		if err != nil {
			t.Fatalf("ParseAnswer(%q) of %q: %v", again, text, err)
		}
		if third := string(b.AppendTo(nil)); third != again {
			t.Errorf("%q becomes %q, then %q", text, again, third)
		}
	})
}
