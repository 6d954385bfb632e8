package replica

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/master"
)

// maxServers bounds the servers of one other node.
const maxServers = 1 << 20

// Options are the settings of a Replica. Bus and Registry are required.
type Options struct {
	Bus      cluster.Bus
	Registry *master.Registry
	Origins  master.Origins // servers of others are dropped
	// Sources parse the reports of servers, by origin. They must not change.
	Sources map[*master.Origin]*master.Source
	// Shown returns the address under which machines elsewhere reach a server with
	// a loopback address, the same one if none is known: then other nodes do not list
	// it. nil: all nodes are on this machine.
	Shown func(public netip.AddrPort) netip.AddrPort
	// Banned reports whether servers may not be listed from an address; nil: never.
	Banned func(*master.Origin, netip.Addr) bool
	// RestoreFor returns how long the servers of a node that is gone stay.
	RestoreFor func() time.Duration
	// Settled is called with a server of this node that was removed because other
	// nodes had listed too many from its address or network; nil: not.
	Settled    func(*master.Server)
	Log        zerolog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// Replica keeps the list of this node and those of the others alike.
type Replica struct {
	*cluster.Map[netip.AddrPort, listed] // servers by their sources on their own nodes

	opt     Options
	decoder decoder
	settled prometheus.Counter
	refused prometheus.Counter

	// The fields below belong to the goroutine of Run.

	serial  uint64 // of the last change that was published
	changes []master.Change
}

// New returns a Replica. It works while Run runs.
func New(o Options) *Replica {
	in := metric.With(o.Registerer)
	r := &Replica{
		opt: o, decoder: decoder{registry: o.Registry, origins: o.Origins, sources: o.Sources},
		settled: in.Counter("respawnd_replica_settled_total", "Servers of this node that were removed because other nodes had listed too many from their address or network."),
		refused: in.Counter("respawnd_replica_refused_total", "Servers of other nodes that were not listed: another node has the server, or the list is full."),
	}
	o.Registry.SetNode(o.Bus.Self())
	r.Map = cluster.NewMap(cluster.MapOptions[netip.AddrPort, listed]{
		Name: "servers", Bus: o.Bus, Grace: o.RestoreFor, Max: maxServers, Changed: r.changed, Left: o.Registry.Orphan,
		Log: o.Log, Registerer: o.Registerer,
		Codec: cluster.Codec[netip.AddrPort, listed]{
			Version: version, AppendKey: appendAddr, ParseKey: parseAddr,
			AppendValue: func(b []byte, l listed) []byte {
				return appendServer(b, l.server, l.claim, time.Now(), o.Sources[l.server.Origin] != nil)
			},
			ParseValue: func(node string, _ netip.AddrPort, b []byte) (listed, error) {
				return r.decoder.item(b, node, time.Now())
			},
		},
	})
	return r
}

// Run lists the servers of the other nodes and publishes those of this one until ctx ends. It
// returns after all its goroutines.
func (r *Replica) Run(ctx context.Context) {
	r.publish() // before others ask for all servers of this node
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { r.Map.Run(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.opt.Registry.Changed(r.serial):
			r.settle()
			r.publish()
			if !clock.Pause(ctx, cluster.Collect) {
				return
			}
		}
	}
}

// changed lists or removes a server of another node.
func (r *Replica) changed(c cluster.Change[netip.AddrPort, listed]) {
	s := c.Value.server
	if c.Had && (c.Removed || s.Key.Source != c.Old.server.Key.Source) {
		r.opt.Registry.RemoveRemote(c.Node, c.Old.server.Key.Source)
	}
	switch {
	case c.Removed:
	case r.opt.Banned != nil && r.opt.Banned(s.Origin, s.Key.Source.Addr()):
		r.opt.Registry.RemoveRemote(c.Node, s.Key.Source)
	case !r.opt.Registry.PutRemote(s, c.Value.claim):
		r.refused.Inc()
	}
}

// settle removes servers of this node that are too many since others were listed.
func (r *Replica) settle() {
	for _, s := range r.opt.Registry.Settle() {
		r.settled.Inc()
		if r.opt.Settled != nil {
			r.opt.Settled(s)
		}
	}
}

// publish publishes the changes since the last call.
func (r *Replica) publish() {
	var ok bool
	if r.changes, r.serial, ok = r.opt.Registry.Changes("", r.serial, r.changes[:0]); ok {
		for i := range r.changes {
			r.update(r.changes[i].Key.Source)
		}
	} else { // too many changes at once
		for _, source := range append(r.opt.Registry.OwnSources(nil), r.Keys()...) {
			r.update(source)
		}
	}
	r.Flush()
}

// update publishes the state of a server, if it changed since it was published.
func (r *Replica) update(source netip.AddrPort) {
	s, claim, ok := r.record(source)
	if !ok {
		r.Delete(source)
		return
	}
	old, known := r.Own(source)
	if !known || s.Serial != old.server.Serial || s.Key.Source != old.server.Key.Source {
		r.Put(source, listed{s, claim})
	}
}

// record returns the record that other nodes list for a server of this one.
func (r *Replica) record(source netip.AddrPort) (s *master.Server, claim uint32, ok bool) {
	s, claim, ok = r.opt.Registry.Claimed(source)
	if !ok || r.opt.Shown == nil || !s.Public.Addr().IsLoopback() && !s.Key.Source.Addr().IsLoopback() {
		return s, claim, ok
	}
	at := r.opt.Shown(s.Public)
	if at.Addr().IsLoopback() {
		return nil, 0, false
	}
	shown := *s
	shown.Public, shown.Key.Source, shown.Local = at, at, nil
	return &shown, claim, true
}

// State is the state of the list of another node.
type State struct {
	Servers  int
	Complete bool
}

// States returns the states of the lists of other nodes that are live or have servers
// in the list, by name.
func (r *Replica) States() map[string]State {
	out := make(map[string]State)
	for node, n := range r.opt.Registry.RemoteCounts() {
		out[node] = State{Servers: n}
	}
	for node, complete := range r.Complete() {
		out[node] = State{Servers: out[node].Servers, Complete: complete}
	}
	return out
}
