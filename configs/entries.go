package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry is an entry of a list whose entries have several fields each, such as
//
//   - {product: 10001, version: "1.0", name: "1.1"}
//
// A key is of a slice of a struct whose pointer is an Entry, and whose fields have
// yaml tags. In the environment it is the same YAML in one line.
type Entry interface {
	// CheckEntry returns the mistake of the entry as a whole.
	CheckEntry() error
}

func isEntries(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && reflect.PointerTo(t.Elem()).Implements(reflect.TypeFor[Entry]())
}

// parseEntries reads a list of entries as YAML. Its errors, one for each entry that has
// any, name the entry.
func parseEntries(list reflect.Type, text string) (any, error) {
	out := reflect.Zero(list)
	if strings.TrimSpace(text) == "" {
		return out.Interface(), nil
	}
	var nodes []yaml.Node
	if err := yaml.Unmarshal([]byte(text), &nodes); err != nil {
		return nil, errors.New("is not a list of entries, each with its fields below each other")
	}
	if len(nodes) > MaxEntries {
		return nil, fmt.Errorf("has more than %d entries", MaxEntries)
	}
	var errs mistakes
	for i := range nodes {
		entry := reflect.New(list.Elem())
		if err := parseEntry(&nodes[i], entry.Interface().(Entry)); err != nil {
			errs = append(errs, mistakes{err}.in(i+1, fmt.Sprintf("entry %d: ", i+1))...)
		}
		out = reflect.Append(out, entry.Elem())
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out.Interface(), nil
}

func parseEntry(n *yaml.Node, entry Entry) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("is not a list of fields")
	}
	fields := entryFields(reflect.TypeOf(entry).Elem())
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(entry).Elem()) {
		names = append(names, f.Tag.Get("yaml"))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		kind, known := fields[key]
		if !known {
			return fmt.Errorf("has the unknown field %s%s", quote(key), didYouMean(key, names))
		}
		if on := map[string]string{"0": "false", "1": "true"}[value.Value]; on != "" && kind == reflect.Bool {
			value.Value, value.Tag = on, "!!bool"
		}
	}
	if err := n.Decode(entry); err != nil {
		return errors.New("has a field twice, or a list, a word or a number where it takes something else")
	}
	return entry.CheckEntry()
}

// entryFields returns the kinds of the fields of an entry by their yaml tags.
func entryFields(t reflect.Type) map[string]reflect.Kind {
	fields := make(map[string]reflect.Kind)
	for _, f := range reflect.VisibleFields(t) {
		fields[f.Tag.Get("yaml")] = f.Type.Kind()
	}
	return fields
}
