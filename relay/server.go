package relay

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
)

// Reasons for which Open refuses a pair, with those in room.go.
var (
	errOff       = errors.New("the relay is switched off")
	errNoAddress = errors.New("no address of this machine that the player can reach is known")
)

// Options configure a Server. All but Config is optional.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers

	Games *games.Catalog

	// Given returns the address that a player gets for an address of this machine;
	// nil: that address.
	Given func(player, own netip.Addr) netip.Addr
	// Here returns the address of this machine that a player most likely reaches, zero
	// if there is none; nil: it is known from RelayPlayer.Reached alone.
	Here func(player netip.Addr) netip.Addr
}

// Server relays pairs of players. It implements service.Relay.
type Server struct {
	opt     Options
	live    atomic.Pointer[Config] // never nil
	metrics *metrics
	start   time.Time // the times of pairs count from here
	spent   budget    // bytes of all pairs
	lines   *rate.Limiter
	warned  atomic.Bool // that no address is known
	scarce  atomic.Bool // the lack of free ports is logged, and no port was opened since

	opening sync.Mutex // one pair is opened at a time

	forwarding *netserve.Forwarding

	mu       sync.Mutex // guards the fields below
	serving  bool
	pairs    map[*pair]struct{}
	unproved int // of pairs
	sources  map[netip.Addr]*source
	nets     map[netip.Prefix]counts
	taken    map[uint16]int         // open ports: on how many addresses
	own      map[netip.AddrPort]int // these ports, as they are bound and as players know them
}

// New returns a Server. It relays nothing until Serve is called; Close releases it.
func New(opt Options) (*Server, error) {
	s := &Server{
		opt: opt, start: time.Now(), lines: rate.NewLimiter(logRate, logBurst),
		pairs: make(map[*pair]struct{}), sources: make(map[netip.Addr]*source), nets: make(map[netip.Prefix]counts),
		taken: make(map[uint16]int), own: make(map[netip.AddrPort]int),
	}
	s.metrics = newMetrics(opt.Registerer, s.open)
	s.live.Store(&opt.Config)
	var err error
	s.forwarding, err = netserve.NewForwarding(netserve.ForwardOptions{Log: opt.Log, Metrics: opt.Metrics})
	return s, err
}

// Close releases the resources of the Server. Serve has returned, or was not called.
func (s *Server) Close() error { return s.forwarding.Close() }

// Reload applies the live keys. Pairs that are open keep their ports.
func (s *Server) Reload(c *Config) {
	s.live.Store(c)
	if !c.Enabled {
		s.sweep()
	}
}

// open returns the number of pairs.
func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pairs)
}

// sweepEvery is how often pairs are checked for their end.
const sweepEvery = time.Second

// Serve relays until ctx ends; it then ends all pairs and returns nil. It may be called
// once.
func (s *Server) Serve(ctx context.Context) error {
	s.serve(true)
	defer s.stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.forwarding.Serve(ctx) })
	g.Go(func() error {
		for range clock.Ticks(ctx, sweepEvery) {
			s.sweep()
		}
		return nil
	})
	return g.Wait()
}

// serve notes whether pairs may be opened.
func (s *Server) serve(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = on
}

// stop ends all pairs.
func (s *Server) stop() {
	s.opening.Lock() // none is being opened
	defer s.opening.Unlock()
	s.serve(false)
	s.endAll(func(*pair) (end, bool) { return endStopped, true })
}

// sweep ends the pairs that are due.
func (s *Server) sweep() {
	live, now := s.live.Load(), time.Since(s.start)
	s.endAll(func(p *pair) (end, bool) { return p.ending(now, live) })
}

func (s *Server) endAll(why func(*pair) (end, bool)) {
	s.mu.Lock()
	all := make([]*pair, 0, len(s.pairs))
	for p := range s.pairs {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, p := range all {
		if reason, ok := why(p); ok {
			s.end(p, reason)
		}
	}
}

// On implements service.Relay.
func (s *Server) On(game string) bool {
	if !s.live.Load().Enabled {
		return false
	}
	if s.opt.Games == nil || game == "" {
		return true
	}
	g, ok := s.opt.Games.Lookup(game)
	return !ok || !g.Policy.NoRelay.Or(false)
}

// First implements service.Relay.
func (s *Server) First() service.First { return service.First(s.live.Load().First) }

// Open implements service.Relay.
func (s *Server) Open(game string, players [2]service.RelayPlayer) (at [2]netip.AddrPort, err error) {
	p, err := s.relay(game, players)
	if err != nil {
		for known, c := range s.metrics.refused {
			if errors.Is(err, known) {
				c.Inc()
			}
		}
		return at, err
	}
	s.metrics.opened.Inc()
	s.opt.Log.Debug().Str("game", game).Stringer("client", p.legs[0].seen[0]).Stringer("host", p.legs[1].seen[0]).
		Uint16("client_port", p.legs[0].at.Port()).Uint16("host_port", p.legs[1].at.Port()).Msg("pair relayed")
	return [2]netip.AddrPort{p.legs[0].at, p.legs[1].at}, nil
}

func (s *Server) relay(game string, players [2]service.RelayPlayer) (*pair, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	live := s.live.Load()
	s.mu.Lock()
	serving := s.serving
	s.mu.Unlock()
	if !serving || !s.On(game) {
		return nil, errOff
	}
	if err := s.admit(live, players); err != nil {
		return nil, err
	}
	p := &pair{server: s, game: game, proved: players[0].Proved && players[1].Proved, opened: time.Since(s.start)}
	for i := range players {
		if err := s.openLeg(&p.legs[i], &players[i], live); err != nil {
			if i == 1 {
				_ = p.legs[0].port.Close()
				s.mu.Lock()
				s.free(&p.legs[0])
				s.mu.Unlock()
			}
			return nil, err
		}
	}
	s.scarce.Store(false)
	s.add(p)
	for i := range p.legs {
		if err := p.legs[i].port.Connect(p.legs[1-i].port, direction{p, i}); err != nil {
			s.end(p, endBroken)
			return nil, err
		}
	}
	return p, nil
}

// netOf returns the network of 256 addresses of an address.
func netOf(a netip.Addr) netip.Prefix {
	p, _ := a.Prefix(24) // an IPv4 address has one
	return p
}

// maxKnock bounds a datagram of service.RelayPlayer.Knock, in bytes.
const maxKnock = 64

// openLeg opens the port of a player, and knocks.
func (s *Server) openLeg(l *leg, p *service.RelayPlayer, live *Config) error {
	bind, told, err := s.addressFor(p)
	if err != nil {
		return err
	}
	port, err := parsePorts(live.Ports).open(s.forwarding, bind, s.isTaken)
	if err != nil {
		if s.scarce.CompareAndSwap(false, true) {
			s.opt.Log.Warn().Err(err).Int("pairs", s.open()).
				Str("remedy", "more ports in relay.ports, two for each pair of relay.max_pairs, of which the system gives none to other programs").
				Msg("players cannot be relayed: no port is free")
		}
		return err
	}
	l.port, l.seen, l.came, l.at = port, p.Seen, p.Came, netip.AddrPortFrom(told, port.LocalAddr().Port())
	if p.Proved && len(p.Knock) > 0 && len(p.Knock) <= maxKnock {
		port.Send(p.Knock, p.At)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[l.at.Port()]++
	s.own[l.at]++
	s.own[port.LocalAddr()]++
	return nil
}

// addressFor returns the address of ours to bind for a player, and the one to tell it.
func (s *Server) addressFor(p *service.RelayPlayer) (bind, told netip.Addr, err error) {
	player := p.Seen[0]
	bind = p.Reached
	if !bind.IsValid() && s.opt.Here != nil {
		bind = s.opt.Here(player)
	}
	if bind.IsValid() {
		told = bind
		if s.opt.Given != nil {
			told = s.opt.Given(player, bind)
		}
	}
	if !told.Is4() || master.IsPrivate(told) && !master.IsPrivate(player) || told.IsLoopback() && !player.IsLoopback() {
		if s.warned.CompareAndSwap(false, true) {
			s.opt.Log.Warn().Stringer("player", player).Stringer("address", told).
				Str("remedy", "set net.advertise_as to the public address of this machine, or relay.enabled to false").
				Msg("players cannot be relayed: " + errNoAddress.Error())
		}
		return bind, told, errNoAddress
	}
	return bind, told, nil
}

// isTaken reports whether a port is in use by this relay.
func (s *Server) isTaken(port uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[port] > 0
}

// free forgets the port of a leg, which is closed. s.mu is held.
func (s *Server) free(l *leg) {
	if s.taken[l.at.Port()]--; s.taken[l.at.Port()] <= 0 {
		delete(s.taken, l.at.Port())
	}
	for _, a := range []netip.AddrPort{l.at, l.port.LocalAddr()} {
		if s.own[a]--; s.own[a] <= 0 {
			delete(s.own, a)
		}
	}
}

// ours reports whether an address is a socket of this daemon, or one under which players
// know a port of the relay.
func (s *Server) ours(a netip.AddrPort) bool {
	s.mu.Lock()
	own := s.own[a] > 0
	s.mu.Unlock()
	return own || s.opt.Own.Has(a)
}

// add adds a pair whose ports are open.
func (s *Server) add(p *pair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pairs[p] = struct{}{}
	s.count(p, 1)
}

// remove removes a pair. It returns false if it was removed before.
func (s *Server) remove(p *pair) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.pairs[p]; !open {
		return false
	}
	delete(s.pairs, p)
	s.count(p, -1)
	for i := range p.legs {
		s.free(&p.legs[i])
	}
	return true
}

// count adds a number to what is counted of a pair. s.mu is held.
func (s *Server) count(p *pair, n int) {
	kind := 1
	if !p.proved {
		kind = 0
		s.unproved += n
	}
	for i := range p.legs {
		l := &p.legs[i]
		a := l.seen[0]
		if s.sources[a] == nil {
			s.sources[a] = &source{trusted: s.opt.Trusted.Has(a)}
		}
		l.source = s.sources[a]
		l.source.pairs[kind] += n
		if l.source.pairs == (counts{}) {
			delete(s.sources, a)
		}
		net := s.nets[netOf(a)]
		net[kind] += n
		s.nets[netOf(a)] = net
		if net == (counts{}) {
			delete(s.nets, netOf(a))
		}
	}
}

// Pairs that are logged at level info when they end: players must not fill the log.
// Others are logged at level debug, and all are in the metrics.
const (
	logRate  = 10 // lines per second
	logBurst = 100
)

// end ends a pair, once.
func (s *Server) end(p *pair, why end) {
	if !s.remove(p) {
		return
	}
	p.close()
	s.metrics.ended[why].Inc()
	level := zerolog.DebugLevel
	if used := p.last.Load() != 0; used && s.lines.Allow() {
		level = zerolog.InfoLevel
	}
	line := s.opt.Log.WithLevel(level).Str("reason", why.String())
	if p.game != "" {
		line = line.Str("game", p.game)
	}
	line.Stringer("client", p.legs[0].shown()).Stringer("host", p.legs[1].shown()).
		Stringer("took", (time.Since(s.start)-p.opened).Round(time.Second)).
		Uint64("packets", p.legs[0].packets.Load()+p.legs[1].packets.Load()).
		Uint64("bytes", p.legs[0].bytes.Load()+p.legs[1].bytes.Load()).Msg("relayed pair ended")
}

// Pairs returns the pairs that are relayed, the oldest first.
func (s *Server) Pairs() []operator.RelayedPair {
	s.mu.Lock()
	list := make([]operator.RelayedPair, 0, len(s.pairs))
	for p := range s.pairs {
		list = append(list, p.state())
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b operator.RelayedPair) int { return a.Since.Compare(b.Since) })
	return list
}

func (p *pair) state() operator.RelayedPair {
	out := operator.RelayedPair{Game: p.game, Since: p.server.start.Add(p.opened)}
	if last := time.Duration(p.last.Load()); last != 0 {
		out.Last = p.server.start.Add(last)
	}
	for i, side := range []*operator.RelayedPlayer{&out.Client, &out.Host} {
		l := &p.legs[i]
		*side = operator.RelayedPlayer{
			Address: l.shown(), Come: l.player.Load() != nil, Port: l.at.Port(), Packets: l.packets.Load(), Bytes: l.bytes.Load(),
		}
	}
	return out
}
