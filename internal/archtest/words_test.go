package archtest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// words are those that plain English does without, and how often they still
// stand in code, pages and documents. A number may only fall.
var words = map[string]int{
	"anew":        6,
	"whoever":     64,
	"somebody":    102,
	"anybody":     29,
	"nobody":      284,
	"is told":     65,
	"are told":    17,
	"as far as":   7,
	"goes on":     7,
	"lately":      0,
	"hurry":       5,
	"patience":    55,
	"turned away": 2,
	"doors":       14,
	"roomy":       21,
	"sees to it":  1,
}

// TestOddWordsOnlyFall counts words in the files that people read and edit. Data
// and what a tool wrote are left out.
func TestOddWordsOnlyFall(t *testing.T) {
	found := make(map[string]int)
	patterns := make(map[string]*regexp.Regexp)
	for w := range words {
		patterns[w] = regexp.MustCompile(`\b` + w + `\b`)
	}
	sourceFiles(t, func(name string, content []byte) {
		if name == "internal/archtest/words_test.go" || name == "configs/games.yaml" || !hasSuffix(name, ".go", ".md", ".html", ".yaml") {
			return
		}
		content = bytes.ToLower(content)
		for w, p := range patterns {
			if bytes.Contains(content, []byte(w)) { // quicker than the pattern
				found[w] += len(p.FindAllIndex(content, -1))
			}
		}
	})
	for w, most := range words {
		if n := found[w]; n > most {
			t.Errorf("%q stands in %d places, want at most %d: say it in another way", w, n, most)
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
