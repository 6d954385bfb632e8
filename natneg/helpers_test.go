package natneg

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/internal/netserve"
)

var serverAddr = netip.MustParseAddr("198.51.100.1")

// sent is a packet that the server sent.
type sent struct {
	socket int // 0 main, 1 and on extra, -1 second
	from   netip.Addr
	to     netip.AddrPort
	data   []byte
}

func (s sent) header(t testing.TB) Header {
	t.Helper()
	h, _, err := ParseHeader(s.data)
	if err != nil {
		t.Fatalf("sent %x: %v", s.data, err)
	}
	return h
}

// connect returns the body of a connect.
func (s sent) connect(t testing.TB) Connect {
	t.Helper()
	h, body, err := ParseHeader(s.data)
	c, ok := ParseConnect(body)
	if err != nil || h.Type != TypeConnect || !ok {
		t.Fatalf("sent %x: no connect", s.data)
	}
	return c
}

// wire records packets that a server sends from one socket.
type wire struct {
	post   *post
	socket int
}

// post records packets that a server sent, from all sockets.
type post = nettest.Recorder[sent]

func (w wire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.post.Keep(sent{w.socket, from, to, bytes.Clone(data)})
	return nil
}

// station is a server without sockets, at its addresses.
type station struct {
	*Server
	t     testing.TB
	post  *post
	at    []netip.AddrPort
	wires []netserve.PacketWriter
}

// newStation returns a server at the addresses; the second socket is at second,
// if that is not empty.
func newStation(t testing.TB, opt Options, second string, at ...string) *station {
	t.Helper()
	st := &station{Server: New(opt), t: t, post: &post{}}
	if len(at) == 0 {
		at = []string{serverAddr.String() + ":27901"}
	}
	for i, a := range at {
		st.at = append(st.at, netip.MustParseAddrPort(a))
		st.wires = append(st.wires, wire{st.post, i})
	}
	var secondAt netip.AddrPort
	if second != "" {
		secondAt = netip.MustParseAddrPort(second)
	}
	st.Attach(st.wires, st.at, wire{st.post, -1}, secondAt)
	return st
}

// deliver hands a packet to a socket and returns why it was dropped.
func (st *station) deliver(socket int, from string, data []byte) drop {
	return st.handle(uint16(socket), st.wires[socket], netserve.Packet{
		Data: data, From: netip.MustParseAddrPort(from), To: st.at[socket].Addr(),
	})
}

// pass lets time go by as Serve does. It needs synctest.
func (st *station) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(wheelStep)
		st.Tick()
	}
}

// of returns the packets of a type that were sent to an address, or to any with
// an empty one, since it was last asked; all others are lost.
func (st *station) of(typ Type, to string) []sent {
	return slices.DeleteFunc(st.post.Take(), func(s sent) bool {
		return s.header(st.t).Type != typ || (to != "" && s.to != netip.MustParseAddrPort(to))
	})
}

// initPacket returns an init of version 3 without a game socket.
func initPacket(cookie uint32, index byte, t PortType) []byte {
	return initOf(3, cookie, Init{PortType: t, Index: index, Game: []byte("gmtest")})
}

func initOf(version byte, cookie uint32, i Init) []byte {
	return i.AppendTo(Header{version, TypeInit, cookie}.AppendTo(nil), version)
}

// inits sends the inits of a whole client of version 3 and returns why the last
// one that was dropped was.
func (st *station) inits(cookie uint32, index byte, from string) (dropped drop) {
	for _, t := range []PortType{PortNN1, PortNN2, PortNN3} {
		if d := st.deliver(0, from, initPacket(cookie, index, t)); d != notDropped {
			dropped = d
		}
	}
	return dropped
}

func connectAckPacket(cookie uint32, index byte) []byte {
	return Ack{Index: index}.AppendTo(Header{3, TypeConnectAck, cookie}.AppendTo(nil), 3)
}

func reportPacket(cookie uint32, index, result byte) []byte {
	r := Report{Index: index, Result: result, NATType: [4]byte{6}}
	copy(r.Game[:], "gmtest")
	return r.AppendTo(Header{3, TypeReport, cookie}.AppendTo(nil))
}

// addr returns the nth address of many.
func addr(n int) string {
	return fmt.Sprintf("%d.%d.%d.%d:5000", 20+n>>24&0x3F, n>>16&0xFF, n>>8&0xFF, n&0xFF)
}
