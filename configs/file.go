package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the largest configuration file that is read, in bytes.
const MaxFile = mib

// parseFile reads the one YAML document of a file and returns its root, nil if
// the document is empty. JSON is accepted as YAML.
func parseFile(name string) (*yaml.Node, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".toml", ".ini", ".xml", ".hcl", ".properties", ".env":
		return nil, fmt.Errorf("%s: %s files are not understood, write YAML (.yaml)", name, ext)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: larger than %s", name, formatSize(MaxFile))
	}
	return parseYAML(name, data)
}

func parseYAML(name string, data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		// The message of the parser holds the line.
		return nil, fmt.Errorf("%s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document", name)
	}
	root := document.Content[0]
	if isNull(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: line %d: not a list of keys and values", name, root.Line)
	}
	return root, nil
}

// readSection passes every known key of a section to l and reports the unknown
// ones. prefix is "" or the name of the section and a dot.
func (l *loader) readSection(file, prefix string, section *yaml.Node, lines map[string]int) {
	for i := 0; i+1 < len(section.Content) && !l.full(); i += 2 {
		node, value := section.Content[i], section.Content[i+1]
		name := prefix + strings.ToLower(node.Value)
		where := fmt.Sprintf("%s line %d", file, node.Line)
		_, isKey := l.known[name]
		switch first := lines[name]; {
		case node.Kind != yaml.ScalarNode:
			l.mistake(prefix+"?", "", "is not a plain key", where)
		case first != 0:
			l.mistake(name, "", fmt.Sprintf("is given twice, first in line %d", first), where)
		case isKey:
			l.readValue(name, value, where)
		case !l.isSection(name):
			l.mistake(prefix+node.Value, "", "is an unknown key"+l.hint(name), where)
		case value.Kind == yaml.MappingNode:
			l.readSection(file, name+".", value, lines)
		case !isNull(value):
			l.mistake(name, value.Value, "is a section: its keys belong below it, indented", where)
		}
		if lines[name] == 0 {
			lines[name] = node.Line
		}
	}
}

// readValue passes the value of a known key to l. A missing value is the empty
// one: "listen:" turns a service off like `listen: ""`.
func (l *loader) readValue(name string, value *yaml.Node, where string) {
	switch {
	case isNull(value):
		l.fromFile(name, "", where)
	case l.known[name].Nested:
		l.readNested(name, value, where)
	case value.Kind == yaml.ScalarNode:
		l.fromFile(name, value.Value, where)
	case value.Kind != yaml.SequenceNode:
		l.mistake(name, "", "takes a value, not a section or an alias", where)
	case !l.known[name].List:
		l.mistake(name, "", "takes one value, not a list", where)
	default:
		entries := make([]string, 0, len(value.Content))
		for _, entry := range value.Content {
			if entry.Kind != yaml.ScalarNode || isNull(entry) {
				l.mistake(name, "", "takes a list of plain values", where)
				return
			}
			entries = append(entries, entry.Value)
		}
		l.fromFile(name, entries, where)
	}
}

// readNested passes the value of a nested key to l, as YAML. The list is long,
// so mistakes in it are reported with the number and the line of the entry.
func (l *loader) readNested(name string, value *yaml.Node, where string) {
	if value.Kind == yaml.ScalarNode { // as in the environment
		l.fromFile(name, value.Value, where)
		return
	}
	text, err := yaml.Marshal(value)
	if err != nil || value.Kind != yaml.SequenceNode {
		l.mistake(name, "", "takes a list", where)
		return
	}
	l.fromFile(name, string(text), where)
	line := where[:strings.LastIndexByte(where, ' ')+1]
	for _, entry := range value.Content {
		l.entries[name] = append(l.entries[name], line+strconv.Itoa(entry.Line))
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
