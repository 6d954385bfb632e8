package mangler

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
)

const name = "mangler"

// Options configure a Server. All functions must be safe for concurrent use and must
// not block.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers
}

// Server answers packets. It implements netserve.PacketHandler.
type Server struct {
	opt     Options
	addrs   atomic.Pointer[netserve.Limiter] // never nil
	answers *prometheus.CounterVec           // port
	same    prometheus.Counter
	changed prometheus.Counter
	out     netserve.Sender
	unread  *foreign.Notes
	buffers sync.Pool // of *[PacketLen]byte
}

// New returns a Server.
func New(opt Options) *Server {
	f := metric.With(opt.Registerer)
	s := &Server{opt: opt, unread: foreign.NewNotes(opt.Verdicts, name)}
	s.answers = f.Counters("respawnd_mangler_answers_total", "Answers to players, by whether their router changed the port.", "port", "same", "changed")
	s.same, s.changed = s.answers.WithLabelValues("same"), s.answers.WithLabelValues("changed")
	s.out = netserve.Sender{Log: opt.Log, Errors: f.Counter("respawnd_mangler_write_errors_total", "Answers that could not be sent.")}
	s.buffers.New = func() any { return new([PacketLen]byte) }
	s.Reload(&opt.Config)
	return s
}

// Serve answers packets of conn until ctx ends. conn stays open and belongs to the caller.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	return netserve.ServePackets(ctx, conn, s, s.opt.Packets(1))
}

// Reload applies the live keys at once. Every address starts with a full burst.
func (s *Server) Reload(c *Config) {
	s.addrs.Store(netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst}))
}

// Reasons for which packets are dropped.
var (
	reasons metric.Labels

	dropForeign  = reasons.Add("foreign") // from port 0 or an address that is not IPv4
	dropBanned   = reasons.Add("banned")
	dropLimited  = reasons.Add("limited")
	dropLength   = reasons.Add("length")
	dropChecksum = reasons.Add("checksum")
	dropMagic    = reasons.Add("magic")
	dropAnswer   = reasons.Add("answer") // it is an answer: helpers would answer each other for ever
)

// ServePacket implements netserve.PacketHandler. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	why := s.handle(w, p, time.Now())
	if why == "" {
		return
	}
	s.opt.Metrics.Drop(why)
	from := p.From.Addr()
	switch why {
	case dropBanned:
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.Banned)
	case dropLimited:
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.Limited)
	case dropLength, dropMagic:
		if !s.unread.Foreign(p.From, p.Data) {
			s.unread.Player(from, verdicts.NotUnderstood)
		}
	case dropChecksum:
		s.unread.Player(from, verdicts.MalformedRequest)
	}
}

// handle returns why the packet was dropped, "" if it was answered.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet, now time.Time) string {
	from := netip.AddrPortFrom(p.From.Addr().Unmap(), p.From.Port())
	switch {
	case from.Port() == 0 || !from.Addr().Is4():
		return dropForeign
	case s.opt.Banned.Has(from.Addr()):
		return dropBanned
	case !s.opt.Trusted.Has(from.Addr()) && !s.addrs.Load().Allow(from.Addr(), now):
		return dropLimited
	}
	q, err := Parse(p.Data)
	switch {
	case errors.Is(err, ErrLength):
		return dropLength
	case errors.Is(err, ErrChecksum):
		return dropChecksum
	case err != nil:
		return dropMagic
	case q.Command == Answer:
		return dropAnswer
	}
	q.Command, q.Seen = Answer, from
	buf := s.buffers.Get().(*[PacketLen]byte)
	defer s.buffers.Put(buf)
	s.out.Send(w, q.AppendTo(buf[:0]), p.To, p.From)
	if q.Local == from.Port() {
		s.same.Inc()
		s.opt.Verdicts.NotePlayer(name, from.Addr(), "", verdicts.PortSame)
	} else {
		s.changed.Inc()
		s.opt.Verdicts.NotePlayer(name, from.Addr(), "", verdicts.PortChanged)
	}
	return ""
}
