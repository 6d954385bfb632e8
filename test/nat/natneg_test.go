package nat

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// hiddenHost is a game server behind a NAT.
type hiddenHost struct {
	t      *testing.T
	socket natnegtest.Socket
	master netip.AddrPort
	got    chan []byte
}

func newHiddenHost(t *testing.T, behind *natnegtest.NAT, inside, master netip.AddrPort) *hiddenHost {
	t.Helper()
	h := &hiddenHost{t: t, master: master, got: make(chan []byte, 64)}
	s, err := behind.Open(inside, func(p []byte, _ netip.AddrPort) {
		select {
		case h.got <- bytes.Clone(p):
		default: // the test has failed by then
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	h.socket = s
	return h
}

// await returns the next packet of a kind.
func (h *hiddenHost) await(ctx context.Context, kind qr2.Kind) qr2.Reply {
	h.t.Helper()
	for {
		select {
		case p := <-h.got:
			if r, ok := qr2.ParseReply(p); ok && r.Kind == kind {
				return r
			}
		case <-ctx.Done():
			h.t.Fatalf("the host waits for a packet of kind %d: %v", kind, ctx.Err())
		}
	}
}

// MustRegister registers the host.
func (h *hiddenHost) MustRegister(ctx context.Context, instance uint32) {
	h.t.Helper()
	report := qr2.Host{Game: rig.TestGame, Instance: instance, NATNeg: true, Rules: []qr2.Rule{{Name: "hostname", Value: "hidden"}}}
	heartbeat, err := report.AppendHeartbeat(nil, "")
	if err != nil {
		h.t.Fatal(err)
	}
	h.socket.Send(heartbeat, h.master)
	h.socket.Send(qr2.AppendResponse(nil, instance, rig.TestSecret, h.await(ctx, qr2.KindChallenge).Body), h.master)
	h.await(ctx, qr2.KindRegistered)
}

func TestNATNegOnAllAddresses(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	mine := slices.DeleteFunc(hostnet.Physical(), func(a netip.Addr) bool { return a == rig.Home })
	if runtime.GOOS != "linux" || len(mine) == 0 {
		t.Skip("needs a second address")
	}
	d := rig.Start(t, t.TempDir(), rig.Variable("natneg.listen", "0.0.0.0:0"))
	came := make(chan netip.AddrPort, 1)
	socket, err := natnegtest.System{}.Open(netip.AddrPortFrom(rig.Home, 0), func(data []byte, from netip.AddrPort) {
		if _, body, err := natneg.ParseHeader(data); err == nil && len(body) > 0 && body[0] == byte(natneg.PortNN2) {
			came <- from
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	port := d.Address["natneg"].Port()
	for _, t := range []natneg.PortType{natneg.PortNN2, natneg.PortNN3} {
		test := natneg.Check{Test: natneg.Test{PortType: t}}
		socket.Send(test.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeNATTest, Cookie: 777}.AppendTo(nil)), netip.AddrPortFrom(rig.Home, port))
	}
	select {
	case from := <-came:
		if from.Port() != port || !slices.Contains(mine, from.Addr()) {
			t.Errorf("NAT test 2 was answered from %v, want one of %v", from, mine)
		}
	case <-time.After(rig.Hang):
		t.Error("NAT test 2 was not answered")
	}
	d.Stop()
}

func TestNATNegExtraAddresses(t *testing.T) {
	t.Parallel()
	const most = 256 // entries of a list
	d := rig.Start(t, t.TempDir(), rig.Variable("natneg.extra_listen", strings.Repeat("127.0.0.1:0,", most-1)+"127.0.0.1:0"))
	came := make(chan struct{}, 1)
	socket, err := natnegtest.System{}.Open(netip.MustParseAddrPort("127.0.0.1:0"), func([]byte, netip.AddrPort) { came <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	check := natneg.Check{Test: natneg.Test{PortType: natneg.PortNN1}}
	socket.Send(check.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeAddressCheck}.AppendTo(nil)), d.Address["natneg"])
	select {
	case <-came:
	case <-time.After(rig.Hang):
		t.Error("an address check is not answered")
	}
}

// TestPlayersBehindNATsMeet follows a player joining a game: the list, a message with a
// cookie through the master to the host, and the negotiation, with each side behind a
// NAT of its own.
func TestPlayersBehindNATsMeet(t *testing.T) {
	t.Parallel()
	if !playersMeet(t, natnegtest.PortRestricted) {
		t.Error("the players did not meet")
	}
}

// The ports of symmetric NATs are foreseen, if the packets of a player come within a second.
func TestPlayersBehindSymmetricNATsMeet(t *testing.T) {
	rig.OnlyFull(t)
	const pairs = 5
	met := 0
	for range pairs {
		if playersMeet(t, natnegtest.Symmetric) {
			met++
		}
	}
	ratetest.Report(t, "pairs with a symmetric NAT that meet on real sockets", met, pairs)
}

// playersMeet has a player behind a NAT of a kind join a host behind a strict one, and reports
// whether they meet.
func playersMeet(t *testing.T, joining natnegtest.Kind) (met bool) {
	t.Helper()
	extra := netip.AddrPortFrom(rig.QuietLoopback(t), uint16(20000+rand.IntN(10000)))
	d := rig.Start(t, t.TempDir(), rig.Variable("natneg.extra_listen", extra.String()))
	ctx, cancel := context.WithTimeout(t.Context(), 2*rig.Hang)
	defer cancel()
	hostNAT := rig.StrictNAT(t)
	h := newHiddenHost(t, hostNAT, netip.MustParseAddrPort("10.0.1.5:6500"), d.Address["qr2"])
	h.MustRegister(ctx, 0x11223344)

	var playerNAT *natnegtest.NAT
	met = rig.PairMeets(t, func(cookie uint32) (players [2]natnegtest.Player) {
		b := rig.Browse(t, d)
		reply := b.MustAsk(serverbrowse.FieldsForAll, "hostname='hidden'", `\hostname`)
		if len(reply.Entries) != 1 || reply.Entries[0].Flags&serverbrowse.FlagNATNeg == 0 {
			t.Fatalf("list: got %+v, want the one host, to be reached by negotiation", reply.Entries)
		}
		sent := binary.BigEndian.AppendUint32(bytes.Clone(rig.NatnegMagic), cookie)
		message, err := serverbrowse.AppendMessage(nil, reply.Entries[0].Public, sent)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(message)
		m := h.await(ctx, qr2.KindMessage)
		if !bytes.Equal(m.Body[min(4, len(m.Body)):], sent) {
			t.Fatalf("the host got the message %q, want %q", m.Body, sent)
		}
		h.socket.Send(qr2.AppendReceipt(nil, 0x11223344, m.Body), h.master)
		playerNAT = rig.SteppingNAT(t, joining)
		players[0] = natnegtest.Player{Net: playerNAT, Local: netip.MustParseAddrPort("10.0.2.5:5000")}
		players[1] = natnegtest.Player{Net: hostNAT, Local: netip.MustParseAddrPort("10.0.1.5:5000")}
		for i := range players {
			players[i].Servers = [3]netip.AddrPort{d.Address["natneg"], extra, d.Address["natneg"]}
		}
		return players
	})
	d.WaitFor("the end of the negotiation", 0, func(e rig.Entry) bool { return e.Text("message") == "negotiation finished" })
	for _, p := range []netip.Addr{hostNAT.Public, playerNAT.Public} {
		out := d.Cli("doctor", p.String())
		rig.WantIn(t, out, "NAT negotiation from "+p.String())
		if met {
			rig.WantIn(t, out, verdicts.Met.String())
		}
	}
	d.Stop()
	return met
}
