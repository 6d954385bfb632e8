package utmaster

import (
	"encoding/binary"
	"net/netip"
)

// Kinds of requests of clients: the first byte.
const (
	askList      = 0
	askMOTD      = 1
	askUpgrade   = 2 // never answered by any master that is known
	askCommunity = 3 // news and maps of the community, from version modern on
)

// Operators of filters.
const (
	opEqual byte = iota
	opUnequal
	opLess
	opAtMost
	opMore
	opAtLeast
	opDisabled
)

// Bounds of a request for a list.
const (
	maxFilters    = 64
	maxFilterText = 256 // of a key and of a value, in bytes
)

// Filter is a condition on servers. All of a request must hold.
type Filter struct {
	Key, Value string
	Op         byte // equal, unequal, below, at most, above, at least, disabled: 0 to 6
}

// AppendQuery appends a request for a list.
//
//	byte 0, count of filters, of each: text key, text value, byte operator
func AppendQuery(dst []byte, filters []Filter) []byte {
	return frame(dst, func(b []byte) []byte {
		b = appendIndex(append(b, askList), int32(len(filters)))
		for _, f := range filters {
			b = append(appendText(appendText(b, f.Key), f.Value), f.Op)
		}
		return b
	})
}

// parseFilters reads a request for a list behind its first byte.
func parseFilters(p []byte) (list []Filter, err error) {
	c := cursor{b: p}
	n := c.count(maxFilters, 3)
	for range n {
		f := Filter{Key: c.text(), Value: c.text(), Op: c.uint8()}
		if len(f.Key) > maxFilterText || len(f.Value) > maxFilterText {
			c.fail(ErrTooMany)
		}
		if c.err != nil {
			return nil, c.err
		}
		list = append(list, f)
	}
	return list, c.err
}

// form is the layout of the servers in a list.
type form uint8

const (
	formModern form = iota // from version modern on: flags of four bytes, a skill level
	formByte               // a byte of flags
	formBare               // no flags
)

// formOf returns the form for a client. xmpFlags says whether Unreal 2 XMP reads the
// byte of flags.
func formOf(version int32, xmpFlags bool) form {
	switch {
	case version >= modern:
		return formModern
	case version == versionXMP && !xmpFlags:
		return formBare
	default:
		return formByte
	}
}

// Characters of texts in lists. Some browsers end at servers of more than 1279
// bytes, which these cannot have, even in UTF-16.
const (
	maxListName = 200
	maxListText = 100 // of the map, the type of game and the skill level
)

// Entry is a server in a list.
//
//	address     4 bytes
//	game port   uint16
//	query port  uint16
//	name, map, type of game  text
//	players, maximum         byte
//	flags       int32 and text skill level from version modern on, else byte
type Entry struct {
	Addr                netip.Addr // IPv4
	GamePort, QueryPort uint16
	Name, Map, GameType string
	Players, Max        byte
	Flags               int32
	Skill               string
}

func (e *Entry) appendTo(dst []byte, as form) []byte {
	return frame(dst, func(b []byte) []byte {
		a := e.Addr.As4()
		b = append(b, a[:]...)
		b = binary.LittleEndian.AppendUint16(b, e.GamePort)
		b = binary.LittleEndian.AppendUint16(b, e.QueryPort)
		b = appendText(appendText(appendText(b, e.Name), e.Map), e.GameType)
		b = append(b, e.Players, e.Max)
		switch as {
		case formModern:
			b = appendText(appendInt32(b, e.Flags), e.Skill)
		case formByte:
			b = append(b, byte(e.Flags))
		case formBare:
		}
		return b
	})
}

// parseEntry reads a server of a list.
func parseEntry(p []byte, as form) (e Entry, err error) {
	c := cursor{b: p}
	if b := c.take(4); b != nil {
		e.Addr = netip.AddrFrom4([4]byte(b))
	}
	e.GamePort, e.QueryPort = c.uint16(), c.uint16()
	e.Name, e.Map, e.GameType = c.text(), c.text(), c.text()
	e.Players, e.Max = c.uint8(), c.uint8()
	switch as {
	case formModern:
		e.Flags, e.Skill = c.int32(), c.text()
	case formByte:
		e.Flags = int32(c.uint8())
	case formBare:
	}
	return e, c.err
}

// listHeadSize is the size of the message before the servers: their number, and a byte which says that
// each is a message as above.
const listHeadSize = frameHead + 5

func appendListHead(dst []byte, servers int) []byte {
	return frame(dst, func(b []byte) []byte { return append(appendInt32(b, int32(servers)), 1) })
}

// parseListHead returns the number of servers that follow. The error is ErrKind for
// lists in another form.
func parseListHead(p []byte) (servers int, err error) {
	c := cursor{b: p}
	n, packed := c.int32(), c.uint8()
	switch {
	case c.err != nil:
		return 0, c.err
	case n < 0 || packed != 1:
		return 0, ErrKind
	}
	return int(n), nil
}

// appendMOTD appends the message of the day. From version modern on a number follows,
// which would light a button for updates.
func appendMOTD(dst []byte, text string, version int32) []byte {
	if version >= modern {
		return appendWord(dst, text, 0)
	}
	return appendWord(dst, text)
}

// appendNoCommunity appends the answer to a request for news of the community: there
// are none.
func appendNoCommunity(dst []byte) []byte {
	dst = frame(dst, func(b []byte) []byte { return appendText(append(b, 0), "") })
	return frame(dst, func(b []byte) []byte { return append(b, 2) })
}
