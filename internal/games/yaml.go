package games

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/internal/ascii"
)

// MaxFileSize is the size in bytes of the longest file that the package reads.
const MaxFileSize = 16 << 20

// maxYAMLMarks bounds the characters of a YAML file that can begin a value. The
// parser needs some 200 bytes for each value, however short it is, so that the size
// of the file does not bound its memory. A record has about 12 of them.
const maxYAMLMarks = 2 << 20

// Errors that refuse the whole list.
var (
	ErrTooLarge       = errors.New("the file is too large")
	ErrTooManyRecords = errors.New("too many records")
)

// ParseYAML reads a list of games in the project's own form:
//
//	games:
//	  - {name: gmtest, title: Test game, secret: HA6zkS, id: 1, needs: [qr2, serverbrowse]}
//
// The page games.md for operators has all keys. A key that is missing, or has no value, is not
// stated; see [Game]. Anchors, merge keys, unknown keys and keys that occur twice are refused.
//
// source is copied into every game, with the record's line. All mistakes in
// records are returned together as an *InvalidError; invalid YAML, ErrTooLarge
// and ErrTooManyRecords end the reading.
func ParseYAML(r io.Reader, source Source) ([]Game, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var probs problems
	list, _, err := parseYAML(data, source, &probs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	seen := make(map[string]Source, len(list))
	good := list[:0:0]
	for _, g := range list {
		if first, twice := seen[g.Name]; twice {
			probs.add(g.Source, g.Name, "already in %s", first)
			continue
		}
		seen[g.Name] = g.Source
		good = append(good, g)
	}
	if probs.total > 0 { // errors between the other records are reported with it
		_, err := build([][]Game{good}, nil)
		probs.join(err)
		return nil, probs.err()
	}
	return list, nil
}

// readAll reads at most MaxFileSize bytes and drops a byte order mark.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileSize {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFileSize)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// parseYAML returns the valid records of a document, and the number of all.
// Problems of the others are added to probs.
func parseYAML(data []byte, source Source, probs *problems) (list []Game, read int, err error) {
	if yamlMarks(data) > maxYAMLMarks {
		return nil, 0, fmt.Errorf("%w: more than %d values", ErrTooLarge, maxYAMLMarks)
	}
	root, err := onlyDocument(data)
	if err != nil || root == nil {
		return nil, 0, err
	}
	y := yamlReader{source: source, probs: probs}
	y.eachKey(root, func(key string, k, v *yaml.Node) {
		if key != "games" {
			y.bad(k, "unknown key %q, want games", shorten(key))
			return
		}
		if v.Kind != yaml.SequenceNode {
			y.bad(v, "games must be a list")
			return
		}
		if read = len(v.Content); read > MaxRecords {
			err = fmt.Errorf("%w: %d, at most %d are allowed", ErrTooManyRecords, read, MaxRecords)
			return
		}
		for _, item := range v.Content {
			if g, ok := y.game(item); ok {
				list = append(list, g)
			}
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return list, read, nil
}

// yamlMarks counts the characters without which no further value can begin.
func yamlMarks(data []byte) (n int) {
	for _, c := range []byte(",:-?[{") {
		n += bytes.Count(data, []byte{c})
	}
	return n
}

// onlyDocument returns the root of the only document, nil if there is none.
func onlyDocument(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("more than one document"), err)
	}
	if len(doc.Content) != 1 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// yamlReader turns nodes into records and collects mistakes with their lines.
type yamlReader struct {
	source Source
	probs  *problems
	name   string // of the game that is being read, for messages
	part   string // of the game, for messages; empty, or ends with ": "
}

func (y *yamlReader) bad(n *yaml.Node, format string, args ...any) {
	at := y.source
	at.Line = n.Line
	y.probs.add(at, y.name, "%s%s", y.part, fmt.Sprintf(format, args...))
}

// eachKey calls f for every key of the mapping n that has a value.
func (y *yamlReader) eachKey(n *yaml.Node, f func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		y.bad(n, "want keys with values")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode:
			y.bad(k, "a key must be a word")
		case seen[k.Value]:
			y.bad(k, "the key %q is there twice", shorten(k.Value))
		case !isNull(v):
			f(k.Value, k, v)
		}
		seen[k.Value] = true
	}
}

// game reads one record; ok is false if anything is wrong with it.
func (y *yamlReader) game(n *yaml.Node) (g Game, ok bool) {
	if n.Kind != yaml.MappingNode {
		y.bad(n, "a game must be keys with values")
		return Game{}, false
	}
	before := y.probs.total
	y.name = nameIn(n)
	defer func() { y.name = "" }()
	g.Source = y.source
	g.Source.Line = n.Line
	v := reflect.ValueOf(&g).Elem()
	g.Given = y.record(gameRecord(), n, v)
	g.Given &^= nonZero(v)
	return g, g.check(y.probs) && y.probs.total == before
}

// nameIn returns the name that the mapping n gives, in lower case, or "".
func nameIn(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" && n.Content[i+1].Kind == yaml.ScalarNode && !isNull(n.Content[i+1]) {
			return ascii.ToLower(n.Content[i+1].Value)
		}
	}
	return ""
}

// record reads the facts of v from a mapping, and returns those that it states.
func (y *yamlReader) record(r *record, n *yaml.Node, v reflect.Value) (given Fields) {
	for i := range r.facts {
		if f := &r.facts[i]; f.standard != "" {
			f.in(v).SetString(f.standard)
		}
	}
	var used Fields
	y.eachKey(n, func(key string, k, value *yaml.Node) {
		i, known := r.at[key]
		if !known {
			y.bad(k, "unknown key %q", shorten(key))
			return
		}
		f := &r.facts[i]
		if used.has(i) {
			other := f.key
			if key == other {
				other = f.one
			}
			y.bad(k, "%s and %s: one of them is enough", other, key)
		}
		used |= 1 << i
		if f.zeroable() {
			given |= 1 << i
		}
		y.value(f, k, value, f.in(v))
	})
	for i := range r.facts {
		if f := &r.facts[i]; f.or != "" && f.zero(f.in(v)) {
			f.in(v).Set(r.fact(f.or).in(v))
		}
	}
	return given
}

// value reads the value n of the key k, or an entry of its list, into v.
func (y *yamlReader) value(f *fact, k, n *yaml.Node, v reflect.Value) {
	switch f.kind {
	case partsKind:
		outer := y.part
		y.part = singular(f.key) + ": "
		y.record(f.parts, n, v)
		y.part = outer
	case listKind:
		y.list(f, k, n, v)
	case spanKind:
		if n.Kind != yaml.SequenceNode || len(n.Content) != v.Len() {
			y.bad(n, "%s must be the least and the greatest, such as [%d, %d]", k.Value, f.low, f.high)
			return
		}
		for i, item := range n.Content {
			y.scalar(f, k, item, v.Index(i))
		}
	case pairsKind:
		y.eachKey(n, func(key string, k, n *yaml.Node) {
			v.Set(reflect.Append(v, reflect.ValueOf(Field{Key: key, Value: y.text(k, n)})))
		})
	default:
		y.scalar(f, k, n, v)
	}
}

// scalar reads a value that is one word or text.
func (y *yamlReader) scalar(f *fact, k, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		y.bad(n, "%s must be text", shorten(k.Value))
	} else if reason := f.set(v, n.Value); reason != "" {
		y.bad(n, "%s %s", k.Value, reason)
	}
}

// list reads a list. Where one entry may stand for it, an empty text is none.
func (y *yamlReader) list(f *fact, k, n *yaml.Node, v reflect.Value) {
	entries := n.Content
	switch {
	case n.Kind == yaml.SequenceNode:
	case f.one == "":
		y.bad(n, "%s must be a list", k.Value)
		return
	case n.Kind != yaml.ScalarNode || n.Value != "":
		entries = []*yaml.Node{n}
	}
	for _, n := range entries {
		before, entry := y.probs.total, reflect.New(v.Type().Elem()).Elem()
		if y.value(f.item, k, n, entry); y.probs.total == before {
			v.Set(reflect.Append(v, entry))
		}
	}
}

// text returns the value as written, whatever type YAML gives it: a secret like
// 0123e4 is not a number.
func (y *yamlReader) text(k, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		y.bad(n, "%s must be text", shorten(k.Value))
		return ""
	}
	return n.Value
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
