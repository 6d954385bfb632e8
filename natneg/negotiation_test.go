package natneg

import (
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
)

// trial is a negotiation that a test leads through its events.
type trial struct {
	negotiation
	t   *testing.T
	now time.Duration
	effects
}

// hear takes an init of version 3 without a game socket.
func (tr *trial) hear(index byte, t PortType, from string) {
	tr.t.Helper()
	in := Init{PortType: t, Index: index, Local: addrPort(nil)}
	c := call{version: 3, from: endpointOf(netip.MustParseAddrPort(from)), via: via{socket: uint16(t)}, in: &in}
	tr.init(tr.now, &c, &tr.effects)
}

func (tr *trial) hearAll(index byte, from string) {
	for _, t := range []PortType{PortNN1, PortNN2, PortNN3} {
		tr.hear(index, t, from)
	}
}

// pass lets time go by as the wheel does, step by step.
func (tr *trial) pass(d time.Duration) {
	for end := tr.now + d; tr.now < end; {
		tr.now += wheelStep
		if tr.due() <= tr.now {
			tr.advance(tr.now, &tr.effects)
		}
	}
}

// told returns how many connects went to an address since the last call;
// those to others are lost.
func (tr *trial) told(to string) int {
	n := 0
	for _, s := range tr.sends {
		if s.to == endpointOf(netip.MustParseAddrPort(to)) {
			n++
		}
	}
	tr.reset()
	return n
}

func newTrial(t *testing.T) *trial { return &trial{t: t} }

func TestReceiptsFromOtherSockets(t *testing.T) {
	tr := newTrial(t)
	tr.hearAll(0, alice)
	tr.hearAll(1, bob)
	for _, from := range []string{bob, mallory, "203.0.113.1:5001"} {
		e := endpointOf(netip.MustParseAddrPort(from))
		if tr.ack(tr.now, e, 0) || tr.report(tr.now, e, &Report{Index: 0, Result: 1}, &tr.effects) {
			t.Errorf("a receipt or report from %s counted for %s", from, alice)
		}
	}
	e := endpointOf(netip.MustParseAddrPort(alice))
	if !tr.ack(tr.now, e, 0) || !tr.report(tr.now, e, &Report{Index: 0, Result: 1}, &tr.effects) {
		t.Errorf("receipt and report from %s did not count", alice)
	}
}

func TestRepeatedInitEarnsConnect(t *testing.T) {
	tr := newTrial(t)
	tr.hear(0, PortNN1, alice)
	tr.hearAll(1, bob)
	tr.pass(4 * time.Second)
	if got := tr.told(alice); got != 1 {
		t.Fatalf("one packet brought %d connects, want 1", got)
	}
	tr.hear(0, PortNN1, alice)
	if got := tr.told(alice); got != 1 {
		t.Errorf("its second packet brought %d connects at once, want 1", got)
	}
	tr.pass(6 * time.Second)
	tr.told(alice)
	tr.hear(0, PortNN1, alice)
	if got := tr.told(alice); got != 0 {
		t.Errorf("after the partner gave up, a packet brought %d connects, want none", got)
	}
}

func TestRefusalIsRepeated(t *testing.T) {
	for packets, want := range map[int]int{1: 1, 2: 2, 5: 2} {
		tr := newTrial(t)
		for range packets {
			tr.hear(0, PortNN1, alice)
		}
		tr.pass(40 * time.Second)
		if got := tr.told(alice); got != want {
			t.Errorf("%d packets brought %d refusals, want %d", packets, got, want)
		}
		if tr.phase != phaseOver {
			t.Errorf("%d packets: not over", packets)
		}
	}
}

func TestOldSocketShowsNothingOfTheNewOne(t *testing.T) {
	tr := newTrial(t)
	for _, p := range []struct {
		t    PortType
		from string
	}{
		{PortNN1, "203.0.113.1:5000"},
		{PortNN2, "203.0.113.1:5001"},
		{PortNN3, "203.0.113.1:5002"},
		{PortNN1, "203.0.113.1:7000"}, // another socket
	} {
		tr.hear(0, p.t, p.from)
	}
	s := &tr.sides[0]
	if s.complete() || s.nat() != meeting.Unknown || s.expected().port != 7000 {
		t.Errorf("got complete %v, NAT %v, port %d; want not complete, unknown, 7000", s.complete(), s.nat(), s.expected().port)
	}
}

func TestPartnerAfterRefusalWaits(t *testing.T) {
	tr := newTrial(t)
	tr.hearAll(0, alice)
	tr.pass(partnerWait + 100*time.Millisecond)
	tr.told(alice)
	tr.hearAll(1, bob)
	tr.pass(20 * time.Second)
	if tr.phase != phaseWaiting || tr.told(bob) != 0 {
		t.Fatal("the late partner does not wait")
	}
	tr.pass(5500 * time.Millisecond)
	if got := tr.told(bob); got != 1 {
		t.Errorf("the late partner was told %d times, want once by now", got)
	}
}

func TestEventsAtAnyTimeAreHarmless(t *testing.T) {
	tr := newTrial(t)
	tr.hearAll(0, alice)
	for range 100 { // more often than due, and without any need
		tr.advance(tr.now, &tr.effects)
	}
	if len(tr.sends) != 0 || len(tr.ended) != 0 {
		t.Errorf("got %d packets and %d ends out of nothing", len(tr.sends), len(tr.ended))
	}
}
