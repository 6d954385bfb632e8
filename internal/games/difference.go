package games

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

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
	own := g.fields()
	other.Policy = g.Policy.overlay(other.Policy)
	for i, f := range other.fields() {
		if !other.states(f.bit, f.set) || f.compare == own[i].compare {
			continue
		}
		list = append(list, Difference{Field: f.name, Here: shortText(own[i].shown), Imported: shortText(f.shown)})
	}
	return list
}

// field is a field of a Game as text.
type field struct {
	name    string
	bit     Fields
	set     bool // it is not zero
	compare string
	shown   string // empty: not set
}

// fields returns all fields of a record but the name.
func (g Game) fields() []field {
	secrets, rooms := listField("secrets", FieldSecrets, g.Secrets), listField("rooms", FieldRooms, g.Rooms)
	secrets.shown, rooms.shown = counted(len(g.Secrets), "secret"), counted(len(g.Rooms), "room")
	tables := listField("tables", FieldTables, g.Tables)
	tables.shown = counted(len(g.Tables), "table")
	policy := valueField("policy", 0, g.Policy)
	if policy.set {
		policy.shown = strings.TrimPrefix(string(appendPolicy(nil, g.Policy)), ", policy: ")
	}
	return []field{
		valueField("title", 0, g.Title), secrets, valueField("id", FieldID, g.ID), valueField("port", 0, g.QueryPort),
		valueField("backend_flags", FieldBackendFlags, g.BackendFlags),
		valueField("disabled_services", FieldDisabledServices, g.DisabledServices),
		valueField("maintenance", FieldMaintenance, g.Maintenance), rooms, tables,
		listField("domains", FieldDomains, g.Domains), listField("hosts", FieldHosts, g.Hosts),
		valueField("namespace", FieldNamespace, g.Namespace), valueField("partner", FieldPartner, g.Partner),
		listField("lan_ports", FieldLANPorts, g.LANPorts), listField("needs", FieldNeeds, g.Needs), listField("uses", FieldUses, g.Uses),
		valueField("via", FieldVia, g.Via), valueField("join", FieldJoin, g.Join), listField("aliases", FieldAliases, g.Aliases),
		valueField("shared_list", FieldSharedList, g.SharedList), valueField("colours", FieldColours, g.Colours), valueField("note", FieldNote, g.Note),
		listField("keys", FieldKeys, g.Keys), listField("boards", FieldBoards, g.Boards),
		listField("q3", FieldQuake3, g.Quake3), listField("epic", FieldEpic, g.Epic), listField("files", FieldFiles, g.Files),
		valueField("quickmatch", FieldQuickMatch, g.QuickMatch.String()), policy,
	}
}

func valueField[T comparable](name string, bit Fields, v T) field {
	var zero T
	f := field{name: name, bit: bit, set: v != zero, compare: fmt.Sprint(v)}
	if f.set {
		f.shown = f.compare
	}
	return f
}

// listField compares the elements of a list without their order.
func listField[T any](name string, bit Fields, list []T) field {
	f := field{name: name, bit: bit, set: len(list) > 0}
	if f.set {
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i] = fmt.Sprint(v)
		}
		slices.Sort(texts)
		f.compare = fmt.Sprintf("%q", texts)
		f.shown = fmt.Sprint(texts)
		f.shown = f.shown[1 : len(f.shown)-1]
	}
	return f
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
