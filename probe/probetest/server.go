package probetest

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Server answers on a port of the loopback address.
type Server struct {
	conn *net.UDPConn

	mu    sync.Mutex // guards the fields below
	talk  Talk
	asked int
}

// Listen starts a server that answers until the test ends. A nil talk is
// silence.
func Listen(t testing.TB, talk Talk) *Server {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{conn: c, talk: talk}
	var answering sync.WaitGroup
	answering.Go(s.answer)
	t.Cleanup(func() { _ = c.Close(); answering.Wait() })
	return s
}

func (s *Server) answer() {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error, which some systems report here
		}
		for _, p := range s.next(buf[:n]) {
			_, _ = s.conn.WriteToUDPAddrPort(p, from) // errors of clients are ignored
		}
	}
}

func (s *Server) next(question []byte) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.talk == nil {
		return nil
	}
	return s.talk(question)
}

// Address returns the address of the server.
func (s *Server) Address() netip.AddrPort {
	a := s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Say changes the answers of the server; nil: none.
func (s *Server) Say(talk Talk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talk = talk
}

// Asked returns the number of packets received.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}
