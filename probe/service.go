package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	d := service.Descriptor{Stage: service.StageSearch, Origins: []*master.Origin{master.Static}, Switch: "probe"}
	for _, p := range Protocols() {
		d.Protocols = append(d.Protocols, p.String())
	}
	return d
}

// Open opens the socket from which game servers are queried, on any port. It
// implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(env.UDPHost, "0"), netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	p := New(Options{
		Config: *c, Self: env.Counted(DropReasons()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Ask:       env.AskEvery,
		Broadcast: new(hostnet.Broadcasts).Has,
	})
	p.start(conn) // pages may query servers from "ready" on, when Serve may not have run yet
	statics := NewStatics(p, func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	}, shareOf(env.Cluster), env.Log)
	return &service.Running{
		Address: conn.LocalAddr(), UDP: []netip.AddrPort{conn.LocalAddr()},
		Serve: func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return p.Serve(ctx, conn) })
			g.Go(func() error { statics.Run(ctx); return nil })
			return g.Wait()
		},
		Reload: func(to service.Service) { p.Reload(to.(*Config)) },
		Close:  conn.Close,
		Asker:  NewAsker(p, statics),
	}, nil
}

// shareOf returns the Share of the nodes of a cluster, nil for a node that is alone.
func shareOf(bus cluster.Bus) Share {
	if bus == nil {
		return nil
	}
	return share{bus}
}

// share implements Share.
type share struct{ cluster.Bus }

// Mine implements Share.
func (s share) Mine(address string) bool { return s.Owner("probe/"+address) == s.Self() }

// asker implements service.Asker with a Prober.
type asker struct {
	*Prober
	statics *Statics
}

// NewAsker returns a service.Asker that uses a Prober.
func NewAsker(p *Prober, s *Statics) service.Asker { return asker{p, s} }

func (a asker) Watch(at netip.AddrPort, protocol string, o *master.Origin) error {
	p, err := ParseProtocol(protocol)
	if err != nil {
		return err
	}
	return a.Prober.Watch(Target{Address: at, Protocol: p, Origin: o})
}

func (a asker) Unwatch(at netip.AddrPort, o *master.Origin) { a.Prober.Unwatch(at, o) }

func (a asker) Consider(c service.Candidate) error {
	p, err := ParseProtocol(c.Protocol)
	if err != nil {
		return err
	}
	return a.Prober.Watch(Target{Address: c.Address, Protocol: p, Game: c.Game, Origin: master.Federated, Told: c.Told})
}

func (a asker) Name(list []storage.AddedServer) {
	var named []Named
	for _, s := range list {
		protocol, err := ParseProtocol(s.Protocol)
		if err != nil {
			a.statics.log.Warn().Str("address", s.Address).Err(err).Msg("a server that was added is not asked")
			continue
		}
		named = append(named, Named{Protocol: protocol, Address: s.Address, Game: s.Game})
	}
	a.statics.Set(named)
}

func (a asker) Named() (list []operator.AskedServer) {
	for _, s := range a.statics.States() {
		list = append(list, operator.AskedServer{Address: s.Address, Answers: s.Answers, Why: s.Why})
	}
	return list
}

func (a asker) Check(s *storage.AddedServer) error {
	if err := CheckAdded(a.opt.Games, s); err != nil {
		return err
	}
	if at, err := netip.ParseAddrPort(s.Address); err == nil {
		return a.Forbidden(at)
	}
	return nil
}

// CheckAdded returns an error for a server that cannot be queried, and brings
// its address and game into their stored form.
func CheckAdded(catalogue *games.Catalog, a *storage.AddedServer) (err error) {
	if _, err := ParseProtocol(a.Protocol); err != nil {
		return err
	}
	address, err := configs.ParseServerAddress(a.Address)
	if err != nil {
		return fmt.Errorf("%.80q %w", a.Address, err)
	}
	a.Address = address
	if a.Game == "" {
		return nil
	}
	if g, known := catalogue.Lookup(a.Game); known {
		a.Game = g.Name
		return nil
	}
	name, ok := games.ListedName(a.Game)
	if !ok {
		return fmt.Errorf("%.80q is not the name of a game", a.Game)
	}
	a.Game = name
	return nil
}
