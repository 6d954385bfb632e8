package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Bounds of a Prober that are not configured.
const (
	rulesEvery = 5 * time.Minute // between two requests for data that changes rarely
	maxOpen    = 1024            // visits under way

	minInterval = 10 * time.Second // between two visits to a server for any purpose
	maxInterval = 30 * time.Minute // between two visits to a server that does not answer
	maxSilent   = 3                // visits without an answer until a server counts as gone
	perHost     = 8                // open visits to one host
	hostPause   = 250 * time.Millisecond
	maxFollowed = 1 << 16 // servers of another service that are queried, by protocol
	followEvery = time.Second
	tickEvery   = 50 * time.Millisecond
	fresh       = 10 * time.Second // how long an answer is reused
)

// Errors of a Prober.
var (
	// ErrBusy is returned while there are too many callers.
	ErrBusy = errors.New("probe: too many questions")
	// ErrFull is returned while too many servers are watched, in total or at
	// one address.
	ErrFull = errors.New("probe: too many servers are watched")
	// ErrUnknownProtocol is returned for servers that speak none of the protocols
	// of this package.
	ErrUnknownProtocol = query.ErrUnknownProtocol
	// ErrNotServing is returned while no socket is open.
	ErrNotServing = errors.New("probe: not running")
)

// Options configure a Prober. Registry and Games are required.
type Options struct {
	part.Self
	part.Peers
	part.Listing

	Config Config

	// Ask returns the time between two visits to a server that reports to another
	// service, raised to the minimum of its protocol, by its origin. Those of others
	// are not visited; nil: of none.
	Ask func() map[*master.Origin]time.Duration

	// Broadcast reports whether an address is a broadcast address of this
	// machine's networks; nil: none is.
	Broadcast func(netip.Addr) bool
}

// Prober queries servers. It implements netserve.PacketHandler for the answers.
// All methods may be called concurrently.
type Prober struct {
	opt        Options
	metrics    *metrics
	streams    netserve.PacketWriter // of protocols over TCP
	end        func()                // closes them
	maxOpen    int
	rulesEvery time.Duration

	mu        sync.Mutex                   // guards the fields below, the targets and the visits
	config    *Config                      // never changed
	perAddr   int                          // servers watched at one address, static ones not counted
	followers map[*master.Origin]*follower // by origin
	rate      *rate.Limiter
	conn      netserve.PacketWriter // nil: not serving
	table     table
	games     map[string]int // servers listed by the Prober, of games that are not in the catalogue
	kept      answers
	followed  uint64          // serial of the list when it was read last
	changes   []master.Change // of the list since then; reused
	lookAt    time.Time
	out       []packet // to be sent once the lock is released; empty whenever the lock is free
}

// unread is not a valid serial of a list.
const unread = math.MaxUint64

type packet struct {
	from   netip.Addr
	to     netip.AddrPort
	data   []byte
	stream bool // it is sent over TCP
}

// New returns a Prober. It sends nothing until Serve runs.
func New(opt Options) *Prober {
	p := &Prober{
		opt: opt, maxOpen: maxOpen, rulesEvery: rulesEvery,
		table: newTable(), games: make(map[string]int), kept: newAnswers(),
	}
	ctx, end := context.WithCancel(context.Background())
	p.streams, p.end = &streams{ctx, func(m netserve.Packet) bool { return p.take(nil, m, true) }}, end
	p.metrics = newMetrics(opt.Registerer, p.counts)
	p.Reload(&opt.Config)
	return p
}

// Reload applies the live keys, the Registry's limit per address and the result
// of Ask. Watched servers stay.
func (p *Prober) Reload(c *Config) {
	var every map[*master.Origin]time.Duration
	if p.opt.Ask != nil {
		every = p.opt.Ask()
	}
	perAddr := p.opt.Registry.Limits().PerAddr
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config, p.perAddr = c, perAddr
	p.pace(every)
	// The burst is small, so that visits are spread over a second.
	p.rate = rate.NewLimiter(rate.Limit(c.Rate), max(c.Rate/10, 1))
	p.followed = unread
}

// Serve sends queries and receives answers over conn until ctx ends. conn is a
// socket used for nothing else and stays open; a server that answers it can be
// reached by strangers.
func (p *Prober) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	p.start(conn)
	defer p.stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return netserve.ServePackets(ctx, conn, p, netserve.PacketOptions{Log: p.opt.Log, Metrics: p.opt.Metrics})
	})
	g.Go(func() error {
		for now := range clock.Ticks(ctx, tickEvery) {
			p.tick(now)
		}
		return nil
	})
	return g.Wait()
}

func (p *Prober) start(w netserve.PacketWriter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = w
}

// stop ends all visits.
func (p *Prober) stop() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = nil
	for _, t := range p.table.targets {
		if t.visit != nil {
			p.table.end(t)
			t.wait.finish(query.Status{}, ErrNotServing)
			t.wait = nil
		}
	}
}

// Watch visits a server regularly until Unwatch, or, unless its origin is
// static, until it was silent for three visits. A repeated call renews the
// watch; a silent server is then visited again soon, but not within ten
// seconds. The error is ErrForbidden for an address that is never queried, or
// ErrFull.
func (p *Prober) Watch(w Target) error {
	if w.Origin.Claim == master.NoClaim || w.Protocol.String() == "unknown" {
		p.metrics.refused(refusedAddress)
		return ErrForbidden
	}
	if err := p.forbids(w); err != nil {
		p.metrics.refused(refusedAddress)
		return err
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.targets[w.Address]
	if w.Origin != master.Static && (t == nil || !t.weak()) {
		if err := p.checkLimits(w.Address.Addr()); err != nil {
			return err
		}
	}
	if t == nil {
		t = p.table.get(w.Address, now)
	}
	p.table.set(t, w.Origin.Claim, claim{w.Origin, w.Protocol, w.Game, w.Via, w.Told})
	if t.visit == nil {
		p.soon(t, now)
	}
	return nil
}

// Answers reports whether a watched server answered the last visit.
func (p *Prober) Answers(a netip.AddrPort) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.targets[a]
	return t != nil && t.answered
}

// Watches reports whether an origin watches a server.
func (p *Prober) Watches(a netip.AddrPort, o *master.Origin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.targets[a]
	return t != nil && t.claims[o.Claim].origin == o
}

// soon makes a target due as if it had answered the last visit. p.mu is held.
func (p *Prober) soon(t *target, now time.Time) {
	due := now
	if !t.asked.IsZero() {
		wait := p.every(t)
		if t.silent > 0 && t.listed == "" {
			wait = t.protocol().least()
		}
		if after := t.asked.Add(wait); after.After(now) {
			due = after
		}
	}
	if due.Before(t.due) {
		p.table.queue.at(t, due)
	}
}

// checkLimits returns an error if no further server of a host may be watched. p.mu is
// held.
func (p *Prober) checkLimits(host netip.Addr) error {
	if p.table.watched >= p.config.MaxServers {
		p.metrics.refused(refusedFull)
		return ErrFull
	}
	if p.table.perAddr[host] >= p.perAddr && !p.opt.Trusted.Has(host) {
		p.metrics.refused(refusedHost)
		return ErrFull
	}
	return nil
}

// Forbidden returns an error that wraps ErrForbidden with the reason if an
// address is never queried, else nil.
func (p *Prober) Forbidden(a netip.AddrPort) error {
	switch {
	case !askable(a):
		return fmt.Errorf("%w: it is not the one of a machine, or its port is below %d", ErrForbidden, lowestPort)
	case p.own(a):
		return fmt.Errorf("%w: it is one of this daemon's own", ErrForbidden)
	case p.opt.Broadcast != nil && p.opt.Broadcast(a.Addr()):
		return fmt.Errorf("%w: it is the broadcast address of a network of this machine", ErrForbidden)
	}
	return nil
}

// forbids returns the reason for which a server is not watched. Only servers
// that an operator named are compared with the networks of this machine, which
// takes time.
func (p *Prober) forbids(w Target) error {
	if w.Origin == master.Static {
		return p.Forbidden(w.Address)
	}
	if !p.may(w.Address) {
		return ErrForbidden
	}
	return nil
}

// may reports whether an address may be queried. It does not check for
// broadcast addresses of single networks, from which no packet comes.
func (p *Prober) may(a netip.AddrPort) bool {
	return askable(a) && !p.own(a)
}

// own reports whether an address is one of this daemon's.
func (p *Prober) own(a netip.AddrPort) bool { return p.opt.Own.Has(a) }

// Unwatch removes a server from the watch list of an origin. If no other origin
// watches it, it leaves the list at once. It returns false if the origin did
// not watch it.
func (p *Prober) Unwatch(a netip.AddrPort, o *master.Origin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.targets[a]
	if t == nil || t.claims[o.Claim].origin != o {
		return false
	}
	p.table.set(t, o.Claim, claim{})
	why := verdicts.Left
	if o == master.Static {
		why = verdicts.Removed
	}
	if !t.wanted() {
		p.unlist(t, why)
	}
	return true
}

// Watched returns the servers that an origin watches, in no particular order.
func (p *Prober) Watched(o *master.Origin) []Target {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Target
	for _, t := range p.table.targets {
		if c := t.claims[o.Claim]; c.origin == o {
			out = append(out, Target{t.addr, c.protocol, c.game, o, c.told, c.via})
		}
	}
	return out
}

// counts returns the numbers of watched servers, by reason.
func (p *Prober) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]int{"static": p.table.static, "watched": p.table.watched, "under_way": p.table.visits}
	for _, f := range p.followers {
		n[f.protocol.String()] = p.table.followed[f.protocol]
	}
	return n
}

// send sends the packets of out. p.mu is not held.
func (p *Prober) send(w netserve.PacketWriter, out []packet) {
	for _, o := range out {
		p.metrics.sent.Inc()
		wire := w
		if o.stream {
			wire = p.streams
		}
		if err := wire.WritePacket(o.data, o.from, o.to); err != nil {
			p.opt.Log.Debug().Stringer("peer", o.to).Err(err).Msg("question not sent")
		}
	}
}
