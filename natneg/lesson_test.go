package natneg

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
)

// heedful is a writer that is called with the type of each packet before it is sent.
type heedful struct {
	netserve.PacketWriter

	before func(Type)
}

func (h heedful) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	h.before(Type(data[typeAt]))
	return h.PacketWriter.WritePacket(data, from, to)
}

// Players may try again as soon as their reports are confirmed: what is learnt of them is known by then.
func TestLessonComesBeforeTheConfirmation(t *testing.T) {
	const cookie = 77
	players := [2]string{alice, bob}
	st := newStation(t, DefaultOptions(), "")
	known := lessonNone
	st.wires[0] = heedful{st.wires[0], func(sent Type) {
		if sent == TypeReportAck {
			st.mu.Lock()
			for _, m := range st.memory.pairs { // of this pair alone
				known = m.lesson
			}
			st.mu.Unlock()
		}
	}}
	st.Attach(st.wires, st.at, nil, netip.AddrPort{})
	send := func(what string, packet func(index byte) drop) {
		for i := range players {
			if d := packet(byte(i)); d != notDropped {
				t.Fatalf("%s of %s: %q", what, players[i], d)
			}
		}
	}
	send("inits", func(i byte) drop { return st.inits(cookie, i, players[i]) })
	send("receipt", func(i byte) drop { return st.deliver(0, players[i], connectAckPacket(cookie, i)) })
	send("report", func(i byte) drop { return st.deliver(0, players[i], reportPacket(cookie, i, 0)) })
	if known != lessonFailed {
		t.Errorf("lesson %d is known when the last report is confirmed, want that the players could not meet", known)
	}
}
