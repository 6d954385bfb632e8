package cdkey

import (
	"context"
	"crypto/rand"
	"math/big"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Times of the goroutine that decides overdue checks.
const (
	tickEvery  = 250 * time.Millisecond
	sweepEvery = time.Minute
)

const name = "cdkey"

// Options configure a Server. All functions must be safe for concurrent use and
// must not block.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers

	Keys Keyring
	// Cluster are the other nodes with the same keys; nil: none.
	Cluster cluster.Bus
}

// Server answers requests. It implements netserve.PacketHandler.
type Server struct {
	opt     Options
	table   *table
	nodes   nodes
	metrics *metrics
	live    atomic.Pointer[live] // never nil
	out     netserve.Sender
	unread  *foreign.Notes
	buffers sync.Pool // of *buffer
}

// buffer is memory for one request: arguments of an interface would be allocated
// each time.
type buffer struct{ clear, answer [maxRequest]byte }

// live holds the live keys of a Config. It is immutable.
type live struct {
	strict   bool
	products map[int]bool // whether those with a mode of their own are strict
	addrs    *netserve.Limiter
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{opt: opt, nodes: newNodes(&opt), unread: foreign.NewNotes(opt.Verdicts, name)}
	s.table = newTable(opt.Keys, randomBelow, newChallenge, &s.nodes)
	s.metrics = newMetrics(opt.Registerer, s.table)
	s.buffers.New = func() any { return new(buffer) }
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.Reload(&opt.Config)
	return s
}

// newChallenge returns a challenge for a player's machine.
func newChallenge() string { return gamespy.RandomLetters(pchLen) }

// randomBelow returns a random number from 0 to n-1.
func randomBelow(n int) int {
	v, _ := rand.Int(rand.Reader, big.NewInt(int64(n))) // never fails
	return int(v.Int64())
}

// Reload applies the live keys at once. Keys in use stay.
func (s *Server) Reload(c *Config) {
	products, err := productModes(c.Products)
	if err != nil { // the configuration was checked
		s.opt.Log.Error().Err(err).Msg("modes of products are left out")
	}
	s.live.Store(&live{c.Mode == Strict, products, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst})})
}

// Serve answers the requests that come to conn until ctx ends. It returns after all
// its goroutines. conn stays open and belongs to the caller.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(1)) })
	g.Go(func() error { s.decide(ctx, conn); return nil })
	g.Go(func() error { s.share(ctx, conn); return nil })
	return g.Wait()
}

// decide admits the players of overdue checks, until ctx ends.
func (s *Server) decide(ctx context.Context, w netserve.PacketWriter) {
	tick, sweep := time.NewTicker(tickEvery), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-sweep.C:
			s.table.sweep(now)
		case now := <-tick.C:
			out := s.table.tick(now)
			s.metrics.accepted(len(out))
			s.send(w, netip.Addr{}, out)
		}
	}
}

type drop = drops.Reason

var notDropped drop

var reasons drops.List

var (
	dropForeign   = reasons.Add("foreign")
	dropBanned    = reasons.Add("banned")
	dropLimited   = reasons.Add("limited")
	dropMalformed = reasons.Add("malformed")
	dropShape     = reasons.Add("short_response")
	dropUnasked   = reasons.Add("not_asked")
)

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if why := s.handle(w, p, time.Now()); why != notDropped {
		s.opt.Metrics.Drop(why.Error())
		if why == dropMalformed || why == dropShape {
			s.unread.Player(p.From.Addr(), verdicts.MalformedRequest)
		}
	}
}

// handle returns why the packet was dropped.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet, now time.Time) drop {
	from, l := p.From.Addr(), s.live.Load()
	switch {
	case p.From.Port() == 0:
		return dropForeign
	case s.opt.Banned.Has(from):
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.Banned)
		return dropBanned
	case len(p.Data) > maxRequest:
		return dropMalformed
	case !s.opt.Trusted.Has(from) && !l.addrs.Allow(from, now):
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.Limited)
		return dropLimited
	}
	buf := s.buffers.Get().(*buffer)
	defer s.buffers.Put(buf)
	n := copy(buf.clear[:], p.Data)
	crypt(buf.clear[:n])
	r, ok := parseRequest(buf.clear[:n])
	if !ok {
		return dropMalformed
	}
	var v verdict
	var out []send
	switch r.kind {
	case kindAuth:
		if len(r.response) != responseLen {
			return dropShape
		}
		if v, ok = s.permit(w, p, &r, l, buf.answer[:0]); ok {
			s.decided(v, from, r.product)
			return notDropped
		}
		v, out = s.table.auth(p.From, &r, n, now)
	case kindDisc:
		v, out = s.table.leave(p.From, &r, n, now)
	case kindKeepAlive:
		s.table.keepAlive(p.From, n, now)
	case kindOn, kindOff:
		if v, out = s.table.answer(p.From, &r, n, now); v == verdictNone && r.kind == kindOff {
			return dropUnasked
		}
	case kindCount, kindUnknown:
		return dropUnasked
	}
	if len(out) > 0 {
		from = out[0].to.Addr() // it may be another server that waited
	}
	s.decided(v, from, r.product)
	s.send(w, p.To, out)
	return notDropped
}

// noted are the verdicts as the log of verdicts has them. Queries without an effect are not noted.
var noted = [...]verdicts.Verdict{
	verdictAccepted: verdicts.KeyAccepted, verdictUnknown: verdicts.KeyUnknown, verdictWrong: verdicts.KeyWrong,
	verdictInUse: verdicts.KeyInUse, verdictBanned: verdicts.KeyBanned,
}

// decided counts a verdict and notes it for the server that asked. product is for
// refusals; 0: not known.
func (s *Server) decided(v verdict, server netip.Addr, product int) {
	s.metrics.decided(v)
	if v == verdictNone || v == verdictAsked {
		return
	}
	detail := ""
	if v != verdictAccepted && product != 0 {
		detail = "product " + strconv.Itoa(product)
	}
	s.opt.Verdicts.NoteDetail(name, server, "", noted[v], detail)
}

// permit answers a request whose key need not be known: a banned one, and all in
// permissive mode.
func (s *Server) permit(w netserve.PacketWriter, p netserve.Packet, r *request, l *live, body []byte) (v verdict, answered bool) {
	strict := l.strict
	if own, known := l.products[r.product]; known {
		strict = own
	}
	var text [hashLen]byte
	switch {
	case s.opt.Keys.Banned(r.product, string(r.hash.appendTo(text[:0]))):
		v, body = verdictBanned, appendRefusal(body, r.hash, r.skey, textBanned)
	case !strict:
		v, body = verdictAccepted, appendOK(body, r.hash, r.skey)
	default:
		return verdictNone, false
	}
	crypt(body)
	s.out.Send(w, body, p.To, p.From)
	return v, true
}

// send sends messages from an address of this machine; zero: from the one that leads
// there.
func (s *Server) send(w netserve.PacketWriter, from netip.Addr, out []send) {
	for _, m := range out {
		crypt(m.body)
		s.out.Send(w, m.body, from, m.to)
	}
}
