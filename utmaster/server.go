package utmaster

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/views"
)

// Names under which verdicts on game servers and on browsers are noted.
const (
	serviceName = "utmaster"
	browserName = "utmaster list"
)

// longestWait is the idle time of connections; sessions end them earlier.
const longestWait = 2 * time.Hour

// Options configure a Server. Registry and Games are required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers
	part.Listing

	MOTD      func(game string) string            // message of the day; nil: none
	KeyBanned func(product int, hash string) bool // whether a CD key is banned; nil: none is
	// KeyMark returns the text for a CD key in the log, by which it can be banned; nil: it is not logged.
	KeyMark func(product int, hash string) string

	Players *verdicts.Log // verdicts on browsers; nil: none
}

// Server is the master. It implements netserve.ConnHandler and netserve.PacketHandler.
type Server struct {
	opt     Options
	live    atomic.Pointer[Config]
	gate    *netserve.Gate
	metrics *metrics
	views   *views.Cache[viewKey, view, *view]
	foreign *foreign.Notes
	out     netserve.Sender
	packets netserve.PacketWriter // set by Serve, before anything else

	mu    sync.Mutex // guards table; held while the list of servers is changed
	table table
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{opt: opt, table: newTable(), foreign: foreign.NewNotes(opt.Verdicts, serviceName)}
	s.metrics = newMetrics(opt.Registerer, s.countServers)
	s.views = views.New[viewKey, view, *view](views.TextOptions(s.metrics.views.Kept))
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.live.Store(&s.opt.Config)
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	return s
}

// countServers returns the number of listed game servers, hidden ones included.
func (s *Server) countServers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.hosts.Len()
}

// Reload applies the live keys at once. Open connections stay; those of game servers
// keep how they were probed.
func (s *Server) Reload(c *Config) {
	s.live.Store(c)
	s.gate.SetLimits(c.Conns(s.opt.Trusted))
}

// Serve serves the connections of ln and the datagrams of conn until ctx ends. Game
// servers are asked for their status from ask, another port, which shows whether
// packets reach them that they did not ask for. It closes ln; the sockets belong to the
// caller.
func (s *Server) Serve(ctx context.Context, conn, ask *netserve.PacketConn, ln net.Listener) error {
	s.packets = ask
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range []*netserve.PacketConn{conn, ask} {
		g.Go(func() error {
			return netserve.ServePackets(ctx, c, s, netserve.PacketOptions{Log: s.opt.Log, Metrics: s.opt.Metrics})
		})
	}
	g.Go(func() error { return s.serveConns(ctx, ln) })
	return g.Wait()
}

func (s *Server) serveConns(ctx context.Context, ln net.Listener) error {
	return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
		Gate: s.gate, Idle: longestWait, Grace: service.Grace, Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
	})
}

// refused notes that a connection is refused. It sends nothing: the peer would take it
// for the challenge.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	if why.OfAddress() {
		s.opt.Players.NotePlayer(browserName, peer.Addr(), "", verdicts.Limited)
	}
	return nil
}

// ServePacket handles a datagram of a game server. It touches memory only.
func (s *Server) ServePacket(_ netserve.PacketWriter, p netserve.Packet) {
	if why := s.packet(p); why != notDropped {
		s.opt.Metrics.Drop(why.Error())
	}
}

// packet passes a datagram to the connection that waits for it and returns why it was
// dropped, if it was.
func (s *Server) packet(p netserve.Packet) ended {
	version, answer, isProbe := parseProbeReply(p.Data)
	var x *session
	s.mu.Lock()
	if isProbe {
		x = s.table.codes[answer.Code]
	} else if isStatus(p.Data) {
		x = s.table.asked[p.From]
		delete(s.table.asked, p.From)
	}
	s.mu.Unlock()
	switch {
	case x == nil && !isProbe && !isStatus(p.Data):
		s.foreign.Foreign(p.From, p.Data)
		return droppedPacket
	case x == nil || x.conn.Peer().Addr() != p.From.Addr():
		return droppedUnasked
	}
	e := event{port: p.From.Port(), socket: answer.Socket, probe: isProbe}
	if isProbe {
		x.log.Debug().Int32("version", version).Uint8("socket", answer.Socket).Stringer("from", p.From).Msg("answer to a probe")
	} else {
		x.log.Debug().Uint8("version", p.Data[0]).Stringer("from", p.From).Msg("answer to a question for the status")
	}
	select {
	case x.events <- e:
		return notDropped
	default:
		return droppedBurst
	}
}
