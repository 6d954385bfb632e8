package daemon

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/courier"
)

// makeCourier makes the part that acts on servers of other nodes; there is none on a
// node that is alone.
func (d *Daemon) makeCourier() {
	if d.cluster == nil {
		return
	}
	d.courier = courier.New(courier.Options{
		Bus: d.cluster, List: d.registry, Messenger: lateMessenger{&d.callbacks}, Met: d.callbacks.met, Relayed: d.callbacks.relayed,
		Ask:    func(ctx context.Context, a netip.AddrPort) (query.Status, error) { return d.asker.Asker.Status(ctx, a) },
		Remove: d.removeServers, Log: d.log.With().Str("service", "cluster").Logger(), Registerer: d.metrics,
	})
	d.asker.courier = d.courier
	d.operator.RemoveElsewhere = d.courier.Remove
}

// removeServers takes the servers of this node under a public address off the list.
func (d *Daemon) removeServers(public netip.AddrPort) int {
	gone := d.registry.RemoveFunc(func(s *master.Server) bool { return s.Public == public && s.Node == "" })
	for _, s := range gone {
		d.servers.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Removed)
	}
	return len(gone)
}

// messenger is service.GameServers.Messenger.
func (d *Daemon) messenger() master.Messenger {
	if d.courier != nil {
		return d.courier
	}
	return d.callbacks.messenger()
}

// met is service.GameServers.Met.
func (d *Daemon) met(a netip.AddrPort) {
	if d.courier != nil {
		d.courier.Met(a)
		return
	}
	d.callbacks.met(a)
}

// relayed notes the server of a pair of players that play through a relay.
func (d *Daemon) relayed(o meeting.Outcome) {
	switch {
	case o.Way != meeting.Relayed:
	case d.courier != nil:
		d.courier.Relayed(o.Server)
	default:
		d.callbacks.relayed(o.Server)
	}
}

// lateMessenger is the Messenger of services that are opened later.
type lateMessenger struct{ callbacks *callbacks }

// SendToServer implements master.Messenger.
func (l lateMessenger) SendToServer(k master.Key, payload []byte) error {
	m := l.callbacks.messenger()
	if m == nil {
		return master.ErrNotListed
	}
	return m.SendToServer(k, payload)
}

// Status queries a server, through its node if that is another one.
func (l *lateAsker) Status(ctx context.Context, public netip.AddrPort) (query.Status, error) {
	if l.courier != nil {
		return l.courier.Status(ctx, public)
	}
	return l.Asker.Status(ctx, public)
}

// runCluster returns the parts that run while this node is one of a cluster.
func (d *Daemon) runCluster() (parts []func(context.Context)) {
	if d.tables != nil {
		parts = append(parts, d.tables.Run)
	}
	if d.courier != nil {
		parts = append(parts, d.courier.Run)
	}
	return parts
}
