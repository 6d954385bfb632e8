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

// callbacks holds the service.Callbacks of each origin. It is complete before the
// daemon serves, and not changed afterwards.
type callbacks struct {
	all      []*service.Callbacks
	verdicts *verdicts.Log
}

func (c *callbacks) add(one *service.Callbacks) {
	if one != nil {
		c.all = append(c.all, one)
	}
}

// of returns the Callbacks of an origin. They do nothing if no service lists its
// servers.
func (c *callbacks) of(o *master.Origin) *service.Callbacks {
	i := slices.IndexFunc(c.all, func(one *service.Callbacks) bool { return one.Origin == o })
	if i < 0 {
		return &service.Callbacks{Origin: o}
	}
	return c.all[i]
}

// expired notes that a server was silent for too long.
func (c *callbacks) expired(s *master.Server) {
	if report := c.of(s.Origin).Expired; report != nil {
		report(s)
		return
	}
	c.verdicts.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Expired)
}

// replaced informs a server that a new one replaced it, if its protocol can.
func (c *callbacks) replaced(s *master.Server) {
	if report := c.of(s.Origin).Replaced; report != nil {
		report(s)
		return
	}
	c.verdicts.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Replaced)
}

// reportReplaced informs servers that new ones replaced them, until ctx ends.
func (c *callbacks) reportReplaced(ctx context.Context, list *master.Registry) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-list.Replaced():
			c.replaced(s)
		}
	}
}

// met is service.GameServers.Met.
func (c *callbacks) met(a netip.AddrPort) {
	for _, one := range c.all {
		if one.Met != nil {
			one.Met(a)
		}
	}
}

// relayed notes that players reached the server at an address through a relay.
func (c *callbacks) relayed(a netip.AddrPort) {
	for _, one := range c.all {
		if one.Relayed != nil {
			one.Relayed(a)
		}
	}
}

// recheck is service.GameServers.Recheck.
func (c *callbacks) recheck(s *master.Server) bool {
	test := c.of(s.Origin).Recheck
	return test != nil && test(s)
}

// exempt reports whether the list's limits per address do not apply to an
// address.
func (c *callbacks) exempt(a netip.Addr) bool {
	return slices.ContainsFunc(c.all, func(one *service.Callbacks) bool { return one.Exempt != nil && one.Exempt(a) })
}

// messenger returns the Messenger of the open services, nil if there is none.
func (c *callbacks) messenger() (m master.Messenger) {
	for _, one := range c.all {
		if one.Messenger != nil {
			m = one.Messenger
		}
	}
	return m
}

// fileBans returns the lines of ban files that cover an address, all of them if it is
// zero.
func (c *callbacks) fileBans(a netip.Addr) (list []operator.FileBan, err error) {
	for _, one := range c.all {
		if one.FileBans != nil {
			list = append(list, one.FileBans(a)...)
		}
	}
	return list, nil
}

// unlisted returns the servers that services know but do not list, without those of self-tests.
func (c *callbacks) unlisted() (list []operator.Listed) {
	for _, one := range c.all {
		if one.Unlisted == nil {
			continue
		}
		for _, u := range one.Unlisted() {
			if master.IsTrial(u.Address.Addr()) {
				continue
			}
			list = append(list, operator.Listed{
				Game: u.Game, Origin: one.Origin.String(), Address: u.Address, Source: u.Address,
				Hidden: u.Why.String(), First: u.First.UTC(), Last: u.Seen.UTC(),
			})
		}
	}
	return list
}
