package colour

import (
	"strings"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/clean"
)

// Part is a piece of a name in one colour.
type Part struct {
	Text string // clean, see package clean; not escaped
	Ink  Ink
}

// Class returns the class of the style sheet; empty for the colour of the text around.
func (p Part) Class() string { return p.Ink.Class() }

// Line returns a name without codes for one cell of a table: clean, without spaces
// around it and at most n characters long.
func Line(f Family, s string, n int) string { return clean.Line(Strip(f, s), n) }

// Parts returns the same text as Line in its colours. A name that is empty has no
// parts.
func Parts(f Family, s string, n int) []Part {
	line := Line(f, s, n)
	plain := []Part{{Text: line}}
	switch {
	case line == "":
		return nil
	case !has(f, s):
		return plain
	}
	parts := cleanParts(f, s)
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.Text)
	}
	kept, shortened := line, false
	if start := strings.TrimSpace(whole.String()); start != line {
		kept, shortened = strings.CutSuffix(line, "…")
		if !shortened || !strings.HasPrefix(start, kept) {
			return plain // a code divides a character
		}
	}
	parts = cut(parts, len(whole.String())-len(strings.TrimLeftFunc(whole.String(), isSpace)), len(kept))
	if shortened {
		if len(parts) == 0 {
			return plain
		}
		parts[len(parts)-1].Text += "…"
	}
	return parts
}

func isSpace(r rune) bool { return strings.TrimSpace(string(r)) == "" }

// cleanParts splits a name and cleans the parts as one text: either all of it is UTF-8
// or none.
func cleanParts(f Family, s string) (parts []Part) {
	latin := !utf8.ValidString(Strip(f, s))
	split(f, s, func(text string, ink Ink) {
		if latin {
			text = fromLatin(text)
		}
		text = clean.Text(text)
		switch last := len(parts) - 1; {
		case text == "":
		case last >= 0 && parts[last].Ink == ink:
			parts[last].Text += text
		default:
			parts = append(parts, Part{text, ink})
		}
	})
	return parts
}

// fromLatin reads a text as Latin-1.
func fromLatin(s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = utf8.AppendRune(b, rune(s[i]))
	}
	return string(b)
}

// cut returns the parts of the text from an offset on, as long as stated.
func cut(parts []Part, from, length int) []Part {
	out := make([]Part, 0, len(parts))
	for _, p := range parts {
		skip := min(from, len(p.Text))
		from -= skip
		take := min(len(p.Text)-skip, length)
		length -= take
		if take > 0 {
			out = append(out, Part{p.Text[skip : skip+take], p.Ink})
		}
	}
	return out
}
