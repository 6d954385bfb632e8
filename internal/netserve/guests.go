package netserve

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Guests are protocols of other services whose datagrams come to the socket of one service,
// because clients expect both at the same port. It is safe for concurrent use; the zero
// value and nil have none.
type Guests struct {
	mu   sync.Mutex // one at a time changes the list
	list atomic.Pointer[[]guest]
}

type guest struct {
	takes func(p []byte) bool
	PacketHandler
}

// Add hands over the datagrams of which takes says, by their bytes, that they are those of a
// protocol. It answers through the socket that they came to.
func (g *Guests) Add(takes func(p []byte) bool, h PacketHandler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []guest
	if old := g.list.Load(); old != nil {
		list = *old
	}
	list = append(slices.Clip(list), guest{takes, h})
	g.list.Store(&list)
}

// Serve hands a datagram to the protocol that it is of, and reports whether there is one.
func (g *Guests) Serve(w PacketWriter, p Packet) bool {
	if g == nil {
		return false
	}
	if list := g.list.Load(); list != nil {
		for _, o := range *list {
			if o.takes(p.Data) {
				o.ServePacket(w, p)
				return true
			}
		}
	}
	return false
}
