package natneg

import (
	"encoding/binary"
	"time"
)

// routerTest is a test of a client's router: a NAT test packet with the cookie of the
// negotiation, which the client returns to where it came from. Its port type is the routerTest.
type routerTest byte

const (
	// testNear comes from where the client's init of port type 1 went to. Its receipt proves
	// that the client receives at its address.
	testNear routerTest = iota + 1
	// testPort comes from another port of the same address of ours, to the negotiation socket.
	testPort
	// testGame is testPort to the socket of the game.
	testGame
)

// The pace of the tests.
const (
	testTries = 2 // of each
	// nearWait is how long the receipt of testNear is waited for.
	nearWait = 400 * time.Millisecond
	// farWait is how long those of the other tests are waited for, at least; else as long as
	// that of testNear took, and farSpare more.
	farWait  = 200 * time.Millisecond
	farSpare = 100 * time.Millisecond
)

// routerTests are the tests of the router of a client in a round.
type routerTests struct {
	begun  bool
	passed indexes       // of routerTest
	tries  uint8         // of the test under way
	nonce  uint64        // that the client has to return
	next   time.Duration // when more is due; never: they are over
	sent   time.Duration // when the latest testNear was sent
	wait   time.Duration // for testPort and testGame
}

// filter is which senders a router lets in, according to the tests.
type filter uint8

const (
	filterUnknown filter = iota // the client returned no test
	filterStrict                // answers alone
	filterLoose                 // at least other ports of an address that the client wrote to
)

// filter returns the result of the tests.
func (t *routerTests) filter() filter {
	switch {
	case !t.proved():
		return filterUnknown
	case t.passed.has(int(testPort)) || t.passed.has(int(testGame)):
		return filterLoose
	default:
		return filterStrict
	}
}

// proved reports whether the client receives at its address.
func (t *routerTests) proved() bool { return t.passed.has(int(testNear)) }

func (t *routerTests) over() bool { return t.next == never }

// testAt returns when more tests of a client are due.
func (s *side) testAt() time.Duration {
	switch {
	case s.tests.begun:
		return s.tests.next
	case s.needed():
		return s.readyAt()
	default:
		return never
	}
}

// awaitsTests reports whether the introduction of two clients has to wait for the tests. In
// one network there is no router between them.
func awaitsTests(a, b *side) bool {
	return a.public().ip != b.public().ip && (!a.tests.over() || !b.tests.over())
}

// test sends the due tests of a client's router. Without a proof the client's packets have to pay
// for them, and for the connects to come.
func (n *negotiation) test(now time.Duration, s *side, e *effects) {
	t := &s.tests
	if !s.ready(now) || now < t.next {
		return
	}
	if !t.begun {
		t.begun = true
		if e.nonce != nil {
			t.nonce = e.nonce()
		}
	}
	const connectsToCome = 2
	switch {
	case e.nonce == nil, t.tries >= testTries,
		t.proved() && s.public().ip != s.ip, // the game's packets come in by another router
		!t.proved() && connectsPerPacket*int(s.packets) <= int(s.connects)+connectsToCome:
		t.next = never
		return
	case !t.proved():
		s.connects++
		t.sent, t.next = now, now+nearWait
		n.sendTest(s, testNear, s.negotiating(), e)
	default:
		t.next = now + t.wait
		n.sendTest(s, testPort, s.negotiating(), e)
		if s.gamePort {
			n.sendTest(s, testGame, s.public(), e)
		}
	}
	t.tries++
}

func (n *negotiation) sendTest(s *side, t routerTest, to endpoint, e *effects) {
	p := send{to: to, via: s.via[PortNN1]}
	if t != testNear {
		p.via.socket = socketOf(p.via.node(), secondSocket)
	}
	body := Test{PortType: PortType(t)}
	binary.BigEndian.PutUint64(body.Data[:], s.tests.nonce)
	b := Header{s.version, TypeTest, n.cookie}.AppendTo(p.data[:0])
	p.size = uint8(len(body.AppendTo(b)))
	e.sends = append(e.sends, p)
}

// tested takes the receipt of a test. It returns whether it was one: the nonce proves it, and
// where it comes from does not matter.
func (n *negotiation) tested(now time.Duration, body *Test, e *effects) bool {
	nonce := binary.BigEndian.Uint64(body.Data[:])
	for i := range n.size() {
		s := n.side(i)
		t := &s.tests
		if !t.begun || t.nonce != nonce {
			continue
		}
		if n.phase != phaseWaiting && n.phase != phasePaired || s.met != 0 {
			return true // too late: what is known of a pair must not change
		}
		switch r := routerTest(body.PortType); {
		case r == testNear && !t.proved():
			t.tries, t.next, t.wait = 0, now, max(farWait, now-t.sent+farSpare)
		case (r == testPort || r == testGame) && t.proved():
			t.next = never
		default:
			return r == testNear
		}
		t.passed.add(int(body.PortType))
		s.heard()
		n.last = now
		n.advance(now, e)
		return true
	}
	return false
}
