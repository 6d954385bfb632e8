package dnsserver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
)

// refreshEvery is how often the addresses of this machine are looked at: a cable
// may be plugged in, or an address change.
const refreshEvery = 10 * time.Second

// Options configure a Server. Names is required.
type Options struct {
	Config // its live keys are replaced by Reload

	// Names tells which names are those of services. A name is in lower case,
	// without a dot at its end.
	Names func(name string) bool

	// Addresses returns the addresses of this machine; nil: hostnet.Addresses.
	Addresses func() ([]hostnet.Address, error)
	// Route returns the address on the way to the rest of the world, zero if there
	// is none; nil: hostnet.Route.
	Route   func() netip.Addr
	Trusted netserve.AddrSet // Config.Rate does not bind them
	Banned  netserve.AddrSet // not answered

	Packets    netserve.PacketOptions
	Conn       netserve.ConnOptions // its Metrics and Log are taken from here
	Log        zerolog.Logger
	Metrics    *netserve.Metrics
	Registerer prometheus.Registerer // nil: the metrics of this package are not registered

	tryTime time.Duration // for the answer of one upstream; 0: defaultTryTime. Tests set it
}

// live is a Config that is in force. It is not changed.
type live struct {
	*Config
	perAddr *netserve.Limiter // questions
}

// Reload takes over the live keys from the next question on.
func (s *Server) Reload(c *Config) {
	s.live.Store(&live{c, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst})})
}

// Server answers questions. It implements netserve.PacketHandler and
// netserve.ConnHandler.
type Server struct {
	opt     Options
	live    atomic.Pointer[live] // never nil
	metrics *metrics
	works   sync.Pool // of *work
	where   atomic.Pointer[whereabouts]
	forward *forwarder
	// Both are set before anything is served.
	conn     netserve.PacketWriter
	loopback bool // conn is bound to a loopback address: only this machine can ask
}

// work is what one question needs. It is used again.
type work struct {
	query query
	reply reply
	buf   [maxAnswer]byte
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	if opt.Addresses == nil {
		opt.Addresses = hostnet.Addresses
	}
	if opt.Route == nil {
		opt.Route = hostnet.Route
	}
	if opt.tryTime == 0 {
		opt.tryTime = defaultTryTime
	}
	opt.Packets.Metrics, opt.Packets.Log = opt.Metrics, opt.Log
	opt.Conn.Metrics, opt.Conn.Log = opt.Metrics, opt.Log
	opt.Conn = connDefaults(opt.Conn)
	s := &Server{opt: opt, metrics: newMetrics(opt.Registerer)}
	s.works.New = func() any { return new(work) }
	s.Reload(&opt.Config)
	s.forward = newForwarder(&s.opt, s.metrics, func() []string { return s.live.Load().AllowPrivate })
	s.where.Store(new(whereabouts))
	return s
}

// Serve answers over conn, and over the connections of ln, until ctx ends. It
// returns after all its goroutines. conn stays open and belongs to the caller;
// ln is closed.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn, ln net.Listener) error {
	s.conn, s.loopback = conn, conn.LocalAddr().Addr().IsLoopback()
	s.refresh()
	g, ctx := errgroup.WithContext(ctx)
	s.forward.begin(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets) })
	g.Go(func() error { return netserve.ServeConns(ctx, ln, s, s.opt.Conn) })
	g.Go(func() error {
		t := time.NewTicker(refreshEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-t.C:
				s.refresh()
			}
		}
	})
	err := g.Wait()
	s.forward.wait()
	return err
}

// whereabouts is what was last known of this machine. It is never changed.
type whereabouts struct {
	addresses []hostnet.Address
	route     netip.Addr
	likely    netip.Addr // at which others most likely reach it; zero: none
}

// refresh looks at the addresses of this machine again.
func (s *Server) refresh() {
	list, err := s.opt.Addresses()
	if err != nil {
		s.opt.Log.Warn().Err(err).Msg("the addresses of this machine cannot be listed")
		list = s.where.Load().addresses
	}
	w := &whereabouts{addresses: list, route: s.opt.Route()}
	if reachable := hostnet.Reachable(list, w.route); len(reachable) > 0 {
		w.likely = reachable[0].Addr()
	}
	s.where.Store(w)
}

// addressFor returns the address of ours that a client can reach, zero if there
// is none. asked is the one that its question came to, zero if that is unknown.
// A game server on this machine must report from an address that others can
// reach, so it is not sent to the loopback address.
func (s *Server) addressFor(client, asked netip.Addr) netip.Addr {
	w := s.where.Load()
	if client.IsLoopback() && !s.loopback && w.likely.IsValid() {
		return w.likely
	}
	if a := hostnet.For(client, w.addresses); a.IsValid() {
		return a
	}
	for _, a := range []netip.Addr{s.opt.Address, asked, w.route} {
		if a.Is4() && !a.IsUnspecified() {
			return a
		}
	}
	return netip.Addr{}
}

// drop is why a question was dropped without an answer.
type drop uint8

const (
	notDropped   drop = iota
	dropStranger      // not of a private or allowed network
	dropBanned
	dropLimited
	dropUseless // not a question
	dropTooLong
	dropLoop // an upstream asks us what we are asking it
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	dropStranger: "stranger", dropBanned: "banned", dropLimited: "limited", dropUseless: "useless",
	dropTooLong: "too_long", dropLoop: "loop",
}

// String returns the reason as the metrics show it, "" for notDropped.
func (d drop) String() string { return dropNames[d] }

// admit returns why an address is not answered.
func (s *Server) admit(client netip.Addr, now time.Time) drop {
	live := s.live.Load()
	switch {
	case !near(client) && !slices.ContainsFunc(live.Allow, func(n netip.Prefix) bool { return n.Contains(client.WithZone("")) }):
		return dropStranger
	case s.opt.Banned.Has(client):
		return dropBanned
	case !live.perAddr.Allow(client, now) && !s.opt.Trusted.Has(client):
		return dropLimited
	default:
		return notDropped
	}
}

// near reports whether an address is one that routers of the internet do not
// carry.
func near(a netip.Addr) bool { return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() }

// ServePacket implements netserve.PacketHandler.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.admit(p.From.Addr(), time.Now()); reason != notDropped {
		s.opt.Metrics.Drop(reason.String())
		return
	}
	x := s.works.Get().(*work)
	defer s.works.Put(x)
	answer, err := s.answer(x, p.Data, p.From.Addr(), p.To)
	if errors.Is(err, errForward) {
		from, to := p.To, p.From // the answer leaves from where the question came to
		answer, _ = s.askUpstream(x, to.Addr(), x.query.limit(), func(answer []byte) { s.send(s.conn, answer, from, to) })
	}
	if answer != nil {
		s.send(w, answer, p.To, p.From)
	}
}

func (s *Server) send(w netserve.PacketWriter, answer []byte, from netip.Addr, to netip.AddrPort) {
	if err := w.WritePacket(answer, from, to); err != nil {
		s.opt.Log.Debug().Stringer("peer", to).Err(err).Msg("answer not sent")
	}
}

// errForward is returned for questions that an upstream is to be asked.
var errForward = errors.New("dnsserver: not a name of ours")

// answer returns the answer to a message, nil if there is none. It lies in x. The
// error is errForward.
func (s *Server) answer(x *work, message []byte, client, asked netip.Addr) ([]byte, error) {
	code, ok := x.query.read(message)
	if !ok {
		s.opt.Metrics.Drop(dropUseless.String())
		return nil, nil
	}
	if code == dns.RcodeFormatError || code == dns.RcodeNotImplemented {
		s.metrics.count(code)
		return appendHeader(x.buf[:0], message, code), nil
	}
	if code != dns.RcodeSuccess {
		return s.refuse(x, code), nil
	}
	if !s.opt.Names(x.query.name) {
		if x.query.msg.RecursionDesired && len(s.opt.Upstreams) > 0 {
			return nil, errForward
		}
		return s.refuse(x, dns.RcodeRefused), nil
	}
	address := s.addressFor(client, asked)
	if !address.IsValid() {
		return s.refuse(x, dns.RcodeServerFailure), nil
	}
	x.reply.begin(&x.query, dns.RcodeSuccess, len(s.opt.Upstreams) > 0)
	x.reply.own(&x.query, address)
	s.metrics.own.Inc()
	return s.pack(x, dns.MinMsgSize), nil
}

// refuse returns an answer without records.
func (s *Server) refuse(x *work, code int) []byte {
	s.metrics.count(code)
	x.reply.begin(&x.query, code, len(s.opt.Upstreams) > 0)
	return s.pack(x, dns.MinMsgSize)
}

// pack returns the finished answer, nil if it cannot be written.
func (s *Server) pack(x *work, limit int) []byte {
	b, err := x.reply.pack(x.buf[:], limit)
	if err != nil {
		s.opt.Log.Debug().Err(err).Msg("answer not written")
		return nil
	}
	return b
}

// askUpstream has an upstream asked; deliver is called with its answer, at most
// limit bytes, once and from another goroutine. If asked is false it is not
// called, and answer is for the client, nil if there is none.
func (s *Server) askUpstream(x *work, client netip.Addr, limit int, deliver func([]byte)) (answer []byte, asked bool) {
	err := s.forward.ask(&waiter{query: x.query.clone(), limit: limit, deliver: deliver}, client)
	switch {
	case err == nil:
		return nil, true
	case errors.Is(err, errLoop):
		s.opt.Metrics.Drop(dropLoop.String())
		return nil, false
	default:
		return s.refuse(x, dns.RcodeServerFailure), false
	}
}
