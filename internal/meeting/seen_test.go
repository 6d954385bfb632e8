package meeting

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

func TestSightings(t *testing.T) {
	var s Sightings
	now := time.Unix(1_800_000_000, 0)
	a := netip.MustParseAddr("192.0.2.1")
	if got, ok := s.Of(a, now); ok {
		t.Errorf("of no one: %v", got)
	}
	s.See(a, Unknown, now)
	if got, ok := s.Of(a, now); !ok || got.Kind != Unknown {
		t.Errorf("an unknown kind: %v, %v", got, ok)
	}
	s.See(a, Symmetric, now)
	s.See(a, Unknown, now.Add(time.Minute))
	if got, ok := s.Of(a, now.Add(time.Minute+keepFor-1)); !ok || got != (Sighting{Symmetric, now.Add(time.Minute)}) {
		t.Errorf("a known kind, then an unknown one: %v, %v", got, ok)
	}
	s.See(a, Cone, now.Add(2*time.Minute))
	if got, _ := s.Of(a, now.Add(2*time.Minute)); got.Kind != Cone {
		t.Errorf("another kind: %v", got)
	}
	later := now.Add(2*time.Minute + keepFor)
	if got, ok := s.Of(a, later); ok {
		t.Errorf("after an hour: %v", got)
	}
	s.See(a, Unknown, later)
	if got, ok := s.Of(a, later); !ok || got.Kind != Unknown {
		t.Errorf("an hour later, unknown: %v, %v", got, ok)
	}
}

func TestSightingsBound(t *testing.T) {
	var s Sightings
	now := time.Unix(1_800_000_000, 0)
	at := func(i int) netip.Addr {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(i))))
	}
	for i := range maxSeen + 2 {
		s.See(at(i), Cone, now)
		if want := min(i+1, maxSeen); s.Len() != want {
			t.Fatalf("after %d: %d are kept, want %d", i+1, s.Len(), want)
		}
	}
	for i, want := range map[int]bool{0: false, 1: false, 2: true, maxSeen - 1: true, maxSeen + 1: true} {
		if _, ok := s.Of(at(i), now); ok != want {
			t.Errorf("address %d: kept %v, want %v", i, ok, want)
		}
	}
}
