package games

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// fact is a fact about a game: a field of Game, Facts or a part of them, with the data of
// its tags.
//
//	yaml    the key, then options:
//	        required   a record or part without it is refused
//	        lower      read in lower case
//	        column     the next column of games.tsv
//	        unique     no two entries of the list have the same value, or first field
//	        fold       case does not matter where it must be unique
//	        count      differences show only how many entries there are
//	        filled     an empty value is not stated
//	        each       layers merge its fields one by one
//	        not        the field is true if the value is off
//	        one=KEY    KEY may stand for it, for a list of one
//	        or=KEY     without it, it has the value of KEY
//	        unless=KEY written if and only if KEY is not
//	as      the rule for texts, one of forms
//	max     the length of the longest text, in bytes
//	words   the texts that are allowed
//	range   the least and the greatest number; missing: those of the type, from 0 on
//	most    how many entries a list may have
//	default the text without the key
//	alias   an alias that states none of these facts has it from its game
type fact struct {
	key, one, or, unless string
	outer, inner         int // position of the field; inner is that in an embedded struct, or -1
	kind                 kind
	item                 *fact   // of a list
	parts                *record // of a struct

	required, lower, column, unique, fold, count, filled, each, not bool

	as                  string
	form                form // of a text
	plain               bool // a text that is written without quotes where YAML allows
	low, high           uint64
	max, most           int
	words, alias        []string
	standard            string // the text without the key
	hasRules, shareable bool   // it has rules; copies share memory
}

// kind is how a fact is read and written.
type kind uint8

const (
	textKind   kind = iota
	numberKind      // of any size
	toggleKind      // bool
	switchKind      // Switch
	wordKind        // a struct that is one word
	spanKind        // [2]int: the least and the greatest
	pairsKind       // []Field
	listKind
	partsKind // a struct
)

// word is a struct that is written as one word.
type word interface {
	parse(text string) error
	String() string
}

// ruled is a struct with rules beside those of its tags.
type ruled interface {
	rules(bad func(string, ...any))
}

// record is a struct whose fields are facts.
type record struct {
	facts     []fact
	at        map[string]int // by key: into facts
	shareable []int          // those of which copies share memory
}

// gameRecord returns the facts of a Game, in the order of the YAML form. Reading the tags is
// left until a catalogue is read.
var gameRecord = sync.OnceValue(func() *record { return newRecord(reflect.TypeFor[Game]()) })

func newRecord(t reflect.Type) *record {
	r := &record{at: make(map[string]int)}
	for _, field := range reflect.VisibleFields(t) {
		if field.Tag.Get("yaml") == "" {
			continue
		}
		f, n := newFact(field), len(r.facts)
		if r.at[f.key] = n; f.one != "" {
			r.at[f.one] = n
		}
		if f.shareable {
			r.shareable = append(r.shareable, n)
		}
		r.facts = append(r.facts, f)
	}
	return r
}

// fact returns the fact with a key, nil if there is none.
func (r *record) fact(key string) *fact {
	if i, ok := r.at[key]; ok {
		return &r.facts[i]
	}
	return nil
}

func newFact(field reflect.StructField) fact {
	options := strings.Split(field.Tag.Get("yaml"), ",")
	f := fact{
		key: options[0], outer: field.Index[0], inner: -1, as: field.Tag.Get("as"), standard: field.Tag.Get("default"),
		words: list(field.Tag.Get("words")), alias: list(field.Tag.Get("alias")),
		max: number(field.Tag.Get("max")), most: number(field.Tag.Get("most")),
	}
	if len(field.Index) > 1 {
		f.inner = field.Index[1]
	}
	for _, option := range options[1:] {
		name, key, _ := strings.Cut(option, "=")
		switch name {
		case "one":
			f.one = key
		case "or":
			f.or = key
		case "unless":
			f.unless = key
		default:
			*map[string]*bool{
				"required": &f.required, "lower": &f.lower, "column": &f.column, "unique": &f.unique, "fold": &f.fold,
				"count": &f.count, "filled": &f.filled, "each": &f.each, "not": &f.not,
			}[name] = true
		}
	}
	f.of(field.Type, field.Tag.Get("range"))
	return f
}

// of completes f for the type of its field.
func (f *fact) of(t reflect.Type, span string) {
	f.hasRules = reflect.PointerTo(t).Implements(reflect.TypeFor[ruled]())
	switch {
	case t == reflect.TypeFor[Switch]():
		f.kind = switchKind
	case t == reflect.TypeFor[[]Field]():
		f.kind, f.shareable = pairsKind, true
	case reflect.PointerTo(t).Implements(reflect.TypeFor[word]()):
		f.kind = wordKind
	case t.Kind() == reflect.Array:
		f.kind = spanKind
		f.low, f.high = limits(t.Elem(), span)
	case t.Kind() == reflect.Slice:
		item := *f
		item.of(t.Elem(), span)
		f.kind, f.shareable, f.item = listKind, true, &item
	case t.Kind() == reflect.Struct:
		f.kind, f.parts = partsKind, newRecord(t)
		f.shareable = slices.ContainsFunc(f.parts.facts, func(p fact) bool { return p.shareable })
	case t.Kind() == reflect.Bool:
		f.kind = toggleKind
	case t.Kind() == reflect.String:
		f.kind, f.form = textKind, forms[f.as]
		f.plain = f.form.plain || t != reflect.TypeFor[string]()
	default:
		f.kind = numberKind
		f.low, f.high = limits(t, span)
	}
}

// limits returns the least and the greatest number of a tag, or of a type.
func limits(t reflect.Type, span string) (low, high uint64) {
	if least, most, ok := strings.Cut(span, " to "); ok {
		return uint64(number(least)), uint64(number(most))
	}
	return 0, map[reflect.Kind]uint64{reflect.Uint16: math.MaxUint16, reflect.Uint32: math.MaxUint32, reflect.Int: math.MaxInt32}[t.Kind()]
}

func list(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ", ")
}

// number returns the number of a tag, 0 if there is none. Tags are part of the program.
func number(tag string) int {
	if tag == "" {
		return 0
	}
	n, err := strconv.Atoi(tag)
	if err != nil {
		panic(err)
	}
	return n
}

// in returns the value of the fact in v, a struct that has it.
func (f *fact) in(v reflect.Value) reflect.Value {
	if f.inner >= 0 {
		return v.Field(f.outer).Field(f.inner)
	}
	return v.Field(f.outer)
}

// zeroable reports whether a record can state the fact although it is zero.
func (f *fact) zeroable() bool { return !f.required && !f.filled && !f.each && f.low == 0 }

// Fields is a set of facts of a Game.
type Fields uint64

// FieldsOf returns the facts with these keys of the YAML form. It panics if there is no such
// key.
func FieldsOf(keys ...string) (all Fields) {
	for _, key := range keys {
		i, ok := gameRecord().at[key]
		if !ok {
			panic("games: no fact " + key)
		}
		all |= 1 << i
	}
	return all
}

// has reports whether the set has the fact at a position in gameRecord.
func (s Fields) has(i int) bool { return s>>i&1 != 0 }

// nonZero returns the facts of v, a Game, that need no mark in Given.
func nonZero(v reflect.Value) (all Fields) {
	facts := gameRecord().facts
	for i := range facts {
		if f := &facts[i]; !f.zero(f.in(v)) {
			all |= 1 << i
		}
	}
	return all
}

// zero reports whether v, the value of the fact, states nothing: an empty list does not either.
func (f *fact) zero(v reflect.Value) bool {
	switch {
	case f.kind == listKind || f.kind == pairsKind:
		return v.Len() == 0
	case !f.shareable:
		return v.IsZero()
	}
	for i := range f.parts.facts { // a struct with a list
		if part := &f.parts.facts[i]; !part.zero(part.in(v)) {
			return false
		}
	}
	return true
}
