package main

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// testSecret is the secret of testGame.
const testSecret = "HA6zkS"

// host is a game server.
type host struct {
	t        testing.TB
	conn     *net.UDPConn
	master   netip.AddrPort
	key      uint32
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
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, conn: c, master: master, rules: rules}
	h.key = 0xA0000000 | uint32(h.address().Port())
	return h
}

// register lists a game server and fails unless it is told so.
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
	challenge, _, ok := gamespy.CutString(h.expect(qr2.KindChallenge))
	if !ok {
		h.t.Fatal("the challenge has no end")
	}
	h.send(qr2.KindChallenge, append([]byte(gamespy.Response(testSecret, string(challenge))), 0))
}

func (h *host) address() netip.AddrPort {
	a := h.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

func (h *host) send(kind qr2.Kind, body []byte) {
	h.t.Helper()
	p := binary.BigEndian.AppendUint32([]byte{byte(kind)}, h.key)
	h.raw(append(p, body...))
}

func (h *host) raw(p []byte) {
	h.t.Helper()
	if _, err := h.conn.WriteToUDPAddrPort(p, h.master); err != nil {
		h.t.Fatal(err)
	}
}

// heartbeat reports the rules. state is the value of statechanged, "" for none.
func (h *host) heartbeat(state string) {
	h.t.Helper()
	b := gamespy.AppendPair(nil, "localip0", "192.168.7.7")
	b = gamespy.AppendPair(b, "localport", "6500")
	b = gamespy.AppendPair(b, "natneg", "1")
	if state != "" {
		b = gamespy.AppendPair(b, "statechanged", state)
	}
	b = gamespy.AppendPair(b, "gamename", testGame)
	for pair := range slices.Chunk(h.rules, 2) {
		b = gamespy.AppendPair(b, pair[0], pair[1])
	}
	b = gamespy.AppendEnd(b)
	var rows [][]string
	for _, p := range h.players {
		rows = append(rows, []string{p, "7"})
	}
	b, err := gamespy.AppendTable(b, []string{"player_", "score_"}, rows)
	if err == nil {
		b, err = gamespy.AppendTable(b, []string{"team_t"}, nil)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.send(qr2.KindHeartbeat, b)
}

// expect returns the body of the next packet of the kind. What comes before it
// is taken as a game server takes it: queries are answered, messages confirmed.
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
	var buf [2048]byte
	n, from, err := h.conn.ReadFromUDPAddrPort(buf[:])
	if err != nil {
		h.t.Fatalf("host %v waits for a packet: %v", h.address(), err)
	}
	p := buf[:n]
	if n < 7 || p[0] != 0xFE || p[1] != 0xFD {
		h.t.Fatalf("host %v got %x, which no host understands", h.address(), p)
	}
	kind, key, body := qr2.Kind(p[2]), p[3:7], slices.Clone(p[7:])
	switch kind {
	case qr2.KindQuery: // of the probe, from another port
		reply := gamespy.AppendPair(append([]byte{byte(kind)}, key...), "hostname", "probed")
		if _, err := h.conn.WriteToUDPAddrPort(gamespy.AppendEnd(reply), from); err != nil {
			h.t.Fatal(err)
		}
	case qr2.KindMessage:
		if len(body) < 4 {
			h.t.Fatalf("message %x is too short", p)
		}
		h.send(qr2.KindReceipt, body[:4])
		h.messages = append(h.messages, body[4:])
	default:
		if got := binary.BigEndian.Uint32(key); got != h.key {
			h.t.Fatalf("packet of kind %d has key %08x, want %08x", kind, got, h.key)
		}
	}
	return kind, body
}

// browser is a client of the list.
type browser struct {
	t         testing.TB
	conn      net.Conn
	challenge [8]byte
	dec       *serverbrowse.Decoder
}

func browse(t testing.TB, d *running) *browser {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp4", d.address["serverbrowse"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, conn: c, challenge: [8]byte([]byte("gOFezpUs"))}
}

func (b *browser) write(p []byte) {
	b.t.Helper()
	if _, err := b.conn.Write(p); err != nil {
		b.t.Fatal(err)
	}
}

// ask sends a list request and returns the reply.
func (b *browser) ask(o serverbrowse.Option, filter, fields string) serverbrowse.Reply {
	b.t.Helper()
	r := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: testGame, From: testGame, Challenge: b.challenge, Filter: filter, Fields: fields, Options: o,
	}
	msg, err := r.AppendTo(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(msg)
	return b.reply(o)
}

func (b *browser) reply(o serverbrowse.Option) serverbrowse.Reply {
	b.t.Helper()
	if b.dec == nil {
		dec, err := serverbrowse.NewDecoder(b.conn, testSecret, b.challenge)
		if err != nil {
			b.t.Fatal(err)
		}
		b.dec = dec
	}
	r, err := b.dec.Reply(o)
	if err != nil {
		b.t.Fatalf("reply: %v", err)
	}
	return r
}

func (b *browser) next() serverbrowse.Push {
	b.t.Helper()
	p, err := b.dec.Push()
	if err != nil {
		b.t.Fatalf("next message: %v", err)
	}
	return p
}

// nextOf returns the next message of a kind.
func (b *browser) nextOf(kind serverbrowse.PushKind) serverbrowse.Push {
	b.t.Helper()
	for {
		if p := b.next(); p.Kind == kind {
			return p
		}
	}
}

// wantClosed fails unless the master closes the connection.
func (b *browser) wantClosed() {
	b.t.Helper()
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
