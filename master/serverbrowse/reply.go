package serverbrowse

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// PushKind is the kind byte of a message from the master after the list.
type PushKind uint8

// The kinds of message from the master.
const (
	PushKeys      PushKind = iota + 1 // replaces the key list that pushed servers refer to
	PushServer                        // a server is new or has changed
	PushKeepalive                     // the client sends it back
	PushDelete                        // a server is gone
	PushMapLoop                       // the maps that a server plays
	PushPlayers                       // answer to a player search
)

// errorPrefix must begin every error text: the client cuts it off and shows the rest.
const errorPrefix = "Query Error: "

// appendFixedHeader appends the start of every reply: the address of the client
// as the master sees it and the default query port of the game.
//
//	0  4  address of the client
//	4  2  default query port, big-endian; 0xFFFF: an error text follows
func appendFixedHeader(dst []byte, client netip.Addr, port uint16) []byte {
	return binary.BigEndian.AppendUint16(appendIP(dst, client), port)
}

// appendError appends the reply that refuses a list. The text is never empty on
// the wire: after an empty one the client would read one byte too few.
func appendError(dst []byte, client netip.Addr, text string) []byte {
	dst = appendFixedHeader(dst, client, errorPort)
	return gamespy.AppendString(append(dst, errorPrefix...), text)
}

// appendKeys appends a key list: the number of keys, then each one's type and
// name, NUL-terminated.
func appendKeys(dst []byte, keys []Key) []byte {
	dst = append(dst, byte(len(keys)))
	for _, k := range keys {
		dst = gamespy.AppendString(append(dst, byte(k.Type)), k.Name)
	}
	return dst
}

// appendPopular appends the table of values that entries refer to by index.
func appendPopular(dst []byte, values []string) []byte {
	dst = append(dst, byte(len(values)))
	for _, v := range values {
		dst = gamespy.AppendString(dst, v)
	}
	return dst
}

// appendEntryHead appends flags and addresses of an entry. Parts without their
// flag are left out; the caller appends values and rules.
//
//	0  1  flags
//	1  4  public address
//	-  2  public port, with FlagPort
//	-  4  private address, with FlagLocal
//	-  2  private port, with FlagLocalPort
//	-  4  address to ping, with FlagICMP
//	-  -  values in the order of the key list, with FlagValues
//	-  -  pairs of rule name and value, each NUL-terminated, and a NUL, with FlagRules
func appendEntryHead(dst []byte, flags Flag, public, local netip.AddrPort, icmp netip.Addr) []byte {
	dst = appendIP(append(dst, byte(flags)), public.Addr())
	if flags&FlagPort != 0 {
		dst = binary.BigEndian.AppendUint16(dst, public.Port())
	}
	if flags&FlagLocal != 0 {
		dst = appendIP(dst, local.Addr())
	}
	if flags&FlagLocalPort != 0 {
		dst = binary.BigEndian.AppendUint16(dst, local.Port())
	}
	if flags&FlagICMP != 0 {
		dst = appendIP(dst, icmp)
	}
	return dst
}

// appendLiteral appends a string value of a list that has no index in the table
// of popular values.
func appendLiteral(dst []byte, value string) []byte {
	return gamespy.AppendString(append(dst, literal), value)
}

// appendNumber appends a number under a key that is not a string.
func appendNumber(dst []byte, t KeyType, n uint32) []byte {
	if t == KeyByte {
		return append(dst, byte(n))
	}
	return binary.BigEndian.AppendUint16(dst, uint16(n))
}

// canonical returns the number that a value spells, if printing the number
// gives the same text and it fits a short key: the client prints it without
// leading zeros or signs.
func canonical(value string) (uint32, bool) {
	if len(value) == 0 || len(value) > 5 || value[0] == '0' && len(value) > 1 {
		return 0, false
	}
	n := uint32(0)
	for i := range len(value) {
		d := value[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint32(d)
	}
	return n, n <= 0xFFFF
}

// leadingNumber returns the number at the beginning of a value as the C library
// reads it, 0 if there is none or it does not fit a short key.
func leadingNumber(value string) (n uint32) {
	for _, d := range []byte(strings.TrimLeft(value, " ")) {
		if d < '0' || d > '9' {
			return n
		}
		if n = n*10 + uint32(d-'0'); n > 0xFFFF {
			return 0
		}
	}
	return n
}

// listEnd ends every list: an entry without flags at an address that no server
// can have.
const listEnd = "\x00\xff\xff\xff\xff"

// unlistable is the address that would end the list.
var unlistable = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// beginPush appends the envelope of a message; endPush fills in its length.
//
//	0  2  length, big-endian, including these bytes
//	2  1  kind
func beginPush(dst []byte, k PushKind) []byte { return append(dst, 0, 0, byte(k)) }

// endPush writes the length of the message that starts at start. Callers never
// exceed maxMessage.
func endPush(b []byte, start int) []byte {
	binary.BigEndian.PutUint16(b[start:], uint16(len(b)-start))
	return b
}

// appendPushKeys appends the key list of later pushes. ok is false, and nothing
// is appended, if it does not fit one message.
func appendPushKeys(dst []byte, keys []Key) (b []byte, ok bool) {
	start := len(dst)
	b = appendKeys(beginPush(dst, PushKeys), keys)
	if len(b)-start > maxMessage {
		return dst, false
	}
	return endPush(b, start), true
}

// appendKeepalive appends the message that the client must send back.
func appendKeepalive(dst []byte) []byte {
	start := len(dst)
	return endPush(append(beginPush(dst, PushKeepalive), byte(PushKeepalive)), start)
}

// appendDelete appends the message that a server is gone. The port is always
// present, even if it is the game's default.
func appendDelete(dst []byte, server netip.AddrPort) []byte {
	start := len(dst)
	return endPush(appendAddrPort(beginPush(dst, PushDelete), server), start)
}

// FoundPlayer is one answer to a player search.
type FoundPlayer struct {
	Name   string
	Server netip.AddrPort
	Seen   uint32 // Unix time
	Game   string
}

// appendFound appends the answer to a player search in as many messages as
// needed; the last one is marked. A player that does not fit a message is left
// out.
//
//	0  1  1 in the last message
//	1  1  number of players; for each of them:
//	   -  name, NUL-terminated
//	   4  address of the server
//	   2  its port, big-endian
//	   4  when the player was seen, Unix time, big-endian
//	   -  name of the game, NUL-terminated
func appendFound(dst []byte, found []FoundPlayer) []byte {
	start, count := len(dst), 0
	open := func() { dst = append(beginPush(dst, PushPlayers), 0, 0) }
	shut := func(final byte) {
		dst[start+3], dst[start+4] = final, byte(count)
		dst = endPush(dst, start)
	}
	open()
	for _, p := range found {
		size := len(p.Name) + len(p.Game) + 12
		if size > maxMessage-5 {
			continue
		}
		if len(dst)-start+size > maxMessage || count == 255 {
			shut(0)
			start, count = len(dst), 0
			open()
		}
		dst = appendAddrPort(gamespy.AppendString(dst, p.Name), p.Server)
		dst = binary.BigEndian.AppendUint32(dst, p.Seen)
		dst = gamespy.AppendString(dst, p.Game)
		count++
	}
	shut(1)
	return dst
}

// appendMapLoop appends the maps that a server plays.
//
//	0  4  address of the server
//	4  2  its port, big-endian
//	6  4  when the map changes, Unix time, big-endian
//	10 1  number of maps, then their names, NUL-terminated
func appendMapLoop(dst []byte, server netip.AddrPort, changes uint32, maps []string) []byte {
	start := len(dst)
	dst = appendAddrPort(beginPush(dst, PushMapLoop), server)
	dst = binary.BigEndian.AppendUint32(dst, changes)
	dst = append(dst, byte(len(maps)))
	for _, m := range maps {
		dst = gamespy.AppendString(dst, m)
	}
	return endPush(dst, start)
}

// appendIndexed appends a flattened column name, such as player_3.
func appendIndexed(dst []byte, column string, row int) []byte {
	return append(strconv.AppendInt(append(dst, column...), int64(row), 10), 0)
}
