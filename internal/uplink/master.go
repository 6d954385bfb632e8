package uplink

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
)

// Options configure a Master. Registry and Games are required.
type Options struct {
	Dialect
	part.Registration

	Readers   int      // goroutines that read each socket
	MaxPacket int      // length of the longest packet that is handled
	Handle    Handler  // of the packets
	List      ListForm // of the lists for browsers; without an Entry there are none
	Posts     *Posts   // from which servers are asked; none: from where their heartbeat came to
}

// Master is what all masters of this kind are: a Front for the sockets, a Keeper of the servers, and a
// Lister for browsers. A protocol embeds one and handles the packets.
type Master struct {
	Front
	*Keeper
	Lister *Lister // nil if there are no lists

	readers        int
	lists, packets prometheus.Counter
}

// New returns a Master. Nothing runs until Serve is called; Reload must be called first.
func New(o Options) Master {
	k := NewKeeper(o)
	m := Master{Front: k.Front(o.Handle), Keeper: k, readers: o.Readers}
	if o.List.Entry != nil {
		m.Lister = NewLister(o.Registry, o.List)
		in, prefix := metric.With(o.Registerer), "respawnd_"+o.Service+"_"
		m.lists = in.Counter(prefix+"lists_total", "Lists that were sent.")
		m.packets = in.Counter(prefix+"list_packets_total", "Packets of the lists that were sent.")
		in.GaugeFunc(prefix+"cached_lists", "Lists that are kept encoded.", m.Lister.Cached)
	}
	return m
}

// Origin returns the origin of the servers that register here.
func (m *Master) Origin() *master.Origin { return m.opt.Origin }

// Serve takes packets from conn and further sockets until ctx ends, as Front does.
func (m *Master) Serve(ctx context.Context, conn *netserve.PacketConn, further ...netserve.Further) error {
	return m.Front.Serve(ctx, m.opt.Packets(m.readers), conn, further...)
}

// SendList sends the packets of a list to who asked with p, and counts it.
func (m *Master) SendList(w netserve.PacketWriter, p netserve.Packet, packets ...[]byte) {
	for _, b := range packets {
		m.Send(w, b, p.To, p.From)
	}
	m.lists.Inc()
	m.packets.Add(float64(len(packets)))
}

// Files implements service.Running.Files.
func (m *Master) Files(put func(name string, content []byte)) {
	if m.Lister != nil {
		m.Lister.Files(m.opt.Service, m.opt.Addresses.Outside(), put)
	}
}
