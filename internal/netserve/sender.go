package netserve

import (
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// AddrSet reports whether an address belongs to a set, such as the banned ones;
// nil: the empty set. It may be called concurrently and must not block.
type AddrSet func(netip.Addr) bool

// Has reports whether an address belongs to the set.
func (s AddrSet) Has(a netip.Addr) bool { return s != nil && s(a) }

// Sender sends packets that may be lost: those that the system does not accept
// are counted and logged.
type Sender struct {
	Log    zerolog.Logger
	Errors prometheus.Counter
}

// Send sends b through w, from and to as PacketWriter describes.
func (s *Sender) Send(w PacketWriter, b []byte, from netip.Addr, to netip.AddrPort) {
	if err := w.WritePacket(b, from, to); err != nil {
		s.Errors.Inc()
		s.Log.Debug().Stringer("peer", to).Err(err).Msg("packet not sent")
	}
}
