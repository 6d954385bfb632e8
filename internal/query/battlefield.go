package query

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

const (
	battlefieldHead  = 12      // sequence, size, number of words
	battlefieldMost  = 1 << 16 // bytes of a message
	battlefieldReply = 1 << 30 // in the sequence of an answer
	maxWords         = 1 << 12 // of a message
)

// errBattlefield reports a message of Battlefield's console that is cut or too long.
var errBattlefield = errors.New("query: malformed message of Battlefield's console")

// battlefieldAsked are the questions, in the order of their sequence.
var battlefieldAsked = [...][]string{{"serverInfo"}, {"version"}, {"listPlayers", "all"}}

// AppendBattlefield appends the questions for everything to the console of a server of
// Battlefield: Bad Company 2 and the games after it. They are sent over TCP at once, and need no
// password.
func AppendBattlefield(dst []byte) []byte {
	for i, words := range battlefieldAsked {
		start := len(dst)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(i))
		dst = append(dst, 0, 0, 0, 0)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(words)))
		for _, w := range words {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(w)))
			dst = append(append(dst, w...), 0)
		}
		binary.LittleEndian.PutUint32(dst[start+4:], uint32(len(dst)-start))
	}
	return dst
}

// ReadBattlefield reads one message of a connection, of at most 64 KiB.
func ReadBattlefield(r io.Reader) ([]byte, error) {
	head := make([]byte, battlefieldHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[4:])
	if size < battlefieldHead || size > battlefieldMost {
		return nil, errBattlefield
	}
	packet := append(head, make([]byte, size-battlefieldHead)...)
	_, err := io.ReadFull(r, packet[battlefieldHead:])
	return packet, err
}

// battlefieldWords are the words of a message that were not read yet.
type battlefieldWords []string

func (w *battlefieldWords) next() (word string) {
	if len(*w) > 0 {
		word, *w = (*w)[0], (*w)[1:]
	}
	return word
}

// count reads a number, at most as large as there are words behind it.
func (w *battlefieldWords) count() int {
	n, err := strconv.Atoi(w.next())
	if err != nil || n < 0 {
		return 0
	}
	return min(n, len(*w))
}

// parseBattlefield returns which question a message answers, and its words behind OK.
func parseBattlefield(packet []byte) (asked int, words battlefieldWords, err error) {
	if len(packet) < battlefieldHead {
		return 0, nil, errBattlefield
	}
	sequence := binary.LittleEndian.Uint32(packet)
	n := binary.LittleEndian.Uint32(packet[8:])
	if sequence&^battlefieldReply >= uint32(len(battlefieldAsked)) || sequence&battlefieldReply == 0 {
		return 0, nil, ErrForeign // an event, such as a line of chat
	}
	rest := packet[battlefieldHead:]
	for range min(n, maxWords) {
		if len(rest) < 4 {
			return 0, nil, errBattlefield
		}
		size := int64(binary.LittleEndian.Uint32(rest))
		if rest = rest[4:]; size >= int64(len(rest)) {
			return 0, nil, errBattlefield
		}
		words, rest = append(words, string(rest[:size])), rest[size+1:]
	}
	if words.next() != "OK" {
		return 0, nil, ErrForeign
	}
	return int(sequence &^ battlefieldReply), words, nil
}

// Battlefield collects the answers to the questions of AppendBattlefield, in any order. The zero
// value has none.
type Battlefield struct {
	answers [len(battlefieldAsked)]battlefieldWords
	has     [len(battlefieldAsked)]bool
}

// Add takes a message. The error is ErrForeign for what is no answer, and the server may refuse
// some questions.
func (b *Battlefield) Add(packet []byte) error {
	asked, words, err := parseBattlefield(packet)
	if err == nil {
		b.answers[asked], b.has[asked] = words, true
	}
	return err
}

// Enough reports whether the server described itself.
func (b *Battlefield) Enough() bool { return b.has[0] }

// Whole reports whether all questions were answered.
func (b *Battlefield) Whole() bool { return b.has == [...]bool{true, true, true} }

// Status returns the status of the server. Its rules have the names of GameSpy's protocols.
func (b *Battlefield) Status() (st Status) {
	version := b.answers[1]
	for _, name := range []string{"gamename", "gamever"} {
		if w := version.next(); w != "" {
			st.Rules = append(st.Rules, Field{Name: name, Value: w})
		}
	}
	w := b.answers[0]
	for _, name := range []string{"hostname", "numplayers", "maxplayers", "gametype", "mapname", "roundsplayed", "roundstotal"} {
		st.Rules = append(st.Rules, Field{Name: name, Value: w.next()})
	}
	w = w[w.count():] // the tickets of the teams
	w.next()          // the score that wins
	w.next()          // the state of the match
	for _, name := range []string{"ranked", "punkbuster", "password"} {
		switch w.next() {
		case "true":
			st.Rules = append(st.Rules, Field{Name: name, Value: "1"})
		case "false":
			st.Rules = append(st.Rules, Field{Name: name, Value: "0"})
		}
	}
	for _, word := range w { // where it stands depends on the game
		if at, err := netip.ParseAddrPort(word); err == nil && strings.Count(word, ".") == 3 {
			st.Rules = append(st.Rules, Field{Name: "hostport", Value: strconv.Itoa(int(at.Port()))})
			break
		}
	}
	st.Players = b.answers[2].table()
	return st
}

// battlefieldColumns are the columns of players that are read; the others may identify a person.
var battlefieldColumns = map[string]string{
	"name": "player_", "teamId": "team_", "score": "score_", "kills": "kills_", "deaths": "deaths_", "ping": "ping_",
}

// table reads the players: the names of their columns, then their cells.
func (w battlefieldWords) table() (t Table) {
	columns := make([]string, w.count())
	for i := range columns {
		if columns[i] = battlefieldColumns[w.next()]; columns[i] != "" {
			t.Columns = append(t.Columns, columns[i])
		}
	}
	for n := w.count(); len(t.Rows) < min(n, MaxRows) && len(w) >= len(columns) && len(columns) > 0; {
		var row []string
		for _, name := range columns {
			if cell := w.next(); name != "" {
				row = append(row, cell)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 || len(t.Columns) == 0 {
		return Table{}
	}
	return t
}
