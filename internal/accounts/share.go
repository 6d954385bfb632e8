package accounts

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// subjectFailures is the subject of failures between nodes.
const subjectFailures = "accounts.failures"

// Share makes the service one of several that have the same store: tokens and tickets
// are those of all nodes, and so are failed logins and quotas. It is called before the
// services begin, and cancel after they have ended.
func (s *Service) Share(grants storage.Grants, bus cluster.Bus) (cancel func()) {
	s.SignIn.shared, s.bus = true, bus
	s.Grants.tokens = &sharedGrants{store: grants, kind: storage.GrantToken}
	s.Grants.tickets = &sharedGrants{store: grants, kind: storage.GrantTicket}
	s.guard.tell = func(f failure) {
		_ = bus.Publish(subjectFailures, f.appendTo(nil)) // without it a guesser has more attempts
	}
	s.cancels = append(s.cancels, bus.Subscribe(subjectFailures, func(_ string, b []byte) {
		if f, err := parseFailure(b); err == nil {
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

// quotaVersion is the version of the messages of quotas: the address follows it, in 4
// or 16 bytes.
const quotaVersion = 1

// ShareQuota applies a quota for addresses to all nodes of a cluster together.
// name is the service's. count is called with the addresses that other nodes allowed
// something, and must not block. The service calls spent for those that it allows
// something itself; spent never waits, and does nothing on a node that is alone. s may be nil.
func (s *Service) ShareQuota(name string, count func(netip.Addr)) (spent func(netip.Addr)) {
	if s == nil || s.bus == nil {
		return func(netip.Addr) {}
	}
	subject := "accounts.quota." + name
	cancel := s.bus.Subscribe(subject, func(_ string, b []byte) {
		if len(b) == 0 || b[0] != quotaVersion {
			return
		}
		if from, ok := netip.AddrFromSlice(b[1:]); ok {
			count(from)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels = append(s.cancels, cancel)
	return func(from netip.Addr) {
		if from.IsValid() {
			_ = s.bus.Publish(subject, append([]byte{quotaVersion}, from.AsSlice()...)) // without it the address has more
		}
	}
}
