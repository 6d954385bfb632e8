package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/hostnet"
)

// guests holds the addresses that the host of a LAN party gives to the guests.
type guests struct {
	cards []hostnet.Address // that guests may reach, the most likely first
	dns   netip.AddrPort    // where the DNS server listens; zero: it is off
	web   netip.AddrPort    // where the pages are served; zero: they are off
	page  string            // web.public_url
}

// dnsPort is the port that PCs send DNS queries to; they cannot be set to
// another.
const dnsPort = 53

// newGuests returns the addresses on the network cards, and the services there.
func newGuests(running []opened) guests {
	g := guests{cards: hostnet.Reachable(hostnet.AddressesOrNone(), hostnet.Route())}
	for _, s := range running {
		a, err := netip.ParseAddrPort(s.run.Address.String())
		if err != nil {
			continue
		}
		if s.Guests.Resolver {
			g.dns = a
		}
		if s.Guests.Page {
			g.web, g.page = a, s.Guests.PageURL
		}
	}
	return g
}

// serves reports whether a service that listens on one address can be reached at
// another.
func serves(listens netip.AddrPort, at netip.Addr) bool {
	return listens.IsValid() && (listens.Addr().IsUnspecified() || listens.Addr().Unmap() == at)
}

// resolver returns the DNS server for guests who reach this machine at an
// address, zero if there is none.
func (g *guests) resolver(at netip.Addr) netip.Addr {
	if serves(g.dns, at) && g.dns.Port() == dnsPort {
		return at
	}
	return netip.Addr{}
}

// pageAt returns the address of the public page, empty if there is none.
func (g *guests) pageAt(at netip.Addr) string {
	switch {
	case !g.web.IsValid():
		return ""
	case g.page != "":
		return g.page + "/"
	case !serves(g.web, at):
		return ""
	case g.web.Port() == 80:
		return "http://" + at.String() + "/"
	}
	return "http://" + at.String() + ":" + strconv.Itoa(int(g.web.Port())) + "/"
}

// hostsCommand returns the command that prints the entries for a guest's hosts
// file.
func hostsCommand(at netip.Addr) string { return "respawnd hosts --game GAME --ip " + at.String() }

// welcomeGuests logs how guests reach this machine, if the configuration is
// that of a LAN: as text on a terminal, else as fields.
func (d *Daemon) welcomeGuests(s *settings) {
	if !slices.ContainsFunc(s.entries, func(e Entry) bool { return e.Guests.Invited }) {
		return
	}
	g := newGuests(d.running)
	if d.opt.Console || len(g.cards) == 0 {
		d.log.Info().Msg(g.text())
		return
	}
	for i, c := range g.cards {
		e := d.log.Info().Stringer("address", c.Addr()).Str("interface", c.Interface).Bool("likely", i == 0)
		if dns := g.resolver(c.Addr()); dns.IsValid() {
			e = e.Stringer("dns", dns)
		}
		if page := g.pageAt(c.Addr()); page != "" {
			e = e.Str("page", page)
		}
		e.Str("hosts", hostsCommand(c.Addr())).Msg("guests reach this machine")
	}
}

// text returns the advice for a person.
func (g *guests) text() string {
	if len(g.cards) == 0 {
		return "no network found that guests could be on: plug in a cable or join a network, and start again"
	}
	var b strings.Builder
	first := g.cards[0]
	fmt.Fprintf(&b, "guests reach this machine at %v (%s)\n", first.Addr(), clean.Printable(first.Interface))
	for _, c := range g.cards[1:] {
		fmt.Fprintf(&b, "      or, on another network, at %v (%s)\n", c.Addr(), clean.Printable(c.Interface))
	}
	at := first.Addr()
	if dns := g.resolver(at); dns.IsValid() {
		fmt.Fprintf(&b, "  on every PC, this one too, either set the DNS server to %v,\n  or add the output of this command to its hosts file:\n", dns)
	} else {
		b.WriteString("  add the output of this command to the hosts file of every PC, this one too:\n")
	}
	fmt.Fprintf(&b, "      %s\n", hostsCommand(at))
	if g.dns.IsValid() && g.dns.Port() != dnsPort {
		fmt.Fprintf(&b, "  the DNS server is of no use to them on port %d: PCs ask port %d (dns.listen)\n", g.dns.Port(), dnsPort)
	}
	if page := g.pageAt(at); page != "" {
		fmt.Fprintf(&b, "  the page with the servers: %s\n", page)
	}
	b.WriteString("  if it does not answer: let respawnd through this machine's firewall, for public networks too")
	return b.String()
}
