package nettest

import (
	"net/netip"
	"sync"
)

// Recorder keeps the packets that a service sends, for tests that check them afterwards. The
// zero value works. Its methods may be called concurrently.
type Recorder[T any] struct {
	mu   sync.Mutex // guards kept
	kept []T
}

// Keep adds a value.
func (r *Recorder[T]) Keep(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, v)
}

// Take returns the values kept since the last call.
func (r *Recorder[T]) Take() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept
	r.kept = nil
	return kept
}

// Discard is a netserve.PacketWriter that sends nothing.
type Discard struct{}

// WritePacket implements netserve.PacketWriter.
func (Discard) WritePacket([]byte, netip.Addr, netip.AddrPort) error { return nil }
