package hostnet

import "net/netip"

// Physical returns the IPv4 addresses of this machine without those of virtual
// cards, whose packets are often translated on the way. It is empty if the
// system does not report them.
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
