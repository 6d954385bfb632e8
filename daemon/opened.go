package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master/courier"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webhook"
)

// opened is a service whose sockets are open.
type opened struct {
	Entry
	run *service.Running
}

// openServices opens every socket. All failures are reported at once, each with its
// key.
func (d *Daemon) openServices(ctx context.Context, s *settings) error {
	var errs []error
	for i, e := range s.entries {
		if !e.On {
			continue
		}
		run, err := e.Service.Open(ctx, d.env(e.Name, s))
		if errors.Is(err, service.ErrLeftOut) {
			d.log.Warn().Str("key", e.Key).Err(err).Msg("a service was left out")
			s.entries[i].On = false
			continue
		}
		if err != nil {
			if _, named := errors.AsType[*service.KeyError](err); !named {
				err = fmt.Errorf("%s: %w", e.Key, err)
			}
			errs = append(errs, err)
			continue
		}
		d.running = append(d.running, opened{e, run})
		d.callbacks.add(run.Callbacks)
		if run.Asker != nil {
			d.asker.Asker = run.Asker
		}
		if run.Chat != nil {
			d.chat.Chat = run.Chat
		}
		if run.Relay != nil {
			d.relay.Relay = run.Relay
			d.operator.RelayedPairs = run.RelayedPairs
		}
		if run.Masters != nil {
			d.masters = run.Masters
		}
	}
	d.own = ownAddresses(d.running, hostnet.Own())
	return errors.Join(errs...)
}

// opened is service.Operations.Opened.
func (d *Daemon) opened() (list []service.Opened) {
	for _, s := range d.running {
		if s.run.Address.String() == "" {
			continue
		}
		list = append(list, service.Opened{Name: s.Name, Title: s.Title, Address: s.run.Address, Connect: s.Connect, Nouns: s.Nouns, Files: s.run.Files})
	}
	return list
}

func (d *Daemon) reload(s *settings) {
	for _, e := range s.entries {
		i := slices.IndexFunc(d.running, func(o opened) bool { return o.Name == e.Name })
		if i >= 0 && d.running[i].run.Reload != nil {
			d.running[i].run.Reload(e.Service)
		}
	}
}

// ownAddresses returns a function that reports whether an address is a UDP
// socket of a service on this machine, whose addresses are mine. Game servers
// on the same machine have other ports.
func ownAddresses(running []opened, mine []netip.Addr) func(netip.AddrPort) bool {
	var own []netip.AddrPort
	for _, s := range running {
		own = append(own, s.run.UDP...)
	}
	return func(a netip.AddrPort) bool {
		return slices.ContainsFunc(own, func(o netip.AddrPort) bool {
			if o.Port() != a.Port() {
				return false
			}
			return o.Addr() == a.Addr() || (o.Addr().IsUnspecified() && (a.Addr().IsLoopback() || slices.Contains(mine, a.Addr())))
		})
	}
}

// ownAddress is service.Network.Own. It returns false until all sockets are open.
func (d *Daemon) ownAddress(a netip.AddrPort) bool { return d.own != nil && d.own(a) }

// lateAsker is the Asker of a service that is opened after others. It is set before
// the daemon serves.
type lateAsker struct {
	service.Asker

	courier *courier.Courier
}

// lateChat is the Chat of a service that is opened after others. It is set before the
// daemon serves.
type lateChat struct{ service.Chat }

// lateRelay is the Relay of a service that is opened after others. It is set before the
// daemon serves.
type lateRelay struct{ service.Relay }

// open returns the chat, nil while it is off.
func (l *lateChat) open() operator.Chat {
	if _, off := l.Chat.(service.NoChat); off {
		return nil
	}
	return l.Chat
}

// chatRoom describes the title room of a known game or a group room for webhooks.
func (d *Daemon) chatRoom(channel string) (webhook.Room, bool) {
	kind, game, group := operator.ParseChannel(channel)
	out := webhook.Room{Kind: string(kind)}
	switch kind {
	case operator.ChatTitle:
		g, ok := d.catalogue.Catalog().Lookup(game)
		if !ok {
			return out, false
		}
		out.Channel, out.Game = operator.TitleChannel(g.Name), g.Name
	case operator.ChatGroup:
		room, of, ok := d.catalogue.Room(group)
		if !ok {
			return out, false
		}
		out.Channel, out.Game, out.Name = operator.GroupChannel(group), of, room.Name
	default:
		return out, false
	}
	out.Title = d.title(out.Game)
	return out, true
}

// recheckChat has the chat look at its members again.
func (d *Daemon) recheckChat() { d.chat.Recheck() }

func (l *lateAsker) named() []operator.AskedServer { return l.Named() }

func (l *lateAsker) check(a *storage.AddedServer) error { return l.Check(a) }
