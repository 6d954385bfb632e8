package mangler

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/verdicts"
)

var player = netip.MustParseAddrPort("203.0.113.7:40001")

// sent is a PacketWriter that keeps each packet.
type sent struct {
	data [][]byte
	from []netip.Addr
	to   []netip.AddrPort
}

// WritePacket implements netserve.PacketWriter.
func (s *sent) WritePacket(b []byte, from netip.Addr, to netip.AddrPort) error {
	s.data, s.from, s.to = append(s.data, bytes.Clone(b)), append(s.from, from), append(s.to, to)
	return nil
}

// newServer returns a server with the defaults.
func newServer(change func(*Options)) *Server {
	var o Options
	configs.Defaults(&o.Config)
	o.Log = zerolog.Nop()
	if change != nil {
		change(&o)
	}
	return New(o)
}

func TestAnswer(t *testing.T) {
	s, w := newServer(nil), new(sent)
	here := netip.MustParseAddr("192.0.2.1")
	s.ServePacket(w, netserve.Packet{Data: nettest.Unhex(t, exampleRequest), From: player, To: here})
	if len(w.data) != 1 || !bytes.Equal(w.data[0], nettest.Unhex(t, exampleAnswer)) || w.to[0] != player || w.from[0] != here {
		t.Errorf("sent %x to %v from %v, want %s to %v from %v", w.data, w.to, w.from, exampleAnswer, player, here)
	}
}

// Titles that set the flag get the one answer that they paid for, with the flag.
func TestBlitzIsAnsweredOnce(t *testing.T) {
	s, w := newServer(nil), new(sent)
	q := NewRequest([2]byte{1, 2}, 40001)
	q.Blitz, q.Unused = 1, [2]byte{7, 8}
	s.ServePacket(w, netserve.Packet{Data: q.AppendTo(nil), From: player})
	q.Command, q.Seen = Answer, player
	if len(w.data) != 1 || !bytes.Equal(w.data[0], q.AppendTo(nil)) {
		t.Errorf("sent %x, want %x once", w.data, q.AppendTo(nil))
	}
}

func TestDrops(t *testing.T) {
	good := NewRequest([2]byte{1, 2}, 1)
	answer := good
	answer.Command = Answer
	reg := prometheus.NewRegistry()
	m := netserve.NewMetrics(reg, "mangler", reasons...)
	banned := netip.MustParseAddrPort("198.51.100.1:2000")
	s := newServer(func(o *Options) {
		o.Metrics, o.Banned = m, func(a netip.Addr) bool { return a == banned.Addr() }
	})
	for _, test := range []struct {
		want string
		from netip.AddrPort
		data []byte
	}{
		{dropForeign, netip.AddrPortFrom(player.Addr(), 0), good.AppendTo(nil)},
		{dropForeign, netip.MustParseAddrPort("[2001:db8::1]:5"), good.AppendTo(nil)},
		{dropBanned, banned, good.AppendTo(nil)},
		{dropLength, player, good.AppendTo(nil)[:19]},
		{dropChecksum, player, make([]byte, PacketLen-1+1)[:PacketLen]},
		{dropAnswer, player, answer.AppendTo(nil)},
	} {
		if test.want == dropChecksum {
			test.data[5] = 1
		}
		w := new(sent)
		if got := s.handle(w, netserve.Packet{Data: test.data, From: test.from}, time.Now()); got != test.want || len(w.data) > 0 {
			t.Errorf("%x from %v: dropped for %q, %d answers; want %q and none", test.data, test.from, got, len(w.data), test.want)
		}
	}
	if got := s.handle(new(sent), netserve.Packet{Data: make([]byte, PacketLen), From: player}, time.Now()); got != dropMagic {
		t.Errorf("zeros: dropped for %q, want %q", got, dropMagic)
	}
	s.ServePacket(new(sent), netserve.Packet{Data: nil, From: player})
	if n, err := testutil.GatherAndCount(reg); err != nil || n == 0 {
		t.Errorf("metrics: %d, %v", n, err)
	}
}

// Two helpers that are made to talk to each other stop at once.
func TestHelpersDoNotAnswerEachOther(t *testing.T) {
	s, w := newServer(nil), new(sent)
	s.ServePacket(w, netserve.Packet{Data: nettest.Unhex(t, exampleRequest), From: player})
	s.ServePacket(w, netserve.Packet{Data: w.data[0], From: player})
	if len(w.data) != 1 {
		t.Errorf("%d answers, want 1", len(w.data))
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newServer(func(o *Options) { o.Rate, o.Burst = 2, 5 }), new(sent)
		send := func(n int) {
			for range n {
				s.ServePacket(w, netserve.Packet{Data: nettest.Unhex(t, exampleRequest), From: player})
			}
		}
		send(6)
		if len(w.data) != 5 {
			t.Errorf("%d answers at once, want the burst of 5", len(w.data))
		}
		time.Sleep(time.Second)
		send(6)
		if len(w.data) != 7 {
			t.Errorf("%d answers after a second, want two more", len(w.data))
		}
		s.Reload(&Config{Rate: 1, Burst: 1})
		send(2)
		if len(w.data) != 8 {
			t.Errorf("%d answers after a reload, want one more", len(w.data))
		}
		trusted := newServer(func(o *Options) { o.Rate, o.Burst, o.Trusted = 1, 1, func(netip.Addr) bool { return true } })
		for range 10 {
			if why := trusted.handle(w, netserve.Packet{Data: nettest.Unhex(t, exampleRequest), From: player}, time.Now()); why != "" {
				t.Errorf("a trusted address: dropped for %s", why)
			}
		}
	})
}

// The verdicts for doctor.
func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		want verdicts.Verdict
	}{
		"port kept":        {NewRequest([2]byte{}, player.Port()).AppendTo(nil), verdicts.PortSame},
		"port changed":     {NewRequest([2]byte{}, 1).AppendTo(nil), verdicts.PortChanged},
		"wrong checksum":   {append([]byte{1, 2, 3, 4}, NewRequest([2]byte{}, 1).AppendTo(nil)[4:]...), verdicts.MalformedRequest},
		"another protocol": {bytes.Repeat([]byte{'x'}, 40), verdicts.NotUnderstood},
		"a heartbeat":      {[]byte(`\heartbeat\6500\gamename\gmtest`), verdicts.SpeaksQR1},
	} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			s := newServer(func(o *Options) { o.Verdicts = log })
			s.ServePacket(new(sent), netserve.Packet{Data: test.data, From: player})
			if got := log.Of(player.Addr()); len(got) != 1 || got[0].Verdict != test.want {
				t.Errorf("noted %+v, want %v", got, test.want)
			}
		})
	}
}

// Forged sources get no more bytes than were sent under them.
func TestFloodFromForgedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blitz := NewRequest([2]byte{1, 2}, 3)
		blitz.Blitz = 1
		a := &nettest.Attack{
			Handler: newServer(nil), To: netip.MustParseAddr("192.0.2.200"), Count: 20_000, Memory: 16 << 20,
			Packets: [][]byte{nettest.Unhex(t, exampleRequest), nettest.Unhex(t, exampleAnswer), blitz.AppendTo(nil), {0xF0, 0x0D}},
			Pass:    func() { time.Sleep(50 * time.Millisecond) },
		}
		if r := a.Run(t); r.Total.PacketsOut == 0 {
			t.Error("nothing was answered")
		}
	})
}
