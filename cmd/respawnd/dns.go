package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/dnsserver"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/services"
)

// zandronumNames are the hosts that servers and launchers of Zandronum, and of
// what came before it, look for their master under.
var zandronumNames = []string{"master.zandronum.com", "skulltag.servegame.com"}

// dnsPortTries is how often a port of the system's choice is asked for that is
// free for UDP and TCP.
const dnsPortTries = 20

func (d *daemon) openDNS(ctx context.Context, l configs.Listener) (service, error) {
	names, err := serviceNames(d.cfg)
	if err != nil {
		return service{}, err
	}
	conn, ln, err := listenDNS(ctx, l.Address)
	if err != nil {
		return service{}, explainDNS(err, l.Address)
	}
	c := d.cfg.DNS
	log := d.log.With().Str("service", "dns").Logger()
	s := dnsserver.New(dnsserver.Options{
		Names: names.Has, Address: c.Address, Upstreams: c.Upstreams, Forwards: c.MaxForwards,
		Policy: d.dnsPolicy(), Conn: netserve.ConnOptions{Grace: grace},
		Log: log, Metrics: netserve.NewMetrics(d.metrics, "dns", dnsserver.DropReasons()...), Registerer: d.metrics,
	})
	closeStream := closeOnce(ln)
	return service{
		address: conn.LocalAddr(), udp: localAddrs(conn),
		serve:  func(ctx context.Context) error { return s.Serve(ctx, conn, ln) },
		reload: func() { s.SetPolicy(d.dnsPolicy()) },
		close:  func() error { return errors.Join(conn.Close(), closeStream()) },
	}, nil
}

func (d *daemon) dnsPolicy() dnsserver.Policy {
	c := d.cfg.DNS
	return dnsserver.Policy{
		Allow: c.Allow, AllowPrivate: c.AllowPrivate, Trusted: d.trusted(), Banned: d.bannedFromAll,
		Limit: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst}),
	}
}

// serviceNames returns the names that lead to our services.
func serviceNames(cfg *services.Config) (*games.Names, error) {
	var more []string
	if cfg.ZanMaster.Listen != "" {
		more = zandronumNames
	}
	names, err := games.NewNames(cfg.Games.Domains, more...)
	if err != nil {
		return nil, fmt.Errorf("games.domains: %w", err)
	}
	return names, nil
}

// checkDNS looks for mistakes in the configuration of the DNS server that only
// show on this machine.
func checkDNS(cfg *services.Config) error {
	if !cfg.DNS.Enabled || cfg.DNS.Listen == "" {
		return nil
	}
	_, err := serviceNames(cfg)
	return errors.Join(err, ownUpstream(cfg.DNS.Upstreams, cfg.DNS.Listen, machineAddrs()))
}

// listenDNS opens an address for UDP and TCP.
func listenDNS(ctx context.Context, address string) (*netserve.PacketConn, net.Listener, error) {
	for try := 1; ; try++ {
		conn, err := netserve.ListenPackets(ctx, "udp4", address, netserve.ListenOptions{})
		if err != nil {
			return nil, nil, err
		}
		ln, err := listen(ctx, "tcp4", conn.LocalAddr().String())
		if err == nil {
			return conn, ln, nil
		}
		err = errors.Join(err, conn.Close())
		if _, port, _ := net.SplitHostPort(address); port != "0" || try == dnsPortTries {
			return nil, nil, err
		}
	}
}

// explainDNS adds to an error who may have the port, and what to do.
func explainDNS(err error, address string) error {
	everywhere, at := listensOn(address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w. %s", err, portRights(runtime.GOOS))
	case errors.Is(err, syscall.EADDRINUSE) || windowsSaysTaken(err):
		hint := portHolders(runtime.GOOS)
		if everywhere {
			hint += " Or give dns.listen one address on which it is free"
			if mine := hostnet.Reachable(addressesOrNone(), hostnet.Route()); len(mine) > 0 {
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

// portHolders tells which programs of a system mostly have port 53.
func portHolders(goos string) string {
	switch goos {
	case "windows":
		return "On Windows that is mostly Internet Connection Sharing (service SharedAccess: a mobile hotspot, or virtual machines), " +
			"or the DNS Server role; stop it."
	case "darwin":
		return "On macOS that is mostly Internet Sharing (mDNSResponder), or dnsmasq; switch it off."
	default:
		return "On Linux that is mostly systemd-resolved (DNSStubListener=no in /etc/systemd/resolved.conf frees it), dnsmasq, " +
			"libvirt or bind; `ss -lunp sport = :53` tells."
	}
}

// portRights tells who may open a port below 1024 on a system.
func portRights(goos string) string {
	if goos == "linux" {
		return "Ports below 1024 take root, the right CAP_NET_BIND_SERVICE (the systemd unit has it; " +
			"`setcap cap_net_bind_service=+ep respawnd` gives it to the program), or net.ipv4.ip_unprivileged_port_start=53."
	}
	return "Ports below 1024 take the rights of an administrator here."
}

// ownUpstream returns an error for an upstream that is this server itself.
func ownUpstream(upstreams []netip.AddrPort, listen string, mine []netip.Addr) error {
	everywhere, at := listensOn(listen)
	for _, u := range upstreams {
		if u.Port() != at.Port() {
			continue
		}
		if u.Addr() == at.Addr() || (everywhere && (u.Addr().IsLoopback() || slices.Contains(mine, u.Addr()))) {
			return fmt.Errorf("dns.upstreams: %v is this DNS server itself: it would ask itself without end", u)
		}
	}
	return nil
}

// listensOn returns what a checked listen address means: one address, or every
// one of this machine.
func listensOn(listen string) (everywhere bool, at netip.AddrPort) {
	host, port, _ := net.SplitHostPort(listen)
	switch host {
	case "":
		host = "0.0.0.0"
	case "localhost":
		host = "127.0.0.1"
	}
	at, _ = netip.ParseAddrPort(net.JoinHostPort(host, port))
	return at.Addr().IsUnspecified(), at
}

// addressesOrNone returns the addresses of this machine, none if the system does
// not tell.
func addressesOrNone() []hostnet.Address {
	list, err := hostnet.Addresses()
	if err != nil {
		return nil
	}
	return list
}
