package valvemaster

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"time"
)

// slotLength is how long a challenge stays the same for a server whose
// heartbeat has not come; it is valid for one more slot.
const slotLength = 30 * time.Second

// tokens makes challenges that only this server can make.
type tokens struct{ block cipher.Block }

func newTokens() tokens {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never returns an error
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the length of the key is right
	}
	return tokens{block}
}

// token returns the challenge for a server whose n-th heartbeat is awaited. Its
// input fills one block of the cipher, so different inputs give different
// tokens.
//
//	offset size
//	     0    4  address
//	     4    2  port
//	     6    4  heartbeats taken
//	    10    6  slot
func (t tokens) token(a netip.AddrPort, taken uint32, slot uint64) uint32 {
	var in, out [aes.BlockSize]byte
	ip := a.Addr().As4()
	copy(in[:], ip[:])
	binary.BigEndian.PutUint16(in[4:], a.Port())
	binary.BigEndian.PutUint32(in[6:], taken)
	binary.BigEndian.PutUint16(in[10:], uint16(slot>>32))
	binary.BigEndian.PutUint32(in[12:], uint32(slot))
	t.block.Encrypt(out[:], in[:])
	return binary.LittleEndian.Uint32(out[:])
}

func slotOf(now time.Duration) uint64 { return uint64(now / slotLength) }

// valid reports whether got is a challenge for the heartbeat that is awaited,
// of this slot or the one before.
func (t tokens) valid(a netip.AddrPort, taken, got uint32, now time.Duration) bool {
	slot := slotOf(now)
	good := subtle.ConstantTimeEq(int32(got), int32(t.token(a, taken, slot)))
	if slot > 0 {
		good |= subtle.ConstantTimeEq(int32(got), int32(t.token(a, taken, slot-1)))
	}
	return good == 1
}
