package rig

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

// TestGame is the game of hosts and browsers, testSecret its secret.
const (
	TestGame   = "gmtest"
	TestSecret = "HA6zkS"
)

// Wait returns the context of a wait, which ends with hang.
func Wait(t testing.TB) context.Context { return netclient.Bound(t.Context(), Hang) }

// PacketsAt opens the socket of a client on an address of this machine.
func PacketsAt(t testing.TB, at, server netip.AddrPort) *netclient.Packets {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return netclient.New(c, server, 1<<13)
}

// Host is a game server.
type Host struct {
	qr2.Host
	T          testing.TB
	OwnRules   []string // names and values in turn
	OwnPlayers []string
	Messages   [][]byte // client messages, in the order in which they came
}

// NewHost opens the socket of a game server.
func NewHost(t testing.TB, master netip.AddrPort, rules ...string) *Host {
	t.Helper()
	return NewHostAt(t, netip.AddrPortFrom(Home, 0), master, rules...)
}

// NewHostAt is newHost on an address of this machine.
func NewHostAt(t testing.TB, at, master netip.AddrPort, rules ...string) *Host {
	t.Helper()
	h := &Host{T: t, OwnRules: rules, Host: qr2.Host{
		Packets: PacketsAt(t, at, master), Game: TestGame, Secret: TestSecret,
		Private: netip.MustParseAddrPort("192.168.7.7:6500"), NATNeg: true,
		Players: qr2.Table{Columns: []string{"player_", "score_"}}, Teams: qr2.Table{Columns: []string{"team_t"}},
	}}
	h.Instance = 0xA0000000 | uint32(h.Address().Port())
	return h
}

// Register lists a game server and fails unless the registration is
// confirmed.
func Register(t testing.TB, d *Running, rules ...string) *Host {
	t.Helper()
	h := NewHost(t, d.Address["qr2"], rules...)
	h.MustRegister()
	return h
}

// MustRegister sends heartbeats until the host is listed.
func (h *Host) MustRegister() {
	h.T.Helper()
	h.MustHeartbeat("3")
	h.MustProve()
}

// MustProve answers the challenge and waits to be listed.
func (h *Host) MustProve() {
	h.T.Helper()
	h.MustAnswer()
	h.Expect(qr2.KindRegistered)
}

// MustAnswer waits for the challenge and answers it.
func (h *Host) MustAnswer() {
	h.T.Helper()
	h.Must(h.AnswerChallenge(Wait(h.T)))
}

// Must fails the test if err is not nil.
func (h *Host) Must(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Fatalf("host %v: %v", h.Address(), err)
	}
}

// Address returns the address that the host sends from.
func (h *Host) Address() netip.AddrPort { return h.Local() }

// MustSend sends a packet of a kind.
func (h *Host) MustSend(kind qr2.Kind, body []byte) {
	h.T.Helper()
	h.Raw(append(binary.BigEndian.AppendUint32([]byte{byte(kind)}, h.Instance), body...))
}

// Raw sends a packet as it is.
func (h *Host) Raw(p []byte) {
	h.T.Helper()
	h.Must(h.Send(p))
}

// MustHeartbeat reports the rules. state is the value of statechanged, "" for none.
func (h *Host) MustHeartbeat(state string) {
	h.T.Helper()
	h.Rules, h.Players.Rows = nil, nil
	for pair := range slices.Chunk(h.OwnRules, 2) {
		h.Rules = append(h.Rules, qr2.Rule{Name: pair[0], Value: pair[1]})
	}
	for _, p := range h.OwnPlayers {
		h.Players.Rows = append(h.Players.Rows, []string{p, "7"})
	}
	h.Must(h.Heartbeat(state))
}

// Expect returns the body of the next packet of the kind. Queries that come before
// it are answered, messages confirmed.
func (h *Host) Expect(kind qr2.Kind) []byte {
	h.T.Helper()
	for {
		got, body := h.Read()
		if got == kind {
			return body
		}
	}
}

// Read returns the next packet of the master.
func (h *Host) Read() (qr2.Kind, []byte) {
	h.T.Helper()
	r, err := h.Receive(Wait(h.T))
	h.Must(err)
	body := slices.Clone(r.Body)
	if r.Kind == qr2.KindMessage {
		h.Messages = append(h.Messages, body[4:])
	}
	return r.Kind, body
}

// Packet returns the next packet of any protocol, and where it came from.
func (h *Host) Packet() (p []byte, from netip.AddrPort) {
	h.T.Helper()
	h.Must(h.Packets.Await(Wait(h.T), func(b []byte, a netip.AddrPort) (bool, error) {
		p, from = slices.Clone(b), a
		return true, nil
	}))
	return p, from
}

// Browser is a client of the list.
type Browser struct {
	*serverbrowse.Client
	t         testing.TB
	Conn      net.Conn
	Challenge [8]byte
}

// Browse connects a browser.
func Browse(t testing.TB, d *Running) *Browser {
	t.Helper()
	c, err := netclient.DialTCP(t.Context(), d.Address["serverbrowse"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	b := &Browser{Client: serverbrowse.NewClient(c, TestSecret), t: t, Conn: c}
	b.MustSetChallenge([]byte("gOFezpUs"))
	return b
}

// MustSetChallenge begins a new request with a challenge.
func (b *Browser) MustSetChallenge(challenge []byte) {
	b.Challenge = [8]byte(challenge)
	b.SetChallenge(b.Challenge)
}

// Must fails the test if err is not nil.
func (b *Browser) Must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

// Write sends bytes as they are.
func (b *Browser) Write(p []byte) {
	b.t.Helper()
	b.Must(b.Send(Wait(b.t), p))
}

// MustAsk sends a list request and returns the reply.
func (b *Browser) MustAsk(o serverbrowse.Option, filter, fields string) serverbrowse.Reply {
	b.t.Helper()
	r := serverbrowse.NewRequest(TestGame, filter, fields, o)
	r.Challenge = b.Challenge
	msg, err := r.AppendTo(nil)
	b.Must(err)
	b.Write(msg)
	return b.MustReply(o)
}

// MustReply reads the answer to a list request.
func (b *Browser) MustReply(o serverbrowse.Option) serverbrowse.Reply {
	b.t.Helper()
	r, err := b.Reply(Wait(b.t), o)
	b.Must(err)
	return r
}

// MustNext returns the next message of the server.
func (b *Browser) MustNext() serverbrowse.Push {
	b.t.Helper()
	p, err := b.Next(Wait(b.t))
	b.Must(err)
	return p
}

// MustNextOf returns the next message of a kind.
func (b *Browser) MustNextOf(kind serverbrowse.PushKind) serverbrowse.Push {
	b.t.Helper()
	p, err := b.NextOf(Wait(b.t), kind)
	b.Must(err)
	return p
}

// WantClosed fails unless the master closes the connection.
func (b *Browser) WantClosed() {
	b.t.Helper()
	b.Must(b.Conn.SetDeadline(time.Now().Add(Hang)))
	var buf [512]byte
	for {
		_, err := b.Conn.Read(buf[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			b.t.Fatal("the connection stays open")
		}
		if err != nil {
			return
		}
	}
}

// List returns the listed servers by address, their values by field.
func List(t testing.TB, d *Running, filter, fields string) map[string]map[string]string {
	t.Helper()
	b := Browse(t, d)
	defer func() { _ = b.Conn.Close() }()
	return RowsOf(b.MustAsk(0, filter, fields))
}

// RowsOf returns the fields of the servers of a list, by address.
func RowsOf(r serverbrowse.Reply) map[string]map[string]string {
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

// WantListed fails unless exactly these hosts are listed.
func WantListed(t testing.TB, d *Running, hosts ...*Host) {
	t.Helper()
	got := List(t, d, "", `\hostname`)
	want := make(map[string]bool)
	for _, h := range hosts {
		want[h.Address().String()] = true
		if got[h.Address().String()] == nil {
			t.Errorf("%v is not listed", h.Address())
		}
	}
	for a := range got {
		if !want[a] {
			t.Errorf("%s is listed, want it gone", a)
		}
	}
}

// LegacyList asks for the old list.
func LegacyList(t testing.TB, d *Running, r legacylist.Request) ([]netip.AddrPort, error) {
	t.Helper()
	c, err := netclient.DialTCP(t.Context(), d.Address["legacylist"].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return r.Ask(Wait(t), c)
}
