package games

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// set stores a text in v, the field of a fact that is one word or text. If the text does not
// have the form of its type, it returns the reason.
func (f *fact) set(v reflect.Value, text string) (reason string) {
	switch f.kind {
	case wordKind:
		if err := v.Addr().Interface().(word).parse(text); err != nil {
			return err.Error()
		}
	case toggleKind, switchKind:
		s, ok := parseSwitch(text)
		if !ok {
			return "must be on or off"
		}
		if f.kind == switchKind {
			v.SetUint(uint64(s))
			return ""
		}
		v.SetBool(s.Or(f.not) != f.not)
	case numberKind, spanKind:
		n, ok := parseNumber(text)
		if !ok || n < f.low || n > f.high {
			return f.rangeRule()
		}
		if v.CanInt() {
			v.SetInt(int64(n))
		} else {
			v.SetUint(n)
		}
	default:
		if f.lower {
			text = ascii.ToLower(text)
		}
		v.SetString(text)
	}
	return ""
}

// setAll is set for a fact that may also be a list, with spaces between its entries, or the
// fields of a room in the form \key\value\key\value.
func (f *fact) setAll(v reflect.Value, text string) (reason string) {
	switch f.kind {
	case listKind:
		v.Grow(1 + strings.Count(text, " "))
		for entry := range strings.FieldsSeq(text) {
			v.SetLen(v.Len() + 1)
			if reason := f.item.set(v.Index(v.Len()-1), entry); reason != "" {
				return reason
			}
		}
		return ""
	case pairsKind:
		fields := v.Addr().Interface().(*[]Field)
		for text = strings.TrimPrefix(text, `\`); text != ""; {
			var f Field
			f.Key, text, _ = strings.Cut(text, `\`)
			f.Value, text, _ = strings.Cut(text, `\`)
			*fields = append(*fields, f)
		}
		return ""
	default:
		return f.set(v, text)
	}
}

// Set sets the fact with a key of the YAML form to a text, a number or a switch, or appends an
// entry to a list. An empty text changes nothing. It panics if there is no such key.
func (g *Game) Set(key, text string) error {
	if text == "" {
		return nil
	}
	f := gameRecord().fact(key)
	if reason := f.setAll(f.in(reflect.ValueOf(g).Elem()), text); reason != "" {
		return errors.New(key + " " + reason)
	}
	return nil
}

func (f *fact) rangeRule() string {
	return fmt.Sprintf("must be a number from %d to %d", f.low, f.high)
}

// Words returns the texts that the fact with a key may have.
func Words(key string) []string { return gameRecord().fact(key).words }

// parseNumber reads a decimal number, or a hexadecimal one that starts with 0x.
func parseNumber(text string) (n uint64, ok bool) {
	digits, base := text, 10
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return n, err == nil
}

// parseSwitch reads a switch; "inherit" is the same as no key at all.
func parseSwitch(text string) (s Switch, ok bool) {
	switch strings.ToLower(text) {
	case "on", "true", "yes":
		return On, true
	case "off", "false", "no":
		return Off, true
	case "inherit":
		return Inherit, true
	}
	return Inherit, false
}

// singular returns the name of one entry of a list.
func singular(key string) string { return strings.TrimSuffix(key, "s") }

// oneOf returns words as the end of "must be".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
