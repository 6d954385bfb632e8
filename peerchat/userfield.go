package peerchat

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// The client library writes addresses as eight characters, one for each
// hexadecimal digit: the older letters in user names, the newer ones in the names
// of staging rooms.
const (
	userAlphabet    = "aFl4uOD9sfWq1vGp"
	stagingAlphabet = "qJ1h4N9cP3lzD0Ka"
	addressMask     = 0xC3801DC7
	addressLen      = 8
)

// encodeUser returns the user name that a client of an address and a profile signs
// on with, as in X1lsaFvqsX|100001. An address that is not IPv4 counts as 0.0.0.0.
func encodeUser(ip netip.Addr, pid uint32) string {
	b := append(make([]byte, 0, 24), 'X')
	b = appendAddress(b, bits.ReverseBytes32(ipv4(ip)), userAlphabet)
	b = append(b, "X|"...)
	return string(strconv.AppendUint(b, uint64(pid), 10))
}

// decodeUser reads a user name in the form of encodeUser. It is the client's
// claim, which proves nothing.
func decodeUser(s string) (ip netip.Addr, pid uint32, ok bool) {
	const head = 1 + addressLen // where the second X stands
	if len(s) < head+3 || s[0] != 'X' || s[head:head+2] != "X|" {
		return netip.Addr{}, 0, false
	}
	var v uint32
	for i := 1; i < head; i++ {
		digit := strings.IndexByte(userAlphabet, s[i])
		if digit < 0 {
			return netip.Addr{}, 0, false
		}
		v = v<<4 | uint32(digit)
	}
	n, err := strconv.ParseUint(s[head+2:], 10, 32)
	if err != nil {
		return netip.Addr{}, 0, false
	}
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v^addressMask)
	return netip.AddrFrom4(b), uint32(n), true
}

// StagingName returns the name of the staging room of a game's host, which players
// compute from the entry of the host in the server list: its public address, its
// private one, and its private query port or else its public one.
func StagingName(game string, public, private netip.Addr, port uint16) string {
	p := uint32(port)
	v := bits.ReverseBytes32(ipv4(private)) ^ ipv4(public) ^ (p | p<<16)
	b := append(make([]byte, 0, 64), "#GSP!"+game+"!M"...)
	return string(append(appendAddress(b, v, stagingAlphabet), 'M'))
}

// ipv4 returns an address as a number whose highest byte is the first octet.
func ipv4(ip netip.Addr) uint32 {
	ip = ip.Unmap()
	if !ip.Is4() {
		return 0
	}
	b := ip.As4()
	return binary.BigEndian.Uint32(b[:])
}

// appendAddress appends the eight characters for a number.
func appendAddress(dst []byte, v uint32, alphabet string) []byte {
	v ^= addressMask
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, alphabet[v>>shift&15])
	}
	return dst
}
