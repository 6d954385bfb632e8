package idtech4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"
)

const prefix = "\xff\xff"

// Bounds of messages.
const (
	// MaxPacket is the length of the longest packet that a master reads, in bytes.
	MaxPacket = 2048
	// MaxText is the length of the longest text of a request, in bytes.
	MaxText = 255
)

// ErrMalformed reports a message that cannot be read.
var ErrMalformed = errors.New("malformed message")

// Kind is the kind of a message.
type Kind uint8

// The kinds. A message with another word is KindOther.
const (
	KindOther Kind = iota
	KindHeartbeat
	KindGetServers
	KindServers
	KindGetInfo
	KindInfo
	KindVersionCheck
	KindClAuth
	KindGameAuth
	KindAuthKey
	KindSrvAuth
	KindAuth
)

var words = [...]string{
	KindHeartbeat: "heartbeat", KindGetServers: "getServers", KindServers: "servers", KindGetInfo: "getInfo", KindInfo: "infoResponse",
	KindVersionCheck: "versionCheck", KindClAuth: "clAuth", KindGameAuth: "gameAuth", KindAuthKey: "authKey", KindSrvAuth: "srvAuth",
	KindAuth: "auth",
}

// Cut returns the kind of a message and its data. ok is false if p is not a message.
func Cut(p []byte) (kind Kind, rest []byte, ok bool) {
	if len(p) <= len(prefix) || string(p[:len(prefix)]) != prefix {
		return KindOther, nil, false
	}
	word, rest, ended := bytes.Cut(p[len(prefix):], []byte{0})
	if !ended {
		return KindOther, nil, false
	}
	for k, w := range words {
		if w != "" && w == string(word) {
			return Kind(k), rest, true
		}
	}
	return KindOther, rest, true
}

func begin(b []byte, k Kind) []byte { return append(append(append(b, prefix...), words[k]...), 0) }

// AppendHeartbeat appends a heartbeat.
func AppendHeartbeat(b []byte) []byte { return begin(b, KindHeartbeat) }

// Protocol is a version of a game's protocol.
type Protocol uint32

// Major returns the game: 1 Doom 3, 2 Quake 4.
func (p Protocol) Major() int { return int(p >> 16) }

// String returns the protocol as 1.41.
func (p Protocol) String() string {
	return strconv.Itoa(p.Major()) + "." + strconv.Itoa(int(p&0xffff))
}

// ParseProtocol is the inverse of String.
func ParseProtocol(text string) (Protocol, bool) {
	major, minor, ok := bytes.Cut([]byte(text), []byte{'.'})
	a, err := strconv.ParseUint(string(major), 10, 16)
	b, err2 := strconv.ParseUint(string(minor), 10, 16)
	return Protocol(a<<16 | b), ok && err == nil && err2 == nil
}

// reader reads data from its front. After the first mistake all values are zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.rest) < n {
		r.bad = true
		return make([]byte, n) // n is a constant
	}
	var b []byte
	b, r.rest = r.rest[:n], r.rest[n:]
	return b
}

func (r *reader) uint8() byte    { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

// text reads a text of at most so many bytes, a part of the packet.
func (r *reader) text(most int) []byte {
	n := bytes.IndexByte(r.rest[:min(len(r.rest), most+1)], 0)
	if r.bad || n < 0 {
		r.bad = true
		return nil
	}
	t := r.rest[:n]
	r.rest = r.rest[n+1:]
	return t
}

func (r *reader) address() netip.AddrPort {
	ip := netip.AddrFrom4([4]byte(r.take(4)))
	return netip.AddrPortFrom(ip, r.uint16())
}

func appendText(b, text []byte) []byte { return append(append(b, text...), 0) }

func appendAddress(b []byte, a netip.AddrPort) []byte {
	ip := a.Addr().As4()
	return binary.LittleEndian.AppendUint16(append(b, ip[:]...), a.Port())
}
