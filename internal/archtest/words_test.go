package archtest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/racetest"
)

// words are words and phrases to avoid, with the number of times that they
// still occur in code, pages and documents. A number may only fall.
var words = map[string]int{
	"anew":        0,
	"whoever":     0,
	"somebody":    0,
	"anybody":     0,
	"nobody":      0,
	"is told":     0,
	"are told":    0,
	"as far as":   0,
	"goes on":     0,
	"lately":      0,
	"hurry":       0,
	"patience":    0,
	"turned away": 0,
	"doors":       0,
	"roomy":       0,
	"sees to it":  0,
}

// TestOddWordsOnlyFall counts words in the files that people read and edit.
// Data and generated files are left out.
func TestOddWordsOnlyFall(t *testing.T) {
	if racetest.RaceDetector {
		t.Skip("reads each file: run it without -race")
	}
	found := make(map[string]int)
	patterns := make(map[string]*regexp.Regexp)
	for w := range words {
		patterns[w] = regexp.MustCompile(`\b` + w + `\b`)
	}
	sourceFiles(t, func(name string, content []byte) {
		if name == "internal/archtest/words_test.go" || name == "configs/games.yaml" || !hasSuffix(name, ".go", ".md", ".html", ".yaml") {
			return
		}
		content = bytes.ReplaceAll(bytes.ToLower(content), []byte("http.nobody"), nil)
		for w, p := range patterns {
			if bytes.Contains(content, []byte(w)) { // faster than the pattern
				found[w] += len(p.FindAllIndex(content, -1))
			}
		}
	})
	for w, most := range words {
		switch n := found[w]; {
		case n > most:
			t.Errorf("%q occurs %d times, want at most %d: use another word", w, n, most)
		case n < most:
			t.Errorf("%q occurs %d times: lower the number in the table, %d, to that", w, n, most)
		}
	}
}

func hasSuffix(name string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}
