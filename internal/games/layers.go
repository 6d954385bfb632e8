package games

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// overlay returns g with the facts that top states. It shares the slices of both.
func (g Game) overlay(top Game) Game {
	v := reflect.ValueOf(&g).Elem()
	gameRecord().overlay(v, reflect.ValueOf(&top).Elem(), top.Given)
	g.Source = top.Source
	g.Given = (g.Given | top.Given) &^ nonZero(v)
	return g
}

// overlay sets the facts of v that are not zero in top, or are in given.
func (r *record) overlay(v, top reflect.Value, given Fields) {
	for i := range r.facts {
		f := &r.facts[i]
		switch x := f.in(top); {
		case f.zero(x) && !given.has(i):
		case f.each:
			f.parts.overlay(f.in(v), x, 0)
		default:
			f.in(v).Set(x)
		}
	}
}

// inherit gives g the facts that an alias without them has from the game of.
func (g *Game) inherit(of *Game) {
	before := *g
	own, from, to := reflect.ValueOf(&before).Elem(), reflect.ValueOf(of).Elem(), reflect.ValueOf(g).Elem()
	r := gameRecord()
	for i := range r.facts {
		f := &r.facts[i]
		stated := slices.ContainsFunc(f.alias, func(key string) bool {
			other := r.fact(key)
			return !other.zero(other.in(own))
		})
		if f.alias != nil && !stated {
			f.in(to).Set(f.in(from))
		}
	}
}

// unshare replaces the slices of g by copies.
func (g *Game) unshare() { gameRecord().unshare(reflect.ValueOf(g).Elem()) }

func (r *record) unshare(v reflect.Value) {
	for _, i := range r.shareable {
		f := &r.facts[i]
		f.unshare(f.in(v))
	}
}

func (f *fact) unshare(v reflect.Value) {
	if f.parts != nil {
		f.parts.unshare(v)
		return
	}
	n := v.Len()
	if n == 0 {
		return
	}
	list := reflect.MakeSlice(v.Type(), n, n)
	reflect.Copy(list, v)
	v.Set(list)
	if f.item != nil && f.item.shareable {
		for i := range v.Len() {
			f.item.unshare(v.Index(i))
		}
	}
}

// maxShownValue is how many bytes of a value a Difference has.
const maxShownValue = 80

// Difference is a field that a record states otherwise than another one. The values
// are text for people, cut to a length for messages; those of secrets are counts.
type Difference struct {
	Field    string `json:"field"` // key in the YAML form
	Here     string `json:"here"`  // empty: not stated
	Imported string `json:"imported"`
}

// Differences returns the fields that other states and that g has with another value,
// in the order of the YAML form. The order of lists does not matter.
func (g Game) Differences(other Game) (list []Difference) {
	r := gameRecord()
	own, imported := reflect.ValueOf(&g).Elem(), reflect.ValueOf(&other).Elem()
	for i := range r.facts {
		f := &r.facts[i]
		here, there := f.in(own), f.in(imported)
		if f.key == "name" || f.zero(there) && !other.Given.has(i) {
			continue
		}
		if f.each {
			merged := reflect.New(here.Type()).Elem()
			merged.Set(here)
			f.parts.overlay(merged, there, 0)
			there = merged
		}
		if a, b := f.texts(here), f.texts(there); !slices.Equal(a, b) {
			list = append(list, Difference{Field: f.key, Here: f.shown(here, a), Imported: f.shown(there, b)})
		}
	}
	return list
}

// texts returns the values of a fact as text, those of a list sorted.
func (f *fact) texts(v reflect.Value) (all []string) {
	switch {
	case f.kind == partsKind:
		return []string{string(f.append(nil, v))}
	case f.kind != listKind:
		return []string{fmt.Sprint(v)}
	}
	for i := range v.Len() {
		all = append(all, f.item.texts(v.Index(i))...)
	}
	slices.Sort(all)
	return all
}

// shown returns the values of a fact for people.
func (f *fact) shown(v reflect.Value, texts []string) string {
	switch {
	case f.zero(v):
		return ""
	case f.count:
		return counted(len(texts), f.key)
	}
	return shortText(strings.Join(texts, " "))
}

// counted returns a number of entries of a list.
func counted(n int, key string) string {
	if n == 1 {
		key = singular(key)
	}
	return fmt.Sprintf("%d %s", n, key)
}

// shortText cuts a text between two characters.
func shortText(s string) string {
	if len(s) <= maxShownValue {
		return s
	}
	n := maxShownValue
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
