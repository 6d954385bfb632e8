package qr2

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// probed lets the ticker run until the host is asked and returns the question.
func (h *host) probed(t *testing.T) []byte {
	t.Helper()
	h.in.pass(tickEvery)
	for _, p := range h.in.probe.Take() {
		if p.to == h.addr {
			return p.data
		}
	}
	t.Fatalf("%v was not asked", h.addr)
	return nil
}

// tell hands an answer to the second socket and reports whether it was taken.
func (h *host) tell(from *host, data []byte) bool {
	return h.in.probeReply(netserve.Packet{Data: data, From: from.addr, To: masterAddr}, netip.Addr{})
}

func (h *host) reachable() bool {
	srv, ok := h.in.list.Get(h.key())
	return ok && srv.Findings.Reached == master.ReachedPerhaps
}

func number(question []byte) uint32 { return binary.BigEndian.Uint32(question[3:]) }

func reply(k Kind, number uint32, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{byte(k)}, number), body...)
}

func TestHostThatAnswersTheProbeIsReachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register()
		q := h.probed(t)
		if want := append(appendHeader(nil, KindQuery, number(q)), 0xFF, 0xFF, 0xFF); string(q) != string(want) {
			t.Errorf("question: got %x, want %x", q, want)
		}
		if h.reachable() {
			t.Error("reachable before it answered")
		}
		if !h.tell(h, reply(KindQuery, number(q), "hostname\x00x\x00\x00")) || !h.reachable() {
			t.Error("not reachable after its answer")
		}
		if got := in.verdict(h.addr); got != "probably direct" {
			t.Errorf("verdict: got %q", got)
		}
		if h.tell(h, reply(KindQuery, number(q), "")) {
			t.Error("a second answer is taken")
		}
		if err := in.handle(in.w, netserve.Packet{Data: h.heartbeat("hostname", "new"), From: h.addr, To: masterAddr}); err != uplink.NotDropped || !h.reachable() {
			t.Error("a heartbeat took the finding back")
		}
	})
}

// viewpoint gives the service a socket on another address.
func (in *intake) viewpoint() *wire {
	w := &wire{}
	in.vantages = []vantage{{masterAddr, nettest.Discard{}}, {netip.MustParseAddr("198.51.100.2"), w}} // the first is no other
	return w
}

// tellFar hands an answer to the socket on the other address.
func (h *host) tellFar(data []byte) bool {
	return h.in.probeReply(netserve.Packet{Data: data, From: h.addr}, h.in.vantages[1].at)
}

// A filter may let in the address that the host reports to. So only answers to another
// address prove that players can reach the server directly.
func TestHostIsAskedFromAnotherAddressToo(t *testing.T) {
	for name, tt := range map[string]struct {
		near, far bool
		want      master.Reached
		verdict   string
	}{
		"answers both":           {true, true, master.ReachedDirect, "reachable"},
		"answers the other only": {false, true, master.ReachedDirect, "reachable"},
		"behind a filter":        {true, false, master.ReachedPerhaps, "probably direct"},
		"answers none":           {false, false, master.ReachedNo, "not reachable from a new address"},
	} {
		for _, before := range []master.Reached{master.ReachedUnknown, master.ReachedDirect} {
			t.Run(name+", was "+before.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in := newIntake(t, nil)
					other := in.viewpoint()
					h := in.host("192.0.2.1:6500")
					h.register("natneg", "1")
					in.list.Report(h.key(), master.Findings{Reached: before})
					q := h.probed(t)
					if out := other.Take(); len(out) != 1 || string(out[0].data) != string(q) || out[0].to != h.addr || out[0].from != in.vantages[1].at {
						t.Fatalf("asked from the other address: %+v, want once with %x", out, q)
					}
					answer := reply(KindQuery, number(q), "hostname\x00x\x00\x00")
					if tt.near && (!h.tell(h, answer) || h.tell(h, answer)) {
						t.Error("the answer to the near socket is not taken once")
					}
					if tt.far && (!h.tellFar(answer) || h.tellFar(answer)) {
						t.Error("the answer to the far socket is not taken once")
					}
					in.pass(10 * time.Second)
					srv, _ := in.list.Get(h.key())
					if got := srv.Findings.Reached; got != tt.want {
						t.Errorf("reached: got %v, want %v", got, tt.want)
					}
					if got, want := srv.Direct(), tt.want == master.ReachedDirect; got != want {
						t.Errorf("Direct of a server with NAT negotiation: got %v, want %v", got, want)
					}
					if got := in.verdict(h.addr); got != tt.verdict {
						t.Errorf("verdict: got %q, want %q", got, tt.verdict)
					}
				})
			})
		}
	}
}

func TestNegotiatedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h, plain := in.host("192.0.2.1:6500"), in.host("192.0.2.2:6500")
		h.register()
		plainBeat := plain.packet(KindHeartbeat, "natneg\x000\x00gamename\x00gmtest\x00\x00")
		_ = plain.send(plain.answer(plain.challenged(plainBeat)))
		in.w.Take()
		reached := func(h *host) master.Reached { srv, _ := in.list.Get(h.key()); return srv.Findings.Reached }
		for _, a := range []*host{h, plain, in.host("192.0.2.3:6500")} {
			in.Negotiated(a.addr)
		}
		if got := reached(h); got != master.ReachedNegotiated || in.verdict(h.addr) != "reached by NAT negotiation" {
			t.Errorf("after a report: reached %v, verdict %q", got, in.verdict(h.addr))
		}
		if got := reached(plain); got != master.ReachedUnknown {
			t.Errorf("a server without NAT negotiation: reached %v", got)
		}
		in.pass(10 * time.Second) // the probe was not answered
		if got := reached(h); got != master.ReachedNegotiated {
			t.Errorf("after a probe that was not answered: reached %v, want negotiated", got)
		}
		if got := reached(plain); got != master.ReachedNo {
			t.Errorf("the other one: reached %v, want no", got)
		}
		in.list.Report(h.key(), master.Findings{Reached: master.ReachedDirect})
		if in.Negotiated(h.addr); reached(h) != master.ReachedDirect {
			t.Errorf("a report took direct reachability away: %v", reached(h))
		}
	})
}

func TestRelayedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h, plain := in.host("192.0.2.1:6500"), in.host("192.0.2.2:6500")
		h.register()
		plainBeat := plain.packet(KindHeartbeat, "natneg\x000\x00gamename\x00gmtest\x00\x00")
		_ = plain.send(plain.answer(plain.challenged(plainBeat)))
		in.w.Take()
		joinable := func(h *host) master.Joinable { srv, _ := in.list.Get(h.key()); return srv.Joinable() }
		for _, a := range []*host{h, plain, in.host("192.0.2.3:6500")} {
			in.Relayed(a.addr)
		}
		if got := joinable(h); got != master.JoinRelayed || in.verdict(h.addr) != "reached through the relay" {
			t.Errorf("after a relayed pair: %v, verdict %q", got, in.verdict(h.addr))
		}
		if got := joinable(plain); got != master.JoinUnknown {
			t.Errorf("a server without NAT negotiation: %v", got)
		}
		in.pass(10 * time.Second) // the probe was not answered
		if got := joinable(h); got != master.JoinRelayed {
			t.Errorf("after a probe that was not answered: %v, want relayed", got)
		}
		in.Negotiated(h.addr)
		if in.Relayed(h.addr); joinable(h) != master.JoinNegotiated {
			t.Errorf("a relayed pair took a negotiation away: %v", joinable(h))
		}
	})
}

func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register()
		in.pass(10 * time.Second) // the probe was not answered
		in.probe.Take()
		srv, _ := in.list.Get(h.key())
		if srv.Findings.Reached != master.ReachedNo || !in.Recheck(srv) || !in.Recheck(srv) { // the second adds nothing
			t.Fatalf("reached %v, or not tested", srv.Findings.Reached)
		}
		q := h.probed(t)
		if !h.tell(h, reply(KindQuery, number(q), "hostname\x00x\x00\x00")) || !h.reachable() {
			t.Error("the host is not reachable after its answer")
		}
		for name, other := range map[string]master.Server{
			"of another origin": {Origin: valvemaster.Origin}, "of before a restart": {Restored: true}, "of another node": {Node: "b"},
		} {
			if in.Recheck(&other) {
				t.Errorf("a server %s was tested", name)
			}
		}
	})
}

func TestAnswersThatProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h, other := in.host("192.0.2.1:6500"), in.host("192.0.2.1:6501")
		h.register()
		q := h.probed(t)
		for name, tt := range map[string]struct {
			from *host
			data []byte
		}{
			"another source":  {other, reply(KindQuery, number(q), "")},
			"a wrong number":  {h, reply(KindQuery, number(q)+1, "")},
			"another kind":    {h, reply(KindKeepalive, number(q), "")},
			"half an answer":  {h, reply(KindQuery, number(q), "")[:4]},
			"nothing":         {h, nil},
			"a plain refusal": {h, []byte("\xff\xff\xff\xffdisconnect")},
		} {
			if h.tell(tt.from, tt.data) || h.reachable() {
				t.Errorf("%s counts as an answer", name)
			}
		}
		if !h.tell(h, reply(KindQuery, number(q), "")) {
			t.Error("the right answer is not taken after wrong ones")
		}
	})
}

func TestSilentHostIsAskedThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register()
		in.list.Report(h.key(), master.Findings{Reached: master.ReachedDirect})
		asked := 0
		for range 100 {
			in.pass(tickEvery)
			asked += len(in.probe.Take())
		}
		if asked != probeTries {
			t.Errorf("asked %d times, want %d", asked, probeTries)
		}
		if h.reachable() {
			t.Error("still reachable")
		}
		if got := in.verdict(h.addr); got != "not reachable from a new address" {
			t.Errorf("verdict: got %q", got)
		}
		if len(in.probes.asked)+len(in.probes.queued)+len(in.probes.fifo) != 0 {
			t.Error("it is still in the queue")
		}
	})
}

func TestProbeByAddressCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.game = "prequery"
		h.register()
		q := h.probed(t)
		if want := appendHeader(nil, KindAvailable, number(q)); string(q) != string(want) {
			t.Errorf("question: got %x, want %x", q, want)
		}
		if !h.tell(h, reply(KindAvailable, number(q), "-1002570049\x00")) || !h.reachable() {
			t.Error("not reachable after its answer")
		}
	})
}

func TestEveryHostIsAskedAgainAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register()
		restored := *h.restarted(3).saved(t, "192.0.2.2:6500")
		foreign := restored
		foreign.Key.Source, foreign.Origin, foreign.Restored = in.host("192.0.2.3:6500").addr, zanmaster.Origin, false
		foreign.Public = foreign.Key.Source
		for _, s := range []master.Server{restored, foreign} {
			if err := in.list.Put(s); err != nil {
				t.Fatal(err)
			}
		}
		q := h.probed(t)
		h.tell(h, reply(KindQuery, number(q), ""))
		in.pass(probeAgain - time.Second)
		if got := in.probe.Take(); len(got) != 0 {
			t.Fatalf("asked again too early: %+v", got)
		}
		in.pass(2 * time.Second)
		got := in.probe.Take()
		if len(got) != 1 || got[0].to != h.addr {
			t.Fatalf("asked %+v, want the verified QR2 host alone", got)
		}
		if number(got[0].data) == number(q) {
			t.Error("the same number again")
		}
		in.pass(10 * time.Second) // it fell silent
		if h.reachable() {
			t.Error("still reachable")
		}
	})
}

// saved returns a record as the saved list has it.
func (h *host) saved(t *testing.T, addr string) *master.Server {
	t.Helper()
	s := master.Server{Origin: Origin, Key: h.key(), Game: "gmtest", Restored: true, Lifetime: time.Hour}
	s.Key.Source = h.in.host(addr).addr
	s.Public = s.Key.Source
	return &s
}

func TestProbesPerTickAndWaitingAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		for i := range uint32(3 * probeAtOnce) {
			k := h.restarted(i).key()
			k.Source = in.host("192.0.2.1:1").addr
			in.probes.add(k, masterAddr, false) // the same source: once
		}
		if len(in.probes.fifo) != 1 {
			t.Fatalf("%d entries for one source, want 1", len(in.probes.fifo))
		}
		in.probes = newProbeQueue()
		for port := range uint16(3 * probeAtOnce) {
			k := h.key()
			k.Source = netip.AddrPortFrom(h.addr.Addr(), 1000+port)
			in.probes.add(k, masterAddr, false)
		}
		in.pass(tickEvery)
		if got := len(in.probe.Take()); got != probeAtOnce {
			t.Errorf("probes in one tick: got %d, want %d", got, probeAtOnce)
		}
	})
}

// A host waits in little memory, which is free again when all were asked, and comes out
// as it was queued.
func TestProbeQueue(t *testing.T) {
	q := newProbeQueue()
	var want []probeJob
	for i := range 300 {
		j := probeJob{
			key:      master.Key{Source: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), uint16(6500+i)), Instance: uint32(i)},
			prequery: i%2 == 0,
		}
		if i%3 > 0 {
			j.via = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		}
		q.add(j.key, j.via, j.prequery)
		q.add(j.key, j.via, j.prequery)
		want = append(want, j)
	}
	q.add(master.Key{Source: netip.MustParseAddrPort("[2001:db8::1]:1")}, netip.Addr{}, false)
	if len(q.fifo) != len(want) {
		t.Fatalf("%d hosts wait, want %d", len(q.fifo), len(want))
	}
	for i := range want {
		if got := q.next(); got != want[i] {
			t.Fatalf("host %d: got %+v, want %+v", i, got, want[i])
		}
	}
	if q.fifo != nil || len(q.queued) != 0 {
		t.Errorf("%d places and %d hosts after the last one", cap(q.fifo), len(q.queued))
	}
}
