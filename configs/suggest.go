package configs

import (
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// suggest returns the candidate most similar to word, or "" if none is similar
// enough.
func suggest(word string, candidates []string) string {
	const longest = 64 // no mistyped key is longer
	if len(word) > longest {
		return ""
	}
	best, least := "", max(2, len(word)/4)+1
	for _, c := range candidates {
		if d := ascii.Distance(word, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// didYouMean returns a suggestion as the end of a message, or "".
func didYouMean(word string, candidates []string) string {
	if s := suggest(strings.ToLower(word), candidates); s != "" {
		return "; did you mean " + s + "?"
	}
	return ""
}
