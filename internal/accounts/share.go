package accounts

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// Share makes the service one of several that have the same store: tokens and tickets
// are those of all nodes, and so are failed logins and quotas. It is called before the
// services begin, and cancel after they have ended.
func (s *Service) Share(grants storage.Grants, bus cluster.Bus) (cancel func()) {
	s.SignIn.shared, s.bus = true, bus
	s.Grants.tokens = &sharedGrants{store: grants, kind: storage.GrantToken}
	s.Grants.tickets = &sharedGrants{store: grants, kind: storage.GrantTicket}
	s.guard.nodes = cluster.NewNotes[failure](bus, "accounts.failures")
	s.cancels = append(s.cancels, s.guard.nodes.Listen(func(f failure) {
		if f.From.IsValid() {
			f.From = source(f.From)
		}
		if f.valid() {
			s.guard.count(f, time.Now())
		}
	}))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, cancel := range s.cancels {
			cancel()
		}
		s.cancels = nil
	}
}

// ShareQuota applies a quota for addresses to all nodes of a cluster together.
// name is the service's. count is called with the addresses that other nodes allowed
// something, and must not block. The service calls spent for those that it allows
// something itself; spent never waits, and does nothing on a node that is alone. s may be nil.
func (s *Service) ShareQuota(name string, count func(netip.Addr)) (spent func(netip.Addr)) {
	if s == nil {
		return func(netip.Addr) {}
	}
	nodes := cluster.NewNotes[netip.Addr](s.bus, "accounts.quota."+name) // without one of them an address has more
	cancel := nodes.Listen(func(from netip.Addr) {
		if from.IsValid() {
			count(from)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels = append(s.cancels, cancel)
	return func(from netip.Addr) {
		if from.IsValid() {
			nodes.Tell(from)
		}
	}
}
