package master

import (
	"crypto/rand"
	"net/netip"
)

// trialNet holds the addresses from which self-tests report and ask. They lead to this
// machine alone, and other programs do not use them by themselves.
var trialNet = netip.MustParsePrefix("127.118.0.0/16")

// IsTrial reports whether an address is that of a self-test.
func IsTrial(a netip.Addr) bool { return trialNet.Contains(a) }

// TrialAddr returns an address for a self-test, most likely another one each time.
func TrialAddr() netip.Addr {
	a := trialNet.Addr().As4()
	_, _ = rand.Read(a[2:]) // never fails
	a[3] = max(a[3], 1)
	return netip.AddrFrom4(a)
}

// Trials returns the list of the servers that self-tests report to this one. Those who
// report need not know it: Put, Update, Touch, Remove, Report, Get, At and HasAt find these
// servers by their source, and Run removes silent ones. Nothing else of the Registry knows
// them, so that readers cannot show them by mistake.
func (r *Registry) Trials() *Registry { return r.trials }

// of returns the list in which a server with this source belongs.
func (r *Registry) of(source netip.Addr) *Registry {
	if r.trials != nil && IsTrial(source) {
		return r.trials
	}
	return r
}
