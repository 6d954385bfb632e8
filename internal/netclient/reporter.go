package netclient

import (
	"context"
	"net/netip"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/wake"
)

// Reporter is a game server that reports to a master and answers questions from any
// address. Serve must run while Report waits.
type Reporter struct {
	*Packets

	asked chan struct{}
	gone  atomic.Bool
}

// NewReporter returns a Reporter with a socket.
func NewReporter(p *Packets) *Reporter { return &Reporter{Packets: p, asked: make(chan struct{}, 1)} }

// Serve calls take with each packet, until the socket is closed; from the goodbye on with
// none.
func (r *Reporter) Serve(take func(p []byte, from netip.AddrPort)) {
	r.Packets.Serve(func(p []byte, from netip.AddrPort) {
		if !r.gone.Load() {
			take(p, from)
		}
	})
}

// Asked notes that the master asked.
func (r *Reporter) Asked() { wake.Up(r.asked) }

// Report sends a report and waits until the master has asked.
func (r *Reporter) Report(ctx context.Context, b []byte) error {
	select {
	case <-r.asked: // after an earlier report
	default:
	}
	if err := r.Send(b); err != nil {
		return err
	}
	_, err := Wait(ctx, r.asked)
	return err
}

// Leave sends a last report and answers nothing from now on, as a server does that stops.
func (r *Reporter) Leave(b []byte) error {
	r.gone.Store(true)
	return r.Send(b)
}
