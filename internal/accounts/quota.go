package accounts

import "net/netip"

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
	s.quotas.Lock()
	defer s.quotas.Unlock()
	s.cancels = append(s.cancels, cancel)
	return func(from netip.Addr) {
		if from.IsValid() {
			_ = s.bus.Publish(subject, append([]byte{quotaVersion}, from.AsSlice()...)) // without it the address has more
		}
	}
}
