package probetest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Server answers on a port of the loopback address, over UDP and TCP.
type Server struct {
	conn  *net.UDPConn
	conns net.Listener

	mu    sync.Mutex // guards the fields below
	talk  Talk
	asked int
}

// Listen starts a server that answers until the test ends. A nil talk is
// silence.
func Listen(t testing.TB, talk Talk) *Server {
	t.Helper()
	s := &Server{talk: talk}
	for s.conns == nil { // until a port is free for both
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
		if err != nil {
			t.Fatal(err)
		}
		s.conn = c
		if s.conns, err = new(net.ListenConfig).Listen(t.Context(), "tcp4", s.Address().String()); err != nil {
			_ = c.Close()
		}
	}
	var answering sync.WaitGroup
	answering.Go(s.answer)
	answering.Go(func() { s.accept(&answering) })
	t.Cleanup(func() { _, _ = s.conn.Close(), s.conns.Close(); answering.Wait() })
	return s
}

// accept answers over TCP, where messages have their length behind 4 bytes.
func (s *Server) accept(answering *sync.WaitGroup) {
	for {
		c, err := s.conns.Accept()
		if err != nil {
			return
		}
		answering.Go(func() {
			defer func() { _ = c.Close() }()
			head := make([]byte, 8)
			for {
				if _, err := io.ReadFull(c, head); err != nil {
					return
				}
				size := binary.LittleEndian.Uint32(head[4:])
				if size < 8 || size > 1<<16 {
					return
				}
				question := append(make([]byte, 0, size), head...)[:size]
				if _, err := io.ReadFull(c, question[8:]); err != nil {
					return
				}
				for _, p := range s.next(question) {
					_, _ = c.Write(p) // errors of clients are ignored
				}
			}
		})
	}
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
