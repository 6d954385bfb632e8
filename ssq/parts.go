package ssq

import (
	"net/netip"
	"sync"
	"time"

	wire "github.com/respawnd/respawnd/internal/ssq"
)

// Bounds of questions that come in several packets. Few clients send any: the
// longest question fits one.
const (
	maxPartial  = 64 // incomplete questions; beyond it the oldest is dropped
	partialTime = 5 * time.Second
)

// partial is a question of which packets are missing.
type partial struct {
	from     netip.AddrPort
	id       byte
	begun    time.Time // zero: the place is free
	received int       // bytes, headers and repeated packets included
	assembly wire.Assembly
}

// partials holds questions of which packets are missing. The zero value is ready.
type partials struct {
	mu    sync.Mutex // guards the fields below
	table [maxPartial]partial
}

// add adds a packet. When the question is whole it returns its text and the
// number of bytes received for it, and removes it; else text is nil. dropped
// reports whether data was discarded: this packet and earlier ones of the
// question, or older questions.
func (p *partials) add(from netip.AddrPort, h wire.Header, packet []byte, now time.Time) (text []byte, received int, dropped drop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forget(now) {
		dropped = dropParts
	}
	q := p.find(from, h.ID)
	if q.from != from || q.id != h.ID || q.begun.IsZero() {
		if !q.begun.IsZero() {
			dropped = dropParts
		}
		*q = partial{from: from, id: h.ID, begun: now}
	}
	q.received += len(packet)
	whole, err := q.assembly.Add(packet)
	switch {
	case q.received > wire.MaxQuery+wire.MaxPackets*wire.HeaderLen:
		*q = partial{}
		return nil, 0, dropOversized
	case err != nil:
		*q = partial{}
		return nil, 0, dropMalformed
	case !whole:
		return nil, 0, dropped
	}
	text, received = q.assembly.Answer(), q.received
	*q = partial{}
	return text, received, dropped
}

// forget removes expired questions, and reports whether there were any.
func (p *partials) forget(now time.Time) (some bool) {
	for i := range p.table {
		if q := &p.table[i]; !q.begun.IsZero() && now.Sub(q.begun) >= partialTime {
			*q, some = partial{}, true
		}
	}
	return some
}

// find returns the place of a question, else a free one, else that of the
// question that began first.
func (p *partials) find(from netip.AddrPort, id byte) *partial {
	place := &p.table[0]
	for i := range p.table {
		switch q := &p.table[i]; {
		case !q.begun.IsZero() && q.from == from && q.id == id:
			return q
		case q.begun.Before(place.begun):
			place = q
		}
	}
	return place
}
