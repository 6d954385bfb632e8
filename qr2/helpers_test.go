package qr2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const (
	secret     = "HA6zkS"
	longSecret = "longer7"
)

var masterAddr = netip.MustParseAddr("198.51.100.1")

// catalogue has one game of each kind that is treated differently.
func catalogue(t testing.TB) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Secrets: []string{secret}, Facts: games.Facts{Aliases: []string{"gmdemo"}}},
		{Name: "other", Secrets: []string{"oldkey", longSecret}},
		{Name: "prequery", Secrets: []string{secret}, BackendFlags: games.QueryChallenge},
		{Name: "nosecret"},
		{Name: "gone", Secrets: []string{secret}, DisabledServices: games.Gone},
		{Name: "down", Secrets: []string{secret}, DisabledServices: games.TemporarilyDown},
		{Name: "closed", Secrets: []string{secret}, Maintenance: true, Facts: games.Facts{Aliases: []string{"closedde", "closedjp"}}},
		{Name: "closedde", Secrets: []string{longSecret}},
		{Name: "silent", Policy: games.Policy{NoSecure: games.On}},
		{Name: "both", Secrets: []string{secret}, DisabledServices: games.Gone | games.TemporarilyDown},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sent is a packet that the service sent.
type sent struct {
	data []byte
	from netip.Addr
	to   netip.AddrPort
}

func (s sent) kind() Kind {
	if len(s.data) < 3 || s.data[0] != 0xFE || s.data[1] != 0xFD {
		return 0xFF
	}
	return Kind(s.data[2])
}

// wire records the packets of the service.
type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{bytes.Clone(data), from, to})
	return nil
}

// intake is a Server with all that it works with, and no socket.
type intake struct {
	*Server
	t     testing.TB
	games *games.Catalog
	book  *verdicts.Log
	w     *wire
	probe *wire
}

func newIntake(t testing.TB, change func(*Options)) *intake {
	t.Helper()
	opt := Options{
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalogue(t)},
		Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
	}
	opt.Config = quietConfig()
	if change != nil {
		change(&opt)
	}
	return &intake{New(opt), t, opt.Games, opt.Verdicts, &wire{}, &wire{}}
}

// quietConfig is the default configuration, without a bound per second and without
// refusals.
func quietConfig() (c Config) {
	configs.Defaults(&c)
	c.UnprovedRate, c.AddError = 0, false
	return c
}

// reload changes the live configuration.
func (in *intake) reload(change func(*Config)) {
	c := *in.live.Load().Config
	change(&c)
	in.Reload(&c)
}

// verdict returns the last verdict on an address.
func (in *intake) verdict(a netip.AddrPort) string {
	for _, e := range in.book.Recent(verdicts.DefaultCapacity) {
		if e.Addr == a {
			return e.Verdict.String()
		}
	}
	return "none"
}

// pass lets time go by as the ticker of Serve does. It needs synctest.
func (in *intake) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(tickEvery)
		in.repeatChallenges(in.w, time.Now())
		in.repeatMessages(in.w, time.Now())
		in.Server.probe(in.probe, time.Now())
		in.text.tick(in.w, in.probe, time.Now())
	}
}

// host is a game server.
type host struct {
	in       *intake
	addr     netip.AddrPort
	instance uint32
	game     string
	secret   string
}

func (in *intake) host(addr string) *host {
	return &host{in, netip.MustParseAddrPort(addr), 0x01020304, "gmtest", secret}
}

// restarted is the same host with another instance key.
func (h *host) restarted(instance uint32) *host {
	next := *h
	next.instance = instance
	return &next
}

func (h *host) key() master.Key { return master.Key{Source: h.addr, Instance: h.instance} }

// read makes a record of a heartbeat as it is made when one is read,
// expecting the names of hint, and also returns the rules that mean something to us.
func read(list *master.Registry, b []byte, hint *master.Server) (s master.Server, f fixed, err error) {
	f, err = peek(b)
	if err != nil {
		return s, f, err
	}
	var expected master.Shape
	if hint != nil {
		expected = master.Shape{Rules: hint.Rules.Names(), Players: hint.Players.Names(), Teams: hint.Teams.Names()}
	}
	var report master.Report
	newDecoder(list).Decode(f.appendStateless(nil, b[header:]), expected, &report)
	if err := report.Into(&s); err != nil {
		return s, f, fmt.Errorf("report: %w", err)
	}
	if !report.Same(&s) {
		return s, f, errors.New("the record is not the same as its report")
	}
	return s, f, nil
}

// packet starts a packet of the host.
func (h *host) packet(k Kind, body ...string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{byte(k)}, h.instance), strings.Join(body, "")...)
}

// heartbeat returns a heartbeat as a host sends it; pairs follow the usual rules.
func (h *host) heartbeat(pairs ...string) []byte {
	b := h.packet(KindHeartbeat)
	for _, s := range append([]string{"localip0", "192.168.1.5", "localport", "6500", "natneg", "1", "gamename", h.game}, pairs...) {
		b = append(append(b, s...), 0)
	}
	return append(b, 0)
}

// send hands a packet of the host to the service and returns why it was dropped.
func (h *host) send(data []byte) uplink.Drop {
	return h.in.handle(h.in.w, netserve.Packet{Data: data, From: h.addr, To: masterAddr})
}

// answer returns the host's answer to a challenge packet.
func (h *host) answer(challenge []byte) []byte {
	text := challenge[replyHeader : len(challenge)-1]
	return h.packet(KindChallenge, gamespy.Response(h.secret, string(text)), "\x00")
}

// challenged sends a heartbeat and returns the challenge that comes for it.
func (h *host) challenged(heartbeat []byte) []byte {
	h.in.t.Helper()
	h.in.w.Take()
	if dropped := h.send(heartbeat); dropped != uplink.NotDropped {
		h.in.t.Fatalf("heartbeat of %v: dropped: %s", h.addr, dropped)
	}
	for _, p := range h.in.w.Take() {
		if p.kind() == KindChallenge && p.to == h.addr {
			return p.data
		}
	}
	h.in.t.Fatalf("heartbeat of %v: no challenge came", h.addr)
	return nil
}

// register goes through a whole registration.
func (h *host) register(pairs ...string) *master.Server {
	h.in.t.Helper()
	c := h.challenged(h.heartbeat(pairs...))
	if dropped := h.send(h.answer(c)); dropped != uplink.NotDropped {
		h.in.t.Fatalf("response of %v: dropped: %s", h.addr, dropped)
	}
	h.want(sent{h.reply(KindRegistered), masterAddr, h.addr})
	srv, ok := h.in.list.Get(h.key())
	if !ok {
		h.in.t.Fatalf("%v is not listed after its registration", h.addr)
	}
	return srv
}

// reply is a packet of the master to the host.
func (h *host) reply(k Kind, body ...byte) []byte {
	return append(appendHeader(nil, k, h.instance), body...)
}

// want checks the packets sent since the last call.
func (h *host) want(packets ...sent) {
	h.in.t.Helper()
	got := h.in.w.Take()
	same := slices.EqualFunc(got, packets, func(a, b sent) bool {
		return bytes.Equal(a.data, b.data) && a.from == b.from && a.to == b.to
	})
	if !same {
		h.in.t.Errorf("sent: got %+v, want %+v", got, packets)
	}
}

func (h *host) listed() bool {
	_, ok := h.in.list.Get(h.key())
	return ok
}

// rule returns a rule of the listed host.
func (h *host) rule(name string) string {
	srv, ok := h.in.list.Get(h.key())
	if !ok {
		return "not listed"
	}
	value, _ := srv.Rules.Get(name)
	return value
}

// listOf bounds the list; 0: as it is by default.
func listOf(servers, perAddr int) func(*Options) {
	return func(o *Options) {
		o.Registry = master.NewRegistry(master.Limits{Servers: servers, PerAddr: perAddr})
	}
}
