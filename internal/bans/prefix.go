package bans

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// ErrEverybody means that a prefix covers every address of its family, which is
// surely a mistake.
var ErrEverybody = errors.New("this would ban everybody")

// maxPrefixText is longer than any address or prefix in text form.
const maxPrefixText = 64

// ParsePrefix parses an address or a prefix in CIDR form and returns it as bans
// are keyed: masked, IPv4 as IPv4. A prefix of length 0 fails with
// ErrEverybody.
func ParsePrefix(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxPrefixText {
		return netip.Prefix{}, fmt.Errorf("%w: longer than any address", storage.ErrInvalid)
	}
	p, err := parse(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%w: %q is neither an address (192.0.2.7) nor a range (192.0.2.0/24)",
			storage.ErrInvalid, text)
	}
	if p, err = storage.CanonicalPrefix(p); err != nil {
		return netip.Prefix{}, err
	}
	return p, refuseEverybody(p)
}

// parse reads either form as it is written.
func parse(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if a.Zone() != "" {
		return netip.Prefix{}, errors.New("a zone means something only on this machine")
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// refuseEverybody refuses a prefix without bits.
func refuseEverybody(p netip.Prefix) error {
	if p.Bits() == 0 {
		return fmt.Errorf("%v: %w", p, ErrEverybody)
	}
	return nil
}
