package ascii

import (
	"bytes"
	"testing"
)

func TestToLower(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "abc": "abc", "aBC": "abc", "[@Z`{": "[@z`{", "\xC4\xD6Z": "\xC4\xD6z", "ÄZ": "Äz",
	} {
		if got := ToLower(s); got != want {
			t.Errorf("ToLower(%q): got %q, want %q", s, got, want)
		}
		if got := AppendLower([]byte("x"), []byte(s)); string(got) != "x"+want {
			t.Errorf("AppendLower(%q): got %q, want %q", s, got, "x"+want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = ToLower("lower case already") }); n != 0 {
		t.Errorf("ToLower of a text in lower case allocates %v times", n)
	}
}

func TestEqualFold(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"same":           {"abc", "abc", true},
		"other case":     {"aBc", "AbC", true},
		"other length":   {"abc", "abcd", false},
		"other letter":   {"abc", "abd", false},
		"beside letters": {"@[`{", "`{@[", false},
		"not ASCII":      {"\xC4", "\xE4", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := EqualFold(tt.a, []byte(tt.b)); got != tt.want {
				t.Errorf("EqualFold(%q, %q): got %v, want %v", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

// FuzzToLower compares the two ways to fold.
func FuzzToLower(f *testing.F) {
	f.Add("Hello, World")
	f.Fuzz(func(t *testing.T, s string) {
		low := ToLower(s)
		if !EqualFold(s, low) || !bytes.Equal(AppendLower(nil, s), []byte(low)) {
			t.Errorf("ToLower(%q): got %q", s, low)
		}
	})
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"abc", ""}: 3, {"listen", "listen"}: 0, {"listn", "listen"}: 1,
		{"lsiten", "listen"}: 2, {"kitten", "sitting"}: 3,
	} {
		if got := Distance(pair[0], pair[1]); got != want {
			t.Errorf("Distance(%q, %q) = %d, want %d", pair[0], pair[1], got, want)
		}
	}
}
