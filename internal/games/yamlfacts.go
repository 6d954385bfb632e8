package games

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/internal/ascii"
)

// fact reads one key of Facts into f and returns its field. known is false if there
// is no such key.
func (y *yamlReader) fact(f *Facts, k, v *yaml.Node) (field Fields, known bool) {
	switch k.Value {
	case "domains":
		f.Domains, field = y.names(k, v), FieldDomains
	case "hosts":
		f.Hosts, field = y.hosts(k, v), FieldHosts
	case "namespace":
		f.Namespace, field = int(y.number(k, v, 0, 16)), FieldNamespace
	case "partner":
		f.Partner, field = int(y.number(k, v, 0, 16)), FieldPartner
	case "lan_ports":
		for _, item := range y.items(k, v) {
			if port := uint16(y.number(k, item, 1, 16)); port > 0 {
				f.LANPorts = append(f.LANPorts, port)
			}
		}
		field = FieldLANPorts
	case "needs":
		f.Needs, field = y.services(k, v), FieldNeeds
	case "uses":
		f.Uses, field = y.services(k, v), FieldUses
	case "via":
		f.Via, field = y.text(k, v), FieldVia
	case "colours":
		f.Colours, field = y.text(k, v), FieldColours
	case "join":
		f.Join, field = y.text(k, v), FieldJoin
	case "aliases":
		f.Aliases, field = y.names(k, v), FieldAliases
	case "shared_list":
		f.SharedList, field = y.position(k, v) == On, FieldSharedList
	case "note":
		f.Note, field = y.text(k, v), FieldNote
	case "keys":
		f.Keys, field = y.keys(k, v), FieldKeys
	case "q3":
		f.Quake3, field = y.quake3(k, v), FieldQuake3
	case "files":
		f.Files, field = y.files(k, v), FieldFiles
	case "quickmatch":
		f.QuickMatch, field = y.quickMatch(v), FieldQuickMatch
	case "epic":
		f.Epic, field = y.epic(k, v), FieldEpic
	default:
		return 0, false
	}
	return field, true
}

// names reads a list of names, ignoring case.
func (y *yamlReader) names(k, n *yaml.Node) (out []string) {
	for _, item := range y.items(k, n) {
		out = append(out, ascii.ToLower(y.text(k, item)))
	}
	return out
}

func (y *yamlReader) services(k, n *yaml.Node) (out []Service) {
	for _, item := range y.items(k, n) {
		out = append(out, Service(y.text(k, item)))
	}
	return out
}

// hosts reads a list of names, each optionally followed by a space and its
// service.
func (y *yamlReader) hosts(k, n *yaml.Node) (out []Host) {
	for _, item := range y.items(k, n) {
		name, service, _ := strings.Cut(y.text(k, item), " ")
		out = append(out, Host{Name: ascii.ToLower(name), Service: Service(strings.TrimSpace(service))})
	}
	return out
}

// keys reads a list of keys, each optionally followed by ":" and its type.
func (y *yamlReader) keys(k, n *yaml.Node) (out []Key) {
	for _, item := range y.items(k, n) {
		name, kind, typed := strings.Cut(y.text(k, item), ":")
		t, err := strconv.ParseUint(kind, 10, 8)
		if typed && err != nil {
			y.bad(item, "the type of key %q must be 0, 1 or 2", shorten(name))
		}
		out = append(out, Key{Name: name, Type: uint8(t)})
	}
	return out
}

// appendFacts appends the stated facts of g, in the form of fact.
func appendFacts(b []byte, g Game) []byte {
	f := g.Facts
	list := func(key string, field Fields, n int, text func(i int) string) {
		if !g.states(field, n > 0) {
			return
		}
		b = append(b, ", "+key+": ["...)
		for i := range n {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendWord(b, text(i))
		}
		b = append(b, ']')
	}
	number := func(key string, field Fields, v int) {
		if g.states(field, v != 0) {
			b = strconv.AppendInt(append(b, ", "+key+": "...), int64(v), 10)
		}
	}
	text := func(key string, field Fields, s string) {
		if g.states(field, s != "") {
			b = strconv.AppendQuote(append(b, ", "+key+": "...), s)
		}
	}
	list("domains", FieldDomains, len(f.Domains), func(i int) string { return f.Domains[i] })
	list("hosts", FieldHosts, len(f.Hosts), func(i int) string { return f.Hosts[i].String() })
	number("namespace", FieldNamespace, f.Namespace)
	number("partner", FieldPartner, f.Partner)
	if g.states(FieldLANPorts, len(f.LANPorts) > 0) {
		b = append(b, ", lan_ports: ["...)
		for i, p := range f.LANPorts {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendUint(b, uint64(p), 10)
		}
		b = append(b, ']')
	}
	list("needs", FieldNeeds, len(f.Needs), func(i int) string { return string(f.Needs[i]) })
	list("uses", FieldUses, len(f.Uses), func(i int) string { return string(f.Uses[i]) })
	text("via", FieldVia, f.Via)
	text("join", FieldJoin, f.Join)
	list("aliases", FieldAliases, len(f.Aliases), func(i int) string { return f.Aliases[i] })
	if g.states(FieldSharedList, f.SharedList) {
		b = append(b, ", shared_list: "+onOff(f.SharedList).String()...)
	}
	text("colours", FieldColours, f.Colours)
	text("note", FieldNote, f.Note)
	list("keys", FieldKeys, len(f.Keys), func(i int) string { return f.Keys[i].String() })
	if g.states(FieldQuake3, len(f.Quake3) > 0) {
		b = append(appendQuake3(append(b, ", q3: ["...), f.Quake3), ']')
	}
	if g.states(FieldFiles, len(f.Files) > 0) {
		b = append(appendFiles(append(b, ", files: ["...), f.Files), ']')
	}
	if g.states(FieldQuickMatch, !f.QuickMatch.IsZero()) {
		b = appendQuickMatch(append(b, ", quickmatch: "...), f.QuickMatch)
	}
	if g.states(FieldEpic, len(f.Epic) > 0) {
		b = append(appendEpic(append(b, ", epic: ["...), f.Epic), ']')
	}
	return b
}
