package gamespy

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readPairs returns a section as key, value, key, value.
func readPairs(p []byte) (list []string, rest []byte, complete bool) {
	s := Pairs(p)
	for s.Next() {
		list = append(list, string(s.Key()), string(s.Value()))
	}
	rest, complete = s.Rest()
	return list, rest, complete
}

func TestCutString(t *testing.T) {
	tests := map[string]struct {
		in, s, rest string
		ok          bool
	}{
		"string":     {"abc\x00def", "abc", "def", true},
		"empty":      {"\x00def", "", "def", true},
		"at the end": {"abc\x00", "abc", "", true},
		"no NUL":     {"abc", "abc", "", false},
		"nothing":    {"", "", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, rest, ok := CutString([]byte(tt.in))
			if string(s) != tt.s || string(rest) != tt.rest || ok != tt.ok {
				t.Errorf("CutString(%q) = %q, %q, %v, want %q, %q, %v", tt.in, s, rest, ok, tt.s, tt.rest, tt.ok)
			}
		})
	}
}

func TestPairs(t *testing.T) {
	tests := map[string]struct {
		in       string
		want     []string
		rest     string
		complete bool
	}{
		"one":                        {"k\x00v\x00\x00", []string{"k", "v"}, "", true},
		"rest":                       {"k\x00v\x00\x00\x00\x04rest", []string{"k", "v"}, "\x00\x04rest", true},
		"empty value before the end": {"a\x001\x00rankingon\x00\x00\x00rest", []string{"a", "1", "rankingon", ""}, "rest", true},
		"empty value in the middle":  {"a\x00\x00b\x001\x00\x00", []string{"a", "", "b", "1"}, "", true},
		"repeated key":               {"unknown\x00\x00unknown\x001\x00\x00", []string{"unknown", "", "unknown", "1"}, "", true},
		"bytes of another code page": {"n\x00\xe4\xff\x00\x00", []string{"n", "\xe4\xff"}, "", true},
		"no pairs":                   {"\x00rest", nil, "rest", true},
		"no end":                     {"k\x00v\x00", []string{"k", "v"}, "", false},
		"cut in a value":             {"a\x001\x00b\x00va", []string{"a", "1"}, "b\x00va", false},
		"cut in a key":               {"a\x001\x00key", []string{"a", "1"}, "key", false},
		"nothing":                    {"", nil, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, rest, complete := readPairs([]byte(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Pairs(%q) (-want +got):\n%s", tt.in, diff)
			}
			if string(rest) != tt.rest || complete != tt.complete {
				t.Errorf("Rest = %q, %v, want %q, %v", rest, complete, tt.rest, tt.complete)
			}
		})
	}
}

func TestPairsStayAtTheEnd(t *testing.T) {
	s := Pairs([]byte("\x00k\x00v\x00"))
	for range 3 {
		if s.Next() || s.Key() != nil || s.Value() != nil {
			t.Fatalf("Next went past the end to %q, %q", s.Key(), s.Value())
		}
	}
}

func TestAppendedStringsNeverBreakTheFraming(t *testing.T) {
	b := AppendPair([]byte("<"), "host\x00x", "a\x00\x00b")
	b = AppendPair(b, "", "skipped")
	b = AppendPair(b, "\x00x", "skipped")
	b = AppendPair(b, "empty", "")
	b = AppendEnd(b)
	if want := "<host\x00a\x00empty\x00\x00\x00"; string(b) != want {
		t.Errorf("appended %q, want %q", b, want)
	}
}

func TestPairsDoNotAllocate(t *testing.T) {
	p := loadReports(t)["players and teams"]
	n := testing.AllocsPerRun(100, func() {
		s := Pairs(p)
		for s.Next() {
			_ = s.Value()
		}
	})
	if n != 0 {
		t.Errorf("reading pairs allocates %v times, want 0", n)
	}
}

func FuzzPairs(f *testing.F) {
	for _, report := range loadReports(f) {
		f.Add([]byte(report))
	}
	f.Add([]byte("k\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		list, rest, complete := readPairs(p)
		var again []byte
		for i := 0; i < len(list); i += 2 {
			again = AppendPair(again, list[i], list[i+1])
		}
		if complete {
			again = AppendEnd(again)
		}
		if again = append(again, rest...); !bytes.Equal(again, p) {
			t.Fatalf("pairs of %q written again with the rest: %q", p, again)
		}
	})
}
