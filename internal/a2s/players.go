package a2s

import (
	"math"
	"slices"
)

// MaxPlayers is the most players of an answer: a byte counts them.
const MaxPlayers = 255

// Player is one player of a server.
type Player struct {
	Index   uint8 // servers number them from 0, or do not
	Name    string
	Score   int32
	Seconds float32 // on the server; -1 for bots of some games, never infinite or NaN

	// The Ship alone.
	Deaths, Money int32
}

// Players are the players of a server.
//
//	byte    count
//	        each player:
//	byte    index
//	string  name
//	long    score
//	float   seconds
//	        each player again, The Ship alone:
//	long    deaths, money
type Players struct {
	// Count is the number that the server states. It may be larger than the
	// length of List: players who are still connecting are counted but not
	// listed.
	Count uint8
	List  []Player
	Ship  bool // Deaths and Money have come

	// Withheld reports that the server hides its players. Count is 1 then, and
	// List holds one entry that is not a player: its Score is the number of slots, its Seconds
	// are the time since the server started.
	Withheld bool
	// Truncated reports that the message ended inside a player, who is left
	// out.
	Truncated bool
}

// withheldName is the name of the entry of servers that hide their players.
const withheldName = "Max Players"

const (
	leastPlayer = 10 // bytes of a player without a name
	shipSize    = 8  // of deaths and money
)

// AppendPlayers appends a whole KindPlayers: Count, List, which holds at most
// MaxPlayers, and, with Ship, deaths and money.
func AppendPlayers(dst []byte, p Players) []byte {
	dst = append(appendHeader(dst, KindPlayers), p.Count)
	for i := range p.List {
		one := &p.List[i]
		dst = appendText(append(dst, one.Index), one.Name)
		dst = appendUint32(dst, uint32(one.Score))
		dst = appendUint32(dst, math.Float32bits(finite(one.Seconds)))
	}
	for i := range p.List {
		if p.Ship {
			dst = appendUint32(dst, uint32(p.List[i].Deaths))
			dst = appendUint32(dst, uint32(p.List[i].Money))
		}
	}
	return dst
}

// ParsePlayers reads the body of a KindPlayers of a server of the game app; 0
// if the game is not known. It reads at most as many players as are stated;
// surplus bytes are ignored. A time that is not a number becomes 0. The error
// is ErrMalformed, if not even the count is there.
//
// Nothing in a message of The Ship marks where the deaths begin: the reader
// expects them where exactly as many bytes are left as they need. If such a
// message was cut, the result may be wrong.
func ParsePlayers(body []byte, app App) (Players, error) {
	if len(body) == 0 {
		return Players{}, ErrMalformed
	}
	r := reader{s: string(body)}
	p := Players{Count: r.byte()}
	p.List = slices.Grow(p.List, min(int(p.Count), len(r.s)/leastPlayer))
	for len(p.List) < int(p.Count) && r.s != "" {
		if app == AppTheShip && len(p.List) > 0 && len(r.s) == len(p.List)*shipSize {
			break // connecting players are counted and not here
		}
		one := Player{Index: r.byte(), Name: r.text(), Score: int32(r.uint32())}
		one.Seconds = finite(math.Float32frombits(r.uint32()))
		if r.short {
			p.Truncated = true
			return p, nil
		}
		p.List = append(p.List, one)
	}
	if app == AppTheShip && len(p.List) > 0 {
		p.readShip(&r)
	}
	hides := app == AppCSGO || app == 0
	p.Withheld = hides && p.Count == 1 && len(p.List) == 1 && p.List[0].Name == withheldName
	return p, nil
}

func (p *Players) readShip(r *reader) {
	if len(r.s) < len(p.List)*shipSize {
		p.Truncated = true
		return
	}
	p.Ship = true
	for i := range p.List {
		p.List[i].Deaths, p.List[i].Money = int32(r.uint32()), int32(r.uint32())
	}
}

func finite(f float32) float32 {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return f
}
