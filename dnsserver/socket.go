package dnsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"runtime"
	"strings"
	"syscall"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/service"
)

// explain adds to an error the program that may have the port, and the remedy.
func explain(err error, address string) error {
	everywhere, at := listensOn(address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w. %s", err, service.PortRights("53"))
	case errors.Is(err, syscall.EADDRINUSE) || windowsSaysTaken(err):
		hint := portHolders(runtime.GOOS)
		if everywhere {
			hint += " Or give dns.listen one address on which it is free"
			own, _ := hostnet.Addresses() // it is only an example
			if mine := hostnet.Reachable(own, hostnet.Route()); len(mine) > 0 {
				hint += ", such as " + netip.AddrPortFrom(mine[0].Addr(), at.Port()).String()
			}
			hint += "."
		}
		return fmt.Errorf("%w. Another program has this port. %s", err, hint)
	default:
		return err
	}
}

// windowsSaysTaken reports whether an error of Windows means that another program
// has the port; it has two, and neither is EADDRINUSE.
func windowsSaysTaken(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Only one usage of each socket address") ||
		strings.Contains(text, "forbidden by its access permissions")
}

// portHolders names the programs that usually hold port 53 on a system.
func portHolders(goos string) string {
	switch goos {
	case "windows":
		return "On Windows that is mostly Internet Connection Sharing (service SharedAccess: a mobile hotspot, or virtual machines), " +
			"or the DNS Server role; stop it."
	case "darwin":
		return "On macOS that is mostly Internet Sharing (mDNSResponder), or dnsmasq; switch it off."
	default:
		return "On Linux that is mostly systemd-resolved (DNSStubListener=no in /etc/systemd/resolved.conf frees it), dnsmasq, " +
			"libvirt or bind; `ss -lunp sport = :53` shows it."
	}
}
