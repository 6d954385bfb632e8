package games

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// The domains that clients were built with.
const (
	// DefaultDomain is the one of the SDK. People replace it inside executables,
	// where only a domain of the same length fits.
	DefaultDomain = "gamespy.com"
	// NintendoDomain is the one of DS and Wii games.
	NintendoDomain = "gs.nintendowifi.net"
)

// maxDomainLen leaves room for the longest name in front of the domain.
const maxDomainLen = 190

// serverIndexes is how many list hosts there are: ms0 to ms19.
const serverIndexes = 20

// What HostNames and WriteHosts refuse.
var (
	ErrBadName    = errors.New("not a game name")
	ErrBadDomain  = errors.New("not a domain name")
	ErrBadAddress = errors.New("not an IPv4 address of a host")
)

// serverIndex returns N of the list host "<game>.ms<N>" that clients of the game
// ask, 0 to 19.
func serverIndex(game string) int {
	var h uint32
	for i := range len(game) {
		h = h*0x9CCF9319 + uint32(ascii.Lower(game[i]))
	}
	return int(h % serverIndexes)
}

// Service says what clients want from a host, with its usual port.
type Service string

// The services that clients resolve a name for.
const (
	ServiceAvailability Service = "availability check, UDP 27900"
	ServiceReport       Service = "server reports, UDP 27900"
	ServiceOldMaster    Service = "old server reports, UDP 27900, and old server list, TCP 28900"
	ServiceList         Service = "server list, TCP 28910"
	ServiceNATNeg       Service = "NAT negotiation, UDP 27901"
	ServicePresence     Service = "presence, TCP 29900"
	ServiceSearch       Service = "profile search, TCP 29901"
	ServiceKey          Service = "CD keys, UDP 29910"
	ServiceStats        Service = "statistics, TCP 29920"
	ServiceChat         Service = "chat, TCP 6667"
	ServiceMOTD         Service = "message of the day and patches, HTTP"
	ServiceAuth         Service = "web sign-in, HTTPS"
	ServiceSAKE         Service = "storage, HTTP"
	ServiceCompetition  Service = "competitions, HTTP"
	ServiceNintendo     Service = "Nintendo sign-in and downloads, HTTP and HTTPS"
	ServiceRace         Service = "racing, HTTP"
)

// HostName is a name that clients resolve, and what for.
type HostName struct {
	Name    string
	Service Service
}

// hostPatterns are the names of every game; {g} is the game, {n} its serverIndex,
// {d} the domain. Where clients of different ages ask with and without the game in
// front, both are here. The last two are fixed in the clients, whatever their domain.
func hostPatterns() []HostName {
	return []HostName{
		{"{g}.available.{d}", ServiceAvailability},
		{"{g}.master.{d}", ServiceReport},
		{"master.{d}", ServiceOldMaster},
		{"master0.{d}", ServiceOldMaster},
		{"{g}.ms{n}.{d}", ServiceList},
		{"{g}.natneg1.{d}", ServiceNATNeg},
		{"{g}.natneg2.{d}", ServiceNATNeg},
		{"{g}.natneg3.{d}", ServiceNATNeg},
		{"natneg1.{d}", ServiceNATNeg},
		{"natneg2.{d}", ServiceNATNeg},
		{"natneg3.{d}", ServiceNATNeg},
		{"gpcm.{d}", ServicePresence},
		{"gpsp.{d}", ServiceSearch},
		{"key.{d}", ServiceKey},
		{"{g}.gamestats.{d}", ServiceStats},
		{"gamestats.{d}", ServiceStats},
		{"peerchat.{d}", ServiceChat},
		{"motd.{d}", ServiceMOTD},
		{"{g}.auth.pubsvs.{d}", ServiceAuth},
		{"{g}.sake.{d}", ServiceSAKE},
		{"{g}.comp.pubsvs.{d}", ServiceCompetition},
		{"key.gamespy.com", ServiceKey},
		{"www.fileplanet.com", ServiceMOTD},
	}
}

// nintendoPatterns are the further names of DS and Wii games.
func nintendoPatterns() []HostName {
	return []HostName{
		{"conntest.nintendowifi.net", ServiceNintendo},
		{"nas.nintendowifi.net", ServiceNintendo},
		{"naswii.nintendowifi.net", ServiceNintendo},
		{"dls1.nintendowifi.net", ServiceNintendo},
		{"{g}.ms{n}.nintendowifi.net", ServiceList},
		{"gamestats2.{d}", ServiceStats},
		{"{g}.secure.sake.{d}", ServiceSAKE},
		{"secure.sake.{d}", ServiceSAKE},
		{"sake.{d}", ServiceSAKE},
		{"{g}.race.{d}", ServiceRace},
	}
}

// HostNames returns every name that clients of the game resolve when they were
// built for, or changed to, the domain; no name twice, names of one service behind
// each other. Automatch clients use a game of their own, mostly the name with "am"
// behind it. The error is ErrBadName or ErrBadDomain.
func HostNames(game, domain string) ([]HostName, error) {
	game, domain = ascii.ToLower(game), ascii.ToLower(domain)
	if !ValidName(game) {
		return nil, fmt.Errorf("%w: %q", ErrBadName, shorten(game))
	}
	if !validDomain(domain) {
		return nil, fmt.Errorf("%w: %q", ErrBadDomain, shorten(domain))
	}
	patterns := hostPatterns()
	if domain == NintendoDomain {
		patterns = append(patterns, nintendoPatterns()...)
	}
	fill := strings.NewReplacer("{g}", game, "{n}", strconv.Itoa(serverIndex(game)), "{d}", domain)
	seen := make(map[string]bool, len(patterns))
	var services []Service // in order of appearance
	names := make([]HostName, 0, len(patterns))
	for _, p := range patterns {
		name := fill.Replace(p.Name)
		if seen[name] {
			continue
		}
		seen[name] = true
		if !slices.Contains(services, p.Service) {
			services = append(services, p.Service)
		}
		names = append(names, HostName{Name: name, Service: p.Service})
	}
	slices.SortStableFunc(names, func(a, b HostName) int {
		return slices.Index(services, a.Service) - slices.Index(services, b.Service)
	})
	return names, nil
}

// WriteHosts writes lines for a hosts file that send the clients of a game to ip:
// address and name, everything else as # comments. No domains means DefaultDomain.
// Clients of that time know IPv4 only, so ip must be an IPv4 address that a host
// can have. Nothing is written if an argument is refused.
func WriteHosts(w io.Writer, game string, ip netip.Addr, domains []string) error {
	ip = ip.Unmap()
	if !ip.Is4() || ip.IsUnspecified() || ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return fmt.Errorf("%w: %q", ErrBadAddress, shorten(ip.String()))
	}
	if len(domains) == 0 {
		domains = []string{DefaultDomain}
	}
	var out strings.Builder
	seen := make(map[string]bool)
	for _, domain := range domains {
		names, err := HostNames(game, domain)
		if err != nil {
			return err
		}
		domain = ascii.ToLower(domain)
		fmt.Fprintf(&out, "# %s under %s\n", ascii.ToLower(game), domain)
		if len(domain) != len(DefaultDomain) && domain != NintendoDomain {
			fmt.Fprintf(&out, "# warning: %s has %d characters and %s has %d: it cannot take its place inside an executable\n",
				domain, len(domain), DefaultDomain, len(DefaultDomain))
		}
		var service Service
		for _, n := range names {
			if seen[n.Name] {
				continue
			}
			seen[n.Name] = true
			if n.Service != service {
				service = n.Service
				fmt.Fprintf(&out, "# %s\n", service)
			}
			fmt.Fprintf(&out, "%s %s\n", ip, n.Name)
		}
	}
	if automatch := ascii.ToLower(game) + "am"; ValidName(automatch) {
		fmt.Fprintf(&out, "# if the game has automatch, it uses the names of %s as well\n", automatch)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// validDomain reports whether domain is a host name in lower case of at least two
// labels, without a dot at the end.
func validDomain(domain string) bool {
	if len(domain) > maxDomainLen || !strings.Contains(domain, ".") {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if len(label) > 63 || label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}
