package main

import (
	"context"
	"net/netip"
	"slices"

	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
)

// keeper returns the service that lists servers of an origin; nil: none does.
func (d *daemon) keeper(o master.Origin) *svc.Keeper {
	i := slices.IndexFunc(d.keepers, func(k *svc.Keeper) bool { return k.Origin == o })
	if i < 0 {
		return nil
	}
	return d.keepers[i]
}

// expired notes that a server was silent for too long.
func (d *daemon) expired(s *master.Server) {
	if k := d.keeper(s.Origin); k != nil && k.Expired != nil {
		k.Expired(s)
		return
	}
	d.book.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Expired)
}

// reportReplaced reports servers that newcomers replaced, until ctx ends.
func (d *daemon) reportReplaced(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-d.registry.Replaced():
			d.replaced(s)
		}
	}
}

// replaced informs a server that a newcomer replaced it, where its protocol can.
func (d *daemon) replaced(s *master.Server) {
	if k := d.keeper(s.Origin); k != nil && k.Replaced != nil {
		k.Replaced(s)
		return
	}
	d.book.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Replaced)
}

// met notes that players got to a server by NAT negotiation, if there is one at
// the address.
func (d *daemon) met(a netip.AddrPort) {
	for _, k := range d.keepers {
		if k.Met != nil {
			k.Met(a)
		}
	}
}

// exempt returns whether the list's limits per address do not bind an address. It
// holds for the configuration as it is now.
func (d *daemon) exempt() func(netip.Addr) bool {
	trusted := d.trusted()
	return func(a netip.Addr) bool {
		return trusted(a) || slices.ContainsFunc(d.keepers, func(k *svc.Keeper) bool { return k.Exempt != nil && k.Exempt(a) })
	}
}

// unlistedServers returns the servers that services know and do not list.
func (d *daemon) unlistedServers() (list []operator.Listed) {
	for _, k := range d.keepers {
		if k.Unlisted == nil {
			continue
		}
		for _, u := range k.Unlisted() {
			list = append(list, operator.Listed{
				Game: u.Game, Origin: k.Origin.String(), Address: u.Address, Source: u.Address,
				Hidden: u.Why.String(), First: u.First.UTC(), Last: u.Seen.UTC(),
			})
		}
	}
	return list
}
