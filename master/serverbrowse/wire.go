package serverbrowse

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Limits of messages. Others are refused and counted.
const (
	minMessage = 3    // length and kind
	maxMessage = 4096 // the buffer of the original client; the length field allows more
	maxElement = 4096 // one key name, popular value or entry, for the same reason
	maxFields  = 255  // the count of keys is one byte
	maxPopular = 255  // an index is one byte, and 0xFF means that the text follows
	// maxRelay is the largest message to a server: the original host reads
	// 255 bytes, 11 of which are the envelope.
	maxRelay = 244

	// errorPort in the fixed header means that an error text follows.
	errorPort = 0xFFFF
	// literal before a value means that its text follows.
	literal = 0xFF
)

// Option is the set of option bits in a list request.
type Option uint32

// The option bits.
const (
	FieldsForAll Option = 1 << iota // send the fields of directly reachable servers too
	NoServerList                    // fixed header only; other messages follow
	PushUpdates                     // send updates to the client
	AlternateIP                     // the request names the client's address
	_                               // unused
	SendGroups                      // rooms in place of servers
	NoListCache                     // ignored: our lists are always fresh
	LimitResults                    // the request names a largest number of servers
)

// Flag is the set of flag bits of a server entry.
type Flag uint8

// The flag bits.
const (
	FlagReachable Flag = 1 << iota // the browser may query it directly
	FlagLocal                      // a private address follows
	FlagNATNeg                     // NAT negotiation reaches it
	FlagICMP                       // an address to ping follows
	FlagPort                       // the public port follows: it is not the game's default
	FlagLocalPort                  // the private port follows, for the same reason
	FlagValues                     // the values of the key list follow
	FlagRules                      // names and values of all rules follow
)

// KeyType is the encoding of the values of a key.
type KeyType uint8

// The key types.
const (
	KeyString KeyType = iota
	KeyByte
	KeyShort
)

// Key is one column of a list: a field name and the encoding of its values.
type Key struct {
	Type KeyType
	Name string
}

// Errors of the codec.
var (
	errShort   = errors.New("message is cut short")
	errLength  = errors.New("message length is out of range")
	errText    = errors.New("text is not terminated")
	errTooLong = errors.New("message is too long")
	errNUL     = errors.New("text holds a NUL byte")
)

// cursor reads a message from front to back. After a read past the end it
// yields zero values and keeps err.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) take(n int) []byte {
	if c.err != nil || len(c.b) < n {
		c.fail(errShort)
		return nil
	}
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *cursor) u8() uint8 {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if p := c.take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if p := c.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) u32le() uint32 {
	if p := c.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) ip() netip.Addr {
	if p := c.take(4); p != nil {
		return netip.AddrFrom4([4]byte(p))
	}
	return netip.Addr{}
}

func (c *cursor) addrPort() netip.AddrPort {
	ip := c.ip()
	return netip.AddrPortFrom(ip, c.u16())
}

// text reads a NUL-terminated text.
func (c *cursor) text() string {
	if c.err != nil {
		return ""
	}
	for i, x := range c.b {
		if x == 0 {
			s := string(c.b[:i])
			c.b = c.b[i+1:]
			return s
		}
	}
	c.fail(errText)
	return ""
}

// appendIP appends the four bytes of an address; zeros if it is not IPv4.
func appendIP(dst []byte, a netip.Addr) []byte {
	a = a.Unmap()
	if !a.Is4() {
		return append(dst, 0, 0, 0, 0)
	}
	b := a.As4()
	return append(dst, b[:]...)
}

func appendAddrPort(dst []byte, a netip.AddrPort) []byte {
	dst = appendIP(dst, a.Addr())
	return binary.BigEndian.AppendUint16(dst, a.Port())
}
