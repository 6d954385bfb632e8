package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutCell(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in    string
		limit int
		want  string
	}{
		"fits":             {"abcde", 5, "abcde"},
		"one too long":     {"abcdef", 5, "abcd…"},
		"to one":           {"abc", 1, "…"},
		"wide fits":        {"大大", 4, "大大"},
		"wide at the edge": {"大大a", 4, "大…"},
		"wide by half":     {"a大大", 4, "a大…"},
		"accents fit":      {"a\u0301b\u0301", 2, "a\u0301b\u0301"},
		"accents are cut":  {"abc\u0301d", 3, "ab…"},
		"accents stay":     {"ab\u0301cd", 3, "ab\u0301…"},
		"many accents":     {"ab" + strings.Repeat("\u0301", 4*marksPerColumn+1) + "c", 4, "ab" + strings.Repeat("\u0301", 4*marksPerColumn) + "…"},
	} {
		if got := cutCell(tt.in, tt.limit); got != tt.want {
			t.Errorf("%s: cutCell(%q, %d) = %q, want %q", name, tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestWriteTable(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("大x", 50)
	rows := [][]string{{"192.0.2.1:27900", name, "short"}, {"192.0.2.22:27900", "n\x1b[2J", name}}
	for screen, want := range map[int]int{0: 16 + 2 + cellWidth + 2 + cellWidth, 80: 80, 300: 300, 1: 16 + 2 + minCellWidth + 2 + minCellWidth} {
		var b strings.Builder
		if err := writeTable(&b, screen, "address\tname…\treason…", rows); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		widest := 0
		for _, line := range lines {
			widest = max(widest, displayWidth(line))
		}
		// A wide character may leave the last column of a cell empty.
		if widest > want || widest < want-3 {
			t.Errorf("screen of %d: lines of up to %d columns, want %d:\n%s", screen, widest, want, b.String())
		}
		if !utf8.ValidString(b.String()) || !strings.Contains(b.String(), "192.0.2.22:27900  n?[2J ") {
			t.Errorf("screen of %d:\n%s", screen, b.String())
		}
		column := strings.Index(lines[0], "REASON")
		if got := displayWidth(lines[1][:strings.LastIndex(lines[1], "short")]); got != column {
			t.Errorf("screen of %d: the reason begins at column %d, want %d:\n%s", screen, got, column, b.String())
		}
	}
}

// Cells that fit are not cut, and columns without text never are.
func TestWriteTableCutsTheWidest(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0", 64)
	var b strings.Builder
	if err := writeTable(&b, 40, "hash\tname…\tother…", [][]string{{hash, "0123456789012345", "01234567890"}}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); !slices.Equal(strings.Fields(lines[1]), []string{hash, "01234567890…", "01234567890"}) {
		t.Errorf("printed:\n%s", b.String())
	}
}

func TestDisplayWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"abc": 3, "äöü": 3, "a\u0308": 1, "日本": 4, "🎮": 2, "\u200b": 0, "ﾊﾝｶｸ": 4, "ＡＢ": 4, "…": 1} {
		if got := displayWidth(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}
