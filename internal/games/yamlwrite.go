package games

import (
	"io"
	"reflect"
	"strconv"
	"strings"
)

// WriteYAML writes the games in the form that ParseYAML reads.
func WriteYAML(w io.Writer, games []Game) error {
	_, err := w.Write(AppendYAML(nil, games))
	return err
}

// AppendYAML appends the games to b in the form that [ParseYAML] reads, one line
// for each. Fields that a game does not state, and its Source, are left out.
func AppendYAML(b []byte, games []Game) []byte {
	if len(games) == 0 {
		return append(b, "games: []\n"...)
	}
	b = append(b, "games:\n"...)
	for i := range games {
		b = append(b, "  - "...)
		b = gameRecord().append(b, reflect.ValueOf(&games[i]).Elem(), games[i].Given)
		b = append(b, '\n')
	}
	return b
}

// append appends the facts of v that are not zero or are in given.
func (r *record) append(b []byte, v reflect.Value, given Fields) []byte {
	b = append(b, '{')
	start := len(b)
	for i := range r.facts {
		f := &r.facts[i]
		x := f.in(v)
		if !r.written(f, v, x) && !given.has(i) {
			continue
		}
		if len(b) > start {
			b = append(b, ", "...)
		}
		b = f.append(append(append(b, f.key...), ": "...), x)
	}
	return append(b, '}')
}

// written reports whether x, the value of fact f in v, is written. It is not if reading the file
// without it gives the same value.
func (r *record) written(f *fact, v, x reflect.Value) bool {
	switch {
	case f.unless != "":
		other := r.fact(f.unless)
		return !r.written(other, v, other.in(v))
	case f.or != "" && x.Equal(r.fact(f.or).in(v)), f.standard != "" && x.String() == f.standard:
		return false
	}
	return !f.zero(x)
}

func (f *fact) append(b []byte, v reflect.Value) []byte {
	switch f.kind {
	case partsKind:
		return f.parts.append(b, v, 0)
	case listKind, spanKind:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ", "...)
			}
			if f.kind == spanKind {
				b = appendNumber(b, v.Index(i))
				continue
			}
			b = f.item.append(b, v.Index(i))
		}
		return append(b, ']')
	case pairsKind:
		b = append(b, '{')
		for i, f := range v.Interface().([]Field) {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendQuote(append(appendWord(b, f.Key), ": "...), f.Value)
		}
		return append(b, '}')
	case wordKind:
		return appendWord(b, v.Addr().Interface().(word).String())
	case numberKind:
		return appendNumber(b, v)
	case toggleKind:
		return append(b, onOff(v.Bool() != f.not).String()...)
	case switchKind:
		return append(b, Switch(v.Uint()).String()...)
	default:
		if f.plain {
			return appendWord(b, v.String())
		}
		return strconv.AppendQuote(b, v.String())
	}
}

func appendNumber(b []byte, v reflect.Value) []byte {
	if v.CanInt() {
		return strconv.AppendInt(b, v.Int(), 10)
	}
	return strconv.AppendUint(b, v.Uint(), 10)
}

// appendWord appends s, in quotes if any YAML reader could take the plain word for
// something else.
func appendWord(b []byte, s string) []byte {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
	if plain && (s[0] > '9' && s[0] != '_') && !yamlKeyword(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

// yamlKeyword reports whether some version of YAML reads s as null or a boolean.
func yamlKeyword(s string) bool {
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

func onOff(on bool) Switch {
	if on {
		return On
	}
	return Off
}
