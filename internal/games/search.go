package games

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/respawnd/respawnd/internal/ascii"
)

// match is how a game matches words, the best first.
type match int

const (
	byCalled match = iota // players call it so
	byName
	byTitle
	byStart // its title or its name starts so
	byWords // all words are in its title, or begin words of it
	byPart
	byLetters // a letter or two differ
	noMatch
)

// hit is a game that matches.
type hit struct {
	game  *Game
	match match
	rank  int // 0: made for computers, 1: for a console, 2: a demo, a tool or another language
}

// Search returns the games of a list that words of a player may mean, the best first; without
// words all, as they are. Case, punctuation, accents, "the", a year too many and the kind of
// numbers do not matter: "civ iv" is "Civ 4". Games of computers come before those of consoles,
// and both before demos and other versions.
func Search(list []Game, words string) []Game {
	if words == "" {
		return list
	}
	hits := NewFinder(list).search(words)
	out := make([]Game, len(hits))
	for i := range hits {
		out[i] = *hits[i].game
	}
	return out
}

// Guess is the game that words of a player most probably mean.
type Guess struct {
	Game   Game
	Exact  bool   // the words are its name
	Others []Game // further ones that the words may mean, the best first
	words  string
}

// maxOthers is the maximum number of Others.
const maxOthers = 5

// Find finds a game in a list, see Finder.
func Find(list []Game, words string) (g Guess, ok bool) { return NewFinder(list).Find(words) }

// FindNamed is Find for operators: a name is that of its game, as if it had an equals sign.
func FindNamed(list []Game, words string) (g Guess, ok bool) {
	return NewFinder(list).find(words, true)
}

// Finder is a list that is prepared for several searches: most of the time of one goes into that.
type Finder struct {
	targets []target
	other   map[string]bool // names that are aliases of a game
}

// NewFinder prepares a list, which must not be changed while the Finder is used.
func NewFinder(list []Game) *Finder {
	f := &Finder{targets: make([]target, len(list)), other: make(map[string]bool)}
	for i := range list {
		f.targets[i] = newTarget(&list[i])
		for _, a := range list[i].Aliases {
			f.other[a] = true
		}
	}
	return f
}

// Find returns the game with a name, or the one that players call so, or the only one for
// computers with all the words in its title. A name of which nothing is known gives way to a game that
// players call so, and that of a demo or another version to the game with that title, unless an
// equals sign stands before it. Without such a game ok is false, and Others are those that the
// words may mean.
func (f *Finder) Find(words string) (g Guess, ok bool) {
	name, named := strings.CutPrefix(words, "=")
	return f.find(name, named)
}

// find is Find; named: a name is that of its game, whatever is known of it.
func (f *Finder) find(words string, named bool) (g Guess, ok bool) {
	g.words = words
	hits := f.search(words)
	i := slices.IndexFunc(hits, func(h hit) bool { return ascii.EqualFold(h.game.Name, words) })
	if i > 0 && !named && !hits[i].game.described() && (hits[0].match == byCalled || hits[0].rank < hits[i].rank) {
		i = -1
	}
	if i >= 0 {
		g.Game, g.Exact, ok = *hits[i].game, true, true
		hits = slices.DeleteFunc(hits, func(h hit) bool { return h.match != byCalled || h.game.Name == g.Game.Name })
	} else if len(hits) > 0 && (hits[0].match <= byTitle || alone(hits, words)) {
		g.Game, ok = *hits[0].game, true
		hits = slices.DeleteFunc(hits[1:], func(h hit) bool { return h.match > byTitle })
	}
	for _, h := range hits[:min(len(hits), maxOthers)] {
		g.Others = append(g.Others, *h.game)
	}
	return g, ok
}

// described reports whether it is known what a game needs.
func (g *Game) described() bool { return g.See == "" && (len(g.Needs) > 0 || len(g.Editions) > 0) }

// alone reports whether the first hit alone is a game for computers, and has all the words in its
// title, or is called so.
func alone(hits []hit, words string) bool {
	have := append(wordsOf(hits[0].game.Title), hits[0].game.Called...)
	return hits[0].rank == 0 && (len(hits) == 1 || hits[1].rank > 0) &&
		!slices.ContainsFunc(wordsOf(words), func(w string) bool { return !slices.Contains(have, w) })
}

// String returns the guess as text for players, with what to write for the others: "Halo: Combat Evolved
// (halor); for Halo Beta: =halo".
func (g Guess) String() string {
	parts := []string{fmt.Sprintf("%s (%s)", cmp.Or(g.Game.Title, g.Game.Name), g.Game.Name)}
	for _, o := range g.Others {
		sign := ""
		if ascii.EqualFold(o.Name, g.words) {
			sign = "="
		}
		parts = append(parts, fmt.Sprintf("for %s: %s%s", cmp.Or(o.Title, o.Name), sign, o.Name))
	}
	return strings.Join(parts, "; ")
}

// search returns the games that match, the best first.
func (f *Finder) search(text string) (hits []hit) {
	words := wordsOf(text)
	if hits = f.collect(func(t *target) match { return t.match(text, words) }); len(hits) > 0 {
		return hits
	}
	if timeless := slices.DeleteFunc(slices.Clone(words), isYear); len(timeless) > 0 && len(timeless) < len(words) {
		return f.search(strings.Join(timeless, " "))
	}
	all := strings.Join(words, "")
	return f.collect(func(t *target) match { return t.near(all) })
}

// collect returns the games that match, the best first.
func (f *Finder) collect(compare func(*target) match) (hits []hit) {
	for i := range f.targets {
		t := &f.targets[i]
		if m := compare(t); m != noMatch {
			hits = append(hits, hit{t.game, m, t.rank(f.other[t.game.Name])})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(
			cmp.Compare(min(a.match, byStart), min(b.match, byStart)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.match, b.match),
			cmp.Compare(len(a.game.Title), len(b.game.Title)))
	})
	return hits
}

// target is what words are compared with. Texts are words without spaces between them.
type target struct {
	game         *Game
	words        []string // of the title
	title, whole string   // without, and with what stands in brackets
	name         string
	called       []string
	other        bool // a demo, a tool or another language, by its title
}

func newTarget(g *Game) target {
	t := target{game: g, words: wordsOf(g.Title), name: compact(g.Name)}
	t.other = slices.ContainsFunc(t.words, func(w string) bool { return slices.Contains(otherWords, w) })
	t.whole = strings.Join(t.words, "")
	t.title = t.whole
	if head, _, brackets := strings.Cut(g.Title, " ("); brackets {
		t.title = compact(head)
	}
	for _, c := range g.Called {
		t.called = append(t.called, compact(c))
	}
	return t
}

// match compares t with words, of which text is the original form.
func (t *target) match(text string, words []string) match {
	all := strings.Join(words, "")
	starts := func(s string) bool { return strings.HasPrefix(s, all) }
	switch {
	case all == "":
		return noMatch
	case slices.Contains(t.called, all):
		return byCalled
	case ascii.EqualFold(t.game.Name, text) && !t.other:
		return byName
	case t.title == all, t.whole == all, t.name == all:
		return byTitle
	case starts(t.whole), starts(t.name), slices.ContainsFunc(t.called, starts):
		return byStart
	case t.hasAll(words):
		return byWords
	case strings.Contains(t.whole, all), strings.Contains(t.name, all):
		return byPart
	}
	return noMatch
}

// hasAll reports whether each of the words is one of the title, or begins one. Numbers must be
// equal.
func (t *target) hasAll(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.ContainsFunc(t.words, func(have string) bool {
			return have == w || w[0] > '9' && strings.HasPrefix(have, w)
		})
	})
}

// near reports whether a letter or two were mistyped.
func (t *target) near(all string) match {
	most := min(2, len(all)/4)
	near := func(s string) bool {
		apart := len(s) - len(all) // no text is nearer, and most are apart
		return most > 0 && max(apart, -apart) <= most && ascii.Distance(s, all) <= most
	}
	if near(t.name) || near(t.title) || slices.ContainsFunc(t.called, near) {
		return byLetters
	}
	return noMatch
}

// otherWords are words of the titles of versions that are not the game as most players had it.
var otherWords = append([]string{
	"sdk", "tool", "console", "dedicated", "version", "unused", "disabled", "depreciated", "old", "onlive", "mac", "linux", "patched",
	"ad", "japanese", "japan", "jpn", "jp", "chinese", "asia", "korea", "korean", "kor", "russian", "rus", "german", "pol", "eu", "us", "na", "am",
}, trialWords...)

// rank returns the rank of a hit. alias: it is another name of a game.
func (t *target) rank(alias bool) int {
	switch {
	case alias, t.other:
		return 2
	case t.game.Platform() != "":
		return 1
	default:
		return 0
	}
}

// letters are those that are written in several ways, and signs inside words.
var letters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "é", "e", "è", "e", "ê", "e", "à", "a", "ç", "c", "ñ", "n", "'", "", "’", "", ".", "")

// alike are words in place of which others are compared: numbers as titles have them, and words
// that are left out.
var alike = map[string]string{
	"ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "x": "10", "the": "", "and": "", "pc": "",
}

// wordsOf returns the words and the numbers of a text as they are compared.
func wordsOf(text string) []string {
	text = letters.Replace(strings.ToLower(text))
	var all, kept []string
	add := func(word string) {
		other, known := alike[word]
		if !known {
			other = word
		}
		if all = append(all, word); other != "" {
			kept = append(kept, other)
		}
	}
	begin, before := 0, otherRune
	for i, r := range text {
		if class := classOf(r); class != before {
			if before != otherRune {
				add(text[begin:i])
			}
			begin, before = i, class
		}
	}
	if before != otherRune {
		add(text[begin:])
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

const (
	otherRune = iota
	letterRune
	digitRune
)

func classOf(r rune) int {
	switch {
	case unicode.IsLetter(r):
		return letterRune
	case unicode.IsDigit(r):
		return digitRune
	default:
		return otherRune
	}
}

// compact returns the words of a text without spaces between them.
func compact(text string) string { return strings.Join(wordsOf(text), "") }

// isYear reports whether a word is a year in which games were published.
func isYear(word string) bool { return len(word) == 4 && word >= "1990" && word <= "2015" }
