package nwn

import (
	"encoding/binary"
	"strconv"
)

// Rules is a BNXR: the settings of a server.
type Rules struct {
	Port     uint16
	Game     byte // Game1 or Game2
	Password bool
	MinLevel byte
	MaxLevel byte
	Players  byte
	Most     byte // players
	// Vault, PvP, Pause, OneParty, Legal, Items and Expansions are rules of the game.
	Vault, PvP, Pause, OneParty, Legal, Items, Expansions byte
	Module                                                []byte // a part of the packet
}

// Values of Rules.Game.
const (
	Game1 = 0xFD // Neverwinter Nights
	Game2 = 0xFC // Neverwinter Nights 2
)

// AppendAskRules appends a BNXI.
func AppendAskRules(b []byte, port uint16) []byte { return appendPort(b, AskRules, port) }

// ParseRules parses the data of a BNXR. Data after the module is ignored.
func ParseRules(rest []byte) (Rules, error) {
	r := reader{rest: rest}
	s := Rules{Port: r.uint16(), Game: r.uint8(), Password: r.uint8() != 0}
	for _, v := range s.bytes() {
		*v = r.uint8()
	}
	if s.Module = r.short(); r.bad {
		return Rules{}, ErrMalformed
	}
	return s, nil
}

// bytes returns the fields behind the password.
func (s *Rules) bytes() []*byte {
	return []*byte{
		&s.MinLevel, &s.MaxLevel, &s.Players, &s.Most, &s.Vault, &s.PvP, &s.Pause, &s.OneParty, &s.Legal, &s.Items, &s.Expansions,
	}
}

// short reads a text whose length has one byte.
func (r *reader) short() []byte {
	n := int(r.uint8())
	if n > len(r.rest) {
		r.bad = true
	}
	if r.bad {
		return nil
	}
	return r.take(n)
}

// AppendTo appends the answer. The module has at most 255 bytes.
func (s Rules) AppendTo(b []byte) []byte {
	b = append(appendPort(b, RulesAnswer, s.Port), s.Game, flag(s.Password))
	for _, v := range s.bytes() {
		b = append(b, *v)
	}
	return append(append(b, byte(len(s.Module))), s.Module...)
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Fields returns the rules under the names that other protocols have for them, name and
// value in turn.
func (s Rules) Fields() (names, values []string) {
	for _, f := range []struct {
		name  string
		value byte
	}{
		{"numplayers", s.Players},
		{"maxplayers", s.Most},
		{"password", flag(s.Password)},
		{"minlevel", s.MinLevel},
		{"maxlevel", s.MaxLevel},
		{"localvault", s.Vault},
		{"pvp", s.PvP},
		{"playerpause", s.Pause},
		{"oneparty", s.OneParty},
		{"elc", s.Legal},
		{"ilr", s.Items},
		{"expansions", s.Expansions},
	} {
		names, values = append(names, f.name), append(values, strconv.Itoa(int(f.value)))
	}
	return append(names, "mapname"), append(values, string(s.Module))
}

// AppendAskName appends a BNES.
func AppendAskName(b []byte, port uint16) []byte { return append(appendPort(b, AskName, port), 0) }

// nameMark begins the data of a BNER.
const nameMark = 'U'

// ParseName parses the data of a BNER.
func ParseName(rest []byte) ([]byte, error) {
	r := reader{rest: rest}
	mark := r.uint8()
	r.uint16() // port
	r.uint8()
	name := r.short()
	if r.bad || mark != nameMark {
		return nil, ErrMalformed
	}
	return name, nil
}

// AppendName appends a BNER. The name has at most 255 bytes.
func AppendName(b []byte, port uint16, name string) []byte {
	b = binary.LittleEndian.AppendUint16(append(append(b, NameAnswer...), nameMark), port)
	return append(append(b, 0, byte(len(name))), name...)
}
