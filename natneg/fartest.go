package natneg

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// The bounds of farTests.
const (
	maxFarTests = 1024 // clients; the oldest goes
	farTestTime = 10 * time.Second
)

// farTests holds back the answers to NAT tests 2 until the client's test 3 shows which address it
// takes for natneg2, and remembers that one. Clients send both at once and wait farTestTime.
type farTests struct {
	known map[netip.AddrPort]*farTest
	queue []netip.AddrPort // of known, the oldest first
}

// farTest is what is known of a client.
type farTest struct {
	began   time.Time
	natneg2 netip.Addr            // zero: test 3 has not come
	w       netserve.PacketWriter // that test 2 came to; nil: it does not wait
	natneg1 netip.Addr
	answer  []byte
}

// of returns what is known of a client.
func (f *farTests) of(client netip.AddrPort, now time.Time) *farTest {
	t := f.known[client]
	if t == nil {
		t = &farTest{began: now}
		f.known[client], f.queue = t, append(f.queue, client)
	}
	return t
}

// forget removes what is too old, and the oldest if there are too many. It returns the number of
// tests 2 that are never answered.
func (f *farTests) forget(now time.Time) (unanswered int) {
	for len(f.queue) > 0 {
		t := f.known[f.queue[0]]
		if len(f.queue) <= maxFarTests && now.Sub(t.began) <= farTestTime {
			break
		}
		if t.w != nil {
			unanswered++
		}
		delete(f.known, f.queue[0])
		f.queue = f.queue[1:]
	}
	return unanswered
}

// forgetFarTests removes tests that no longer matter, and counts those without an answer.
func (s *Server) forgetFarTests(now time.Time) {
	s.mu.Lock()
	unanswered := s.farTests.forget(now)
	s.mu.Unlock()
	for range unanswered {
		s.opt.Metrics.Drop(dropUntestable.Error())
	}
}

// farTest answers NAT test 2, or holds the answer back for test 3.
func (s *Server) farTest(r *request, answer []byte) drop {
	if w := s.nodes.tester(); w != nil {
		s.send.Send(w, answer, netip.Addr{}, r.From)
		return notDropped
	}
	test := farTest{w: r.w, natneg1: r.To, answer: answer}
	s.mu.Lock()
	if s.hasFarAddress(r.To, r.From.Addr()) {
		t := s.farTests.of(r.From, r.now)
		if test.natneg2 = t.natneg2; !t.natneg2.IsValid() {
			t.w, t.natneg1, t.answer = r.w, r.To, bytes.Clone(answer)
			s.mu.Unlock()
			s.forgetFarTests(r.now)
			return notDropped
		}
	}
	s.mu.Unlock()
	return s.answerFar(test, r.From)
}

// natneg2 takes the address that a NAT test 3 came to, and answers the client's test 2 if it waits.
func (s *Server) natneg2(r *request) {
	s.mu.Lock()
	t := s.farTests.of(r.From, r.now)
	t.natneg2 = r.To
	waiting := *t
	t.w, t.answer = nil, nil
	s.mu.Unlock()
	s.forgetFarTests(r.now)
	if waiting.w == nil {
		return
	}
	if dropped := s.answerFar(waiting, r.From); dropped != notDropped {
		s.opt.Metrics.Drop(dropped.Error())
	}
}

// answerFar sends the answer to a NAT test 2 from an address that the client has not written to.
func (s *Server) answerFar(t farTest, client netip.AddrPort) drop {
	s.mu.Lock()
	w, from := s.farAddress(t.natneg1, t.natneg2, client.Addr())
	s.mu.Unlock()
	if w == nil && s.live.Load().AssumeUnrestricted {
		w, from = t.w, t.natneg1
	}
	if w == nil {
		return dropUntestable
	}
	s.send.Send(w, t.answer, from, client)
	return notDropped
}

// vantage is where this node sends from.
type vantage struct {
	sockets *openSockets
	machine []netip.Addr // of this machine, if the main socket is on all
}

// hasFarAddress reports whether a client whose natneg1 and natneg2 are one address can be sent
// the answer to NAT test 2.
func (v *vantage) hasFarAddress(natneg1, client netip.Addr) bool {
	w, _ := v.farAddress(natneg1, natneg1, client)
	return w != nil
}

// farAddress returns a socket and an address that a client has not written to: neither its
// natneg1 nor its natneg2. Further sockets go before other addresses of this machine, which are
// there if the main socket is on all; w is nil if there is none.
func (v *vantage) farAddress(natneg1, natneg2, client netip.Addr) (w netserve.PacketWriter, from netip.Addr) {
	if !natneg1.Is4() {
		return nil, netip.Addr{} // the system does not report it
	}
	for _, o := range slices.Backward(v.sockets.open) { // natneg3 is the last one
		if a := o.addr.Addr(); a != natneg1 && a != natneg2 && !a.IsUnspecified() {
			return o.w, a
		}
	}
	for _, a := range slices.Backward(v.machine) {
		if a != natneg1 && a != natneg2 && a.Is4() && seenAsItIs(a, natneg1, client) {
			return v.sockets.open[0].w, a
		}
	}
	return nil, netip.Addr{}
}

// stranger stands for players on the internet.
var stranger = netip.MustParseAddr("192.0.2.1")

// What the log says if NAT test 2 tells players nothing.
const (
	untoldFar = "NAT test 2 cannot be answered for players on the internet, since natneg has no other address: routers that let everyone in count as restricted, " +
		"and games wait 10 seconds for it; a second address of this machine in natneg.extra_listen changes that"
	untoldAssumed = "NAT test 2 is answered from the address that players wrote to (natneg.assume_unrestricted), since natneg has no other one: " +
		"restricted routers count as open to everyone; a second address of this machine in natneg.extra_listen changes that"
)

// untold returns what the NAT tests cannot tell, empty if they can tell everything.
func (v *vantage) untold(assumeUnrestricted bool) string {
	can := slices.ContainsFunc(v.machine, func(a netip.Addr) bool { return v.hasFarAddress(a, stranger) }) ||
		slices.ContainsFunc(v.sockets.open, func(o openSocket) bool {
			return !o.addr.Addr().IsUnspecified() && v.hasFarAddress(o.addr.Addr(), stranger)
		})
	switch {
	case can:
		return ""
	case assumeUnrestricted:
		return untoldAssumed
	default:
		return untoldFar
	}
}

// sayUntold says in the log what the NAT tests cannot tell, if that has changed.
func (s *Server) sayUntold() {
	live, text := s.live.Load(), ""
	s.mu.Lock()
	if s.nodes == nil || len(live.Nodes) < natnegNames {
		text = s.untold(live.AssumeUnrestricted)
	}
	changed := text != s.saidUntold
	s.saidUntold = text
	s.mu.Unlock()
	if changed && text != "" {
		s.opt.Log.Info().Msg(text)
	}
}
