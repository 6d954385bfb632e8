package dnsserver

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Bounds of connections, unless Options.Conn sets others. Clients connect for
// one long answer and disconnect.
const (
	streamFirstByte = 5 * time.Second
	streamIdle      = 10 * time.Second
	streamLife      = 2 * time.Minute
	maxQuestions    = 256 // of one connection
)

func connDefaults(o netserve.ConnOptions) netserve.ConnOptions {
	for field, value := range map[*time.Duration]time.Duration{
		&o.FirstByte: streamFirstByte, &o.Idle: streamIdle, &o.MaxLifetime: streamLife,
	} {
		if *field == 0 {
			*field = value
		}
	}
	return o
}

// ServeConn implements netserve.ConnHandler: questions with a length prefix,
// answered one after the other.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	x := new(work)
	var message [maxQuery]byte
	for range maxQuestions {
		n, err := readLength(c)
		if err != nil {
			return
		}
		if n > len(message) {
			s.drop(c.Peer().Addr(), dropTooLong)
			return
		}
		if _, err := io.ReadFull(c, message[:n]); err != nil {
			return
		}
		if reason := s.admit(c.Peer().Addr(), time.Now()); reason != notDropped {
			s.drop(c.Peer().Addr(), reason)
			return
		}
		c.SetState(netserve.StateBusy)
		answer := s.converse(ctx, x, message[:n], c)
		if answer == nil {
			return
		}
		framed := append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(answer)), uint16(len(answer))), answer...)
		if _, err := c.Write(framed); err != nil {
			return
		}
		c.SetState(netserve.StateIdle)
	}
}

func readLength(r io.Reader) (int, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint16(length[:])), nil
}

// converse returns the answer to a question, after waiting for an upstream if
// necessary. It returns nil if there is none.
func (s *Server) converse(ctx context.Context, x *work, message []byte, c *netserve.Conn) []byte {
	answer, err := s.answer(x, message, c.Peer().Addr(), c.Local().Addr())
	if !errors.Is(err, errForward) {
		return answer
	}
	later := make(chan []byte, 1)
	answer, asked := s.askUpstream(x, c.Peer().Addr(), dns.MaxMsgSize, func(b []byte) { later <- b })
	if !asked {
		return answer
	}
	select {
	case answer := <-later:
		return answer
	case <-ctx.Done():
		return nil
	}
}
