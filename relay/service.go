package relay

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service. The service is always opened, so that a reload can
// switch it on; it has no socket until players need one. What pages say of it is as it was at
// the start.
func (c *Config) Describe() service.Descriptor {
	d := service.Descriptor{Title: "Relay between players behind routers", Docs: []string{"protocols/relay"}, Switch: "relay.enabled", Needs: []string{"natneg"}}
	if c.Enabled {
		d.Nouns = []noun.Noun{noun.Relays}
		d.Sockets = map[string]int{"relay.max_pairs": 2 * c.MaxPairs}
	}
	return d
}

// Open implements service.Service. It opens no socket: each pair has its own.
func (c *Config) Open(_ context.Context, env *service.Env) (*service.Running, error) {
	s, err := New(Options{
		Config: *c, Self: env.Counted(dropReasons...), Peers: env.Peers(storage.ScopeAll, env.Verdicts.Players),
		Games: env.Games,
		Given: given(env), Here: here,
	})
	if err != nil {
		return nil, err
	}
	var ports []string
	if c.Enabled {
		ports = []string{":" + c.Ports}
	}
	return &service.Running{
		Address: s.words(), Ports: ports, Serve: s.Serve, Relay: s, RelayedPairs: s.Pairs,
		Reload: func(to service.Service) { s.Reload(to.(*Config)) },
		Close:  s.Close,
	}, nil
}

// given returns Options.Given by the addresses that servers are listed under.
func given(env *service.Env) func(player, own netip.Addr) netip.Addr {
	return func(player, own netip.Addr) netip.Addr {
		return env.Addresses.Browser(player, netip.Addr{}).Given(netip.AddrPortFrom(own, 0)).Addr()
	}
}

// here is Options.Here: the address on the player's network, else the one that other
// machines most likely reach.
func here(player netip.Addr) netip.Addr {
	all, err := hostnet.Addresses()
	if err != nil {
		return netip.Addr{}
	}
	if on := hostnet.For(player, all); on.IsValid() {
		return on
	}
	for _, a := range hostnet.Reachable(all, hostnet.Route()) {
		return a.Addr()
	}
	return netip.Addr{}
}

// words describes the ports of the service in words.
type words struct{ server *Server }

func (s *Server) words() words { return words{s} }

// String implements fmt.Stringer.
func (w words) String() string {
	live := w.server.live.Load()
	if !live.Enabled {
		return ""
	}
	return "ports " + live.Ports
}
