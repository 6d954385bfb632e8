package sakefiles

import (
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

const (
	// ProofLife is how long a ticket that a player has shown proves uploads.
	ProofLife = time.Hour
	// maxProofs bounds the proofs in memory.
	maxProofs = 1 << 16
)

// Proofs remembers which profiles have shown a valid ticket from which address. The zero
// value is ready for use. All methods may be called concurrently.
type Proofs struct {
	mu    sync.Mutex // guards the fields below
	until map[proof]time.Time
}

// proof is a profile at an address.
type proof struct {
	profile storage.ProfileID
	from    netip.Addr
}

// Prove notes that a profile has shown a valid ticket from an address. Where too many are
// remembered, any other one is forgotten.
func (p *Proofs) Prove(profile storage.ProfileID, from netip.Addr) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = make(map[proof]time.Time)
	}
	key := proof{profile, from.Unmap()}
	if _, known := p.until[key]; !known && len(p.until) >= maxProofs {
		p.sweep(now)
	}
	p.until[key] = now.Add(ProofLife)
}

// sweep forgets what is over, and one more if that is nothing. p.mu is held.
func (p *Proofs) sweep(now time.Time) {
	for key, until := range p.until {
		if until.Before(now) {
			delete(p.until, key)
		}
	}
	for key := range p.until {
		if len(p.until) < maxProofs {
			return
		}
		delete(p.until, key)
	}
}

// proved reports whether a profile has shown a ticket from an address within ProofLife.
func (p *Proofs) proved(profile storage.ProfileID, from netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.until[proof{profile, from.Unmap()}]
	return ok && time.Now().Before(until)
}
