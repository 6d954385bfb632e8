package gamespy

import "math/bits"

// maxDraws is how often a random number above its limit is drawn again before
// it is brought below by division.
const maxDraws = 11

// Cipher is the state of one direction of the list cipher ("enctypeX"): a deck
// of 256 cards and five counters that advance with every byte, depending on the
// byte before and after the cipher. After a lost or wrong byte all that follow
// are wrong. A Cipher is a plain value: copying it forks the stream. It may be
// used by one goroutine at a time. Use [NewCipher]; the zero value is not
// valid.
type Cipher struct {
	cards      [256]byte
	rotor      uint8
	ratchet    uint8
	avalanche  uint8
	lastPlain  uint8
	lastCipher uint8
}

// NewCipher returns the start state for key, of any length. An empty key
// counts as one zero byte.
func NewCipher(key []byte) Cipher {
	if len(key) == 0 {
		key = []byte{0}
	}
	var c Cipher
	for i := range c.cards {
		c.cards[i] = byte(i)
	}
	d := dealer{key: key}
	for i := len(c.cards) - 1; i > 0; i-- {
		j := d.draw(&c.cards, uint8(i))
		c.cards[i], c.cards[j] = c.cards[j], c.cards[i]
	}
	c.rotor = c.cards[1]
	c.ratchet = c.cards[3]
	c.avalanche = c.cards[5]
	c.lastPlain = c.cards[7]
	c.lastCipher = c.cards[d.sum]
	return c
}

// dealer draws the random numbers that shuffle a deck out of its key.
type dealer struct {
	key []byte
	pos int
	sum uint8
}

// draw returns a number from 0 to limit. limit must not be 0.
func (d *dealer) draw(cards *[256]byte, limit uint8) uint8 {
	mask := uint8(1)<<bits.Len8(limit) - 1
	for draws := 1; ; draws++ {
		d.sum = cards[d.sum] + d.key[d.pos]
		if d.pos++; d.pos == len(d.key) {
			d.pos = 0
			d.sum += uint8(len(d.key))
		}
		n := d.sum & mask
		if draws > maxDraws {
			n %= limit
		}
		if n <= limit {
			return n
		}
	}
}

// Encrypt scrambles src into dst and advances the state. Consecutive calls
// continue one stream, wherever it was cut. dst and src must be the same memory
// or not overlap at all. Encrypt panics if dst is shorter than src.
//
// Each byte waits for four table look-ups of which every one needs the result
// of the one before, so their latency is the speed limit. The counters live in
// locals to keep the state's own loads and stores out of that chain; uint8
// indexes into [256]byte need no bounds checks.
func (c *Cipher) Encrypt(dst, src []byte) {
	dst = dst[:len(src):len(dst)]
	cards := &c.cards
	rotor, ratchet, avalanche := c.rotor, c.ratchet, c.avalanche
	lastPlain, lastCipher := c.lastPlain, c.lastCipher
	for i, plain := range src {
		ratchet += cards[rotor]
		rotor++
		card := cards[lastCipher]
		cards[lastCipher] = cards[ratchet]
		cards[ratchet] = cards[lastPlain]
		cards[lastPlain] = cards[rotor]
		cards[rotor] = card
		avalanche += cards[card]

		mask := cards[cards[avalanche]+card] ^
			cards[cards[cards[lastPlain]+cards[lastCipher]+cards[ratchet]]]
		lastPlain = plain
		lastCipher = plain ^ mask
		dst[i] = lastCipher
	}
	c.rotor, c.ratchet, c.avalanche = rotor, ratchet, avalanche
	c.lastPlain, c.lastCipher = lastPlain, lastCipher
}

// Decrypt undoes [Cipher.Encrypt] of a Cipher that started from the same key,
// under the same rules for dst and src. It is written out rather than shared:
// a call or a branch per byte would cost more than the work.
func (c *Cipher) Decrypt(dst, src []byte) {
	dst = dst[:len(src):len(dst)]
	cards := &c.cards
	rotor, ratchet, avalanche := c.rotor, c.ratchet, c.avalanche
	lastPlain, lastCipher := c.lastPlain, c.lastCipher
	for i, cipher := range src {
		ratchet += cards[rotor]
		rotor++
		card := cards[lastCipher]
		cards[lastCipher] = cards[ratchet]
		cards[ratchet] = cards[lastPlain]
		cards[lastPlain] = cards[rotor]
		cards[rotor] = card
		avalanche += cards[card]

		mask := cards[cards[avalanche]+card] ^
			cards[cards[cards[lastPlain]+cards[lastCipher]+cards[ratchet]]]
		lastPlain = cipher ^ mask
		lastCipher = cipher
		dst[i] = lastPlain
	}
	c.rotor, c.ratchet, c.avalanche = rotor, ratchet, avalanche
	c.lastPlain, c.lastCipher = lastPlain, lastCipher
}
