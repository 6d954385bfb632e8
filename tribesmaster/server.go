package tribesmaster

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// name is that of the service, game that of the game whose servers it lists.
const (
	name = "tribesmaster"
	game = "tribes"
)

// questions is how often a server must answer before it is listed, as a key alone is guessed soon.
const questions = 3

// Config is section tribesmaster of the configuration. The comment of each field explains its key.
type Config struct {
	// UDP address. Servers and browsers expect port 28000.
	Listen string `key:"listen" default:":28000" listen:"udp 28000"`
	uplink.Config
	uplink.ListConfig
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "tribes", Story: "It registered with the master server of Tribes; its address is verified.", Query: "tribes",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Tribes master"})

// options are the parts of a server.
type options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers
	part.Listing
}

// server is the master. It implements netserve.PacketHandler.
type server struct {
	uplink.Front
	opt    options
	keeper *uplink.Keeper
	lister *uplink.Lister
	lists  prometheus.Counter
}

// newServer returns a server. Nothing runs until Serve is called.
func newServer(opt options) *server {
	s := &server{opt: opt}
	s.keeper = uplink.NewKeeper(uplink.Options{Self: opt.Self, Peers: opt.Peers, Listing: opt.Listing, Dialect: uplink.Dialect{
		Service: name, Origin: Origin, Instance: 0x54524942,
		Question: func(b []byte, c uplink.Challenge, _ string) []byte { return appendRequest(b, newList, keyOf(c)) },
		About:    func(*master.Server) string { return "" },
	}})
	s.Front = s.keeper.Front(s.handle)
	s.lister = uplink.NewLister(opt.Registry, uplink.ListForm{Entry: entry, Append: appendList})
	s.lists = metric.With(opt.Registerer).Counter("respawnd_tribesmaster_lists_total", "Lists that were sent, or packets of lists again.")
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys at once. Budgets begin full.
func (s *server) Reload(c *Config) { s.keeper.Reload(c.Config, c.ListConfig, 1) }

// Serve takes packets from conn until ctx ends, as uplink.Front does.
func (s *server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	return s.Front.Serve(ctx, s.opt.Packets(s.opt.Readers), conn)
}

// handle returns why the packet was dropped, if it was.
func (s *server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	if dropped := uplink.Refuses(p.From, len(p.Data), maxPacket); dropped != uplink.NotDropped {
		return dropped
	}
	k, a := kindOf(p.Data), p.From.Addr()
	switch {
	case k == 0 || !a.Is4():
		return uplink.Foreign
	case s.keeper.Banned(a):
		return uplink.Banned
	case k == heartbeat:
		if !s.keeper.MaySend(a, keyAt+keySize, len(p.Data), now) {
			return uplink.Limited
		}
		s.keeper.Challenge(w, port, p.From, p.To, "", now)
		return uplink.NotDropped
	case k == answer:
		return s.answered(w, p, port, now)
	case k == request:
		return s.list(w, p, now)
	default:
		return uplink.Foreign
	}
}

// answered asks a server that brings a key back for the next one, and lists it after the last.
func (s *server) answered(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	key, ok := keyIn(p.Data)
	if !ok {
		return uplink.Malformed
	}
	v, dropped := s.keeper.Answer(p.From, func(c uplink.Challenge) bool { return key == keyOf(c) }, now)
	if dropped != uplink.NotDropped {
		return dropped
	}
	if so := v.About + "+"; len(so) < questions { // a mark for each answer, which is part of what keys are made from
		s.keeper.Challenge(w, port, p.From, p.To, so, now)
		return uplink.NotDropped
	}
	_, known := s.opt.Games.Lookup(game)
	return s.keeper.List(v, uplink.Listing{Game: game, Foreign: !known})
}

func entry(srv *master.Server) (e uplink.Entry, ok bool) {
	ok = srv.Public.Addr().Is4() && (srv.Origin == Origin || srv.Origin == master.Federated && srv.Game == game)
	return uplink.Entry{Key: uplink.ListKey{Name: game}, Addr: srv.Public}, ok
}

// list answers a request for the list, or for a packet of it.
func (s *server) list(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	if len(p.Data) <= keyAt { // quakestat sends half an ID
		return uplink.MalformedRequest
	}
	a := p.From.Addr()
	if !s.keeper.MayList(a, now) {
		return uplink.NoBudget
	}
	packets := s.lister.Answer(uplink.Wanted{Name: game}, s.opt.Addresses.Asker(a))
	if i := int(p.Data[2]); i != newList {
		packets = packets[min(max(i-1, 0), len(packets)):min(i, len(packets))]
	}
	id := noID
	if _, ok := keyIn(p.Data); ok {
		id = p.Data[keyAt : keyAt+keySize]
	}
	for _, b := range packets { // which all askers share
		b = slices.Clone(b)
		copy(b[keyAt:], id)
		s.keeper.Send(w, b, p.To, p.From)
	}
	s.lists.Inc()
	return uplink.NotDropped
}
