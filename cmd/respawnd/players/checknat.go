package players

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon/natcheck"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/meeting"
)

const checkNATHelp = `Tests the router between this computer and the internet, with the help of a
server's NAT negotiation (UDP 27901): how the router maps ports, which senders it lets
in, whether it keeps port numbers, and whether packets to its own public address come
back in. Then it says who can join a server on this computer, which servers can be
joined from here, and what to change.

ADDRESS is the server, HOST or HOST:PORT; the port is that of the configuration, else
27901. ADDRESS2 and ADDRESS3, those of its natneg2 and natneg3, make the result more
certain; for a host name they are looked up as natneg2.NAME and natneg3.NAME. Nothing is
registered. The command fails if the server does not answer.`

// natnegPort is where games expect NAT negotiation.
const natnegPort = 27901

// checkNATTime bounds the whole test.
const checkNATTime = 30 * time.Second

func checkNATCommand(con *cli.Console) *cobra.Command {
	cmd := con.Configured("check-nat ADDRESS [ADDRESS2 [ADDRESS3]]", "Test this computer's router: who can join, and which servers you can join",
		cobra.RangeArgs(1, natcheck.MaxServers), func(ctx context.Context, cfg *services.Config, args []string) error {
			ctx, cancel := context.WithTimeout(ctx, checkNATTime)
			defer cancel()
			servers, err := natServers(ctx, net.DefaultResolver.LookupNetIP, args, natPort(cfg))
			if err != nil {
				return err
			}
			report, err := natcheck.Run(ctx, natcheck.System{Server: servers[0]}, servers)
			switch {
			case errors.Is(err, natcheck.ErrNoAnswer):
				return fmt.Errorf("%w: no respawnd is there, or a firewall on the way drops UDP to that port", err)
			case err != nil:
				return err
			}
			return sayNAT(con, &report)
		})
	cmd.Long = checkNATHelp
	return con.JSONFlag(cmd)
}

// natPort returns the port of NAT negotiation in the configuration, else the usual one.
func natPort(cfg *services.Config) uint16 {
	_, digits, err := net.SplitHostPort(cfg.NATNeg.Listen)
	if n, bad := strconv.ParseUint(digits, 10, 16); err == nil && bad == nil && n != 0 {
		return uint16(n)
	}
	return natnegPort
}

// lookupFunc resolves a name.
type lookupFunc func(ctx context.Context, network, host string) ([]netip.Addr, error)

// natServers returns the addresses that were named, natneg1 first, or those of one
// name.
func natServers(ctx context.Context, lookup lookupFunc, args []string, usual uint16) (servers []netip.AddrPort, err error) {
	for _, arg := range args {
		host, port, err := splitPort(arg, usual)
		if err != nil {
			return nil, err
		}
		if a, err := netip.ParseAddr(host); err == nil {
			if !a.Unmap().Is4() {
				return nil, fmt.Errorf("%q is not an IPv4 address, and games know no others", arg)
			}
			servers = append(servers, netip.AddrPortFrom(a.Unmap(), port))
			continue
		}
		found, err := lookup(ctx, "ip4", host)
		if err != nil {
			return nil, fmt.Errorf("%q has no address: %w", host, err)
		}
		if len(args) > 1 {
			found = found[:1]
		} else if named := natNames(ctx, lookup, host); named != nil {
			found = named
		}
		for _, a := range found[:min(len(found), natcheck.MaxServers)] {
			servers = append(servers, netip.AddrPortFrom(a.Unmap(), port))
		}
	}
	return servers, nil
}

// natNames returns the addresses of natneg1, natneg2 and natneg3 of a domain, none if
// it lacks one of the names.
func natNames(ctx context.Context, lookup lookupFunc, domain string) (list []netip.Addr) {
	for n := 1; n <= natcheck.MaxServers; n++ {
		found, err := lookup(ctx, "ip4", "natneg"+strconv.Itoa(n)+"."+domain)
		if err != nil || len(found) == 0 {
			return nil
		}
		list = append(list, found[0])
	}
	return list
}

// splitPort divides HOST or HOST:PORT.
func splitPort(text string, usual uint16) (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		host, digits = text, strconv.Itoa(int(usual))
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("%q is not HOST or HOST:PORT", text)
	}
	return host, uint16(n), nil
}

// natJSON is a report with the words and pairs that follow from it.
type natJSON struct {
	natcheck.Report

	Hosting string            `json:"hosting"`
	Joining string            `json:"joining"`
	Advice  string            `json:"advice,omitempty"`
	Pairs   map[string]string `json:"pairs"` // by the other player's router
}

func sayNAT(con *cli.Console, r *natcheck.Report) error {
	words := r.Router.Words()
	if con.JSON {
		out := natJSON{Report: *r, Hosting: words.Hosting, Joining: words.Joining, Advice: words.Advice, Pairs: make(map[string]string)}
		for _, other := range meeting.Routers() {
			out.Pairs[other.String()] = meeting.Pair(r.Router, other).String()
		}
		return con.PrintObject(out)
	}
	for _, f := range r.Findings() {
		if err := con.Say("%-22s %s", f.What, f.Found); err != nil {
			return err
		}
	}
	lines := []natcheck.Finding{{What: "so you have", Found: words.Name}, {What: "hosting", Found: words.Hosting}, {What: "joining", Found: words.Joining}}
	if words.Advice != "" {
		lines = append(lines, natcheck.Finding{What: "to change", Found: words.Advice})
	}
	if r.Router != meeting.RouterUnknown {
		for _, other := range meeting.Routers() {
			lines = append(lines, natcheck.Finding{What: "with " + other.String(), Found: pairWords(meeting.Pair(r.Router, other))})
		}
	}
	for _, l := range lines {
		if err := con.Say("%-22s %s", l.What, l.Found); err != nil {
			return err
		}
	}
	return nil
}

// pairWords describe a way to a player.
func pairWords(w meeting.Way) string {
	switch w {
	case meeting.Direct:
		return "directly"
	case meeting.Negotiated:
		return "by NAT negotiation"
	case meeting.Relayed:
		return "only through a relay"
	default:
		return "not known"
	}
}
