// Package lang has the texts for players in several languages, and writes numbers and dates as
// each language does. Texts are written in English where they are used: that is the key under
// which a language has its own. A text that a language lacks is shown in English.
//
// The texts of a language are a file in the folder texts, read when the language is first used.
//
// It is not for the texts of operators: commands, logs, metrics and the API are in English.
package lang

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed texts
var files embed.FS

// Language is one that pages are written in. All methods may be called concurrently. Those of a
// nil Language are those of English.
type Language struct {
	Tag  string // of BCP 47, as in the attribute lang of HTML
	Name string // in the language itself

	form             func(n int) int // which of the forms of a word goes with a number
	thousands, comma string          // separators in numbers

	once  sync.Once // guards texts
	texts map[string]string
}

// languages are all languages, in the order of their names.
var languages = []*Language{
	{Tag: "cs", Name: "Čeština", form: czech, thousands: "\u00a0", comma: ","},
	{Tag: "de", Name: "Deutsch", form: one, thousands: ".", comma: ","},
	{Tag: "en", Name: "English", form: one, comma: "."},
	{Tag: "es", Name: "Español", form: one, thousands: "\u00a0", comma: ","},
	{Tag: "fr", Name: "Français", form: upToOne, thousands: "\u202f", comma: ","},
	{Tag: "it", Name: "Italiano", form: one, thousands: ".", comma: ","},
	{Tag: "pl", Name: "Polski", form: polish, thousands: "\u00a0", comma: ","},
	{Tag: "pt", Name: "Português", form: upToOne, thousands: ".", comma: ","},
	{Tag: "ru", Name: "Русский", form: russian, thousands: "\u00a0", comma: ","},
	{Tag: "zh-Hans", Name: "简体中文", form: func(int) int { return 0 }, thousands: ",", comma: "."},
}

// All returns all languages, in the order of their names.
func All() []*Language { return languages }

// Find returns the language with a tag, nil if there is none.
func Find(tag string) *Language {
	for _, l := range languages {
		if l.Tag == tag {
			return l
		}
	}
	return nil
}

// String returns the tag.
func (l *Language) String() string {
	if l == nil {
		return "en"
	}
	return l.Tag
}

// text returns the text of a key.
func (l *Language) text(key string) string {
	if l == nil || l.Tag == "en" {
		return key
	}
	l.once.Do(func() { l.texts = read(l.Tag) })
	if text, ok := l.texts[key]; ok {
		return text
	}
	return key
}

// read returns the texts of a file: a key on a line, and its text on the next one, behind a tab.
func read(tag string) map[string]string {
	data, err := files.ReadFile("texts/" + tag + ".txt")
	if err != nil {
		panic(err) // every language but English has a file, which any test finds
	}
	texts, key := make(map[string]string), ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "\t"); ok {
			texts[key] = text
		}
		key = line
	}
	return texts
}

// Key marks a text that T or N is given elsewhere, for the test that every language has it.
func Key[S ~string](text S) S { return text }

// T returns a text, with %1 to %9 replaced by the arguments. Integers are written as the language
// does.
func (l *Language) T(text string, args ...any) string { return l.fill(l.text(text), args) }

// N is T for a text with a number: %1 is the number, %2 to %9 are the arguments. The text has a
// form for one and a form for others, "%1 server|%1 servers"; languages have as many as they need.
func (l *Language) N(n int, text string, args ...any) string {
	forms := strings.Split(l.text(text), "|")
	form := one
	if l != nil && len(forms) > 1 {
		form = l.form
	}
	return l.fill(forms[min(form(n), len(forms)-1)], append([]any{n}, args...))
}

func (l *Language) fill(text string, args []any) string {
	if len(args) == 0 {
		return text
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = rest
		if rest == "" || rest[0] < '1' || int(rest[0]-'1') >= len(args) {
			b.WriteByte('%')
			continue
		}
		text = rest[1:]
		if n, ok := args[rest[0]-'1'].(int); ok {
			b.WriteString(l.Number(n))
		} else {
			fmt.Fprint(&b, args[rest[0]-'1'])
		}
	}
}

// Number writes a number. English ones have no separators.
func (l *Language) Number(n int) string {
	digits := strconv.Itoa(n)
	if l == nil || l.thousands == "" || n < 10000 {
		return digits
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + l.thousands + digits[i:]
	}
	return digits
}

// Decimal writes a number with as many digits as it needs.
func (l *Language) Decimal(f float64) string {
	digits := strconv.FormatFloat(f, 'f', -1, 64)
	if l == nil {
		return digits
	}
	return strings.Replace(digits, ".", l.comma, 1)
}

// The names in layouts of package time. Each is one text with all of them.
const (
	months      = "January February March April May June July August September October November December"
	shortMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
	days        = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday"
	shortDays   = "Sun Mon Tue Wed Thu Fri Sat"
)

// Names are the keys of names of months and days, which every language has.
func Names() []string { return []string{months, shortMonths, days, shortDays} }

// Time writes a time in a layout of package time, of which the languages have their own.
func (l *Language) Time(t time.Time, layout string) string {
	layout = l.text(layout)
	text := t.Format(layout)
	if l == nil {
		return text
	}
	month, day := int(t.Month())-1, int(t.Weekday())
	for _, names := range []struct {
		token, long, key string
		nth              int
	}{
		{"January", "", months, month},
		{"Jan", "January", shortMonths, month},
		{"Monday", "", days, day},
		{"Mon", "Monday", shortDays, day},
	} {
		if strings.Contains(layout, names.token) && (names.long == "" || !strings.Contains(layout, names.long)) {
			text = strings.Replace(text, strings.Fields(names.key)[names.nth], strings.Fields(l.text(names.key))[names.nth], 1)
		}
	}
	return text
}

// The forms of plurals, by the rules of the Unicode CLDR for whole numbers.

func one(n int) int { return choose(n == 1, false) }

func upToOne(n int) int { return choose(n == 0 || n == 1, false) }

func czech(n int) int { return choose(n == 1, n >= 2 && n <= 4) }

func polish(n int) int { return choose(n == 1, n%10 >= 2 && n%10 <= 4 && n/10%10 != 1) }

func russian(n int) int {
	return choose(n%10 == 1 && n%100 != 11, n%10 >= 2 && n%10 <= 4 && n/10%10 != 1)
}

// choose returns the first form, the second one, or that for all other numbers.
func choose(first, second bool) int {
	switch {
	case first:
		return 0
	case second:
		return 1
	default:
		return 2
	}
}
