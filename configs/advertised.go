package configs

import (
	"errors"
	"net/netip"
	"strings"
)

// Advertised is an address under which game servers with a private or loopback
// address are listed for clients that cannot reach that.
type Advertised struct {
	From netip.Prefix // network of the servers, masked; the zero Prefix: all others
	As   netip.Addr   // IPv4
}

// String returns the entry as an operator writes it.
func (a Advertised) String() string {
	if !a.From.IsValid() {
		return a.As.String()
	}
	return a.From.String() + "=" + a.As.String()
}

// parseAdvertisedAs reads an address or NETWORK=ADDRESS.
func parseAdvertisedAs(text string) (a Advertised, err error) {
	address := text
	if network, as, found := strings.Cut(text, "="); found {
		address = as
		if a.From, err = parsePrefix(network); err != nil || !a.From.Addr().Is4() {
			return Advertised{}, errors.New("is not a network and an address: write 10.0.0.0/8=203.0.113.5")
		}
	}
	if a.As, err = parseAdvertised(address); err != nil || !a.As.IsValid() {
		return Advertised{}, errors.New("is not the IPv4 address of a machine, or a network and such an address: write 203.0.113.5 or 10.0.0.0/8=203.0.113.5")
	}
	return a, nil
}
