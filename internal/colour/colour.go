// Package colour reads the colour codes that games write into names: it removes them,
// or splits a name into parts of one colour for pages.
//
// A game's family of codes is in the catalogue of games. Colours become one of a few
// inks, for which the style sheet has a readable value on light and on dark ground:
// input is never used as a colour. All input is hostile; nothing here
// fails, and everything that is not a whole code stays text.
//
//	quake   ^ and a digit or a letter: ^1Red; ^^ is one ^
//	doom    the byte 0x1C or the two characters \c, then a letter, one of - + * !, or
//	        a name in brackets: \cgRed, \c[Red]Red
//	unreal  the byte 0x1B and three bytes red, green, blue
//	swat    [c=FF0000], [\c] and the marks [b] [i] [u] with their ends
//
// It does not escape: the caller does that for HTML, JSON or Markdown.
package colour

import "strings"

// Family is a kind of colour codes.
type Family uint8

// The families.
const (
	None Family = iota
	Quake
	Doom
	Unreal
	Swat
	families
)

// String returns the family as the catalogue of games spells it; empty for None.
func (f Family) String() string { return [families]string{"", "quake", "doom", "unreal", "swat"}[f] }

// ParseFamily is the inverse of String.
func ParseFamily(text string) (Family, bool) {
	for f := range families {
		if f.String() == text {
			return f, true
		}
	}
	return None, false
}

// Ink is a colour of the style sheet.
type Ink uint8

// The inks. Text is the colour of the text around: it also stands for black and for
// white, each of which is invisible on some ground.
const (
	Text Ink = iota
	Red
	Orange
	Yellow
	Green
	Cyan
	Blue
	Purple
	Grey
	inks
)

// Class returns the class of the style sheet; empty for Text.
func (i Ink) Class() string {
	return [inks]string{"", "ink-red", "ink-orange", "ink-yellow", "ink-green", "ink-cyan", "ink-blue", "ink-purple", "ink-grey"}[i]
}

// Strip returns s without the codes of a family. The rest is as it was: neither
// valid UTF-8 nor visible for certain.
func Strip(f Family, s string) string {
	if !has(f, s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	split(f, s, func(text string, _ Ink) { b.WriteString(text) })
	return b.String()
}

func has(f Family, s string) bool {
	switch f {
	case Quake:
		return strings.IndexByte(s, '^') >= 0
	case Doom:
		return strings.IndexByte(s, 0x1C) >= 0 || strings.Contains(s, `\c`)
	case Unreal:
		return strings.IndexByte(s, 0x1B) >= 0
	case Swat:
		return strings.IndexByte(s, '[') >= 0
	default:
		return false
	}
}

// split calls each with the parts of s between codes, and their inks.
func split(f Family, s string, each func(text string, ink Ink)) {
	ink, from := Text, 0
	for i := 0; i < len(s); {
		c := code(f, s[i:], ink)
		if c.length == 0 {
			i++
			continue
		}
		if text := s[from : i+c.shown]; text != "" {
			each(text, ink)
		}
		i += c.length
		ink, from = c.ink, i
	}
	if from < len(s) {
		each(s[from:], ink)
	}
}

// found is a code at the begin of a text.
type found struct {
	length int // in bytes; 0: there is none
	shown  int // of them, those that are text
	ink    Ink // of the text that follows
}

// code reads the code at the begin of s, which is not empty. now is the ink there.
func code(f Family, s string, now Ink) found {
	switch f {
	case Quake:
		return quake(s, now)
	case Doom:
		return doom(s, now)
	case Unreal:
		if s[0] == 0x1B {
			if len(s) < 4 { // cut off
				return found{length: len(s)}
			}
			return found{length: 4, ink: nearest(s[1], s[2], s[3])}
		}
	case Swat:
		return swat(s, now)
	default:
	}
	return found{}
}

func quake(s string, now Ink) found {
	if s[0] != '^' || len(s) < 2 {
		return found{}
	}
	switch c := s[1]; {
	case c == '^':
		return found{length: 2, shown: 1, ink: now}
	case c == '8':
		return found{length: 2, ink: Orange}
	case c == '9':
		return found{length: 2, ink: Grey}
	case c >= '0' && c <= '7', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return found{length: 2, ink: [8]Ink{Text, Red, Green, Yellow, Blue, Cyan, Purple, Text}[(c-'0')&7]}
	}
	return found{}
}

// maxWord is the length of the longest name of a colour in brackets.
const maxWord = 32

func doom(s string, now Ink) found {
	mark := 0
	switch {
	case s[0] == 0x1C:
		mark = 1
	case strings.HasPrefix(s, `\c`):
		mark = 2
	default:
		return found{}
	}
	rest := s[mark:]
	switch {
	case rest == "":
	case rest[0] == '[':
		if end := strings.IndexByte(rest[:min(len(rest), maxWord)], ']'); end > 0 {
			return found{length: mark + end + 1, ink: byWord(rest[1:end])}
		}
	case strings.IndexByte("-+*!", rest[0]) >= 0:
		return found{length: mark + 1}
	case rest[0]|0x20 >= 'a' && rest[0]|0x20 <= 'v':
		return found{length: mark + 1, ink: byLetter(rest[0] | 0x20)}
	}
	if mark == 1 { // the mark alone is no text
		return found{length: 1, ink: now}
	}
	return found{}
}

// byLetter returns the ink of a letter from a to v.
func byLetter(letter byte) Ink {
	return [...]Ink{
		Red, Orange, Grey, Green, Orange, Yellow, Red, Blue, Orange, Text, Yellow, // a brick to k yellow
		Text, Text, Cyan, Yellow, Green, Green, Red, Orange, Purple, Grey, Cyan, // l to v cyan
	}[letter-'a']
}

// byWord returns the ink of a name such as "light blue".
func byWord(word string) Ink {
	word = strings.ToLower(word)
	for _, known := range []struct {
		part string
		ink  Ink
	}{
		{"red", Red},
		{"brick", Red},
		{"fire", Red},
		{"orange", Orange},
		{"tan", Orange},
		{"brown", Orange},
		{"gold", Yellow},
		{"yellow", Yellow},
		{"cream", Yellow},
		{"green", Green},
		{"olive", Green},
		{"cyan", Cyan},
		{"ice", Cyan},
		{"blue", Blue},
		{"purple", Purple},
		{"gray", Grey},
		{"grey", Grey},
	} {
		if strings.Contains(word, known.part) {
			return known.ink
		}
	}
	return Text
}

func swat(s string, now Ink) found {
	const longest = len("[c=FF0000]")
	if s[0] != '[' {
		return found{}
	}
	end := strings.IndexByte(s[:min(len(s), longest)], ']')
	if end < 0 {
		return found{}
	}
	length := end + 1
	switch mark := strings.ToLower(s[1:end]); {
	case mark == `\c`:
		return found{length: length}
	case mark == "b", mark == "i", mark == "u", mark == `\b`, mark == `\i`, mark == `\u`:
		return found{length: length, ink: now}
	case len(mark) == len("c=ff0000") && mark[:2] == "c=":
		if r, g, b, ok := hex(mark[2:]); ok {
			return found{length: length, ink: nearest(r, g, b)}
		}
	}
	return found{}
}

// hex reads six hexadecimal digits in lower case.
func hex(digits string) (r, g, b byte, ok bool) {
	var v [6]byte
	for i := range v {
		v[i] = byte(strings.IndexByte("0123456789abcdef", digits[i]))
		if v[i] > 15 {
			return 0, 0, 0, false
		}
	}
	return v[0]<<4 | v[1], v[2]<<4 | v[3], v[4]<<4 | v[5], true
}

func nearest(red, green, blue byte) Ink {
	r, g, b := int(red), int(green), int(blue)
	high, low := max(r, g, b), min(r, g, b)
	if high-low < 48 { // hardly a colour
		if high < 64 || low > 176 {
			return Text
		}
		return Grey
	}
	hue := 0 // in degrees
	switch spread := high - low; high {
	case r:
		hue = 60 * (g - b) / spread
	case g:
		hue = 120 + 60*(b-r)/spread
	default:
		hue = 240 + 60*(r-g)/spread
	}
	switch hue = (hue + 360) % 360; {
	case hue < 18 || hue >= 340:
		return Red
	case hue < 45:
		return Orange
	case hue < 70:
		return Yellow
	case hue < 160:
		return Green
	case hue < 200:
		return Cyan
	case hue < 258:
		return Blue
	}
	return Purple
}
