package peerchat

// challengeLen is the length of the two random strings of reply 705. Clients use
// the length they get, but no server has ever sent another one.
const challengeLen = 16

// cipher deciphers or enciphers one direction of a connection. It is a stream: the
// state after a line is where the next one starts. A copy continues on its own.
type cipher struct {
	state [256]byte
	x, y  byte
}

// newCipher returns the cipher of one direction: from its challenge, which reply
// 705 carries, and the secret key of the game. Neither need be of any length; an
// empty secret leaves the challenge as the key.
func newCipher(challenge, secret string) cipher {
	key := []byte(challenge)
	if secret != "" {
		for i := range key {
			key[i] ^= secret[i%len(secret)]
		}
	}
	var c cipher
	for i := range c.state {
		c.state[i] = byte(255 - i)
	}
	var j byte
	for i := range c.state {
		j += c.state[i]
		if len(key) > 0 {
			j += key[i%len(key)]
		}
		c.state[i], c.state[j] = c.state[j], c.state[i]
	}
	return c
}

// apply deciphers b, or enciphers it: both are the same.
func (c *cipher) apply(b []byte) {
	s, x, y := &c.state, c.x, c.y
	for i := range b {
		x++
		p := s[x]
		y += p
		q := s[y]
		s[x], s[y] = q, p
		b[i] ^= s[p+q]
	}
	c.x, c.y = x, y
}
