package configs

import "strings"

// Nearest returns the candidate most similar to a mistyped word, or "" if none is
// similar enough.
func Nearest(word string, candidates []string) string {
	return suggest(strings.ToLower(word), candidates)
}

// suggest returns the candidate most similar to word, or "" if none is similar
// enough.
func suggest(word string, candidates []string) string {
	const longest = 64 // no mistyped key is longer
	if len(word) > longest {
		return ""
	}
	best, least := "", max(2, len(word)/4)+1
	for _, c := range candidates {
		if d := editDistance(word, c); d < least {
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

// editDistance returns how many bytes must be inserted, removed or replaced to
// make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the prefix of a to all prefixes of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
