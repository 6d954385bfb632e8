package unproved

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/maphash"
	"net/netip"
	"time"
)

// Slot is how long a host gets the same challenge. It must be no shorter than
// the time that a service waits for an answer.
const Slot = time.Minute

// counters is the number of counters of used challenges. Hosts that share one
// get another challenge when one of them has used its own.
const counters = 4096

// Challenges makes challenges that cannot be guessed. A challenge is a keyed
// MAC over the source, data of the caller and the time slot, so a host that is
// challenged again gets the same one, even if the service forgot it in between.
// The key is random, made by NewChallenges and never stored.
//
// It is not safe for concurrent use.
type Challenges struct {
	mac   hash.Hash // reset before use, which is cheaper than a new one
	start time.Time
	seed  maphash.Seed
	used  [counters]uint32

	fixed [30]byte          // memory of at
	sum   [sha256.Size]byte // the same
}

// NewChallenges returns Challenges with a key of their own.
func NewChallenges() *Challenges {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never returns an error
	return &Challenges{mac: hmac.New(sha256.New, key[:]), start: time.Now(), seed: maphash.MakeSeed()}
}

// Current returns the challenge of a host in the slot of now. about
// distinguishes hosts with the same source.
func (c *Challenges) Current(source netip.AddrPort, about []byte, now time.Time) uint64 {
	return c.at(source, about, c.slot(now))
}

// Last returns the challenge that Current returned in the slot before.
func (c *Challenges) Last(source netip.AddrPort, about []byte, now time.Time) uint64 {
	return c.at(source, about, c.slot(now)-1)
}

func (c *Challenges) slot(now time.Time) int64 { return int64(now.Sub(c.start) / Slot) }

// Use invalidates the challenges of a host, after they were answered or guessed
// at too often.
func (c *Challenges) Use(source netip.AddrPort, about []byte) { *c.count(source, about)++ }

func (c *Challenges) count(source netip.AddrPort, about []byte) *uint32 {
	return &c.used[(maphash.Comparable(c.seed, source)^maphash.Bytes(c.seed, about))%counters]
}

// at returns the challenge of a slot. All parts but the last have a fixed length,
// so no two challenges are made from the same bytes.
func (c *Challenges) at(source netip.AddrPort, about []byte, slot int64) uint64 {
	ip := source.Addr().As16()
	fixed := c.fixed[:]
	copy(fixed, ip[:])
	binary.BigEndian.PutUint16(fixed[16:], source.Port())
	binary.BigEndian.PutUint64(fixed[18:], uint64(slot))
	binary.BigEndian.PutUint32(fixed[26:], *c.count(source, about))
	c.mac.Reset()
	_, _ = c.mac.Write(fixed) // never returns an error
	_, _ = c.mac.Write(about)
	return binary.BigEndian.Uint64(c.mac.Sum(c.sum[:0]))
}
