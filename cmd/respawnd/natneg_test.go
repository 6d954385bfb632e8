package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/qr2"
)

// natnegMagic is the start of a client message with a cookie.
var natnegMagic = []byte{0xFD, 0xFC, 0x1E, 0x66, 0x6A, 0xB2}

// quietLoopback returns a random loopback address that no other process uses, so that
// every port of it is free but those of sockets at all addresses.
func quietLoopback(t *testing.T) netip.Addr {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback interface")
	}
	n := rand.Uint32()
	return netip.AddrFrom4([4]byte{127, 64 + byte(n>>24)%128, byte(n >> 16), 1 + byte(n>>8)%250})
}

// strictNAT returns a NAT that lets in replies only.
func strictNAT(t *testing.T) *natnegtest.NAT {
	t.Helper()
	n := &natnegtest.NAT{Kind: natnegtest.PortRestricted, Outside: natnegtest.System{}, Public: quietLoopback(t)}
	t.Cleanup(n.Close)
	return n
}

// steppingNAT returns a NAT of a kind whose ports can be foreseen. They are below those
// that the system chooses for sockets at all addresses.
func steppingNAT(t *testing.T, kind natnegtest.Kind) *natnegtest.NAT {
	t.Helper()
	n := &natnegtest.NAT{Kind: kind, Outside: natnegtest.System{}, Public: quietLoopback(t), Port: natnegtest.Steps(20000, 1)}
	t.Cleanup(n.Close)
	return n
}

// pairTries is how often a pair tries to meet. The server introduces players 1.2 seconds
// after their first packet, even if it does not have those by which it foresees ports yet,
// and a player pings for six seconds. On a busy machine both may be too short.
const pairTries = 5

// pairMeets fails the test unless the players that pair returns for a cookie meet, if not at
// once then with another cookie, as players try again.
func pairMeets(t *testing.T, pair func(cookie uint32) [2]natnegtest.Player) {
	t.Helper()
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		cookie := rand.Uint32()
		players := pair(cookie)
		var results [2]natnegtest.Result
		var negotiating sync.WaitGroup
		for i := range players {
			p := &players[i]
			p.Cookie, p.Index, p.Name, p.Linger = cookie, byte(i), testGame, time.Second
			negotiating.Go(func() {
				var err error
				if results[i], err = p.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		negotiating.Wait()
		cancel()
		met := true
		for i, r := range results {
			if r.End != natnegtest.Connected || !r.Confirmed {
				met = false
				t.Logf("try %d: player %d: got %v, report confirmed: %v", try, i, r.End, r.Confirmed)
			}
		}
		if met {
			return
		}
		if try == pairTries {
			t.Fatalf("the players did not meet in %d tries", try)
		}
	}
}

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

// register registers the host.
func (h *hiddenHost) register(ctx context.Context, instance uint32) {
	h.t.Helper()
	report := qr2.Host{Game: testGame, Instance: instance, NATNeg: true, Rules: []qr2.Rule{{Name: "hostname", Value: "hidden"}}}
	heartbeat, err := report.AppendHeartbeat(nil, "")
	if err != nil {
		h.t.Fatal(err)
	}
	h.socket.Send(heartbeat, h.master)
	h.socket.Send(qr2.AppendResponse(nil, instance, testSecret, h.await(ctx, qr2.KindChallenge).Body), h.master)
	h.await(ctx, qr2.KindRegistered)
}

func TestNATNegOnAllAddresses(t *testing.T) {
	quick(t)
	t.Parallel()
	mine := slices.DeleteFunc(hostnet.Physical(), func(a netip.Addr) bool { return a == home })
	if runtime.GOOS != "linux" || len(mine) == 0 {
		t.Skip("needs a second address")
	}
	d := start(t, t.TempDir(), variable("natneg.listen", "0.0.0.0:0"))
	came := make(chan netip.AddrPort, 1)
	socket, err := natnegtest.System{}.Open(netip.AddrPortFrom(home, 0), func(_ []byte, from netip.AddrPort) { came <- from })
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	port := d.address["natneg"].Port()
	test := natneg.Check{Test: natneg.Test{PortType: natneg.PortNN2}}
	socket.Send(test.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeNATTest, Cookie: 777}.AppendTo(nil)), netip.AddrPortFrom(home, port))
	select {
	case from := <-came:
		if from.Port() != port || !slices.Contains(mine, from.Addr()) {
			t.Errorf("NAT test 2 was answered from %v, want one of %v", from, mine)
		}
	case <-time.After(hang):
		t.Error("NAT test 2 was not answered")
	}
	d.stop()
}

func TestNATNegExtraAddresses(t *testing.T) {
	t.Parallel()
	const most = 256 // entries of a list
	d := start(t, t.TempDir(), variable("natneg.extra_listen", strings.Repeat("127.0.0.1:0,", most-1)+"127.0.0.1:0"))
	came := make(chan struct{}, 1)
	socket, err := natnegtest.System{}.Open(netip.MustParseAddrPort("127.0.0.1:0"), func([]byte, netip.AddrPort) { came <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	check := natneg.Check{Test: natneg.Test{PortType: natneg.PortNN1}}
	socket.Send(check.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeAddressCheck}.AppendTo(nil)), d.address["natneg"])
	select {
	case <-came:
	case <-time.After(hang):
		t.Error("an address check is not answered")
	}
}

// TestPlayersBehindNATsMeet follows a player joining a game: the list, a message with a
// cookie through the master to the host, and the negotiation, with each side behind a
// NAT of its own.
func TestPlayersBehindNATsMeet(t *testing.T) {
	t.Parallel()
	for name, joining := range map[string]natnegtest.Kind{
		"port restricted": natnegtest.PortRestricted,
		"symmetric":       natnegtest.Symmetric,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			extra := netip.AddrPortFrom(quietLoopback(t), uint16(20000+rand.IntN(10000)))
			d := start(t, t.TempDir(), variable("natneg.extra_listen", extra.String()))
			ctx, cancel := context.WithTimeout(t.Context(), pairTries*hang)
			defer cancel()
			hostNAT := strictNAT(t)
			h := newHiddenHost(t, hostNAT, netip.MustParseAddrPort("10.0.1.5:6500"), d.address["qr2"])
			h.register(ctx, 0x11223344)

			var playerNAT *natnegtest.NAT
			pairMeets(t, func(cookie uint32) (players [2]natnegtest.Player) {
				b := browse(t, d)
				reply := b.ask(serverbrowse.FieldsForAll, "hostname='hidden'", `\hostname`)
				if len(reply.Entries) != 1 || reply.Entries[0].Flags&serverbrowse.FlagNATNeg == 0 {
					t.Fatalf("list: got %+v, want the one host, to be reached by negotiation", reply.Entries)
				}
				sent := binary.BigEndian.AppendUint32(bytes.Clone(natnegMagic), cookie)
				message, err := serverbrowse.AppendMessage(nil, reply.Entries[0].Public, sent)
				if err != nil {
					t.Fatal(err)
				}
				b.write(message)
				var m qr2.Reply
				for len(m.Body) < 4 || !bytes.Equal(m.Body[4:], sent) { // that of an earlier try may come twice
					m = h.await(ctx, qr2.KindMessage)
				}
				h.socket.Send(qr2.AppendReceipt(nil, 0x11223344, m.Body), h.master)
				playerNAT = steppingNAT(t, joining)
				players[0] = natnegtest.Player{Net: playerNAT, Local: netip.MustParseAddrPort("10.0.2.5:5000")}
				players[1] = natnegtest.Player{Net: hostNAT, Local: netip.MustParseAddrPort("10.0.1.5:5000")}
				for i := range players {
					players[i].Servers = [3]netip.AddrPort{d.address["natneg"], extra, d.address["natneg"]}
				}
				return players
			})
			d.waitFor("the end of the negotiation", 0, func(e entry) bool { return e.text("message") == "negotiation finished" })
			for _, p := range []netip.Addr{hostNAT.Public, playerNAT.Public} {
				wantIn(t, d.cli("doctor", p.String()), "NAT negotiation from "+p.String(), verdicts.Met.String())
			}
			d.stop()
		})
	}
}
