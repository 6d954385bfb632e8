package games

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/lang"
)

// Edition says of copies of a game what they need to be played online, and what is known of
// that. It is a fact with a source, and says nothing of this program; Outlook compares both.
type Edition struct {
	// The copies: retail (discs), gog, steam, or any. [retail, gog]; copy: steam is the
	// short form for one.
	Copies []string `yaml:"copies,one=copy,required,unique,column" words:"any, retail, gog, steam" most:"4"`
	// As the game shows it, if the rest holds for this version only.
	Version string `yaml:"version,column" as:"text" max:"40"`
	// How a copy finds this server: dns (names in DNS or in the hosts file), ini (a line
	// of its settings), patch (its program must be changed); missing: not known.
	Way string `yaml:"way,column" words:"dns, ini, patch"`
	// Changes of the program that names alone do not replace.
	Patch []Change `yaml:"patch,unique,column" words:"https_to_http, auth_key, domain, update_check, cdkey_check, registry_key, certificate, certificate_check, plain_text" most:"8"`
	// All names that the copies look up, each with its service if that does not follow from
	// the name; missing: those of the services in needs and uses.
	Hosts []Host `yaml:"hosts,column" most:"32"`
	// Names that must have no address, because the game would wait for their answer.
	Refuse []string `yaml:"refuse,lower,unique,column" as:"domain" most:"8"`
	// on: the copies ask web services over https, which webservices.tls_listen answers.
	HTTPS bool `yaml:"https,column"`
	// Services that these copies need and use, in place of those of the game.
	Needs []Service `yaml:"needs,unique,column" as:"service" most:"16"`
	// Services that they use and can be played without.
	Uses []Service `yaml:"uses,unique,column" as:"service" most:"16"`
	// Where the services are known from: a source, a recorded dialogue, or a guess.
	Basis string `yaml:"basis,column" words:"source, recorded, guess"`
	// Another network on which these copies are played.
	Elsewhere string `yaml:"elsewhere,column" as:"text" max:"80"`
	// When they moved there: year, or year and month. 2014-05
	Since string `yaml:"since,column" as:"text" max:"10"`
	// What keeps the copies from being played here, if it is no service of needs.
	Blocked string `yaml:"blocked,column" as:"text" max:"160"`
	// Who serves these copies with the same services, so that they should play here too.
	Peer string `yaml:"peer,column" as:"text" max:"80"`
	// What was seen, and by whom.
	Evidence string `yaml:"evidence,column" as:"text"`
	// When: year, month or day. 2026-03-06
	Date string `yaml:"date,column" as:"text" max:"10"`
	// Where to read that.
	Source string `yaml:"source,column" as:"text"`
	// A hint for players of these copies.
	Hint string `yaml:"hint,column" as:"text"`
}

// Change is a change of a program of which a game's edition is known to need some.
type Change string

// The changes that are made by respawnd; others are not.
const (
	HTTPSToHTTP Change = "https_to_http"
	AuthKey     Change = "auth_key"
	NewDomain   Change = "domain"
)

// advice says what players can do about changes that respawnd does not make.
var advice = map[Change]string{
	"registry_key":      lang.Key("%1: the game goes online only with the CD key in the registry that its installer or its own dialog writes. Enter yours there; respawnd writes no keys."),
	"certificate":       lang.Key("%1: the console trusts only certificates of its maker. respawnd does not get around that: use a copy that asks over http."),
	"certificate_check": lang.Key("%1: the program must accept other certificates than its maker's, and the operator must set fesl.ssl3. respawnd does not make this change; patches of players do."),
	"update_check":      lang.Key("%1: the program asks for an update first, and goes no further without the answer of its maker. respawnd does not make this change."),
	"plain_text":        lang.Key("%1: the program must sign in without encryption. respawnd does not make this change; client programs of players do."),
}

// Made reports whether respawnd makes the change.
func (c Change) Made() bool { return c == HTTPSToHTTP || c == AuthKey || c == NewDomain }

// Advice says in a language what players can do about a change that respawnd does not make.
func (c Change) Advice(l *lang.Language) string {
	return l.T(cmp.Or(advice[c], lang.Key("%1: respawnd does not make this change.")), c)
}

// String returns the change as text, such as "https to http".
func (c Change) String() string { return strings.ReplaceAll(string(c), "_", " ") }

// Patches returns the changes of the program that editions of the game need.
func (f Facts) Patches() (all []Change) {
	for _, e := range f.Editions {
		for _, c := range e.Patch {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// AsksHTTPS reports whether copies of the game ask web services over https, and are not known to
// be changed in that.
func (f Facts) AsksHTTPS() bool {
	return slices.ContainsFunc(f.Editions, func(e Edition) bool { return e.HTTPS && !slices.Contains(e.Patch, HTTPSToHTTP) && e.Blocked == "" })
}

func (e *Edition) rules(bad func(string, ...any)) {
	switch {
	case e.Evidence != "" && e.Source == "", e.Peer != "" && (e.Source == "" || e.Evidence == ""):
		bad("evidence needs a source, and a peer both")
	case (e.Way == "patch") != (len(e.Patch) > 0):
		bad("way: patch names the changes in patch, and nothing else does")
	case e.Since != "" && e.Elsewhere == "":
		bad("since is when the copies moved elsewhere")
	case e.Elsewhere != "" && (e.Way != "" || e.Peer != ""):
		bad("copies that are played elsewhere have no way here, and no peer")
	}
}

// needOfEditions gives a game that states no needs those of its first edition that does.
func (f *Facts) needOfEditions() {
	for i := 0; i < len(f.Editions) && len(f.Needs) == 0; i++ {
		f.Needs, f.Uses = f.Editions[i].Needs, f.Editions[i].Uses
	}
}

// Word is what can be said to a player of a copy of a game at this server.
type Word string

// The words, the best first. They say no more than their evidence.
const (
	Played     Word = "played"      // players did, at this server
	ShouldPlay Word = "should_play" // a peer serves these copies with the same services
	Patched    Word = "patched"     // the program must be changed
	Untried    Word = "untried"     // the services run, and it is not known who played
	Elsewhere  Word = "elsewhere"   // these copies are played on another network
	TurnedOff  Word = "off"         // a service that it needs is switched off here
	Blocked    Word = "blocked"     // something is missing that this version does not have
	NotKnown   Word = "unknown"     // its needs are not known
)

// words are those of Word with the beginning of the sentence for players.
var words = []struct {
	word Word
	text string
}{
	{Played, "played here"},
	{ShouldPlay, "should play"},
	{Patched, "needs a patched game"},
	{Untried, "not reported yet"},
	{Elsewhere, "played on another network"},
	{TurnedOff, "switched off here"},
	{Blocked, "cannot be played here"},
	{NotKnown, "its needs are not known"},
}

// ParseWord returns the word of a name. The error says which there are.
func ParseWord(name string) (Word, error) {
	if w := Word(name); w.rank() < len(words) {
		return w, nil
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w.word)
	}
	return "", errors.New("must be " + oneOf(names))
}

// AllWords returns the words, the best first.
func AllWords() (all []Word) {
	for _, w := range words {
		all = append(all, w.word)
	}
	return all
}

// String returns the word as the beginning of a sentence for players, such as "should play".
func (w Word) String() string {
	if i := w.rank(); i < len(words) {
		return words[i].text
	}
	return string(w)
}

// Outlook is what is known of playing a copy of a game at this server.
type Outlook struct {
	Word    Word
	Edition Edition   // zero if there is nothing about a particular copy
	Missing []Missing // services that are off, or that this version does not have
	Reported
}

// Outlooks returns what is known of each edition of the game, or of the game if it has none,
// in the order of the record; nothing of one that is only another version. served returns the
// state of services, reports what players reported; nil: nothing is known of that.
func (g Game) Outlooks(served func(Service) Served, reports Reports) (all []Outlook) {
	for _, e := range g.Copies() {
		all = append(all, g.outlook(e, served, reports))
	}
	for _, e := range g.OtherCopies(reports) {
		if o := g.outlook(e, served, reports); o.Word == Played {
			all = append(all, o)
		}
	}
	return all
}

// Copies returns the editions of the game; if it has none, one of any copies. One that is only
// another version has none.
func (g Game) Copies() []Edition {
	switch {
	case g.See != "":
		return nil
	case len(g.Editions) == 0:
		return []Edition{{}}
	}
	return g.Editions
}

// OtherCopies returns the copies that players reported on and that are in no edition of the game.
func (g Game) OtherCopies(reports Reports) (all []Edition) {
	if g.See != "" || len(g.Editions) == 0 || reports == nil {
		return nil
	}
	for _, c := range ReportedCopies() {
		known := slices.ContainsFunc(g.Editions, func(e Edition) bool {
			return len(e.Copies) == 0 || slices.Contains(e.Copies, c) || slices.Contains(e.Copies, "any")
		})
		if !known && reports([]string{c}) != (Reported{}) {
			all = append(all, Edition{Copies: []string{c}})
		}
	}
	return all
}

// Outlook returns the best of Outlooks.
func (g Game) Outlook(served func(Service) Served, reports Reports) Outlook {
	all := g.Outlooks(served, reports)
	if len(all) == 0 {
		return Outlook{Word: NotKnown}
	}
	return slices.MinFunc(all, func(a, b Outlook) int { return a.Word.rank() - b.Word.rank() })
}

// Says returns in sentences what is known of playing the game: of each edition, of its console
// while it is not known that the title plays, or of which game it is another version.
func (g Game) Says(served func(Service) Served, reports Reports) []string {
	return g.SaysIn(nil, served, reports)
}

// SaysIn is Says in a language.
func (g Game) SaysIn(l *lang.Language, served func(Service) Served, reports Reports) (lines []string) {
	if g.See != "" {
		return []string{l.T("another version of %1: see there", g.See)}
	}
	for _, o := range g.Outlooks(served, reports) {
		lines = append(lines, o.LineIn(l))
	}
	if sentence := g.Platform().Sentence(); sentence != "" && !g.Outlook(served, reports).Word.Good() {
		lines = append(lines, l.T(sentence))
	}
	return lines
}

// Good reports whether copies are known to play.
func (w Word) Good() bool { return w == Played || w == ShouldPlay }

// Name returns the word as the API has it.
func (w Word) Name() string { return string(w) }

func (w Word) rank() int {
	for i := range words {
		if words[i].word == w {
			return i
		}
	}
	return len(words)
}

func (f Facts) outlook(e Edition, served func(Service) Served, reports Reports) Outlook {
	if len(e.Needs) > 0 {
		f.Needs, f.Uses = e.Needs, e.Uses
	}
	standing := f.Standing(served)
	o := Outlook{Edition: e, Missing: standing.Missing}
	needed := func(built bool) bool {
		return slices.ContainsFunc(o.Missing, func(m Missing) bool { return m.Needed && m.Built == built })
	}
	switch {
	case e.Blocked != "", e.Elsewhere == "" && needed(false):
		o.Word = Blocked
	case e.Elsewhere != "":
		o.Word = Elsewhere
	case needed(true):
		o.Word = TurnedOff
	case len(e.Patch) > 0:
		o.Word = Patched
	case len(f.Needs) == 0 || len(f.Editions) > 0 && e.Way == "":
		o.Word = NotKnown
	case e.Peer != "":
		o.Word = ShouldPlay
	default:
		o.Word = Untried
	}
	if reports != nil {
		o.take(reports(e.Copies))
	}
	return o
}

// String returns the outlook as text for players, such as "needs a patched game: https to http"
// or "cannot be played here: needs its official map list".
func (o Outlook) String() string { return o.In(nil) }

// In is String in a language.
func (o Outlook) In(l *lang.Language) string {
	text := l.T(o.Word.String())
	if more := o.more(l); more != "" {
		text += ": " + more
	}
	if o.Elsewhere.Times > 0 {
		text += "; " + l.T("played elsewhere: %1", o.Elsewhere.in(l))
	}
	return text
}

// Line is String with the copies in front of it: "discs, GOG: should play: ...".
func (o Outlook) Line() string { return o.LineIn(nil) }

// LineIn is Line in a language.
func (o Outlook) LineIn(l *lang.Language) string {
	if name := o.Edition.NameIn(l); name != "" {
		return name + ": " + o.In(l)
	}
	return o.In(l)
}

// Useless reports whether a copy gains nothing from being led to this server as it is.
func (o Outlook) Useless() bool { return o.Word == Patched || o.Word == Elsewhere || o.Word == Blocked }

func (o Outlook) more(l *lang.Language) string {
	e := &o.Edition
	pick := func(built bool) string {
		words := Standing{Missing: o.Missing}.words(func(m Missing) bool { return m.Needed && m.Built == built })
		for i := range words {
			words[i] = l.T(words[i])
		}
		return joinIn(l, words)
	}
	switch o.Word {
	case Played:
		return o.in(l)
	case ShouldPlay:
		return l.T("served with the same services by %1", e.Peer)
	case Patched:
		changes := make([]string, len(e.Patch))
		for i, c := range e.Patch {
			changes[i] = l.T(c.String())
		}
		return strings.Join(changes, ", ")
	case Untried:
		return l.T("the services run here")
	case Elsewhere:
		if e.Since != "" {
			return l.T("%1, since %2", e.Elsewhere, e.Since)
		}
		return e.Elsewhere
	case TurnedOff:
		return pick(true)
	case Blocked:
		if e.Blocked != "" {
			return e.Blocked
		}
		return l.T("needs %1", pick(false))
	default:
		return ""
	}
}

// Name returns the copies of an edition as text: "discs, GOG, version 1.1"; "" for any.
func (e *Edition) Name() string { return e.NameIn(nil) }

// NameIn is Name in a language.
func (e *Edition) NameIn(l *lang.Language) string {
	var parts []string
	for _, c := range e.Copies {
		switch c {
		case "retail":
			parts = append(parts, l.T("discs"))
		case "gog":
			parts = append(parts, "GOG")
		case "steam":
			parts = append(parts, "Steam")
		case "console":
			parts = append(parts, l.T("console"))
		case "other":
			parts = append(parts, l.T("other copies"))
		}
	}
	if e.Version != "" {
		parts = append(parts, l.T("version %1", e.Version))
	}
	return strings.Join(parts, ", ")
}
