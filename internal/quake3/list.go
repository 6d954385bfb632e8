package quake3

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

const (
	// MaxList is the length of the longest packet of a list, in bytes.
	MaxList = 1400
	// MaxEntries is the number of servers that games read of a packet.
	MaxEntries = 256

	endMark = "\\EOT\x00\x00\x00"

	separator4, separator6 = '\\', '/'

	entry4 = 1 + 4 + 2
	entry6 = 1 + 16 + 2
)

// AppendLists appends the packets of a list to packets. ext is set for
// getserversExtResponse; other lists leave out servers with IPv6.
func AppendLists(packets [][]byte, servers []netip.AddrPort, ext bool) [][]byte {
	head := prefix + KindServers
	if ext {
		head = prefix + KindServersExt
	}
	b, entries := append(make([]byte, 0, MaxList), head...), 0
	for _, a := range servers {
		size := entry4
		if !a.Addr().Is4() {
			if !ext {
				continue
			}
			size = entry6
		}
		if entries == MaxEntries || len(b)+size+len(endMark) > MaxList {
			packets = append(packets, append(b, separator4))
			b, entries = append(make([]byte, 0, MaxList), head...), 0
		}
		b = appendEntry(b, a)
		entries++
	}
	return append(packets, append(b, endMark...))
}

func appendEntry(b []byte, a netip.AddrPort) []byte {
	if a.Addr().Is4() {
		ip := a.Addr().As4()
		b = append(append(b, separator4), ip[:]...)
	} else {
		ip := a.Addr().As16()
		b = append(append(b, separator6), ip[:]...)
	}
	return binary.BigEndian.AppendUint16(b, a.Port())
}

// ParseList parses the result of Cut for a packet of a list, and appends its servers
// to servers. last reports that the packet has the end mark. Servers with port 0
// are left out. The entry at the end of a packet of dpmaster, which nothing
// follows, is read too.
func ParseList(servers []netip.AddrPort, rest []byte) (list []netip.AddrPort, last bool, err error) {
	list = servers
	for len(rest) > 0 {
		if bytes.HasPrefix(rest, []byte(endMark)) {
			return list, true, nil
		}
		var a netip.Addr
		switch {
		case len(rest) == 1 && rest[0] == separator4:
			return list, false, nil
		case rest[0] == separator4 && len(rest) >= entry4:
			a, rest = netip.AddrFrom4([4]byte(rest[1:5])), rest[5:]
		case rest[0] == separator6 && len(rest) >= entry6:
			a, rest = netip.AddrFrom16([16]byte(rest[1:17])), rest[17:]
		default:
			return list, false, ErrMalformed
		}
		port := binary.BigEndian.Uint16(rest)
		rest = rest[2:]
		if port != 0 {
			list = append(list, netip.AddrPortFrom(a.Unmap(), port))
		}
	}
	return list, false, nil
}
