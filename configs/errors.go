package configs

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// KeyError is one mistake in the value or the name of a key.
type KeyError struct {
	Key     string // as in default.yaml, or as written if it is unknown
	Value   string // the given value; may be empty
	Problem string // the error
	Source  string // where it was given: file and line, variable or flag; may be empty
}

// Error returns the mistake in one line that starts with the key.
func (e *KeyError) Error() string {
	var b strings.Builder
	b.WriteString(e.Key)
	b.WriteString(": ")
	if e.Value != "" {
		b.WriteString(quote(e.Value))
		b.WriteByte(' ')
	}
	b.WriteString(e.Problem)
	if e.Source != "" {
		b.WriteString(" (" + e.Source + ")")
	}
	return b.String()
}

// Errors holds all mistakes in a configuration. Most of its errors are a
// *KeyError; others report a file that cannot be read or is not YAML.
type Errors struct {
	list []error // never empty
}

// Error returns the messages, one per line.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, err := range e.list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns the mistakes, at least one. The caller must not change the
// slice.
func (e *Errors) Unwrap() []error { return e.list }

// quote returns s in quotes, cut to fit into a line.
func quote(s string) string {
	const longest = 80
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "..."
	}
	return strconv.Quote(s)
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
