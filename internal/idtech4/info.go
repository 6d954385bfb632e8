package idtech4

import (
	"encoding/binary"
	"strconv"
)

// Bounds of an infoResponse. Further pairs and players are a mistake.
const (
	MaxPairs   = 256
	MaxPlayers = 32  // numbers from here on end the players
	maxValue   = 511 // bytes of a key or value
)

// Pair is a key and value of a server. Both are parts of the packet.
type Pair struct{ Key, Value []byte }

// Player is a player of a server. The texts are parts of the packet, colour codes
// included.
type Player struct {
	Number byte
	Ping   int16
	Rate   uint32
	Name   []byte
	Clan   []byte // of Quake 4
}

// Info is an infoResponse.
type Info struct {
	Challenge uint32
	Protocol  Protocol
	Pairs     []Pair
	Players   []Player
	Systems   uint32 // those for which the server has files, by bit; not in all versions
}

// quake4 is the Major of the game that sends the clans of players.
const quake4 = 2

// ParseInfo parses the data of an infoResponse. Players that cannot be read are left out:
// the games write them in several ways.
func ParseInfo(rest []byte) (Info, error) {
	r := reader{rest: rest}
	i := Info{Challenge: r.uint32(), Protocol: Protocol(r.uint32())}
	for !r.bad {
		p := Pair{r.text(maxValue), r.text(maxValue)}
		if len(p.Key) == 0 && len(p.Value) == 0 {
			break
		}
		if len(i.Pairs) == MaxPairs {
			return Info{}, ErrMalformed
		}
		i.Pairs = append(i.Pairs, p)
	}
	if r.bad {
		return Info{}, ErrMalformed
	}
	i.Players, r.rest, r.bad = parsePlayers(r.rest, i.Protocol.Major() == quake4)
	if !r.bad && len(r.rest) >= 4 {
		i.Systems = r.uint32()
	}
	return i, nil
}

// parsePlayers reads players up to the end mark.
func parsePlayers(rest []byte, clans bool) (list []Player, after []byte, bad bool) {
	r := reader{rest: rest}
	for {
		p := Player{Number: r.uint8()}
		switch {
		case r.bad:
			return nil, nil, true
		case p.Number >= MaxPlayers:
			return list, r.rest, false
		case len(list) == MaxPlayers:
			return nil, nil, true
		}
		p.Ping, p.Rate, p.Name = int16(r.uint16()), r.uint32(), r.text(maxValue)
		if clans {
			p.Clan = r.text(maxValue)
		}
		list = append(list, p)
	}
}

// AppendTo appends the infoResponse. Texts must have no NUL, of a pair not both empty.
func (i Info) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(begin(b, KindInfo), i.Challenge)
	b = binary.LittleEndian.AppendUint32(b, uint32(i.Protocol))
	for _, p := range i.Pairs {
		b = appendText(appendText(b, p.Key), p.Value)
	}
	b = append(b, 0, 0)
	for _, p := range i.Players {
		b = binary.LittleEndian.AppendUint16(append(b, p.Number), uint16(p.Ping))
		b = appendText(binary.LittleEndian.AppendUint32(b, p.Rate), p.Name)
		if i.Protocol.Major() == quake4 {
			b = appendText(b, p.Clan)
		}
	}
	return binary.LittleEndian.AppendUint32(append(b, MaxPlayers), i.Systems)
}

// AppendGetInfo appends a request for the info of a server.
func AppendGetInfo(b []byte, challenge uint32) []byte {
	return binary.LittleEndian.AppendUint32(begin(b, KindGetInfo), challenge)
}

// Challenge returns the challenge of a getInfo.
func Challenge(rest []byte) (uint32, error) {
	r := reader{rest: rest}
	c := r.uint32()
	if r.bad {
		return 0, ErrMalformed
	}
	return c, nil
}

// Names of rules that a master adds to the record of a server, and of some that Rule
// returns.
const (
	RuleProtocol = "protocol" // as 1.41
	RulePlayers  = "numplayers"
)

// Rule returns the name of a key among the rules of a server, as other protocols have
// it; "" for keys that are none.
func Rule(key []byte) string {
	switch string(key) {
	case "si_name":
		return "hostname"
	case "si_map":
		return "mapname"
	case "si_gameType":
		return "gametype"
	case "si_maxPlayers":
		return "maxplayers"
	case "si_usePass":
		return "password"
	case "si_version":
		return "gamever"
	case "", "gamename", RuleProtocol, RulePlayers:
		return ""
	default:
		return string(key)
	}
}

// Rules returns the rules of the server under the names that other protocols have for
// them, with its protocol and number of players.
func (i *Info) Rules() (names, values []string) {
	names, values = []string{RuleProtocol, RulePlayers}, []string{i.Protocol.String(), strconv.Itoa(len(i.Players))}
	for _, p := range i.Pairs {
		if name := Rule(p.Key); name != "" {
			names, values = append(names, name), append(values, string(p.Value))
		}
	}
	return names, values
}
