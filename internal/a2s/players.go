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

// MaxRules is the most rules of an answer.
const MaxRules = 2048

const leastRule = 2 // bytes of a rule without name and value

// Rule is a setting of a server. Both parts are the bytes as they were sent:
// usually text, but some games put binary data there.
type Rule struct{ Name, Value string }

// Rules are the settings of a server.
//
//	short   count
//	        each rule:
//	string  name, value
type Rules struct {
	Count uint16 // as the server states it
	List  []Rule // in its order; a name may come twice

	// Truncated reports that fewer rules came than Count; a rule that was cut
	// is left out.
	Truncated bool
}

// AppendRules appends a whole KindRules: Count and List.
func AppendRules(dst []byte, r Rules) []byte {
	dst = appendUint16(appendHeader(dst, KindRules), r.Count)
	for _, one := range r.List {
		dst = appendText(appendText(dst, one.Name), one.Value)
	}
	return dst
}

// ParseRules reads the body of a KindRules. It reads at most as many rules as
// are stated; surplus bytes are ignored. The error is ErrMalformed, if not even
// the count is there, or ErrTooMuch.
func ParseRules(body []byte) (Rules, error) {
	if len(body) < 2 {
		return Rules{}, ErrMalformed
	}
	r := reader{s: string(body)}
	rules := Rules{Count: r.uint16()}
	rules.List = slices.Grow(rules.List, min(int(rules.Count), len(r.s)/leastRule, MaxRules))
	for len(rules.List) < int(rules.Count) {
		one := Rule{Name: r.text(), Value: r.text()}
		if r.short {
			rules.Truncated = true
			break
		}
		if len(rules.List) == MaxRules {
			return Rules{}, ErrTooMuch
		}
		rules.List = append(rules.List, one)
	}
	return rules, nil
}
