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

// makeCourier makes the part that acts on servers, through the nodes that they report to.
func (d *Daemon) makeCourier() {
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

// relayed notes the server of a pair of players that play through a relay.
func (d *Daemon) relayed(o meeting.Outcome) {
	if o.Way == meeting.Relayed {
		d.courier.Relayed(o.Server)
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
	return l.courier.Status(ctx, public)
}
