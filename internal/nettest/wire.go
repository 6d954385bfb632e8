package nettest

import (
	"net/netip"
	"slices"
	"sync"
)

// Sent is a packet that a service sent.
type Sent struct {
	Data []byte
	From netip.Addr // address of the service; zero: the system chooses
	To   netip.AddrPort
}

// Wire is a netserve.PacketWriter that keeps what is sent. The zero value works.
// All methods may be called concurrently.
type Wire struct {
	mu   sync.Mutex // guards sent
	sent []Sent
}

// WritePacket implements netserve.PacketWriter.
func (w *Wire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, Sent{slices.Clone(data), from, to})
	return nil
}

// Take returns what was sent since the last call.
func (w *Wire) Take() []Sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// Discard is a netserve.PacketWriter that sends nothing.
type Discard struct{}

// WritePacket implements netserve.PacketWriter.
func (Discard) WritePacket([]byte, netip.Addr, netip.AddrPort) error { return nil }
