package daemon

import (
	"context"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
)

// keepers holds the service.Keeper of each origin. It is complete before the
// daemon serves, and not changed afterwards.
type keepers struct {
	all      []*service.Keeper
	verdicts *verdicts.Log
}

func (k *keepers) add(one *service.Keeper) {
	if one != nil {
		k.all = append(k.all, one)
	}
}

// of returns the Keeper of an origin, one that does nothing if no service lists
// its servers.
func (k *keepers) of(o *master.Origin) *service.Keeper {
	i := slices.IndexFunc(k.all, func(k *service.Keeper) bool { return k.Origin == o })
	if i < 0 {
		return &service.Keeper{Origin: o}
	}
	return k.all[i]
}

// expired notes that a server was silent for too long.
func (k *keepers) expired(s *master.Server) {
	if report := k.of(s.Origin).Expired; report != nil {
		report(s)
		return
	}
	k.verdicts.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Expired)
}

// replaced informs a server that a new one replaced it, if its protocol can.
func (k *keepers) replaced(s *master.Server) {
	if report := k.of(s.Origin).Replaced; report != nil {
		report(s)
		return
	}
	k.verdicts.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Replaced)
}

// reportReplaced informs servers that new ones replaced them, until ctx ends.
func (k *keepers) reportReplaced(ctx context.Context, list *master.Registry) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-list.Replaced():
			k.replaced(s)
		}
	}
}

// met is service.GameServers.Met.
func (k *keepers) met(a netip.AddrPort) {
	for _, one := range k.all {
		if one.Met != nil {
			one.Met(a)
		}
	}
}

// relayed notes that players reached the server at an address through a relay.
func (k *keepers) relayed(a netip.AddrPort) {
	for _, one := range k.all {
		if one.Relayed != nil {
			one.Relayed(a)
		}
	}
}

// recheck is service.GameServers.Recheck.
func (k *keepers) recheck(s *master.Server) bool {
	test := k.of(s.Origin).Recheck
	return test != nil && test(s)
}

// exempt reports whether the list's limits per address do not apply to an
// address.
func (k *keepers) exempt(a netip.Addr) bool {
	return slices.ContainsFunc(k.all, func(k *service.Keeper) bool { return k.Exempt != nil && k.Exempt(a) })
}

// messenger returns the Messenger of the open services, nil if there is none.
func (k *keepers) messenger() (m master.Messenger) {
	for _, one := range k.all {
		if one.Messenger != nil {
			m = one.Messenger
		}
	}
	return m
}

// fileBans returns the lines of ban files that cover an address, all of them if it is
// zero.
func (k *keepers) fileBans(a netip.Addr) (list []operator.FileBan, err error) {
	for _, one := range k.all {
		if one.FileBans != nil {
			list = append(list, one.FileBans(a)...)
		}
	}
	return list, nil
}

// unlisted returns the servers that services know but do not list.
func (k *keepers) unlisted() (list []operator.Listed) {
	for _, one := range k.all {
		if one.Unlisted == nil {
			continue
		}
		for _, u := range one.Unlisted() {
			list = append(list, operator.Listed{
				Game: u.Game, Origin: one.Origin.String(), Address: u.Address, Source: u.Address,
				Hidden: u.Why.String(), First: u.First.UTC(), Last: u.Seen.UTC(),
			})
		}
	}
	return list
}
