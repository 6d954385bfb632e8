// Package unreal2 is the wire format of the queries of Unreal Tournament 2003 and 2004 and
// of games with their engine.
//
// A question is the version of the protocol and a kind; an answer repeats both, and its
// text may continue in further packets of the kind, without a number or an end mark. There
// is no challenge.
//
// The package only reads answers: this daemon queries such servers, and is none.
package unreal2

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// Kind is the kind of a question and of its answer.
type Kind uint8

// The kinds.
const (
	KindInfo Kind = iota
	KindRules
	KindPlayers
)

const (
	version  = 0x79 // that all servers answer
	head     = 4 + 1
	maxItems = 256 // rules, and players, that are read
)

// ErrMalformed reports an answer that cannot be read.
var ErrMalformed = errors.New("malformed answer")

// AppendQuestion appends a question.
func AppendQuestion(b []byte, k Kind) []byte {
	return append(binary.LittleEndian.AppendUint32(b, version), byte(k))
}

// Cut returns the version and the kind of an answer, and its text. ok is false if it is none.
func Cut(p []byte) (version uint32, k Kind, text []byte, ok bool) {
	if len(p) < head || p[4] > byte(KindPlayers) {
		return 0, 0, nil, false
	}
	return binary.LittleEndian.Uint32(p), Kind(p[4]), p[head:], true
}

// Game returns the game of servers of a version, "" if the version is none's. Games with
// the engine of Unreal Tournament 2004 have its version.
func Game(version uint32) string {
	switch version {
	case 0x78, 0x79:
		return "ut2"
	case 0x7f, 0x80:
		return "ut2004"
	default:
		return ""
	}
}

// Info is what a server says of itself.
type Info struct {
	GamePort            uint32
	Name, Map, GameType string
	Players, Max        uint32
}

// ParseInfo parses the text of an info. What follows the numbers differs between games.
func ParseInfo(text []byte) (i Info, err error) {
	r := reader{b: text}
	r.number() // of the server
	r.text()   // its address, which most leave out
	i.GamePort = r.number()
	r.number() // the query port, which is 0
	i.Name, i.Map, i.GameType = r.text(), r.text(), r.text()
	i.Players, i.Max = r.number(), r.number()
	if r.bad {
		return Info{}, ErrMalformed
	}
	return i, nil
}

// ParseRules returns the pairs in the text of rules. One that is cut is left out.
func ParseRules(text []byte) (pairs [][2]string) {
	for r := (reader{b: text}); len(r.b) > 0 && len(pairs) < maxItems; {
		key, value := r.text(), r.text()
		if r.bad {
			break
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs
}

// Player is a player.
type Player struct {
	Name  string
	Ping  uint32 // 0: of a bot
	Score int32
}

// ParsePlayers returns the players in the text of players; lines of teams are passed over.
// One that is cut is left out.
func ParsePlayers(text []byte) (list []Player) {
	for r := (reader{b: text}); len(r.b) > 0 && len(list) < maxItems; {
		id := r.number()
		p := Player{Name: r.text(), Ping: r.number(), Score: int32(r.number())}
		r.number() // of its statistics
		if r.bad {
			break
		}
		if id != 0 {
			list = append(list, p)
		}
	}
	return list
}

// reader reads data from its front. After the first mistake all values are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad = r.bad || n > len(r.b); r.bad {
		r.b = nil
		return nil
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) number() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// wide is set in the length of a text of two bytes a letter.
const wide = 0x80

// text reads a text without its colours, each an escape and three bytes.
func (r *reader) text() string {
	length := r.take(1)
	if length == nil {
		return ""
	}
	n := int(length[0])
	var letters []uint16
	if n < wide {
		for _, c := range r.take(n) {
			letters = append(letters, uint16(c))
		}
	} else {
		if len(r.b) > 0 && r.b[0] == 1 { // some servers add it
			r.take(1)
		}
		for b := r.take(2 * (n - wide)); len(b) >= 2; b = b[2:] {
			letters = append(letters, binary.LittleEndian.Uint16(b))
		}
	}
	out := letters[:0]
	for i := 0; i < len(letters); i++ {
		switch c := letters[i]; c {
		case 0:
		case 0x1b:
			i += 3
		default:
			out = append(out, c)
		}
	}
	return string(utf16.Decode(out))
}
