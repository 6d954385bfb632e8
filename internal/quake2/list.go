package quake2

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

const (
	// MaxEntries is the number of servers in a list: browsers take one packet for the whole.
	MaxEntries = 231

	entryLen = 4 + 2

	listHead  = prefix + "servers "
	worldHead = prefix + "d\n"
	// AskWorld is the request of a browser for QuakeWorld's list.
	AskWorld = "c\n\x00"
)

// AppendList appends the list of servers, of which those with IPv6 and those beyond
// MaxEntries are left out.
func AppendList(b []byte, servers []netip.AddrPort) []byte {
	return appendEntries(append(b, listHead...), servers)
}

// AppendWorldList appends the list of QuakeWorld, as AppendList.
func AppendWorldList(b []byte, servers []netip.AddrPort) []byte {
	return appendEntries(append(b, worldHead...), servers)
}

func appendEntries(b []byte, servers []netip.AddrPort) []byte {
	n := 0
	for _, a := range servers {
		if !a.Addr().Is4() {
			continue
		}
		if n++; n > MaxEntries {
			break
		}
		ip := a.Addr().As4()
		b = binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
	}
	return b
}

// ParseList parses a list, and appends its servers to servers. Masters differ in the byte
// after the word. ok is false if p is another message.
func ParseList(servers []netip.AddrPort, p []byte) (list []netip.AddrPort, ok bool, err error) {
	if len(p) < len(listHead) || string(p[:len(listHead)-1]) != listHead[:len(listHead)-1] {
		return servers, false, nil
	}
	return parseEntries(servers, p[len(listHead):])
}

// ParseWorldList parses the list of QuakeWorld, as ParseList.
func ParseWorldList(servers []netip.AddrPort, p []byte) (list []netip.AddrPort, ok bool, err error) {
	rest, ok := bytes.CutPrefix(p, []byte(worldHead))
	if !ok {
		return servers, false, nil
	}
	return parseEntries(servers, rest)
}

func parseEntries(servers []netip.AddrPort, b []byte) ([]netip.AddrPort, bool, error) {
	for ; len(b) >= entryLen; b = b[entryLen:] {
		servers = append(servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), binary.BigEndian.Uint16(b[4:])))
	}
	if len(b) > 0 {
		return servers, true, ErrMalformed
	}
	return servers, true, nil
}
