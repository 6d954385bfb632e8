package netserve

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/rs/zerolog"
)

// MaxForward is the length in bytes of the longest datagram that ForwardPackets sends
// on: more than any network of players carries in one piece.
const MaxForward = 2048

// Reasons for which ForwardPackets drops datagrams, see Metrics.Drop.
const (
	dropTooLong = "too_long" // more than MaxForward
	dropFull    = "send_full"
)

// ForwardReasons returns the reasons for which ForwardPackets drops datagrams, for
// NewMetrics.
func ForwardReasons() []string {
	return []string{dropReadError, dropWriteError, dropTooLong, dropFull}
}

// Router decides what happens to the datagrams of ForwardPackets.
type Router interface {
	// Route returns where p is sent on; ok is false for one that is dropped, which
	// the Router counts. It must not keep p.Data and must not block.
	Route(p Packet) (to netip.AddrPort, ok bool)
}

// safeRouter is a Router a panic in which only loses that packet.
type safeRouter struct {
	Router
	panics *panicLog
}

// Route implements Router.
func (r safeRouter) Route(p Packet) (to netip.AddrPort, ok bool) {
	defer r.panics.contain("packet")
	return r.Router.Route(p)
}

// ForwardOptions control ForwardPackets.
type ForwardOptions struct {
	Log     zerolog.Logger
	Metrics *Metrics // nil: nothing is counted
}

// ForwardPackets sends the datagrams that come to in on from out, unchanged and in
// their order, to where r says, until ctx ends; it then returns nil. Unlike
// ServePackets it holds no memory while nothing comes, so that there can be many. A
// datagram that out cannot send at once is dropped. Errors of single datagrams are
// counted; an error of in itself ends it and is returned. Both stay open and belong to
// the caller.
func ForwardPackets(ctx context.Context, in, out *PacketConn, r Router, opt ForwardOptions) error {
	f, err := newForwarder(in.sockets[0], out.sockets[0], safeRouter{r, newPanicLog(opt.Log, opt.Metrics)}, opt.Metrics)
	if err == nil {
		err = in.setReadDeadline(time.Time{})
	}
	if err != nil {
		return fmt.Errorf("forward packets of %s: %w", in.local, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = in.setReadDeadline(time.Unix(1, 0)) })
	defer stop()
	pause := backoff{free: readErrorsFree, first: readPauseFirst, most: readPauseMost}
	trouble := throttledLog{log: opt.Log}
	for {
		err := f.step()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			pause.reset()
			continue
		case !isTransient(err):
			return fmt.Errorf("forward packets of %s: %w", in.local, err)
		}
		opt.Metrics.Drop(dropReadError)
		trouble.warn(time.Now(), err, "reading packets has trouble")
		if !pause.wait(ctx) {
			return nil
		}
	}
}
