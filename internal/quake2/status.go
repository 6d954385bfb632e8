package quake2

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/quake3"
)

// Status is what a server says of itself.
type Status struct {
	// Names and Values are its rules, under the names that other protocols have for them.
	Names, Values []string
	Players       []Player
	Watching      int // spectators of QuakeWorld, who are no players

	coded bool // of HexenWorld
}

// Player is a player of a server.
type Player struct {
	Name        string
	Score, Ping int
}

// Get returns a rule, "" if there is none.
func (s *Status) Get(name string) string {
	for i, n := range s.Names {
		if n == name {
			return s.Values[i]
		}
	}
	return ""
}

func (s *Status) add(name, value string) {
	s.Names, s.Values = append(s.Names, name), append(s.Values, value)
}

// ParseStatus parses the result of Cut for a heartbeat or the answer to a request for the
// status. The error is ErrMalformed for one that has none of the keys of every server.
func ParseStatus(rest []byte) (Status, error) {
	st, err := quake3.ParseStatus(rest)
	if err != nil {
		return Status{}, ErrMalformed
	}
	var s Status
	s.rules(st.Text)
	for _, p := range st.Players {
		s.Players = append(s.Players, Player{Text(p.Name), p.Score, p.Ping})
	}
	return s, s.finish()
}

// worldStatus begins the status of a server of QuakeWorld.
const worldStatus = prefix + "n"

// ParseWorldStatus parses the status of a server of QuakeWorld or HexenWorld, whose bytes
// tell them apart. ok is false for another message.
func ParseWorldStatus(p []byte) (s Status, ok bool, err error) {
	if !bytes.HasPrefix(p, []byte(worldStatus)) {
		p, s.coded = decode(p), true
	}
	text, ok := bytes.CutPrefix(p, []byte(worldStatus))
	if !ok || len(text) == 0 || text[0] != '\\' {
		return Status{}, false, nil
	}
	text, rest, _ := bytes.Cut(text, []byte{'\n'})
	s.rules(text)
	for line := range bytes.Lines(rest) {
		if len(s.Players) == quake3.MaxPlayers {
			break
		}
		s.worldPlayer(line)
	}
	return s, true, s.finish()
}

// spectator stands before the names of spectators.
const spectator = `\s\`

// worldPlayer reads the line of a player: numbers of the player, frags, minutes and ping, and
// the name in quotes.
func (s *Status) worldPlayer(line []byte) {
	var n [4]int
	for i := range n {
		word, rest, _ := bytes.Cut(line, []byte{' '})
		number, err := strconv.Atoi(string(word))
		if err != nil {
			return
		}
		n[i], line = number, rest
	}
	name, ok := bytes.CutPrefix(line, []byte{'"'})
	end := bytes.IndexByte(name, '"')
	switch {
	case !ok || end < 0:
	case n[3] < 0 || bytes.HasPrefix(name, []byte(spectator)):
		s.Watching++
	default:
		s.Players = append(s.Players, Player{Text(name[:end]), n[1], n[3]})
	}
}

// rules reads the keys and values of a line.
func (s *Status) rules(text []byte) {
	for key, value := range quake3.Pairs(text) {
		name := string(key)
		switch name {
		case "maxclients":
			name = quake3.RuleMaxPlayers
		case "needpass":
			name = quake3.RulePassword
		case "version", "*version":
			name = quake3.RuleVersion
		case "map":
			name = quake3.RuleMap
		case "*gamedir":
			name = "gamedir"
		}
		s.add(name, Text(value))
	}
}

// finish adds the number of players.
func (s *Status) finish() error {
	if s.Get(quake3.RuleName) == "" && s.Get(quake3.RuleMap) == "" && s.Get(quake3.RuleMaxPlayers) == "" {
		return ErrMalformed
	}
	s.add(quake3.RulePlayers, strconv.Itoa(len(s.Players)))
	if s.Watching > 0 {
		s.add("numspectators", strconv.Itoa(s.Watching))
	}
	return nil
}

// Text returns a text in ASCII: letters without their colour, and the digits that the games
// draw for low bytes.
func Text(b []byte) string {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		switch c &= 0x7f; {
		case c >= 0x12 && c <= 0x1b:
			out = append(out, '0'+c-0x12)
		case c == 0x10:
			out = append(out, '[')
		case c == 0x11:
			out = append(out, ']')
		case c >= ' ' && c != 0x7f:
			out = append(out, c)
		}
	}
	return string(out)
}

// Game returns the game of a server of Quake 2's family: no key states it, so what the
// server says of its engine counts, then its port.
func (s *Status) Game(port uint16) string {
	said := strings.ToLower(s.Get(quake3.RuleVersion) + " " + s.Get("gamename"))
	for _, g := range []struct{ word, game string }{
		{"kingpin", "kingpin"}, {"monkey mod", "kingpin"}, {"heretic", "heretic2"}, {"daikatana", "daikatana"}, {"alien arena", "alienarena"},
	} {
		if strings.Contains(said, g.word) {
			return g.game
		}
	}
	switch port {
	case 31510:
		return "kingpin"
	case 27992:
		return "daikatana"
	case 22450:
		return "sin"
	default:
		return "quake2"
	}
}

// WorldGame returns the game of a server of QuakeWorld or HexenWorld. What only passes games
// on is none.
func (s *Status) WorldGame() string {
	version, _, _ := strings.Cut(strings.ToLower(s.Get(quake3.RuleVersion)), " ")
	switch {
	case s.coded:
		return "hexenworld"
	case strings.HasPrefix(version, "qtv"):
		return "qtv"
	case strings.HasPrefix(version, "qwfwd"):
		return "qwfwd"
	default:
		return "quakeworld"
	}
}
