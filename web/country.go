package web

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/api"
)

// countryTable has the names of countries by ISO 3166 alpha-2 code: the English ones from the public
// domain table of the time zone database, the others from the Unicode CLDR. Its first line has the
// tags of the languages.
//
//go:embed countries.tsv
var countryTable string

// countryNames is countryTable, read: the columns of each code.
var countryNames = sync.OnceValue(func() map[string][]string {
	names := make(map[string][]string)
	for line := range strings.Lines(countryTable) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		names[columns[0]] = columns[1:]
	}
	return names
})

// countryName returns the name of a country, its code if the name is not known.
func countryName(l *lang.Language, code string) string {
	names, known := countryNames()[code]
	column := slices.Index(countryNames()["code"], l.String())
	if !known || column < 0 {
		return code
	}
	return names[column]
}

// isCountry reports whether a text has the form of a country's code.
func isCountry(code string) bool {
	return len(code) == 2 && code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z'
}

// flag returns the flag of a country as text, "" for anything else. Systems without
// the picture show the two letters.
func flag(code string) string {
	if !isCountry(code) {
		return ""
	}
	const first = '\U0001F1E6' // the regional indicator of A
	return string([]rune{first + rune(code[0]-'A'), first + rune(code[1]-'A')})
}

// countryView is a country in the form of the list.
type countryView struct {
	Code, Name string
	Servers    int
	Selected   bool
}

// countryViews returns the countries that have servers, by name.
func countryViews(l *lang.Language, list *api.Snapshot, selected string) (out []countryView) {
	for _, c := range list.Countries() {
		if isCountry(c.Code) {
			out = append(out, countryView{c.Code, countryName(l, c.Code), c.Servers, c.Code == selected})
		}
	}
	sortBy(out, func(v countryView) string { return v.Name })
	return out
}
