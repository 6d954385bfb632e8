package sakefiles

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

const (
	// ProofLife is how long a ticket that a player has shown proves uploads.
	ProofLife = time.Hour
	// maxProofs bounds the proofs in memory.
	maxProofs = 1 << 16
	// maxProofTicket is the length of the longest ticket of another node.
	maxProofTicket = 512
)

// Proofs remembers which profiles have shown a valid ticket from which address. The zero
// value is ready for use. All methods may be called concurrently.
type Proofs struct {
	mu    sync.Mutex // guards the fields below
	shown map[proof]shown
	nodes cluster.Notes[proved] // a player may show a ticket to one node and upload to another; set before use
}

// proved is a note that a profile has shown a ticket.
type proved struct {
	Profile storage.ProfileID
	From    netip.Addr
	Ticket  string
}

// shown is the last ticket of a proof.
type shown struct {
	ticket string
	until  time.Time
}

// proof is a profile at an address.
type proof struct {
	profile storage.ProfileID
	from    netip.Addr
}

// Prove notes that a profile has shown a valid ticket from an address. Where too many are
// remembered, any other one is forgotten.
func (p *Proofs) Prove(profile storage.ProfileID, from netip.Addr, ticket string) {
	p.note(profile, from, ticket)
	p.nodes.Tell(proved{profile, from, ticket})
}

// join takes proofs from the other nodes until leave is called.
func (p *Proofs) join() (leave func()) {
	return p.nodes.Listen(func(s proved) {
		if s.Profile != 0 && s.From.IsValid() && s.Ticket != "" && len(s.Ticket) <= maxProofTicket {
			p.note(s.Profile, s.From, s.Ticket)
		}
	})
}

// note is Prove for proofs of other nodes too.
func (p *Proofs) note(profile storage.ProfileID, from netip.Addr, ticket string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown == nil {
		p.shown = make(map[proof]shown)
	}
	key := proof{profile, from.Unmap()}
	old, known := p.shown[key]
	if !known && len(p.shown) >= maxProofs {
		p.sweep(now)
	}
	if old.ticket != ticket {
		old.ticket = strings.Clone(ticket) // it may be a part of a whole request
	}
	p.shown[key] = shown{old.ticket, now.Add(ProofLife)}
}

// sweep removes expired proofs, and another one if there are none. p.mu is held.
func (p *Proofs) sweep(now time.Time) {
	for key, s := range p.shown {
		if s.until.Before(now) {
			delete(p.shown, key)
		}
	}
	for key := range p.shown {
		if len(p.shown) < maxProofs {
			return
		}
		delete(p.shown, key)
	}
}

// ticketOf returns the last ticket that a profile has shown from an address within
// ProofLife, and that may have been revoked since then.
func (p *Proofs) ticketOf(profile storage.ProfileID, from netip.Addr) (ticket string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.shown[proof{profile, from.Unmap()}]
	return s.ticket, ok && time.Now().Before(s.until)
}
