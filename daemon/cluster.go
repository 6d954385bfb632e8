package daemon

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster/natsbus"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/replica"
	"github.com/respawnd/respawnd/operator"
)

// node is this daemon as a part of a cluster. Its methods do nothing on a lone one.
type node struct {
	bus  *natsbus.Bus
	list *replica.Replica
	log  zerolog.Logger
}

// joinCluster connects to the other nodes, if there are any. They do not see this one
// before it serves.
func (d *Daemon) joinCluster(ctx context.Context, s *settings) error {
	if !s.Cluster.On() {
		return nil
	}
	if err := s.Cluster.Check(s.Storage.Shared()); err != nil {
		return err
	}
	o, err := s.Cluster.Options()
	if err != nil {
		return err
	}
	o.Version, o.Log, o.Registerer = d.opt.Version, d.log.With().Str("service", "cluster").Logger(), d.metrics
	if s, ok := d.store.(interface{ Schema() int }); ok {
		o.Schema = s.Schema()
	}
	if d.node.bus, err = natsbus.Open(ctx, o); err != nil {
		return err
	}
	d.cluster = d.node.bus
	d.log.Info().Str("cluster", o.Name).Str("node", o.Node).Str("address", d.node.bus.Addr()).Strs("nodes", d.cluster.Nodes()).Msg("joined the cluster")
	return nil
}

// node returns the name of this node in its cluster, empty without one.
func (s *settings) node() string {
	if !s.Cluster.On() {
		return ""
	}
	o, _ := s.Cluster.Options() // joinCluster reports the error; the name does not depend on it
	return o.Node
}

// shareList shows the servers of all nodes in the list.
func (d *Daemon) shareList(s *settings, sources map[*master.Origin]*master.Source) {
	if d.cluster == nil {
		return
	}
	d.node.log = d.log.With().Str("service", "cluster").Logger()
	o := replica.Options{
		Bus: d.cluster, Registry: d.registry, Origins: s.origins(), Sources: sources, Banned: d.bannedServer,
		RestoreFor: func() time.Duration { return s.Master.RestoreFor },
		Settled:    func(h *master.Server) { d.servers.Note(s.noting(h.Origin), h.Key.Source, h.Game, verdicts.TooManyHere) },
		Log:        d.node.log, Registerer: d.metrics,
	}
	if !s.Cluster.Local() {
		o.Shown = func(a netip.AddrPort) netip.AddrPort { return d.addresses.Outside().Given(a) }
	}
	d.node.list = replica.New(o)
}

// clusterNodes is operator.Local.Nodes.
func (d *Daemon) clusterNodes() (out []operator.ClusterNode) {
	if d.node.bus == nil {
		return nil
	}
	lists, servers := d.node.list.States(), d.registry.Len()
	for _, l := range lists {
		servers -= l.Servers
	}
	for _, p := range d.node.bus.Peers() {
		one := operator.ClusterNode{
			Name: p.Name, Self: p.Self, Live: p.Live, Version: p.Version, Schema: p.Schema, Started: p.Started.UTC().Format(time.RFC3339),
			SeenMS: p.Heard.Milliseconds(), ClockMS: p.Clock.Milliseconds(), Servers: lists[p.Name].Servers, Complete: lists[p.Name].Complete,
		}
		if p.Ping > 0 {
			one.PingMS = max(p.Ping.Milliseconds(), 1)
		}
		if p.Self {
			one.Servers, one.Complete = servers, true
		}
		out = append(out, one)
	}
	return out
}

// run follows the lists of the other nodes until ctx ends.
func (n *node) run(ctx context.Context) {
	if n.list != nil {
		n.list.Run(ctx)
	}
}

// await waits until the servers and players of the other nodes are known here, at most for a
// time: this node then answers with those of all live nodes.
func (n *node) await(ctx context.Context, hub presence.Hub, most time.Duration) {
	if n.list == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	missing := n.list.Await(ctx)
	if c, ok := hub.(*presence.Clustered); ok {
		missing = append(missing, c.AwaitNodes(ctx)...)
	}
	if len(missing) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		n.log.Warn().Strs("nodes", slices.Compact(slices.Sorted(slices.Values(missing)))).Stringer("cluster.join_wait", most).
			Msg("this node serves without the servers or players of others, which have not come in time")
	}
}

// announce makes this node a live one for the others.
func (n *node) announce() {
	if n.bus != nil {
		n.bus.Announce()
	}
}

// leave says goodbye to the other nodes.
func (n *node) leave() error {
	if n.bus == nil {
		return nil
	}
	return n.bus.Close()
}

// trouble is service.Operations.Trouble.
func (n *node) trouble() error {
	if n.bus == nil {
		return nil
	}
	return n.bus.Trouble()
}
