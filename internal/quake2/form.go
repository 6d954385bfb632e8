package quake2

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/zandronum"
)

// Form is the form of the messages between a master, its servers and browsers.
type Form uint8

// The forms.
const (
	Two   Form = iota // Quake 2 and its family
	World             // QuakeWorld
	Hexen             // HexenWorld: QuakeWorld's, coded as Zandronum's packets are
)

// raw begins a message of HexenWorld that is not coded, as short ones are.
const raw = 0xFF

// pingTool is a request for HexenWorld's list that a tool of its time sends.
const pingTool = "\x00y"

// Cut returns the kind of a message and the text after its word. ok is false if p is not a
// message of this form.
func (f Form) Cut(p []byte) (kind Kind, rest []byte, ok bool) {
	switch f {
	case World:
		return cutWorld(p)
	case Hexen:
		if string(p) == pingTool {
			return KindQuery, nil, true
		}
		return cutWorld(decode(p))
	default:
		return Cut(p)
	}
}

// cutWorld is Cut for QuakeWorld. A heartbeat is a letter, its number, and the number of
// players, on lines of their own.
func cutWorld(p []byte) (kind Kind, rest []byte, ok bool) {
	text := bytes.TrimRight(p, "\n\x00")
	if len(text) == 0 || len(p) > MaxBeat {
		return KindOther, nil, false
	}
	switch rest = p[1:]; {
	case text[0] == 'a':
		return KindHeartbeat, nil, isBeat(rest)
	case len(text) > 1:
		return KindOther, nil, false
	case text[0] == 'k':
		return KindPing, nil, len(rest) > 0
	case text[0] == 'C':
		return KindShutdown, nil, len(rest) > 0
	default:
		return KindQuery, nil, text[0] == 'c'
	}
}

// MaxBeat is the length of the longest message of a server or browser of QuakeWorld, in bytes.
const MaxBeat = 64

// isBeat reports whether a text begins with two numbers, each after a line's end.
func isBeat(text []byte) bool {
	for range 2 {
		rest, ok := bytes.CutPrefix(text, []byte{'\n'})
		text = bytes.TrimLeft(rest, "0123456789")
		if !ok || len(text) == len(rest) {
			return false
		}
	}
	return len(text) == 0 || text[0] <= ' '
}

// decode returns a message of HexenWorld, empty if it is none.
func decode(p []byte) []byte { return zandronum.Decode(nil, p, MaxPacket) }

// code appends the beginning of every message that this package makes of HexenWorld.
func (f Form) code(b []byte) []byte {
	if f == Hexen {
		return append(b, raw)
	}
	return b
}

// AppendAck appends the answer to a ping.
func (f Form) AppendAck(b []byte) []byte {
	if f == Two {
		return AppendAck(b)
	}
	return append(f.code(b), prefix+"l\n"...)
}

// AppendAskStatus appends a request for the status of a server.
func (f Form) AppendAskStatus(b []byte) []byte { return AppendAskStatus(f.code(b)) }

// AppendQuery appends a request for the list.
func (f Form) AppendQuery(b []byte) []byte {
	switch f {
	case Two:
		return AppendQuery(b)
	case World:
		return append(b, AskWorld...)
	default:
		return append(f.code(b), "c\x00"...)
	}
}

// AppendPing appends the question of a server whether the master is there.
func (f Form) AppendPing(b []byte) []byte {
	if f == Two {
		return AppendPing(b)
	}
	return append(f.code(b), "k\x00"...)
}

// AppendHeartbeat appends a heartbeat. It has a status in Quake 2's form alone: rules, and a
// line for each player.
func (f Form) AppendHeartbeat(b, status []byte) []byte {
	if f == Two {
		return append(append(b, prefix+"heartbeat\n"...), status...)
	}
	return append(f.code(b), "a\n1\n0\n"...)
}

// AppendShutdown appends the message of a server that stops.
func (f Form) AppendShutdown(b []byte) []byte {
	if f == Two {
		return AppendShutdown(b)
	}
	return append(f.code(b), "C\n\x00"...)
}

// AppendLists appends the packets of a list to packets. Servers with IPv6 are left out, and in
// Quake 2's form those beyond MaxEntries: its browsers take one packet for the whole.
func (f Form) AppendLists(packets [][]byte, servers []netip.AddrPort) [][]byte {
	servers = slices.DeleteFunc(slices.Clone(servers), func(a netip.AddrPort) bool { return !a.Addr().Is4() })
	if f == Two {
		return append(packets, AppendList(nil, servers))
	}
	if len(servers) == 0 {
		return append(packets, AppendWorldList(f.code(nil), nil))
	}
	for part := range slices.Chunk(servers, MaxEntries) {
		packets = append(packets, AppendWorldList(f.code(nil), part))
	}
	return packets
}

// ParseList is ParseList and ParseWorldList for a form.
func (f Form) ParseList(servers []netip.AddrPort, p []byte) (list []netip.AddrPort, ok bool, err error) {
	if f == Two {
		return ParseList(servers, p)
	}
	if f == Hexen {
		p = decode(p)
	}
	return ParseWorldList(servers, p)
}

// AsksStatus reports whether a message asks a server for its status.
func (f Form) AsksStatus(p []byte) bool {
	if f == Hexen {
		p = decode(p)
	}
	kind, _, _ := Cut(p)
	return kind == KindStatus
}

// AppendStatus appends a status, as in AppendHeartbeat, that answers a request.
func (f Form) AppendStatus(b, status []byte) []byte {
	switch f {
	case Two:
		return append(append(b, prefix+"print\n"...), status...)
	case World:
		return append(append(append(b, worldStatus...), status...), 0)
	default:
		return zandronum.Encode(b, World.AppendStatus(nil, status))
	}
}

// ParseStatus parses the status of a server. ok is false for another message.
func (f Form) ParseStatus(p []byte) (s Status, ok bool, err error) {
	if f != Two {
		return ParseWorldStatus(p)
	}
	kind, rest, _ := Cut(p)
	if kind != KindPrint {
		return Status{}, false, nil
	}
	s, err = ParseStatus(rest)
	return s, true, err
}
