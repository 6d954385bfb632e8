package games

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of a record that the tags of its fields do not state alone. Everything beyond is
// refused, never cut.
const (
	// MaxNameLen is the length of the longest game name in bytes.
	MaxNameLen = 31
	// MinSecretLen and MaxSecretLen bound a secret key, printable ASCII.
	MinSecretLen = 6
	MaxSecretLen = 7
	// MaxTextLen bounds a text whose field states no limit, in bytes.
	MaxTextLen = 255
	// MaxRooms and MaxSecrets are the maximum numbers of rooms and secrets of a game.
	MaxRooms   = 1000
	MaxSecrets = 16
	// MaxRecords is the maximum number of records of a list or layer.
	MaxRecords = 100_000
)

// ValidName reports whether name can be the name of a game: 1 to MaxNameLen
// characters of a-z, 0-9, '_' and '-', with no '-' in front. Such a name is safe
// in a hosts file and in the text protocols; one game that was in use ends with '-'.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxNameLen || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// form is a rule for texts.
type form struct {
	plain bool // written without quotes where YAML allows
	// reason returns the problem with a text that is not empty, or "". most is the tag max.
	reason func(s string, most int) string
}

// forms are the rules for texts, by the tag as.
var forms = map[string]form{
	"": {false, func(string, int) string { return "" }},
	"name": {true, func(s string, _ int) string {
		return must(ValidName(s), "be 1 to %d characters of a-z, 0-9, _ and -, and must not start with -", MaxNameLen)
	}},
	"text": {false, func(s string, most int) string { return textProblem(s, cmp.Or(most, MaxTextLen)) }},
	"content": {false, func(s string, most int) string {
		return must(len(s) <= most && utf8.ValidString(s) && !strings.Contains(s, "\x00"), "be UTF-8 of at most %d bytes", most)
	}},
	"secret": {true, func(s string, _ int) string {
		if n := len(s); n < MinSecretLen || n > MaxSecretLen {
			return fmt.Sprintf("has %d characters, want %d or %d", n, MinSecretLen, MaxSecretLen)
		}
		if visible(s, MaxSecretLen) != "" {
			return "has a character that is not printable ASCII"
		}
		return ""
	}},
	"domain":  {true, func(s string, _ int) string { return must(validDomain(s), domainRule) }},
	"service": {true, func(string, int) string { return "" }}, // see checkServices
	"join": {false, func(s string, _ int) string {
		return must(validJoin(s), "be a link with {address} once and a scheme of its own, such as game://{address}")
	}},
	"visible": {false, visible},
	"word":    {false, visibleWord},
	"capitals": {false, func(s string, most int) string {
		return must(only(s, most, func(c byte) bool { return isCapital(c) || isDigit(c) }), "be at most %d capitals and digits", most)
	}},
	"nick": {false, func(s string, most int) string {
		return must(only(s, most, func(c byte) bool { return isCapital(c) || isSmall(c) || isDigit(c) || c == '-' || c == '_' }),
			"be 1 to %d letters, digits, hyphens and underscores", most)
	}},
	"map": {false, func(s string, most int) string {
		return must(strings.TrimSpace(s) == s && only(s, most, func(c byte) bool { return c >= ' ' && c <= '~' && !strings.ContainsRune(`<>\`, rune(c)) }),
			"be 1 to %d printable characters without < and >", most)
	}},
	"path": {false, func(s string, most int) string {
		return must((s[0] == '/' || s[0] == '*') && strings.Count(s, "*") <= maxWildcards && visibleWord(s, most) == "",
			"be 1 to %d printable characters that begin with / or *, with at most %d *", most, maxWildcards)
	}},
}

// must returns "" if a text fits, else "must" and the rule.
func must(fits bool, rule string, args ...any) string {
	if fits {
		return ""
	}
	return "must " + fmt.Sprintf(rule, args...)
}

// only reports whether a text has 1 to most bytes, all of which pass.
func only(s string, most int, pass func(c byte) bool) bool {
	for i := range len(s) {
		if !pass(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }
func isSmall(c byte) bool   { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool   { return c >= '0' && c <= '9' }

// visible returns the problem with a text that must be visible ASCII, or "".
func visible(s string, most int) string {
	return must(only(s, most, func(c byte) bool { return c > ' ' && c <= '~' }), "be 1 to %d visible characters of ASCII", most)
}

// visibleWord is visible for a text of protocols that separate with backslashes.
func visibleWord(s string, most int) string {
	return must(visible(s, most) == "" && !strings.ContainsRune(s, '\\'), "be 1 to %d visible characters of ASCII without a backslash", most)
}

// check adds everything that is wrong with g, which may be a partial record, and
// reports whether nothing is.
func (g *Game) check(p *problems) bool {
	before := p.total
	bad := func(format string, args ...any) { p.add(g.Source, g.Name, format, args...) }
	gameRecord().check(reflect.ValueOf(g).Elem(), bad)
	if g.Source.Origin != FromEmbedded { // they are declared where built-in records are in force
		g.checkServices(bad)
	}
	for i, s := range g.Uses {
		if slices.Contains(g.Needs, s) && !slices.Contains(g.Uses[:i], s) {
			bad("%s is in needs and in uses", s)
		}
	}
	for i, q := range g.Quake3 {
		if slices.ContainsFunc(g.Quake3[:i], func(o Quake3) bool { return o.Name == q.Name && o.Tag == q.Tag }) {
			bad("q3 %q: is there twice", shorten(q.Name))
		}
	}
	if g.Name != "" && slices.Contains(g.Aliases, g.Name) {
		bad("the game is an alias of itself")
	}
	return p.total == before
}

// checkServices calls bad with the services that are not declared.
func (g *Game) checkServices(bad func(string, ...any)) {
	unknown := func(label string, s Service) {
		if s != "" && !s.known() {
			bad("%s: %q is not a service; there are %s", label, shorten(string(s)), serviceList())
		}
	}
	all := func(where string, needs, uses []Service, hosts []Host) {
		for _, s := range needs {
			unknown(where+"needs", s)
		}
		for _, s := range uses {
			unknown(where+"uses", s)
		}
		for _, h := range hosts {
			unknown(fmt.Sprintf("%shost %q", where, shorten(h.Name)), h.Service)
		}
	}
	all("", g.Needs, g.Uses, g.Hosts)
	for i := range g.Editions {
		e := &g.Editions[i]
		all("edition: ", e.Needs, e.Uses, e.Hosts)
	}
}

// check calls bad with everything that is wrong with v.
func (r *record) check(v reflect.Value, bad func(string, ...any)) {
	for i := range r.facts {
		f := &r.facts[i]
		switch x := f.in(v); {
		case !f.zero(x):
			f.check(x, bad)
		case f.required, f.standard != "", f.or != "" && !r.fact(f.or).in(v).IsZero():
			bad("%s is missing", f.key)
		}
	}
}

// check calls bad with everything that is wrong with v, which is not zero.
func (f *fact) check(v reflect.Value, bad func(string, ...any)) {
	switch f.kind {
	case partsKind:
		f.checkPart(v, func(format string, args ...any) { bad("%s: %s", f.key, fmt.Sprintf(format, args...)) })
	case listKind:
		f.checkList(v, bad)
	case pairsKind:
		checkRoomFields(v.Interface().([]Field), f.most, bad)
	default:
		if reason := f.reason(v); reason != "" {
			bad("%s %s", f.key, reason)
		}
	}
}

func (f *fact) checkPart(v reflect.Value, bad func(string, ...any)) {
	if f.parts != nil {
		f.parts.check(v, bad)
	}
	if f.hasRules {
		v.Addr().Interface().(ruled).rules(bad)
	}
}

func (f *fact) checkList(v reflect.Value, bad func(string, ...any)) {
	if v.Len() > f.most {
		bad("%d %s, at most %d are allowed", v.Len(), f.key, f.most)
		return
	}
	for i := range v.Len() {
		if f.item.kind == partsKind || f.item.kind == wordKind {
			f.item.checkPart(v.Index(i), func(format string, args ...any) { bad("%s %s", f.label(v, i), fmt.Sprintf(format, args...)) })
		} else if reason := f.item.reason(v.Index(i)); reason != "" {
			bad("%s %s", f.label(v, i), reason)
		}
		if f.unique && f.repeats(v, i) {
			bad("%s is there twice", f.label(v, i))
		}
	}
}

// label returns the beginning of messages about an entry of a list: with its value or first
// field, but of a secret only with its place, as its text must not reach a log.
func (f *fact) label(list reflect.Value, i int) string {
	v := identity(list.Index(i))
	var value string
	switch {
	case f.as == "secret":
		return fmt.Sprintf("secret %d", i+1)
	case v.Kind() == reflect.String:
		value = strconv.Quote(shorten(v.String()))
	default:
		value = fmt.Sprint(v)
	}
	if v != list.Index(i) {
		return singular(f.key) + " " + value + ":"
	}
	return f.key + ": " + value
}

// repeats reports whether an earlier entry of a list has the same value or first field.
func (f *fact) repeats(list reflect.Value, i int) bool {
	own, fold := identity(list.Index(i)).String(), f.item.parts != nil && f.item.parts.facts[0].fold
	for k := range i {
		if other := identity(list.Index(k)).String(); other == own || fold && ascii.EqualFold(other, own) {
			return true
		}
	}
	return false
}

// identity returns an entry of a list, or the first field of one that has fields.
func identity(entry reflect.Value) reflect.Value {
	if entry.Kind() == reflect.Struct {
		return entry.Field(0)
	}
	return entry
}

// reason returns the problem with a value that is one word or text, or "".
func (f *fact) reason(v reflect.Value) string {
	switch f.kind {
	case textKind:
		if s := v.String(); f.words == nil {
			return f.form.reason(s, f.max)
		} else if !slices.Contains(f.words, s) {
			return fmt.Sprintf("must be %s, not %q", oneOf(f.words), shorten(s))
		}
	case switchKind:
		if v.Uint() > uint64(On) {
			return "must be inherit, off or on"
		}
	case spanKind:
		return cmp.Or(f.rangeReason(v.Index(0)), f.rangeReason(v.Index(1)))
	case numberKind:
		return f.rangeReason(v)
	default: // anything goes
	}
	return ""
}

// rangeReason is reason for a number.
func (f *fact) rangeReason(v reflect.Value) string {
	n, negative := uint64(0), false
	if v.CanInt() {
		n, negative = uint64(v.Int()), v.Int() < 0
	} else {
		n = v.Uint()
	}
	if negative || n < f.low || n > f.high {
		return f.rangeRule()
	}
	return ""
}

func checkRoomFields(fields []Field, most int, bad func(string, ...any)) {
	if len(fields) > most {
		bad("%d fields, at most %d are allowed", len(fields), most)
		return
	}
	seen := make(map[string]bool, len(fields)) // clients ask without regard to case
	for _, f := range fields {
		key, folded := shorten(f.Key), ascii.ToLower(f.Key)
		switch reason := textProblem(f.Key, maxKeyName); {
		case f.Key == "":
			bad("a field without a key")
		case reason != "":
			bad("the key %q %s", key, reason)
		case strings.ContainsRune(f.Key, '\\') || strings.ContainsRune(f.Value, '\\'):
			bad("field %q: a backslash is not allowed", key)
		case ownRoomKey(folded):
			bad("field %q belongs to the room itself", key)
		case seen[folded]:
			bad("field %q is there twice", key)
		}
		if reason := textProblem(f.Value, MaxTextLen); reason != "" {
			bad("the value of %q %s", key, reason)
		}
		seen[folded] = true
	}
}

// ownRoomKey reports whether a list fills in the key, which is in lower case, from
// the room's own data.
func ownRoomKey(key string) bool {
	switch key {
	case "groupid", "hostname", "numwaiting", "maxwaiting", "numservers", "numplayers":
		return true
	}
	return false
}

// textProblem returns the problem with text, or "".
func textProblem(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("is longer than %d bytes", limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "has a control character"
	}
	return ""
}
