package dialogue

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Times of a Replay.
const (
	answerTime = 3 * time.Second // in which an answer must come
	// unprompted is how long after the last message of the client one of the daemon is not an
	// answer any more, in milliseconds.
	unprompted = 5000
)

// Replay plays the client's side of a recording, and compares the shapes of the answers.
type Replay struct {
	Protocol func(service string) Protocol
	// Address returns where a service is; ok is false if it is not there.
	Address func(service string, port uint16) (a netip.AddrPort, ok bool)
	Answer  time.Duration // in which an answer must come; 0: three seconds
}

// Difference is an answer that did not come.
type Difference struct {
	At      int64  `json:"at_ms"` // of the recording
	Service string `json:"service"`
	Want    string `json:"want"` // shape of the recorded answer
	Got     string `json:"got"`  // shapes of the answers that came, or the error
}

// Replayed is the result of a Replay.
type Replayed struct {
	Compared int `json:"compared"` // answers that were recorded and came
	// Skipped is how many messages could not be played or compared: they are recorded as lengths, their
	// answers depend on a secret, or nothing prompted them.
	Skipped     int          `json:"skipped"`
	Differences []Difference `json:"differences"`
}

// Run plays the client's side of a recording. The error is that of ctx.
func (r *Replay) Run(ctx context.Context, events []Event) (Replayed, error) {
	out := Replayed{Differences: []Difference{}} // never null as JSON
	seats := make(map[int]*seat)
	defer func() {
		for _, s := range seats {
			s.close()
		}
	}()
	for i := range events {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		e := &events[i]
		if e.Stream == 0 {
			continue // of no dialogue
		}
		s := seats[e.Stream]
		if s == nil {
			s = &seat{replay: r, over: e.Over}
			seats[e.Stream] = s
		}
		protocol := r.Protocol(e.Service)
		s.step(ctx, e, &protocol, &out)
	}
	return out, nil
}

// seat is the client's side of a stream.
type seat struct {
	replay *Replay
	over   string
	conn   net.Conn       // of tcp and http
	socket net.PacketConn // of udp
	buf    []byte         // of conn: bytes of messages that are not whole
	asked  int64          // when the last message was sent, in the recording
	blind  bool           // the answers cannot be compared
	any    bool           // something without a shape came since
}

func (s *seat) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.socket != nil {
		_ = s.socket.Close()
	}
}

// step plays one event.
func (s *seat) step(ctx context.Context, e *Event, p *Protocol, out *Replayed) {
	switch e.Kind {
	case Open:
		s.asked = e.At
		if s.over == "tcp" {
			s.fail(s.dial(ctx, e), e, out)
		}
	case Client:
		s.client(ctx, e, p, out)
	case Server:
		if p.Skip != nil && p.Skip(e.Data) {
			return
		}
		if s.blind || s.conn == nil && s.socket == nil || len(e.Data) == 0 || e.At-s.asked > unprompted {
			out.Skipped++
			return
		}
		s.compare(e, p, out)
	case Close:
		s.close()
	case Verdict, End:
	}
}

// fail reports an error as a difference, after which nothing more is compared.
func (s *seat) fail(err error, e *Event, out *Replayed) {
	if err != nil {
		s.blind = true
		out.Differences = append(out.Differences, Difference{e.At, e.Service, "an answer", err.Error()})
	}
}

func (s *seat) client(ctx context.Context, e *Event, p *Protocol, out *Replayed) {
	s.asked, s.any = e.At, false
	if p.Skip != nil && p.Skip(e.Data) {
		return
	}
	secret := e.Blotted && (p.Secret == nil || p.Secret(e.Data))
	if s.over != "tcp" {
		s.blind = false
	}
	if s.blind || secret || len(e.Data) == 0 {
		s.blind = true
		out.Skipped++
		return
	}
	s.fail(s.send(ctx, e, p), e, out)
}

// dial connects to the service.
func (s *seat) dial(ctx context.Context, e *Event) error {
	to, ok := s.replay.Address(e.Service, e.Port)
	if !ok {
		return fmt.Errorf("the daemon has no service %s", e.Service)
	}
	d := net.Dialer{Timeout: s.wait()}
	conn, err := d.DialContext(ctx, "tcp", to.String())
	s.conn = conn
	return err
}

func (s *seat) wait() time.Duration {
	if s.replay.Answer > 0 {
		return s.replay.Answer
	}
	return answerTime
}

// send sends a message as it was on the wire.
func (s *seat) send(ctx context.Context, e *Event, p *Protocol) error {
	data := bytes.Clone(e.Data)
	if p.Wire != nil {
		data = p.Wire(data)
	}
	if s.over == "udp" {
		return s.sendPacket(ctx, e, data)
	}
	if s.conn == nil || s.over == "http" {
		s.close()
		if err := s.dial(ctx, e); err != nil {
			return err
		}
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.wait())); err != nil {
		return err
	}
	_, err := s.conn.Write(data)
	return err
}

func (s *seat) sendPacket(ctx context.Context, e *Event, data []byte) error {
	to, ok := s.replay.Address(e.Service, e.Port)
	if !ok {
		return fmt.Errorf("the daemon has no service %s", e.Service)
	}
	if s.socket == nil {
		var lc net.ListenConfig
		socket, err := lc.ListenPacket(ctx, "udp4", ":0")
		if err != nil {
			return err
		}
		s.socket = socket
	}
	_, err := s.socket.WriteTo(data, net.UDPAddrFromAddrPort(to))
	return err
}

// compare waits for an answer of the shape of a recorded one.
func (s *seat) compare(e *Event, p *Protocol, out *Replayed) {
	want := shapeOf(p, e.Data)
	if want == "" && s.any {
		return // a part of a stream whose pieces have any size
	}
	var got []string
	until := time.Now().Add(s.wait())
	for {
		m, err := s.next(p, until)
		if err != nil {
			if len(got) == 0 {
				got = []string{err.Error()}
			}
			out.Differences = append(out.Differences, Difference{e.At, e.Service, want, strings.Join(got, "; ")})
			s.blind = true
			return
		}
		shape := shapeOf(p, p.plain(m))
		if shape == want {
			s.any = want == ""
			out.Compared++
			return
		}
		got = append(got, shape)
	}
}

func shapeOf(p *Protocol, message []byte) string {
	if p.Shape == nil {
		return ""
	}
	return p.Shape(message)
}

// next returns the next message of the daemon.
func (s *seat) next(p *Protocol, until time.Time) ([]byte, error) {
	switch s.over {
	case "udp":
		if err := s.socket.SetReadDeadline(until); err != nil {
			return nil, err
		}
		b := make([]byte, maxMessage)
		n, _, err := s.socket.ReadFrom(b)
		return b[:n], err
	case "http":
		return s.response(until)
	}
	for {
		if p.Split != nil && len(s.buf) > 0 {
			if n := p.Split(true, s.buf); n > 0 {
				m := s.buf[:n]
				s.buf = s.buf[n:]
				return bytes.Clone(m), nil
			}
		}
		if err := s.conn.SetReadDeadline(until); err != nil {
			return nil, err
		}
		var b [4096]byte
		n, err := s.conn.Read(b[:])
		s.buf = append(s.buf, b[:n]...)
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// response reads an answer of HTTP in the form in which it is recorded.
func (s *seat) response(until time.Time) ([]byte, error) {
	if err := s.conn.SetReadDeadline(until); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(s.conn), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	b := fmt.Appendf(nil, "HTTP/1.1 %s\r\n\r\n", answer.Status)
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxMessage))
	return append(b, body...), err
}
