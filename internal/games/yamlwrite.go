package games

import (
	"io"
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
	for _, g := range games {
		b = append(b, "  - {"...)
		b = appendGame(b, g)
		b = append(b, "}\n"...)
	}
	return b
}

func appendGame(b []byte, g Game) []byte {
	b = append(b, "name: "...)
	b = appendWord(b, g.Name)
	if g.Title != "" {
		b = append(b, ", title: "...)
		b = strconv.AppendQuote(b, g.Title)
	}
	if g.states(FieldSecrets, len(g.Secrets) > 0) {
		b = append(b, ", secrets: ["...)
		for i, s := range g.Secrets {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendWord(b, s)
		}
		b = append(b, ']')
	}
	number := func(key string, v uint64) {
		b = append(b, key...)
		b = strconv.AppendUint(b, v, 10)
	}
	if g.states(FieldID, g.ID != 0) {
		number(", id: ", uint64(max(g.ID, 0)))
	}
	if g.QueryPort != 0 {
		number(", port: ", uint64(g.QueryPort))
	}
	if g.states(FieldBackendFlags, g.BackendFlags != 0) {
		number(", backend_flags: ", uint64(g.BackendFlags))
	}
	if g.states(FieldDisabledServices, g.DisabledServices != 0) {
		number(", disabled_services: ", uint64(g.DisabledServices))
	}
	if g.states(FieldMaintenance, g.Maintenance) {
		b = append(b, ", maintenance: "...)
		b = append(b, onOff(g.Maintenance).String()...)
	}
	if g.states(FieldRooms, len(g.Rooms) > 0) {
		b = appendRooms(append(b, ", rooms: ["...), g.Rooms)
		b = append(b, ']')
	}
	if g.states(FieldBoards, len(g.Boards) > 0) {
		b = appendBoards(append(b, ", boards: ["...), g.Boards)
		b = append(b, ']')
	}
	if g.states(FieldTables, len(g.Tables) > 0) {
		b = appendTables(append(b, ", tables: ["...), g.Tables)
		b = append(b, ']')
	}
	return appendPolicy(appendFacts(b, g), g.Policy)
}

func appendBoards(b []byte, boards []Board) []byte {
	for i, board := range boards {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendWord(append(b, "{name: "...), board.Name)
		if board.Title != "" {
			b = strconv.AppendQuote(append(b, ", title: "...), board.Title)
		}
		if board.Key != board.Name {
			b = strconv.AppendQuote(append(b, ", key: "...), board.Key)
		}
		b = append(b, ", how: "...)
		b = append(b, board.How...)
		b = append(b, '}')
	}
	return b
}

func appendRooms(b []byte, rooms []Room) []byte {
	for i, r := range rooms {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, "{id: "...)
		b = strconv.AppendUint(b, uint64(r.ID), 10)
		b = append(b, ", name: "...)
		b = strconv.AppendQuote(b, r.Name)
		if r.MaxWaiting > 0 {
			b = append(b, ", max_waiting: "...)
			b = strconv.AppendInt(b, int64(r.MaxWaiting), 10)
		}
		if len(r.Fields) > 0 {
			b = append(b, ", fields: {"...)
			for i, f := range r.Fields {
				if i > 0 {
					b = append(b, ", "...)
				}
				b = append(appendWord(b, f.Key), ": "...)
				b = strconv.AppendQuote(b, f.Value)
			}
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	return b
}

func appendPolicy(b []byte, p Policy) []byte {
	sep := ", policy: {"
	for _, s := range []struct {
		key      string
		position Switch
	}{
		{"strict_availability", p.StrictAvailability},
		{"no_secure", p.NoSecure},
		{"strict_legacy_validate", p.StrictLegacyValidate},
		{"auto_accept", p.AutoAccept},
		{"symmetric_delete", p.SymmetricDelete},
		{"no_user_id", p.NoUserID},
		{"a2s", p.A2S},
		{"no_relay", p.NoRelay},
		{"zero_stats", p.ZeroStats},
	} {
		if s.position == Inherit {
			continue
		}
		b = append(b, sep+s.key+": "+s.position.String()...)
		sep = ", "
	}
	if p.SecondLogin != "" {
		b = append(b, sep+"second_login: "+string(p.SecondLogin)...)
		sep = ", "
	}
	if sep == ", " {
		b = append(b, '}')
	}
	return b
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
