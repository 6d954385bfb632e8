package hostnet

import "net/netip"

// Physical returns the IPv4 addresses of this machine but those of cards
// that programs make: what is sent from these is often rewritten on the way. It is
// empty if the system does not report it.
func Physical() (out []netip.Addr) {
	all, err := Addresses()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if !a.Virtual() {
			out = append(out, a.Addr())
		}
	}
	return out
}
