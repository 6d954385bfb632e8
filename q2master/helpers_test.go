package q2master

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const (
	header = "\xff\xff\xff\xff"
	inn    = `\hostname\The Inn\mapname\q2dm1\maxclients\8` + "\n"
	drunk  = inn + `3 50 "Ann"` + "\n"
)

var (
	home  = netip.MustParseAddr("198.51.100.1")
	one   = netip.MustParseAddrPort("192.0.2.1:27910")
	two   = netip.MustParseAddrPort("192.0.2.2:27910")
	asker = netip.MustParseAddrPort("203.0.113.9:4000")
)

// main is the number of the socket of the master in sent; others are posts.
const main = -1

// sent is a packet that the master sent.
type sent struct {
	data string
	to   netip.AddrPort
	by   int
}

// wire is one of the sockets.
type wire struct {
	*nettest.Recorder[sent]
	by int
}

func (w wire) WritePacket(data []byte, via netip.Addr, to netip.AddrPort) error {
	if via != home && via.IsValid() {
		return fmt.Errorf("sent from %v", via)
	}
	w.Keep(sent{string(data), to, w.by})
	return nil
}

// world is a Server without sockets.
type world struct {
	*Server
	t    testing.TB
	list *master.Registry
	book *verdicts.Log
	out  *nettest.Recorder[sent]
}

func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	catalogue, err := games.NewCatalog([]games.Game{{Name: "quake2"}, {Name: "quakeworld"}, {Name: "hexenworld"}, {Name: "heretic2"}, {Name: "kingpin", Secrets: []string{"abcdef"}}})
	if err != nil {
		t.Fatal(err)
	}
	out := new(nettest.Recorder[sent])
	opt := Options{
		Registration: part.Registration{
			Listing: part.Listing{Registry: master.NewRegistry(master.Limits{Servers: 1 << 16, PerAddr: 1 << 16, PerNet: 1 << 16}), Games: catalogue},
			Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		},
		Dialect: Two(nil),
	}
	configs.Defaults(&opt.Config)
	list := make([]netserve.PacketWriter, uplink.PostCount)
	for i := range list {
		list[i] = wire{out, i}
	}
	opt.Posts = uplink.PostsOf(list)
	if change != nil {
		change(&opt)
	}
	return &world{New(opt), t, opt.Registry, opt.Verdicts, out}
}

// send hands a packet to the master and returns why it was dropped.
func (w *world) send(from netip.AddrPort, text string) string { return w.sendAt(0, from, text) }

func (w *world) sendAt(port uint16, from netip.AddrPort, text string) string {
	p := packetOf(from, text)
	dropped := w.At(port).Handle(wire{w.out, main}, p, time.Now())
	if dropped != uplink.NotDropped {
		w.Dropped(p, dropped)
	}
	return dropped.String()
}

// answer hands an answer to a post and returns why it was dropped.
func (w *world) answer(number int, from netip.AddrPort, text string) string {
	p := packetOf(from, text)
	dropped := w.answered(p, number, time.Now())
	if dropped != uplink.NotDropped {
		w.Dropped(p, dropped)
	}
	return dropped.String()
}

func packetOf(from netip.AddrPort, text string) netserve.Packet {
	return netserve.Packet{Data: []byte(text), From: from, To: home}
}

// beat sends a heartbeat in Quake 2's form and returns the post of the question.
func (w *world) beat(from netip.AddrPort, status string) int {
	w.t.Helper()
	w.out.Take()
	if dropped := w.send(from, header+"heartbeat\n"+status); dropped != "" {
		w.t.Fatalf("heartbeat dropped: %s", dropped)
	}
	out := w.out.Take()
	if len(out) != 2 || out[0] != (sent{header + "ack", from, main}) {
		w.t.Fatalf("sent %v, want an ack and a question", out)
	}
	return w.question(from, out[1], quake2.Two)
}

// question returns the post of a question.
func (w *world) question(to netip.AddrPort, q sent, form quake2.Form) int {
	w.t.Helper()
	if q.to != to || q.by == main || q.data != string(form.AppendAskStatus(nil)) {
		w.t.Fatalf("sent %v, want a question to %v", q, to)
	}
	return q.by
}

// register sends a heartbeat and all answers, and returns why the last was dropped.
func (w *world) register(from netip.AddrPort, status string) string {
	w.t.Helper()
	return w.prove(from, w.beat(from, status), quake2.Two, status)
}

// prove answers at a post, and at all to which questions follow.
func (w *world) prove(from netip.AddrPort, at int, form quake2.Form, status string) string {
	w.t.Helper()
	for {
		dropped := w.answer(at, from, string(form.AppendStatus(nil, []byte(status))))
		out := w.out.Take()
		if dropped != "" || len(out) == 0 {
			return dropped
		}
		at = w.question(from, out[0], form)
	}
}

// listed returns the record of a server.
func (w *world) listed(a netip.AddrPort) *master.Server {
	srv, ok := w.list.Get(w.KeyOf(a))
	if !ok {
		return nil
	}
	return srv
}

// verdict returns the last verdict on an address.
func (w *world) verdict(a netip.AddrPort) string {
	for _, e := range slices.Backward(w.book.Of(a.Addr())) {
		if e.Addr == a {
			return e.Verdict.String()
		}
	}
	return "none"
}

// pass lets time pass and does Serve's work of each second. It needs synctest.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(uplink.TickEvery)
		w.Expire(wire{w.out, main}, time.Now())
	}
}

// ask requests a list at a port and returns its servers in their order, or why it was
// dropped.
func (w *world) ask(port uint16, form quake2.Form, request string) string {
	w.t.Helper()
	w.out.Take()
	if dropped := w.sendAt(port, asker, request); dropped != "" {
		return dropped
	}
	var servers []netip.AddrPort
	for _, p := range w.out.Take() {
		var ok bool
		var err error
		if servers, ok, err = form.ParseList(servers, []byte(p.data)); !ok || err != nil || p.to != asker || p.by != main {
			w.t.Fatalf("sent %v: %v", p, err)
		}
	}
	text := fmt.Sprint(servers)
	return text[1 : len(text)-1]
}
