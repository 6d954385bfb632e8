package idtech4

import (
	"encoding/binary"
	"net/netip"
)

const (
	// MaxList is the length of the longest packet of a list, in bytes.
	MaxList = 1200

	entryLen = 6

	// otherProgram is set in the protocol by browsers that are not the game.
	otherProgram = 1 << 31
)

// Request is a request for a list.
type Request struct {
	Protocol Protocol // 0: of all
	Mod      []byte   // the folder of a mod, a part of the packet
	Player   []byte   // of Quake 4: only servers with this player, and clan
	Clan     []byte
	Filters  byte // two bits each: passwords, players, types of game
}

// ParseRequest parses the data of a getServers. Data after the filters is ignored.
func ParseRequest(rest []byte) (Request, error) {
	r := reader{rest: rest}
	q := Request{Protocol: Protocol(r.uint32() &^ otherProgram), Mod: r.text(MaxText)}
	if q.Protocol.Major() == quake4 {
		q.Player, q.Clan = r.text(MaxText), r.text(MaxText)
	}
	if len(r.rest) > 0 {
		q.Filters = r.uint8()
	}
	if r.bad {
		return Request{}, ErrMalformed
	}
	return q, nil
}

// AppendTo appends the request.
func (q Request) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(begin(b, KindGetServers), uint32(q.Protocol))
	b = appendText(b, q.Mod)
	if q.Protocol.Major() == quake4 {
		b = appendText(appendText(b, q.Player), q.Clan)
	}
	return append(b, q.Filters)
}

// AppendLists appends the packets of a list to packets, one without servers if there are
// none. Those with IPv6 are left out.
func AppendLists(packets [][]byte, servers []netip.AddrPort) [][]byte {
	b := begin(make([]byte, 0, MaxList), KindServers)
	for _, a := range servers {
		if !a.Addr().Is4() {
			continue
		}
		if len(b)+entryLen > MaxList {
			packets = append(packets, b)
			b = begin(make([]byte, 0, MaxList), KindServers)
		}
		b = appendAddress(b, a)
	}
	return append(packets, b)
}

// ParseList parses the data of a packet of a list, and appends its servers to servers.
func ParseList(servers []netip.AddrPort, rest []byte) ([]netip.AddrPort, error) {
	if len(rest)%entryLen != 0 {
		return servers, ErrMalformed
	}
	for r := (reader{rest: rest}); len(r.rest) > 0; {
		servers = append(servers, r.address())
	}
	return servers, nil
}
