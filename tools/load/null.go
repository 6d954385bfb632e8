package main

import (
	"context"
	"encoding/binary"
	"net/netip"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/qr2"
)

// null is a bare server for game servers: it reads and sends the packets that the
// master does, with the same batches, and keeps nothing.
type null struct{ challenge [nullChallenge]byte }

const (
	// nullStart begins a heartbeat of a new server, in the place of the kind of a
	// packet. The null server cannot know it otherwise.
	nullStart qr2.Kind = 0xFF
	// nullChallenge is how long the text of a challenge is, with its NUL.
	nullChallenge = 21
)

func newNull() *null {
	n := &null{}
	for i := range n.challenge[:nullChallenge-1] {
		n.challenge[i] = 'a' + byte(i)
	}
	return n
}

// serve answers until ctx ends.
func (n *null) serve(ctx context.Context, pc *netserve.PacketConn) {
	_ = netserve.ServePackets(ctx, pc, n, netserve.PacketOptions{Log: zerolog.Nop()}) // a measurement notices its end
}

// ServePacket implements netserve.PacketHandler.
func (n *null) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	const header = 5 // kind and instance key
	if len(p.Data) < header {
		return
	}
	kind, body := qr2.Kind(p.Data[0]), []byte(nil)
	switch kind {
	case nullStart:
		kind, body = qr2.KindChallenge, n.challenge[:]
	case qr2.KindChallenge:
		kind = qr2.KindRegistered
	case qr2.KindKeepalive:
	default:
		return
	}
	var buf [7 + nullChallenge]byte
	out := append(buf[:0], 0xFE, 0xFD, byte(kind))
	out = binary.BigEndian.AppendUint32(out, binary.BigEndian.Uint32(p.Data[1:]))
	_ = w.WritePacket(append(out, body...), netip.Addr{}, p.From) // a lost answer, as elsewhere
}
