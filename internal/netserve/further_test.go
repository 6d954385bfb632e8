package netserve

import (
	"net"
	"strconv"
	"testing"

	"github.com/rs/zerolog"
)

func TestFurtherPorts(t *testing.T) {
	free, err := Ports{Network: "udp4", Address: "127.0.0.1:0", Usual: 27650, Further: []uint16{27655}}.Open(t.Context(), ListenOptions{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }()
	if len(free.Further) != 1 || free.Further[0].Port != 27655 || len(free.Addresses()) != 2 || free.Opened() != nil {
		t.Errorf("ports that the system chooses: %v, addresses %v, named %q", free.Further, free.Addresses(), free.Opened())
	}
	free.ports.Address = ":27650"
	if got, want := free.Opened(), ":"+strconv.Itoa(int(free.Further[0].Conn.LocalAddr().Port())); len(got) != 1 || got[0] != want {
		t.Errorf("further ports %q, want %q", got, want)
	}
}

func TestFurtherPortsThatCannotBe(t *testing.T) {
	held, err := ListenPackets(t.Context(), "udp4", "127.0.0.1:0", ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := held.LocalAddr()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(first.Port())))
	s, err := Ports{Network: "udp4", Address: at, Usual: 65535, Further: []uint16{1, 65535}}.Open(t.Context(), ListenOptions{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if len(s.Further) != 0 { // below 0, and the port of the first
		t.Errorf("opened %v", s.Further)
	}
}
