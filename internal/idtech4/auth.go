package idtech4

import (
	"crypto/md5"
	"encoding/binary"
	"net/netip"
)

// MaxGUID is the length of the longest name of a player for servers, in bytes.
const MaxGUID = 11

// maxKey is the length of the longest key, in bytes.
const maxKey = 64

// Keys is a clAuth or gameAuth: the keys of a player, parts of the packet.
type Keys struct {
	Game     bool // gameAuth
	Protocol Protocol
	Server   netip.AddrPort // of clAuth: to join
	Flag     byte           // of clAuth: the player has a GUID; of gameAuth: a key
	Key      []byte
	HasXP    byte
	XP       []byte // key of the expansion
}

// ParseKeys parses the data of a clAuth, or of a gameAuth.
func ParseKeys(rest []byte, game bool) (Keys, error) {
	r := reader{rest: rest}
	k := Keys{Game: game, Protocol: Protocol(r.uint32())}
	if !game {
		k.Server = r.address()
	}
	k.Flag, k.Key, k.HasXP = r.uint8(), r.text(maxKey), r.uint8()
	if game || len(r.rest) > 0 {
		k.XP = r.text(maxKey)
	}
	if r.bad {
		return Keys{}, ErrMalformed
	}
	return k, nil
}

// AppendTo appends the message. Of a clAuth an empty XP is left out.
func (k Keys) AppendTo(b []byte) []byte {
	kind := KindClAuth
	if k.Game {
		kind = KindGameAuth
	}
	b = binary.LittleEndian.AppendUint32(begin(b, kind), uint32(k.Protocol))
	if !k.Game {
		b = appendAddress(b, k.Server)
	}
	b = append(appendText(append(b, k.Flag), k.Key), k.HasXP)
	if k.Game || len(k.XP) > 0 {
		b = appendText(b, k.XP)
	}
	return b
}

// guidLetters are those of GUIDs: 64, so that each holds six bits.
const guidLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// GUIDOf returns the GUID of a key, MaxGUID letters of its MD5: the same for the same
// key.
func GUIDOf(key []byte) string {
	sum := md5.Sum(key)
	n := binary.LittleEndian.Uint64(sum[:])
	var g [MaxGUID]byte
	for i := range g {
		g[i] = guidLetters[n%64]
		n /= 64
	}
	return string(g[:])
}

// keyGood begins an authKey of a good key. Others wipe the key that the player typed.
const keyGood = 1

// AppendAuthKey appends the answer to good keys.
func AppendAuthKey(b []byte, guid string) []byte {
	return appendText(append(begin(b, KindAuthKey), keyGood), []byte(guid))
}

// ParseAuthKey parses the data of an authKey; ok is false for a bad key.
func ParseAuthKey(rest []byte) (guid []byte, ok bool, err error) {
	r := reader{rest: rest}
	if r.uint8() != keyGood {
		if r.bad {
			return nil, false, ErrMalformed
		}
		return nil, false, nil
	}
	if guid = r.text(MaxGUID); r.bad {
		return nil, false, ErrMalformed
	}
	return guid, true, nil
}

// early is the client of a check before the player has a number and a GUID.
const early = -1

// Check is a srvAuth: the question of a server whether a player may join.
type Check struct {
	Protocol  Protocol
	Player    netip.AddrPort
	Client    int32
	GUID      []byte // a part of the packet; empty for client -1
	Expansion byte
}

// ParseCheck parses the data of a srvAuth.
func ParseCheck(rest []byte) (Check, error) {
	r := reader{rest: rest}
	c := Check{Protocol: Protocol(r.uint32()), Player: r.address(), Client: int32(r.uint32())}
	if c.Client != early {
		c.GUID = r.text(MaxGUID)
	}
	if len(r.rest) > 0 { // before 1.37 it is missing
		c.Expansion = r.uint8()
	}
	if r.bad {
		return Check{}, ErrMalformed
	}
	return c, nil
}

// AppendTo appends the question.
func (c Check) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(begin(b, KindSrvAuth), uint32(c.Protocol))
	b = binary.LittleEndian.AppendUint32(appendAddress(b, c.Player), uint32(c.Client))
	if c.Client != early {
		b = appendText(b, c.GUID)
	}
	return append(b, c.Expansion)
}

// Reply is the verdict of an auth message on a player.
type Reply byte

// The replies.
const (
	Accepted Reply = 1
	Denied   Reply = 3
)

// messageDenied is the reason of Denied that games have a text for.
const messageDenied = 2

// Verdict is an auth.
type Verdict struct {
	Reply  Reply
	Client int16
	Player netip.AddrPort
	GUID   []byte
}

// AppendTo appends the verdict.
func (v Verdict) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(append(begin(b, KindAuth), byte(v.Reply)), uint16(v.Client))
	b = appendText(appendAddress(b, v.Player), v.GUID)
	if v.Reply != Accepted {
		b = append(b, messageDenied)
	}
	return b
}

// ParseVerdict parses the data of an auth.
func ParseVerdict(rest []byte) (Verdict, error) {
	r := reader{rest: rest}
	v := Verdict{Reply: Reply(r.uint8()), Client: int16(r.uint16()), Player: r.address(), GUID: r.text(MaxGUID)}
	if v.Reply != Accepted {
		r.uint8()
	}
	if r.bad {
		return Verdict{}, ErrMalformed
	}
	return v, nil
}
