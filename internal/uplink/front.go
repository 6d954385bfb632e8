package uplink

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Handler handles a datagram that came to a further port of the protocol, 0: to the first.
// It touches memory only, and returns why the datagram was dropped, if it was.
type Handler func(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) Drop

// Front passes the datagrams of one port to a master, and explains those that are dropped.
// It implements netserve.PacketHandler.
type Front struct {
	keeper *Keeper
	handle Handler
	port   uint16
}

// Front returns the Front of a master for the first port of its protocol.
func (k *Keeper) Front(h Handler) Front { return Front{keeper: k, handle: h} }

// At returns the Front for a further port.
func (f Front) At(port uint16) Front {
	f.port = port
	return f
}

// ServePacket handles one datagram.
func (f Front) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := f.Handle(w, p, time.Now()); reason != NotDropped {
		f.keeper.Dropped(p, reason)
	}
}

// Handle handles one datagram, and returns why it was dropped, if it was: as soon as its length or
// its source cannot be.
func (f Front) Handle(w netserve.PacketWriter, p netserve.Packet, now time.Time) Drop {
	if reason := Refuses(p.From, len(p.Data), f.keeper.opt.MaxPacket); reason != NotDropped {
		return reason
	}
	return f.handle(w, p, f.port, now)
}

// Serve takes packets from conn, and from further sockets with the port of the protocol
// that each stands for, until ctx ends. The sockets stay open and belong to the caller.
// Servers that the list has from before the start are asked at once.
func (f Front) Serve(ctx context.Context, o netserve.PacketOptions, conn *netserve.PacketConn, further ...netserve.Further) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range append([]netserve.Further{{Conn: conn}}, further...) {
		g.Go(func() error { return netserve.ServePackets(ctx, s.Conn, f.At(s.Port), o) })
	}
	g.Go(func() error { f.keeper.Run(ctx, conn, further...); return nil })
	return g.Wait()
}
