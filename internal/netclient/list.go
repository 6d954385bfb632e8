package netclient

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"time"
)

// Part is what a packet is of a list.
type Part uint8

// The parts.
const (
	NoPart   Part = iota // another message, which is passed over
	SomePart             // servers
	LastPart             // servers, and the mark that no packet follows
)

// List is how the packets of a list of servers are read.
type List struct {
	// Parse appends the servers of a packet to a list.
	Parse func(list []netip.AddrPort, packet []byte) ([]netip.AddrPort, Part, error)
	// Max bounds the servers and the packets of a list; 0: no bound.
	Max int
	// Linger is how long further packets are awaited after each one, marked as the last
	// or not: packets may overtake each other, some masters mark all of them, and others
	// none. 0: the list ends with its mark.
	Linger time.Duration
}

// Read sends a request and reads the packets of the list that answers it. The error is
// ErrTooLong for a list beyond Max. The servers that were read are returned with an error
// too.
func (l *List) Read(ctx context.Context, p *Packets, request []byte) (list []netip.AddrPort, err error) {
	if err := p.Send(request); err != nil {
		return nil, err
	}
	left, begun := l.Max, false
	accept := func(b []byte, _ netip.AddrPort) (bool, error) {
		before := len(list)
		var part Part
		if list, part, err = l.Parse(list, b); err != nil {
			return false, err
		}
		if left -= max(len(list)-before, 1); l.Max > 0 && left < 0 {
			list = list[:min(len(list), l.Max)]
			return false, ErrTooLong
		}
		begun = begun || part != NoPart
		return part == LastPart || part == SomePart && l.Linger > 0, nil
	}
	err = p.Await(ctx, accept)
	for err == nil && l.Linger > 0 {
		err = p.Await(Bound(ctx, l.Linger), accept)
	}
	end, bounded := ctx.Deadline()
	if begun && l.Linger > 0 && errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil && (!bounded || time.Now().Before(end)) {
		err = nil // silence ends the list, if there was time for it
	}
	return list, err
}
