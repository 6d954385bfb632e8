package zanmaster

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

const (
	hexString = "0123456789ABCDEF0123456789ABCDEF"
	another   = "fda1ed0d04139eb43a1b3c5ecf776690"
	current   = 1761882777 // a revision of our days
)

var masterAddr = netip.MustParseAddr("198.51.100.1")

// sent is a packet that the master sent.
type sent struct {
	message []byte // decoded
	size    int    // of the datagram
	from    netip.Addr
	to      netip.AddrPort
}

// wire records the packets of the master.
type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{zandronum.Decode(nil, data, 1<<16), len(data), from, to})
	return nil
}

// zan is a Server with all that it works with, and no socket.
type zan struct {
	*Server
	t    testing.TB
	book *verdicts.Log
	w    *wire
	due  ticker
}

func newZan(t testing.TB, change func(*Options)) *zan {
	t.Helper()
	opt := Options{
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{Servers: 1 << 20, PerAddr: 1 << 16, PerNet: 1 << 16})},
		Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
	}
	configs.Defaults(&opt.Config)
	opt.UnprovedRate = 0 // no bound
	if change != nil {
		change(&opt)
	}
	z := &zan{Server: New(opt), t: t, book: opt.Verdicts, w: &wire{}}
	if opt.Files != "" {
		if err := z.readFiles(); err != nil {
			t.Fatal(err)
		}
	}
	return z
}

// reload changes the live configuration.
func (z *zan) reload(change func(*Config)) {
	c := *z.live.Load().Config
	change(&c)
	z.Reload(&c)
}

// pass lets time go by as Serve does. It needs synctest.
func (z *zan) pass(d time.Duration) {
	for end := time.Now().Add(d); ; {
		rest := z.step(z.w, &z.due, time.Now())
		select {
		case <-z.wake:
			continue
		default:
		}
		if left := time.Until(end); rest > left {
			time.Sleep(left)
			return
		}
		time.Sleep(rest)
	}
}

// verdict returns the last verdict on an address.
func (z *zan) verdict(a netip.AddrPort) string {
	for _, e := range z.book.Recent(verdicts.DefaultCapacity) {
		if e.Addr == a {
			return e.Verdict.String()
		}
	}
	return "none"
}

// send hands a message to the master and returns why it was dropped.
func (z *zan) send(from netip.AddrPort, message []byte) uplink.Drop {
	return z.handle(z.w, netserve.Packet{Data: zandronum.Encode(nil, message), From: from, To: masterAddr})
}

// server is a game server.
type server struct {
	z            *zan
	addr         netip.AddrPort
	verification string
	enforces     bool
	revision     uint32
}

func (z *zan) server(addr string) *server {
	return &server{z, netip.MustParseAddrPort(addr), hexString, true, current}
}

// announcement is its challenge and heartbeat.
func (g *server) announcement() []byte {
	return zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte(g.verification), Complete: true, Enforces: g.enforces, Revision: g.revision,
	})
}

func (g *server) announce() uplink.Drop { return g.z.send(g.addr, g.announcement()) }

// challenged announces the server and returns the number that it is sent.
func (g *server) challenged() uint32 {
	g.z.t.Helper()
	g.z.w.Take()
	if dropped := g.announce(); dropped != uplink.NotDropped {
		g.z.t.Fatalf("challenge of %v: dropped: %s", g.addr, dropped)
	}
	for _, p := range g.z.w.Take() {
		if v, ok := zandronum.ParseVerificationRequest(p.message); ok && p.to == g.addr && p.from == masterAddr {
			if string(v.Verification) != g.verification {
				g.z.t.Errorf("verification request to %v: got %q, want %q", g.addr, v.Verification, g.verification)
			}
			return v.Number
		}
	}
	g.z.t.Fatalf("challenge of %v: no verification request came", g.addr)
	return 0
}

func (g *server) verify(number uint32) uplink.Drop {
	return g.z.send(g.addr, zandronum.AppendVerification(nil, zandronum.Verification{Verification: []byte(g.verification), Number: number}))
}

// register goes through a whole registration and returns the packets after it.
func (g *server) register() []sent {
	g.z.t.Helper()
	number := g.challenged()
	if dropped := g.verify(number); dropped != uplink.NotDropped {
		g.z.t.Fatalf("verification of %v: dropped: %s", g.addr, dropped)
	}
	return g.z.w.Take()
}

func (g *server) acknowledge() uplink.Drop {
	return g.z.send(g.addr, zandronum.AppendReceipt(nil, []byte(g.verification)))
}

// listed reports whether the registry has the server.
func (g *server) listed() bool {
	_, ok := g.z.opt.Registry.Get(master.Key{Source: g.addr})
	return ok
}

// ask requests the list and returns the first answer and the servers.
func (z *zan) ask(from string) (zandronum.Answer, []string) {
	z.t.Helper()
	return z.askWith(from, zandronum.AppendListRequest(nil, zandronum.ListVersion))
}

const noAnswer zandronum.Answer = 99

func (z *zan) askWith(from string, request []byte) (zandronum.Answer, []string) {
	z.t.Helper()
	z.w.Take()
	a := netip.MustParseAddrPort(from)
	z.send(a, request)
	answer, list := noAnswer, []string{}
	for i, p := range z.w.Take() {
		got, err := zandronum.ParseListPacket(p.message)
		if err != nil {
			z.t.Fatalf("answer to %s: %x: %v", from, p.message, err)
		}
		if p.from != masterAddr || p.to != a {
			z.t.Errorf("answer to %s: from %v to %v", from, p.from, p.to)
		}
		if i == 0 {
			answer = got.Answer
		}
		for _, s := range got.Servers {
			list = append(list, s.String())
		}
	}
	return answer, list
}

// wantList asks from an address that has not asked before.
func (z *zan) wantList(from string, want ...string) {
	z.t.Helper()
	answer, got := z.ask(from)
	if answer != zandronum.AnswerList || !slices.Equal(got, want) {
		z.t.Errorf("list for %s: got answer %d, %q, want %q", from, answer, got, want)
	}
}

// banLists returns the ban list parts among packets to an address.
func banLists(t testing.TB, packets []sent, to netip.AddrPort) (parts []zandronum.BanPart) {
	t.Helper()
	for _, p := range packets {
		if part, err := zandronum.ParseBanPart(p.message); err == nil && p.to == to {
			part.Verification = bytes.Clone(part.Verification)
			parts = append(parts, part)
		}
	}
	return parts
}
