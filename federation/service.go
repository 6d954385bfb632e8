package federation

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// sweepEvery is the interval at which servers that no master names are removed.
const sweepEvery = 30 * time.Second

// Describe implements service.Service. The service is always opened, so that a reload can
// name the first master; without one it does nothing.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Stage: service.StageSearch, Origins: []*master.Origin{master.Federated}, Switch: "federation.masters",
		Steps: []service.Step{{Name: "federation peer", Server: true, Needs: []string{"web"}, Order: service.OrderPages, Run: readOwn}},
	}
}

// Open implements service.Service. It opens no socket: each reading has its own.
func (c *Config) Open(_ context.Context, e *service.Env) (*service.Running, error) {
	s := newServer(c, e)
	return &service.Running{
		Address: count{s}, Serve: s.serve, Masters: s.states,
		Reload: func(to service.Service) { s.reload(to.(*Config)) },
		Close:  func() error { return nil },
	}, nil
}

type server struct {
	table *table
	fetch func(*configs.OtherMaster) fetcher
	mine  func(name string) bool // this node reads the master; see service.Env.Cluster
	live  atomic.Pointer[settings]
	wake  chan struct{} // of capacity 1

	mu      sync.Mutex // guards the fields below
	config  *Config
	sources []*source // in the order of the configuration
}

func newServer(c *Config, e *service.Env) *server {
	s := &server{wake: make(chan struct{}, 1)}
	s.table = newTable(env{
		Listing: e.Listing, Peers: e.Peers(storage.ScopeLists, e.Verdicts.Servers), asker: e.Asker,
		reported: func(a netip.AddrPort) bool {
			srv, listed := e.Addresses.Outside().Find(e.Registry, a)
			return listed && srv.Origin != master.Federated
		},
		metrics: newMetrics(e.Registerer, s.told), broadcast: new(hostnet.Broadcasts).Has, log: e.Log,
	})
	d := &dialer{
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
		},
		own: func(network string, a netip.AddrPort) bool {
			return network == "udp" && e.Own(a) || network == "tcp" && isOwnTCP(e.Opened(), a)
		},
	}
	if e.Cluster != nil {
		s.mine = func(name string) bool { return e.Cluster.Owner("federation "+name) == e.Cluster.Self() }
	}
	s.fetch = func(m *configs.OtherMaster) fetcher { return newFetcher(m, d, e.Games, e.Master, e.DataDir, e.Played) }
	s.reload(c)
	return s
}

// isOwnTCP reports whether an address is that of a service on this machine.
func isOwnTCP(opened []service.Opened, a netip.AddrPort) bool {
	return slices.ContainsFunc(opened, func(o service.Opened) bool {
		t, ok := o.Address.(*net.TCPAddr)
		if !ok || t.Port != int(a.Port()) {
			return false
		}
		at := t.AddrPort().Addr().Unmap()
		return at == a.Addr() || at.IsUnspecified() && (a.Addr().IsLoopback() || slices.Contains(hostnet.Own(), a.Addr()))
	})
}

// count describes the objects of the service in words.
type count struct{ server *server }

// String implements fmt.Stringer.
func (c count) String() string {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	switch n := len(c.server.config.Masters); n {
	case 0:
		return ""
	case 1:
		return "1 other master"
	default:
		return strconv.Itoa(n) + " other masters"
	}
}

// reload applies a configuration.
func (s *server) reload(c *Config) {
	s.live.Store(&settings{every: c.Every, expire: max(c.Expire, 2*c.Every), max: c.MaxPerMaster})
	s.mu.Lock()
	s.config = c
	s.mu.Unlock()
	wake.Up(s.wake)
}

// serve reads the masters until ctx ends.
func (s *server) serve(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	stops := make(map[*source]context.CancelFunc)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, stop := range stops {
				stop()
			}
			return nil
		case <-s.wake:
			for _, ended := range s.apply() {
				stops[ended]()
				delete(stops, ended)
			}
			for _, src := range s.all() {
				if stops[src] != nil {
					continue
				}
				bounded, stop := context.WithCancel(ctx)
				stops[src] = stop
				running.Go(func() {
					src.run(bounded)
					s.endSeries(src)
				})
			}
		case <-tick.C:
		}
		s.table.sweep(time.Now(), s.live.Load().expire)
	}
}

// apply makes the sources those of the configuration. It returns the ones that are no
// longer in it.
func (s *server) apply() (ended []*source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make([]*source, 0, len(s.config.Masters))
	for i := range s.config.Masters {
		m := &s.config.Masters[i]
		at := slices.IndexFunc(s.sources, func(o *source) bool { return o.master == *m && !o.ended.Load() })
		if at >= 0 {
			s.sources[at].order.Store(int32(i))
			next = append(next, s.sources[at])
			continue
		}
		src := newSource(*m, i, s.table, &s.live)
		src.fetch = s.fetch(&src.master)
		if s.mine != nil {
			src.mine = s.mine
		}
		next = append(next, src)
	}
	for _, o := range s.sources {
		if !slices.Contains(next, o) {
			o.ended.Store(true)
			ended = append(ended, o)
		}
	}
	if len(next) != len(s.sources) || len(ended) > 0 {
		s.table.log.Info().Int("masters", len(next)).Msg("reading other masters")
	}
	s.sources = next
	return ended
}

// endSeries removes the metrics of a source that ended, unless another has its name.
func (s *server) endSeries(ended *source) {
	if !slices.ContainsFunc(s.all(), func(o *source) bool { return o != ended && o.master.Name == ended.master.Name }) {
		s.table.metrics.end(ended.master.Name)
	}
}

func (s *server) all() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sources)
}

// told returns the number of servers that each master names.
func (s *server) told() map[string]int {
	out := make(map[string]int)
	for _, src := range s.all() {
		out[src.master.Name] = int(src.told.Load())
	}
	return out
}

// states implements service.Running.Masters.
func (s *server) states() (list []operator.OtherMaster) {
	listed := s.table.listed()
	for _, src := range s.all() {
		list = append(list, src.now(listed[src.master.Name]))
	}
	return list
}
