package nettest_test

import (
	"bytes"
	"net"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

// TestLoopbackServer sends every datagram back twice, the second time from its end.
func TestLoopbackServer(t *testing.T) {
	if nettest.ChildRole() != "twice" {
		t.Skip("it is the process that TestChildAnswersAndTellsItsTime starts")
	}
	nettest.EchoChild(t, func(datagram []byte, send func([]byte)) {
		send(datagram)
		send(datagram[1:])
	})
}

func TestChildAnswersAndTellsItsTime(t *testing.T) {
	c := nettest.StartChild(t, "twice")
	before := c.Used()
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(c.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("xyz")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	for _, want := range []string{"xyz", "yz"} {
		if n, err := conn.Read(buf); err != nil || !bytes.Equal(buf[:n], []byte(want)) {
			t.Fatalf("answer: got %q, %v, want %q", buf[:n], err, want)
		}
	}
	if after := c.Used(); before <= 0 || after < before {
		t.Errorf("processor time: %v at first, %v after an answer", before, after)
	}
}
