package q3master

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

const serviceName = "q3master"

// Dialect holds the differences between masters of this kind.
type Dialect struct {
	// Service is the name of the service, under which verdicts are noted and games of
	// the catalogue name it.
	Service string
	// Origin and Instance mark its records in the list of servers.
	Origin   *master.Origin
	Instance uint32
	// Named is the tag of servers that always state the name of their game; empty:
	// there is none, and the name counts for nothing.
	Named string
	// Info parses an infoResponse.
	Info func(rest []byte) (quake3.Info, error)
	// Lists appends the packets of a list.
	Lists func(packets [][]byte, servers []netip.AddrPort, ext bool) [][]byte
	// Ext reports that browsers may request lists with IPv6.
	Ext bool
	// Other handles the packets of other kinds; nil: they are unknown.
	Other func(s *Server, w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop
}

// named is the tag of servers that always state the name of their game.
const named = "DarkPlaces"

// quakeDialect is that of Quake III's family.
func quakeDialect() Dialect {
	return Dialect{
		Service: serviceName, Origin: Origin, Instance: 0x51334D52, Named: named,
		Info: quake3.ParseInfo, Lists: quake3.AppendLists, Ext: true,
	}
}

// Options configure a Server. Registry and Games are required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Registration

	Dialect Dialect // without a Service: that of Quake III's family
}

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	uplink.Master
	opt     Options
	dialect Dialect
	live    atomic.Pointer[Config] // never nil
	metrics metrics
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	if opt.Dialect.Service == "" {
		opt.Dialect = quakeDialect()
	}
	d := opt.Dialect
	s := &Server{opt: opt, dialect: d}
	s.metrics = newMetrics(opt.Registerer, d.Service)
	s.Master = uplink.New(uplink.Options{
		Registration: opt.Registration, Readers: opt.Readers, MaxPacket: quake3.MaxPacket, Handle: s.handle,
		List: uplink.ListForm{Entry: s.dialect.entry, Append: d.Lists},
		Dialect: uplink.Dialect{
			Service: d.Service, Origin: d.Origin, Instance: d.Instance, Own: foreign.Quake3, Question: question, About: tagOf,
			Stays: func(srv *master.Server) bool {
				name, _ := srv.Rules.Get(quake3.RuleGame)
				return s.live.Load().allows(srv.Game, name)
			},
		},
	})
	s.Reload(&opt.Config)
	return s
}

// tagOf returns the tag of the heartbeats of a listed server.
func tagOf(srv *master.Server) string {
	tag, _ := srv.Rules.Get(quake3.RuleTag)
	return tag
}

func (s *Server) names() *games.Quake3Index {
	return s.opt.Listing.Games.MasterNames(games.Service(s.dialect.Service))
}

// Takes reports whether a datagram is a message for a master. Heartbeats of Quake 2, which
// have no tag, are not.
func Takes(p []byte) bool {
	kind, rest, _ := quake3.Cut(p)
	var err error
	switch kind {
	case quake3.KindHeartbeat:
		_, err = quake3.ParseHeartbeat(rest)
	case quake3.KindGetServers:
		_, err = quake3.ParseRequest(rest, false)
	case quake3.KindInfo, quake3.KindGetServersExt:
	default:
		return false
	}
	return err == nil
}

// handle returns why the packet was dropped, if it was.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	kind, rest, ok := quake3.Cut(p.Data)
	if !ok {
		return uplink.Foreign
	}
	switch {
	case kind == quake3.KindHeartbeat:
		return s.heartbeat(w, p, rest, port, now)
	case kind == quake3.KindInfo:
		return s.info(p, rest, now)
	case kind == quake3.KindGetServers:
		s.metrics.received.list.Inc()
		return s.request(w, p, rest, false, port, now)
	case kind == quake3.KindGetServersExt && s.dialect.Ext:
		s.metrics.received.listExt.Inc()
		return s.request(w, p, rest, true, port, now)
	case s.dialect.Other != nil:
		return s.dialect.Other(s, w, p, now)
	default:
		return uplink.UnknownKind
	}
}
