package nwn

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Bounds of messages.
const (
	// MaxPacket is the length of the longest packet that a master reads, in bytes.
	MaxPacket = 2048
	// MaxText is the length of the longest text, in bytes.
	MaxText = 64
	// MaxKeys is the number of keys in a BMAU.
	MaxKeys = 8
)

// ErrMalformed reports a message that cannot be read.
var ErrMalformed = errors.New("malformed message")

// Kind is the letters of a message.
type Kind string

// The kinds.
const (
	Status        Kind = "BMST"
	StatusAnswer  Kind = "BMSR"
	Start         Kind = "BMSU"
	Module        Kind = "BMMO"
	Heartbeat     Kind = "BMHB"
	Leave         Kind = "BMDC"
	Account       Kind = "BMPA"
	AccountAnswer Kind = "BMPR"
	Keys          Kind = "BMAU"
	KeysAnswer    Kind = "BMAR"
	Motd          Kind = "BMMA"
	MotdAnswer    Kind = "BMMB"
	Version       Kind = "BMRA"
	VersionAnswer Kind = "BMRB"
	NewAccount    Kind = "BMCA"
	FriendsAnswer Kind = "BMBF"
	AskRules      Kind = "BNXI"
	RulesAnswer   Kind = "BNXR"
	AskName       Kind = "BNES"
	NameAnswer    Kind = "BNER"
)

// kinds are those that a master or a browser takes.
var kinds = map[string]Kind{
	"BMST": Status, "BMSU": Start, "BMMO": Module, "BMHB": Heartbeat, "BMDC": Leave, "BMPA": Account, "BMAU": Keys, "BMMA": Motd,
	"BMRA": Version, "BMCA": NewAccount, "BMSR": StatusAnswer, "BMPR": AccountAnswer, "BMAR": KeysAnswer, "BMMB": MotdAnswer,
	"BMRB": VersionAnswer, "BNXI": AskRules, "BNXR": RulesAnswer, "BNES": AskName, "BNER": NameAnswer,
	"BMBI": Friends, "BMBA": Friends, "BMBC": Friends, "BMFG": Friends, "BMBE": Friends,
}

// Friends are all kinds about friends.
const Friends Kind = "friends"

// LettersLen is the length of the letters of every message.
const LettersLen = 4

// Cut returns the kind of a message and its data. ok is false for messages that are
// unknown.
func Cut(p []byte) (k Kind, rest []byte, ok bool) {
	if len(p) < LettersLen {
		return "", nil, false
	}
	k, ok = kinds[string(p[:LettersLen])]
	return k, p[LettersLen:], ok
}

// reader reads data from its front. After the first mistake all values are zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.rest) < n {
		r.bad = true
		return make([]byte, min(n, 4))
	}
	var b []byte
	b, r.rest = r.rest[:n], r.rest[n:]
	return b
}

func (r *reader) uint8() byte    { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }

// text reads a text, a part of the packet.
func (r *reader) text() []byte {
	n := int(r.uint16())
	if n > MaxText || n > len(r.rest) {
		r.bad = true
	}
	if r.bad {
		return nil
	}
	return r.take(n)
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
}

func appendPort(b []byte, k Kind, port uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(b, k...), port)
}

// AppendStatus appends a BMST.
func AppendStatus(b []byte, port uint16) []byte { return appendPort(b, Status, port) }

// AppendStatusAnswer appends a BMSR for a server of Neverwinter Nights or its successor.
func AppendStatusAnswer(b []byte, second bool) []byte {
	if second {
		return binary.LittleEndian.AppendUint32(append(b, StatusAnswer...), 0x40)
	}
	return append(append(b, StatusAnswer...), 0, 0)
}

// AppendModule appends a BMMO.
func AppendModule(b []byte, expansions byte, module string) []byte {
	return appendText(append(append(b, Module...), expansions), module)
}

// AppendHeartbeat appends a BMHB without players.
func AppendHeartbeat(b []byte) []byte { return append(b, Heartbeat...) }

// AppendStop appends a BMDC of a server that stops.
func AppendStop(b []byte, port uint16) []byte { return append(appendPort(b, Leave, port), 0, 0) }

// Stops reports whether the data of a BMDC is that of a server that stops.
func Stops(rest []byte) bool {
	r := reader{rest: rest}
	r.uint16()
	return r.uint16() == 0 && !r.bad
}

// AppendMotd appends a BMMA.
func AppendMotd(b []byte, port uint16) []byte { return append(appendPort(b, Motd, port), 0, 0) }

// AppendVersion appends a BMRA.
func AppendVersion(b []byte, port uint16) []byte {
	return append(appendPort(b, Version, port), 0, 0, 0)
}

// AppendTextAnswer appends a BMMB or BMRB.
func AppendTextAnswer(b []byte, k Kind, text string) []byte { return appendText(append(b, k...), text) }

// AppendNoFriends appends a list of friends without any.
func AppendNoFriends(b []byte) []byte { return append(append(b, FriendsAnswer...), 0, 0, 0, 0) }

// AccountCheck is a BMPA. The slices are parts of the packet.
type AccountCheck struct {
	Port                uint16
	Salt, Account, Hash []byte
	Language            uint16
	Platform            byte // W, L or M
	Role                byte // from a server: 0 player, 1 game master; from a player: 2, 3
}

// ParseAccount parses the data of a BMPA.
func ParseAccount(rest []byte) (AccountCheck, error) {
	r := reader{rest: rest}
	c := AccountCheck{Port: r.uint16(), Salt: r.text(), Account: r.text(), Hash: r.text(), Language: r.uint16(), Platform: r.uint8(), Role: r.uint8()}
	if r.bad || len(c.Account) == 0 {
		return AccountCheck{}, ErrMalformed
	}
	return c, nil
}

// AppendTo appends the message.
func (c AccountCheck) AppendTo(b []byte) []byte {
	b = appendText(appendText(appendText(appendPort(b, Account, c.Port), c.Salt), c.Account), c.Hash)
	return append(binary.LittleEndian.AppendUint16(b, c.Language), c.Platform, c.Role)
}

// Result is the result of a check.
type Result uint16

// The results. Neverwinter Nights 2 has one for each reason.
const (
	Good        Result = 0
	Bad         Result = 1
	BadPassword Result = 3
	BannedHere  Result = 0x0A
)

// AppendAccountAnswer appends a BMPR.
func AppendAccountAnswer(b, account []byte, result Result) []byte {
	return binary.LittleEndian.AppendUint16(appendText(append(b, AccountAnswer...), account), uint16(result))
}

// ParseAccountAnswer parses the data of a BMPR.
func ParseAccountAnswer(rest []byte) (account []byte, result Result, err error) {
	r := reader{rest: rest}
	if account, result = r.text(), Result(r.uint16()); r.bad {
		return nil, 0, ErrMalformed
	}
	return account, result, nil
}

// Key is a key of a player in a BMAU.
type Key struct{ Public, Hash []byte }

// KeyCheck is a BMAU. The slices are parts of the packet.
type KeyCheck struct {
	Port    uint16
	Player  netip.AddrPort
	Salt    []byte
	Keys    []Key // at most MaxKeys
	Account []byte
}

// ParseKeys parses the data of a BMAU.
func ParseKeys(rest []byte) (KeyCheck, error) {
	r := reader{rest: rest}
	c := KeyCheck{Port: r.uint16()}
	r.uint16() // 1
	ip := netip.AddrFrom4([4]byte(r.take(4)))
	c.Player = netip.AddrPortFrom(ip, r.uint16())
	c.Salt = r.text()
	n := int(r.uint16())
	if n > MaxKeys {
		return KeyCheck{}, ErrMalformed
	}
	for range n {
		c.Keys = append(c.Keys, Key{r.text(), r.text()})
	}
	if c.Account = r.text(); r.bad {
		return KeyCheck{}, ErrMalformed
	}
	return c, nil
}

// AppendTo appends the message.
func (c KeyCheck) AppendTo(b []byte) []byte {
	ip := c.Player.Addr().As4()
	b = append(binary.LittleEndian.AppendUint16(appendPort(b, Keys, c.Port), 1), ip[:]...)
	b = appendText(binary.LittleEndian.AppendUint16(b, c.Player.Port()), c.Salt)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(c.Keys)))
	for _, k := range c.Keys {
		b = appendText(appendText(b, k.Public), k.Hash)
	}
	return appendText(b, c.Account)
}

// AppendKeysAnswer appends a BMAR that says the same about all keys. They are those of
// the game, its first expansion and so on, in their order.
func (c KeyCheck) AppendKeysAnswer(b []byte, result Result) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, KeysAnswer...), uint16(len(c.Keys)))
	for i, k := range c.Keys {
		b = binary.LittleEndian.AppendUint16(appendText(b, k.Public), uint16(result))
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
	}
	return b
}

// KeyResult is the verdict of a BMAR on a key.
type KeyResult struct {
	Public  []byte
	Result  Result
	Product uint16
}

// ParseKeysAnswer parses the data of a BMAR.
func ParseKeysAnswer(rest []byte) (list []KeyResult, err error) {
	r := reader{rest: rest}
	n := int(r.uint16())
	if n > MaxKeys {
		return nil, ErrMalformed
	}
	for range n {
		list = append(list, KeyResult{r.text(), Result(r.uint16()), r.uint16()})
	}
	if r.bad {
		return nil, ErrMalformed
	}
	return list, nil
}
