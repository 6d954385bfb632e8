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
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// refreshEvery is the interval at which the addresses of this machine are read:
// a cable may be plugged in, or an address change.
const refreshEvery = 10 * time.Second

// Options configure a Server. Names is required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers

	// Names reports whether a name, in lower case and without a final dot, is
	// that of a service.
	Names func(name string) bool
	// None reports whether a name must have no address, whatever others say; nil: none must.
	None func(name string) bool

	// Addresses returns the addresses of this machine; nil: hostnet.Addresses.
	Addresses func() ([]hostnet.Address, error)
	// Route returns the address of the default route, zero if there is none;
	// nil: hostnet.Route.
	Route func() netip.Addr

	Conn netserve.ConnOptions // its Metrics and Log are taken from here

	TryTime time.Duration // for the answer of one upstream; 0: 1.5 s
}

// live is a Config that is in force. It is immutable.
type live struct {
	*Config
	perAddr *netserve.Limiter // questions
}

// Reload applies the live keys from the next question on.
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
	// unanswered notes verdicts on questions that are dropped.
	unanswered *foreign.Notes
	// Both are set before anything is served.
	conn     netserve.PacketWriter
	loopback bool // conn is bound to a loopback address: only this machine can ask
}

// work holds the buffers for one question. It is reused.
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
	if opt.TryTime == 0 {
		opt.TryTime = defaultTryTime
	}
	opt.Conn.Metrics, opt.Conn.Log = opt.Metrics, opt.Log
	opt.Conn = connDefaults(opt.Conn)
	s := &Server{opt: opt, metrics: newMetrics(opt.Registerer), unanswered: foreign.NewNotes(opt.Verdicts, serviceName)}
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
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(1)) })
	g.Go(func() error { return netserve.ServeConns(ctx, ln, s, s.opt.Conn) })
	g.Go(func() error {
		for range clock.Ticks(ctx, refreshEvery) {
			s.refresh()
		}
		return nil
	})
	err := g.Wait()
	s.forward.wait()
	return err
}

// whereabouts are the addresses of this machine. It is immutable.
type whereabouts struct {
	addresses []hostnet.Address
	route     netip.Addr
	likely    netip.Addr // address that others most likely reach; zero: none
}

// refresh reads the addresses of this machine again.
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

// addressFor returns the address of this machine for a client, zero if there is
// none. asked is the one that received the question, zero if that is unknown. A
// game server on this machine must report from an address that others can
// reach, so it does not get the loopback address.
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

// drop is the reason for which a question was dropped without an answer.
type drop = drops.Reason

var notDropped drop

var reasons drops.List

var (
	dropStranger = reasons.Judge("stranger", verdicts.NotAllowed) // not of a private or allowed network
	dropBanned   = reasons.Judge("banned", verdicts.Banned)
	dropLimited  = reasons.Judge("limited", verdicts.Limited)
	dropUseless  = reasons.Judge("useless", verdicts.MalformedRequest) // not a question
	dropTooLong  = reasons.Judge("too_long", verdicts.TooLong)
	dropLoop     = reasons.Add("loop") // an upstream asks a question that it is being asked
)

// admit returns the reason to drop questions of an address, notDropped to
// answer them.
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

const serviceName = "dns"

// drop counts a dropped question and notes why its client gets no answer.
func (s *Server) drop(client netip.Addr, reason drop) {
	s.opt.Metrics.Drop(reason.Error())
	if v, ok := reason.Verdict(); ok {
		s.unanswered.Player(client, v)
	}
}

// near reports whether an address is not routed on the internet.
func near(a netip.Addr) bool { return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() }

// ServePacket implements netserve.PacketHandler.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.admit(p.From.Addr(), time.Now()); reason != notDropped {
		s.drop(p.From.Addr(), reason)
		return
	}
	x := s.works.Get().(*work)
	defer s.works.Put(x)
	answer, err := s.answer(x, p.Data, p.From.Addr(), p.To)
	if errors.Is(err, errForward) {
		from, to := p.To, p.From // the answer leaves from the address that received the question
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

// errForward is returned for questions to forward to an upstream.
var errForward = errors.New("dnsserver: not a name of ours")

// answer returns the answer to a message, nil if there is none. It is valid as
// long as x. The error is errForward.
func (s *Server) answer(x *work, message []byte, client, asked netip.Addr) ([]byte, error) {
	code, ok := x.query.read(message)
	if !ok {
		s.drop(client, dropUseless)
		return nil, nil
	}
	if code == dns.RcodeFormatError || code == dns.RcodeNotImplemented {
		s.metrics.count(code)
		return appendHeader(x.buf[:0], message, code), nil
	}
	if code != dns.RcodeSuccess {
		return s.refuse(x, code), nil
	}
	if s.opt.None != nil && s.opt.None(x.query.name) {
		return s.refuse(x, dns.RcodeNameError), nil
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

// askUpstream forwards a question; deliver is called once, from another
// goroutine, with the answer of at most limit bytes. If asked is false, deliver
// is not called, and answer is the answer to the client, nil if there is none.
func (s *Server) askUpstream(x *work, client netip.Addr, limit int, deliver func([]byte)) (answer []byte, asked bool) {
	err := s.forward.ask(&waiter{query: x.query.clone(), limit: limit, deliver: deliver}, client)
	switch {
	case err == nil:
		return nil, true
	case errors.Is(err, errLoop):
		s.opt.Metrics.Drop(dropLoop.Error())
		return nil, false
	default:
		return s.refuse(x, dns.RcodeServerFailure), false
	}
}
