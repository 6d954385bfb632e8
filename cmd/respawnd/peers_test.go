package main

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// testGame is the game of hosts and browsers, testSecret its secret.
const (
	testGame   = "gmtest"
	testSecret = "HA6zkS"
)

// wait returns the context of a wait, which ends with hang.
func wait(t testing.TB) context.Context { return netclient.Bound(t.Context(), hang) }

// packetsAt opens the socket of a client on an address of this machine.
func packetsAt(t testing.TB, at, server netip.AddrPort) *netclient.Packets {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return netclient.New(c, server, 1<<13)
}

// host is a game server.
type host struct {
	qr2.Host
	t        testing.TB
	rules    []string // names and values in turn
	players  []string
	messages [][]byte // client messages, in the order in which they came
}

// newHost opens the socket of a game server.
func newHost(t testing.TB, master netip.AddrPort, rules ...string) *host {
	t.Helper()
	return newHostAt(t, netip.AddrPortFrom(home, 0), master, rules...)
}

// newHostAt is newHost on an address of this machine.
func newHostAt(t testing.TB, at, master netip.AddrPort, rules ...string) *host {
	t.Helper()
	h := &host{t: t, rules: rules, Host: qr2.Host{
		Packets: packetsAt(t, at, master), Game: testGame, Secret: testSecret,
		Private: netip.MustParseAddrPort("192.168.7.7:6500"), NATNeg: true,
		Players: qr2.Table{Columns: []string{"player_", "score_"}}, Teams: qr2.Table{Columns: []string{"team_t"}},
	}}
	h.Instance = 0xA0000000 | uint32(h.address().Port())
	return h
}

// register lists a game server and fails unless the registration is
// confirmed.
func register(t testing.TB, d *running, rules ...string) *host {
	t.Helper()
	h := newHost(t, d.address["qr2"], rules...)
	h.register()
	return h
}

func (h *host) register() {
	h.t.Helper()
	h.heartbeat("3")
	h.prove()
}

// prove answers the challenge and waits to be listed.
func (h *host) prove() {
	h.t.Helper()
	h.answer()
	h.expect(qr2.KindRegistered)
}

// answer waits for the challenge and answers it.
func (h *host) answer() {
	h.t.Helper()
	h.must(h.AnswerChallenge(wait(h.t)))
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("host %v: %v", h.address(), err)
	}
}

func (h *host) address() netip.AddrPort { return h.Local() }

func (h *host) send(kind qr2.Kind, body []byte) {
	h.t.Helper()
	h.raw(append(binary.BigEndian.AppendUint32([]byte{byte(kind)}, h.Instance), body...))
}

func (h *host) raw(p []byte) {
	h.t.Helper()
	h.must(h.Send(p))
}

// heartbeat reports the rules. state is the value of statechanged, "" for none.
func (h *host) heartbeat(state string) {
	h.t.Helper()
	h.Rules, h.Players.Rows = nil, nil
	for pair := range slices.Chunk(h.rules, 2) {
		h.Rules = append(h.Rules, qr2.Rule{Name: pair[0], Value: pair[1]})
	}
	for _, p := range h.players {
		h.Players.Rows = append(h.Players.Rows, []string{p, "7"})
	}
	h.must(h.Heartbeat(state))
}

// expect returns the body of the next packet of the kind. Queries that come before
// it are answered, messages confirmed.
func (h *host) expect(kind qr2.Kind) []byte {
	h.t.Helper()
	for {
		got, body := h.read()
		if got == kind {
			return body
		}
	}
}

func (h *host) read() (qr2.Kind, []byte) {
	h.t.Helper()
	r, err := h.Receive(wait(h.t))
	h.must(err)
	body := slices.Clone(r.Body)
	if r.Kind == qr2.KindMessage {
		h.messages = append(h.messages, body[4:])
	}
	return r.Kind, body
}

// packet returns the next packet of any protocol, and where it came from.
func (h *host) packet() (p []byte, from netip.AddrPort) {
	h.t.Helper()
	h.must(h.Packets.Await(wait(h.t), func(b []byte, a netip.AddrPort) (bool, error) {
		p, from = slices.Clone(b), a
		return true, nil
	}))
	return p, from
}

// browser is a client of the list.
type browser struct {
	*serverbrowse.Client
	t         testing.TB
	conn      net.Conn
	challenge [8]byte
}

func browse(t testing.TB, d *running) *browser {
	t.Helper()
	c, err := netclient.DialTCP(t.Context(), d.address["serverbrowse"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	b := &browser{Client: serverbrowse.NewClient(c, testSecret), t: t, conn: c}
	b.setChallenge([]byte("gOFezpUs"))
	return b
}

func (b *browser) setChallenge(challenge []byte) {
	b.challenge = [8]byte(challenge)
	b.SetChallenge(b.challenge)
}

func (b *browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

func (b *browser) write(p []byte) {
	b.t.Helper()
	b.must(b.Send(wait(b.t), p))
}

// ask sends a list request and returns the reply.
func (b *browser) ask(o serverbrowse.Option, filter, fields string) serverbrowse.Reply {
	b.t.Helper()
	r := serverbrowse.NewRequest(testGame, filter, fields, o)
	r.Challenge = b.challenge
	msg, err := r.AppendTo(nil)
	b.must(err)
	b.write(msg)
	return b.reply(o)
}

func (b *browser) reply(o serverbrowse.Option) serverbrowse.Reply {
	b.t.Helper()
	r, err := b.Reply(wait(b.t), o)
	b.must(err)
	return r
}

func (b *browser) next() serverbrowse.Push {
	b.t.Helper()
	p, err := b.Next(wait(b.t))
	b.must(err)
	return p
}

// nextOf returns the next message of a kind.
func (b *browser) nextOf(kind serverbrowse.PushKind) serverbrowse.Push {
	b.t.Helper()
	p, err := b.NextOf(wait(b.t), kind)
	b.must(err)
	return p
}

// wantClosed fails unless the master closes the connection.
func (b *browser) wantClosed() {
	b.t.Helper()
	b.must(b.conn.SetDeadline(time.Now().Add(hang)))
	var buf [512]byte
	for {
		_, err := b.conn.Read(buf[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			b.t.Fatal("the connection stays open")
		}
		if err != nil {
			return
		}
	}
}

// list returns the listed servers by address, their values by field.
func list(t testing.TB, d *running, filter, fields string) map[string]map[string]string {
	t.Helper()
	b := browse(t, d)
	defer func() { _ = b.conn.Close() }()
	return rowsOf(b.ask(0, filter, fields))
}

func rowsOf(r serverbrowse.Reply) map[string]map[string]string {
	out := make(map[string]map[string]string)
	for _, e := range r.Entries {
		row := make(map[string]string)
		for i, v := range e.Values {
			row[r.Keys[i].Name] = v
		}
		out[e.Public.String()] = row
	}
	return out
}

// wantListed fails unless exactly these hosts are listed.
func wantListed(t testing.TB, d *running, hosts ...*host) {
	t.Helper()
	got := list(t, d, "", `\hostname`)
	want := make(map[string]bool)
	for _, h := range hosts {
		want[h.address().String()] = true
		if got[h.address().String()] == nil {
			t.Errorf("%v is not listed", h.address())
		}
	}
	for a := range got {
		if !want[a] {
			t.Errorf("%s is listed, want it gone", a)
		}
	}
}

// legacyList asks for the old list.
func legacyList(t testing.TB, d *running, r legacylist.Request) ([]netip.AddrPort, error) {
	t.Helper()
	c, err := netclient.DialTCP(t.Context(), d.address["legacylist"].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return r.Ask(wait(t), c)
}
