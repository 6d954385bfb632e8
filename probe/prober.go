package probe

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// Defaults and bounds of a Prober.
const (
	// DefaultRate is how many servers are asked per second.
	DefaultRate = 50
	// DefaultOpen is how many questions may be under way.
	DefaultOpen = 256

	fresh     = 10 * time.Second // for how long an answer is handed out again
	maxFresh  = 1024             // answers kept
	tickEvery = 100 * time.Millisecond
)

// Errors of a Prober.
var (
	// ErrBusy is returned while too many questions are asked.
	ErrBusy = errors.New("probe: too many questions")
	// ErrUnknownProtocol is returned for servers that speak none of the protocols
	// of this package.
	ErrUnknownProtocol = errors.New("probe: this server speaks another protocol")
	// ErrNotServing is returned while Serve does not run.
	ErrNotServing = errors.New("probe: not running")
)

// Options configure a Prober. Registry and Games are required.
type Options struct {
	Registry *master.Registry
	Games    *games.Catalog
	// Own tells which addresses are those of this daemon; nil: none.
	Own func(netip.AddrPort) bool

	Rate float64 // servers per second; 0: DefaultRate
	Open int     // questions under way; 0: DefaultOpen

	Log        zerolog.Logger
	Metrics    *netserve.Metrics
	Registerer prometheus.Registerer // nil: the metrics of this package are not registered
}

// Prober asks listed servers for many callers. It implements
// netserve.PacketHandler.
type Prober struct {
	opt     Options
	limit   *rate.Limiter
	metrics *metrics

	mu      sync.Mutex // guards the fields below and the questions
	conn    netserve.PacketWriter
	open    map[netip.AddrPort]*question
	answers map[netip.AddrPort]answer
}

// question is one that is under way. Several callers may wait for it.
type question struct {
	target  netip.AddrPort
	kinds   []Kind // tried in turn
	ex      *query.Exchange
	tries   int
	packets int
	next    time.Time // when it is asked again
	end     time.Time

	done   chan struct{} // closed once the fields below are set
	status Status
	err    error
}

type answer struct {
	status Status
	at     time.Time
}

// New returns a Prober. It asks nobody until Serve runs.
func New(opt Options) *Prober {
	if opt.Rate <= 0 {
		opt.Rate = DefaultRate
	}
	if opt.Open <= 0 {
		opt.Open = DefaultOpen
	}
	return &Prober{
		opt: opt, limit: rate.NewLimiter(rate.Limit(opt.Rate), max(int(opt.Rate), 1)), metrics: newMetrics(opt.Registerer),
		open: make(map[netip.AddrPort]*question), answers: make(map[netip.AddrPort]answer),
	}
}

// Serve asks and listens over conn until ctx ends. conn stays open and belongs
// to the caller.
func (p *Prober) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	p.start(conn)
	defer p.stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return netserve.ServePackets(ctx, conn, p, netserve.PacketOptions{Log: p.opt.Log, Metrics: p.opt.Metrics})
	})
	g.Go(func() error {
		t := time.NewTicker(tickEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case now := <-t.C:
				p.tick(now)
			}
		}
	})
	return g.Wait()
}

func (p *Prober) start(w netserve.PacketWriter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = w
}

// stop ends all questions.
func (p *Prober) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = nil
	for _, q := range p.open {
		p.finish(q, Status{}, ErrNotServing)
	}
}

// Status returns what the listed server with a public address says about
// itself, at most 10 seconds ago. It waits for the answer, at most Timeout, or
// until ctx ends. The caller must not change the slices of the status. The error
// is master.ErrNotListed, ErrForbidden, ErrUnknownProtocol, ErrBusy,
// ErrNotServing, ErrNoAnswer, ErrTooMuch or that of ctx.
func (p *Prober) Status(ctx context.Context, public netip.AddrPort) (Status, error) {
	srv, ok := p.opt.Registry.Find(public)
	if !ok {
		return Status{}, master.ErrNotListed
	}
	if !query.Askable(public) || (p.opt.Own != nil && p.opt.Own(public)) {
		return Status{}, ErrForbidden
	}
	kinds := p.kinds(srv)
	if kinds == nil {
		return Status{}, ErrUnknownProtocol
	}
	q, st, err := p.join(srv, kinds, time.Now())
	if q == nil {
		return st, err
	}
	select {
	case <-q.done:
		return q.status, q.err
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
}

// kinds returns in which protocols a server is asked, nil if it speaks none of
// them.
func (p *Prober) kinds(srv *master.Server) []Kind {
	switch srv.Origin {
	case master.FromQR1:
		return []Kind{Text}
	case master.FromQR2:
		if g, _ := p.opt.Games.Lookup(srv.Game); g.QueryChallenge() {
			return []Kind{BinaryChallenged}
		}
		return []Kind{Binary}
	case master.FromLAN, master.Static:
		return []Kind{Binary, Text}
	case master.FromZandronum, master.FromValve:
		return nil
	default:
		return nil
	}
}

// join returns the question about a server that is under way, made if there is
// none. It returns no question if there is an answer already, or none can be
// asked.
func (p *Prober) join(srv *master.Server, kinds []Kind, now time.Time) (*question, Status, error) {
	p.mu.Lock()
	if a, ok := p.answers[srv.Public]; ok && now.Sub(a.at) < fresh {
		p.mu.Unlock()
		return nil, a.status, nil
	}
	if q := p.open[srv.Public]; q != nil {
		p.mu.Unlock()
		return q, Status{}, nil
	}
	if p.conn == nil {
		p.mu.Unlock()
		return nil, Status{}, ErrNotServing
	}
	if len(p.open) >= p.opt.Open || !p.limit.AllowN(now, 1) {
		p.mu.Unlock()
		p.metrics.refused.Inc()
		return nil, Status{}, ErrBusy
	}
	// The socket is not that of the intake, so the system chooses the address that
	// the question leaves from.
	q := &question{target: srv.Public, kinds: kinds, end: now.Add(Timeout), done: make(chan struct{})}
	p.open[q.target] = q
	w, packet := p.conn, q.ask(now)
	p.mu.Unlock()
	p.send(w, q.target, packet)
	return q, Status{}, nil
}

// ask starts the question anew, in the next of its protocols. p.mu is held.
func (q *question) ask(now time.Time) []byte {
	if len(q.kinds) > 1 || q.ex == nil {
		q.ex = query.NewExchange(q.kinds[q.tries%len(q.kinds)], rand.Uint32()) //nolint:gosec // it only tells answers apart; the address is checked
	}
	q.tries++
	q.next = now.Add(askAgain)
	return q.ex.Question()
}

// finish hands out the end of a question. p.mu is held.
func (p *Prober) finish(q *question, st Status, err error) {
	q.status, q.err = st, err
	delete(p.open, q.target)
	close(q.done)
	if err != nil {
		p.metrics.silent.Inc()
		return
	}
	p.metrics.answered.Inc()
	for a := range p.answers {
		if len(p.answers) < maxFresh {
			break
		}
		delete(p.answers, a)
	}
	p.answers[q.target] = answer{st, time.Now()}
}

// tick asks again where nothing came, and ends what took too long.
func (p *Prober) tick(now time.Time) {
	type packet struct {
		to   netip.AddrPort
		data []byte
	}
	var out []packet
	p.mu.Lock()
	w := p.conn
	for _, q := range p.open {
		switch {
		case !now.Before(q.end):
			p.finish(q, Status{}, ErrNoAnswer)
		case !now.Before(q.next):
			out = append(out, packet{q.target, q.ask(now)})
		}
	}
	for a, old := range p.answers {
		if now.Sub(old.at) >= fresh {
			delete(p.answers, a)
		}
	}
	p.mu.Unlock()
	for _, o := range out {
		p.send(w, o.to, o.data)
	}
}

func (p *Prober) send(w netserve.PacketWriter, to netip.AddrPort, packet []byte) {
	p.metrics.sent.Inc()
	if err := w.WritePacket(packet, netip.Addr{}, to); err != nil {
		p.opt.Log.Debug().Stringer("peer", to).Err(err).Msg("question not sent")
	}
}

// The reasons for which packets are dropped.
const (
	dropUnexpected = "unexpected"
	dropUseless    = "useless"
	dropTooMuch    = "too_much"
)

// DropReasons lists the reasons that Options.Metrics counts drops under.
func DropReasons() []string { return []string{dropUnexpected, dropUseless, dropTooMuch} }

// ServePacket takes a packet of an answer. Nobody but those who were asked is
// listened to.
func (p *Prober) ServePacket(w netserve.PacketWriter, packet netserve.Packet) {
	p.mu.Lock()
	q := p.open[packet.From]
	if q == nil {
		p.mu.Unlock()
		p.opt.Metrics.Drop(dropUnexpected)
		return
	}
	if q.packets++; q.packets > maxPackets || len(packet.Data) > maxPacket {
		p.finish(q, Status{}, ErrTooMuch)
		p.mu.Unlock()
		p.opt.Metrics.Drop(dropTooMuch)
		return
	}
	step, err := q.ex.Take(packet.Data)
	var next []byte
	switch step {
	case query.Done:
		if err == nil {
			p.finish(q, q.ex.Status(), nil)
		}
	case query.Ask:
		q.next = time.Now().Add(askAgain)
		next = q.ex.Question()
	case query.Wait:
	}
	p.mu.Unlock()
	if err != nil {
		p.opt.Metrics.Drop(dropUseless)
	}
	if next != nil {
		p.send(w, packet.From, next)
	}
}
