// Package echo answers every datagram with a greeting that is shorter, and others not at all. It is
// the example of docs/contributing/new-protocol.md.
package echo

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
)

// Config is section echo of the configuration.
type Config struct {
	// UDP address.
	Listen string `key:"listen" default:":7007" listen:"udp 7007"`
	// Answer to each datagram: {words}.
	Greeting string `key:"greeting" default:"hello" words:"hello, goodbye" live:"true"`
}

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Echoes for players",
		Steps: []service.Step{{Name: "echo", Needs: []string{"echo"}, Run: check}},
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	s := &server{self: env.Counted("short")}
	s.greeting.Store(&c.Greeting)
	return &service.Running{
		Address: conn.LocalAddr(), UDP: []netip.AddrPort{conn.LocalAddr()},
		Serve: func(ctx context.Context) error {
			return netserve.ServePackets(ctx, conn, s, s.self.Packets(1))
		},
		Reload: func(to service.Service) { s.greeting.Store(&to.(*Config).Greeting) },
		Close:  conn.Close,
	}, nil
}

// server answers datagrams.
type server struct {
	self     part.Self
	greeting atomic.Pointer[string] // as configured now
}

// ServePacket implements netserve.PacketHandler.
func (s *server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	answer := *s.greeting.Load()
	if len(p.Data) <= len(answer) { // its source may be forged
		s.self.Metrics.Drop("short")
		return
	}
	_ = w.WritePacket([]byte(answer), p.To, p.From)
}

// check sends a datagram and expects a shorter answer.
func check(ctx context.Context, t *service.Trial) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp4", t.Address("echo"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(service.StepTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("selftest")); err != nil {
		return err
	}
	var buf [64]byte
	n, err := conn.Read(buf[:])
	if err == nil && n >= len("selftest") {
		err = errors.New("the answer is not shorter than the question")
	}
	return err
}
