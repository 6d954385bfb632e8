package q2master

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

const name = "q2master"

// Place is a port of a master.
type Place struct {
	Port uint16 // 0: the first
	Form quake2.Form
	Game string // of servers that report there, and of its lists; empty: it is not fixed
}

// Dialect holds the differences between masters of this kind.
type Dialect struct {
	// Service is the name of the service.
	Service string
	// Origin and Instance mark its records in the list of servers.
	Origin   *master.Origin
	Instance uint32
	// Form is that of the first port, which clients expect at Usual. Further are the others, at the
	// same distance from it as from Usual; without a Usual, where they say.
	Form    quake2.Form
	Usual   uint16
	Further []Place
	// Own is the protocol of the service, of which packets are not foreign.
	Own foreign.Protocol
	// Game returns the game of a server by what it says and its port.
	Game func(s *quake2.Status, port uint16) string
	// ListOf returns the list that a game is in.
	ListOf func(game string) string
}

// Two is the dialect of Quake 2's family, with further ports.
func Two(further []Place) Dialect {
	return Dialect{
		Service: name, Origin: Origin, Instance: 0x51324D52, Form: quake2.Two, Further: further, Own: foreign.Quake2,
		Game: (*quake2.Status).Game, ListOf: func(game string) string { return game },
	}
}

// Options configure a Server. Registry and Games are required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Registration

	Dialect Dialect
	Posts   *uplink.Posts // from which servers are asked
}

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	uplink.Master
	opt     Options
	dialect Dialect
	live    atomic.Pointer[Config] // never nil

	received [quake2.KindQuery + 1]prometheus.Counter
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	d := opt.Dialect
	s := &Server{opt: opt, dialect: d}
	s.Master = uplink.New(uplink.Options{
		Registration: opt.Registration, Readers: opt.Readers, MaxPacket: quake2.MaxPacket, Handle: s.handle, Posts: opt.Posts,
		List:    uplink.ListForm{Entry: s.entry, Append: s.appendLists, BusyFirst: true},
		Dialect: uplink.Dialect{Service: d.Service, Origin: d.Origin, Instance: d.Instance, Own: d.Own, Question: s.question, About: s.about},
	})
	received := metric.With(opt.Registerer).Counters("respawnd_"+d.Service+"_received_total", "Messages taken from game servers and browsers, by kind.", "kind").WithLabelValues
	for kind, label := range map[quake2.Kind]string{
		quake2.KindPing: "ping", quake2.KindAck: "ack", quake2.KindHeartbeat: "heartbeat", quake2.KindShutdown: "shutdown", quake2.KindQuery: "list",
	} {
		s.received[kind] = received(label)
	}
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys at once. Budgets begin full.
func (s *Server) Reload(c *Config) {
	s.live.Store(c)
	s.Keeper.Reload(c.Config, c.ListConfig, maxGames)
}

// maxGames is the number of games that are not in the catalogue: those of Quake 2's family that
// package quake2 knows, and those of further ports.
const maxGames = 64

// Serve takes packets from conn, further sockets and the posts until ctx ends.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn, further ...netserve.Further) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Master.Serve(ctx, conn, further...) })
	g.Go(func() error {
		return s.opt.Posts.Serve(ctx, func(number int) netserve.PacketHandler { return post{s, number} }, s.opt.Packets(1))
	})
	return g.Wait()
}

// Takes reports whether a datagram is a message for this master, by its bytes.
func (d *Dialect) Takes(p []byte) bool {
	kind, _, ok := d.Form.Cut(p)
	return ok && kind != quake2.KindOther && kind <= quake2.KindQuery
}

func (d *Dialect) at(port uint16) Place {
	for _, p := range d.Further {
		if p.Port == port {
			return p
		}
	}
	return Place{Form: d.Form}
}

// of returns the place of a game, the first one if none is for that game alone.
func (d *Dialect) of(game string) Place {
	for _, p := range d.Further {
		if p.Game == game {
			return p
		}
	}
	return Place{Form: d.Form}
}

// handle returns why the packet was dropped, if it was.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	place := s.dialect.at(port)
	kind, rest, ok := place.Form.Cut(p.Data)
	switch {
	case !ok, !p.From.Addr().Is4():
		return uplink.Foreign
	case int(kind) >= len(s.received) || s.received[kind] == nil:
		return uplink.UnknownKind
	case s.Banned(p.From.Addr()):
		return uplink.Banned
	}
	s.received[kind].Inc()
	switch kind {
	case quake2.KindPing:
		return s.ack(w, p, place, 0, now)
	case quake2.KindHeartbeat:
		return s.heartbeat(w, p, rest, place, now)
	case quake2.KindShutdown:
		return s.shutdown(w, p, place, now)
	case quake2.KindQuery:
		return s.list(w, p, place, now)
	default: // an ack: it proves nothing
		return uplink.NotDropped
	}
}
