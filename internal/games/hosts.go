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

// serverIndexes is the number of list hosts: ms0 to ms19.
const serverIndexes = 20

// Errors of HostNames and WriteHosts.
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

// Purpose is the purpose of a host for clients, with its usual port.
type Purpose string

// Purposes for which clients resolve names.
const (
	ForAvailability Purpose = "availability check, UDP 27900"
	ForReport       Purpose = "server reports, UDP 27900"
	ForOldMaster    Purpose = "old server reports, UDP 27900, and old server list, TCP 28900"
	ForList         Purpose = "server list, TCP 28910"
	ForNATNeg       Purpose = "NAT negotiation, UDP 27901"
	ForPresence     Purpose = "presence, TCP 29900"
	ForSearch       Purpose = "profile search, TCP 29901"
	ForKey          Purpose = "CD keys, UDP 29910"
	ForStats        Purpose = "statistics, TCP 29920"
	ForChat         Purpose = "chat, TCP 6667"
	ForMOTD         Purpose = "message of the day and patches, HTTP"
	ForAuth         Purpose = "web sign-in, HTTPS"
	ForSAKE         Purpose = "storage, HTTP"
	ForCompetition  Purpose = "competitions, HTTP"
	ForStore        Purpose = "stores, HTTP"
	ForAPI          Purpose = "all web services, for games of 2011 and later, HTTP and HTTPS"
	ForNintendo     Purpose = "Nintendo sign-in and downloads, HTTP and HTTPS"
	ForRace         Purpose = "racing, HTTP"
	ForGame         Purpose = "names of this game alone"
)

// HostName is a name that clients resolve, with its purpose.
type HostName struct {
	Name string
	For  Purpose
	// Service is the one that answers there; empty: any.
	Service Service
	// Foreign reports that the name belongs to another company, or to the community
	// that serves it today: it leads here only while Service runs.
	Foreign bool
}

// LeadsHere reports whether the name may resolve to this machine; served
// returns the state of services.
func (h HostName) LeadsHere(served func(Service) Served) bool {
	return !h.Foreign || h.Service == "" || served(h.Service) == Running
}

// Served reports whether a service that clients look for under the name runs here.
func (h HostName) Served(served func(Service) Served) bool {
	return h.Service == "" || served(h.Service) == Running || h.For == ForOldMaster && served(serverReports) == Running
}

// hostPatterns are the names of every game; {g} is the game, {n} its serverIndex,
// {d} the domain. Where clients of different ages ask with and without the game in
// front, both are here. Names without {d} are fixed in the clients, whatever their domain.
func hostPatterns() []HostName {
	return []HostName{
		{Name: "{g}.available.{d}", For: ForAvailability, Service: serverReports},
		{Name: "{g}.master.{d}", For: ForReport, Service: serverReports},
		{Name: "master.{d}", For: ForOldMaster, Service: "legacylist"},
		{Name: "master0.{d}", For: ForOldMaster, Service: "legacylist"},
		{Name: "{g}.ms{n}.{d}", For: ForList, Service: "serverbrowse"},
		{Name: "{g}.natneg1.{d}", For: ForNATNeg, Service: "natneg"},
		{Name: "{g}.natneg2.{d}", For: ForNATNeg, Service: "natneg"},
		{Name: "{g}.natneg3.{d}", For: ForNATNeg, Service: "natneg"},
		{Name: "natneg1.{d}", For: ForNATNeg, Service: "natneg"},
		{Name: "natneg2.{d}", For: ForNATNeg, Service: "natneg"},
		{Name: "natneg3.{d}", For: ForNATNeg, Service: "natneg"},
		{Name: "gpcm.{d}", For: ForPresence, Service: "gpcm"},
		{Name: "gpsp.{d}", For: ForSearch, Service: "gpsp"},
		{Name: "key.{d}", For: ForKey, Service: "cdkey"},
		{Name: "{g}.gamestats.{d}", For: ForStats, Service: "gstats"},
		{Name: "gamestats.{d}", For: ForStats, Service: "gstats"},
		{Name: "peerchat.{d}", For: ForChat, Service: "peerchat"},
		{Name: "motd.{d}", For: ForMOTD, Service: "webservices"},
		{Name: "{g}.auth.pubsvs.{d}", For: ForAuth, Service: "webservices"},
		{Name: "{g}.sake.{d}", For: ForSAKE, Service: "webservices"},
		{Name: "{g}.comp.pubsvs.{d}", For: ForCompetition, Service: "webservices"},
		{Name: "{g}.api.{d}", For: ForAPI, Service: "webservices"},
		{Name: "{g}.api.gamespy.net", For: ForAPI, Service: "webservices"},
		{Name: "key.gamespy.com", For: ForKey, Service: "cdkey"},
	}
}

// rarePatterns are names that services answer, and that no game is known to need; a record may
// state them.
func rarePatterns() []HostName {
	return []HostName{
		{Name: "{g}.comm.pubsvs.{d}", For: ForStore, Service: "webservices"},
		{Name: "www.fileplanet.com", For: ForMOTD, Service: "webservices", Foreign: true},
	}
}

// HostPatterns returns the forms of the names under which clients look for a
// service: {g} is the game, {d} the domain.
func HostPatterns(service Service) (patterns []string) {
	for _, h := range slices.Concat(hostPatterns(), rarePatterns(), nintendoPatterns()) {
		if h.Service == service {
			patterns = append(patterns, h.Name)
		}
	}
	return patterns
}

// nintendoPatterns are the further names of DS and Wii games.
func nintendoPatterns() []HostName {
	return []HostName{
		{Name: "conntest.nintendowifi.net", For: ForNintendo, Service: "nas", Foreign: true},
		{Name: "nas.nintendowifi.net", For: ForNintendo, Service: "nas", Foreign: true},
		{Name: "naswii.nintendowifi.net", For: ForNintendo, Service: "nas", Foreign: true},
		{Name: "dls1.nintendowifi.net", For: ForNintendo, Service: "nas", Foreign: true},
		{Name: "{g}.ms{n}.nintendowifi.net", For: ForList, Service: "serverbrowse"},
		{Name: "gamestats2.{d}", For: ForStats, Service: "gstats"},
		{Name: "{g}.secure.sake.{d}", For: ForSAKE, Service: "webservices"},
		{Name: "secure.sake.{d}", For: ForSAKE, Service: "webservices"},
		{Name: "sake.{d}", For: ForSAKE, Service: "webservices"},
		{Name: "{g}.race.{d}", For: ForRace, Service: "race"},
	}
}

// DomainsBeside returns the domains under which clients of the game look for
// services, given those of the operator: the game's own in place of the default
// one, or the operator's if it has none.
func (g Game) DomainsBeside(operator []string) []string {
	if len(g.Domains) == 0 {
		return operator
	}
	var own []string
	for _, d := range operator {
		if ascii.ToLower(d) != DefaultDomain {
			own = append(own, ascii.ToLower(d))
		}
	}
	return union(g.Domains, own)
}

// HostNames returns the names that clients of the game resolve when they were built for, or
// changed to, the domain; without duplicates, grouped by purpose, names of the game alone last.
// They are those of its editions. Of a game without such data they are those of the services
// that it needs and uses, or of all services if that is not known either, for the game and its
// aliases. The error is ErrBadName or ErrBadDomain.
func (g Game) HostNames(domain string) ([]HostName, error) {
	domain = ascii.ToLower(domain)
	if !ValidName(g.Name) {
		return nil, fmt.Errorf("%w: %q", ErrBadName, shorten(g.Name))
	}
	if !validDomain(domain) {
		return nil, fmt.Errorf("%w: %q", ErrBadDomain, shorten(domain))
	}
	names := g.exactHosts(domain)
	if names == nil {
		names = g.usualHosts(domain)
	}
	seen := make(map[string]bool, len(names))
	names = slices.DeleteFunc(names, func(n HostName) bool {
		again := seen[n.Name]
		seen[n.Name] = true
		return again
	})
	var purposes []Purpose // in order of appearance
	for _, n := range names {
		if !slices.Contains(purposes, n.For) {
			purposes = append(purposes, n.For)
		}
	}
	slices.SortStableFunc(names, func(a, b HostName) int {
		return slices.Index(purposes, a.For) - slices.Index(purposes, b.For)
	})
	return names, nil
}

// LeadingNames returns the names under all domains of clients of the game for which leads is
// true, without duplicates. The error is one of HostNames.
func (g Game) LeadingNames(operator []string, leads func(HostName) bool) (out []string, err error) {
	for _, domain := range g.DomainsBeside(operator) {
		names, err := g.HostNames(domain)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if leads(n) && !slices.Contains(out, n.Name) {
				out = append(out, n.Name)
			}
		}
	}
	return out, nil
}

// refused returns the names that must have no address, of all editions.
func (g Game) refused() (names []string) {
	for _, e := range g.Editions {
		names = union(names, e.Refuse)
	}
	return names
}

func patterns(domain string) []HostName {
	if domain == NintendoDomain {
		return append(hostPatterns(), nintendoPatterns()...)
	}
	return hostPatterns()
}

func (h HostName) fill(game, domain string) HostName {
	h.Name = strings.NewReplacer("{g}", game, "{n}", strconv.Itoa(serverIndex(game)), "{d}", domain).Replace(h.Name)
	return h
}

// usualHosts returns the names of the services that the game and its aliases ask.
func (g Game) usualHosts(domain string) (names []HostName) {
	asks := func(h HostName) bool {
		s := h.Service
		if s == "gpsp" {
			s = "gpcm" // looks players up before they sign in
		}
		return len(g.Needs) == 0 || slices.Contains(g.Needs, s) || slices.Contains(g.Uses, s)
	}
	for _, game := range append([]string{g.Name}, g.Aliases...) {
		for _, p := range patterns(domain) {
			if asks(p) {
				names = append(names, p.fill(game, domain))
			}
		}
	}
	for _, h := range g.Hosts {
		names = append(names, g.ownName(h, domain))
	}
	return names
}

// ownName returns a name of the game alone. One that belongs to another company leads here only
// while its service runs.
func (g Game) ownName(h Host, domain string) HostName {
	own := under(h.Name, domain) || slices.ContainsFunc(g.Domains, func(d string) bool { return under(h.Name, d) })
	return HostName{Name: h.Name, For: ForGame, Service: h.Service, Foreign: h.Service != "" && !own}
}

// exactHosts returns the names of the editions, for clients that were changed to the domain if
// it is not one of the game; nil: no edition states names.
func (g Game) exactHosts(domain string) (names []HostName) {
	built := domain
	if domain != DefaultDomain && !slices.Contains(g.Domains, domain) {
		built = DefaultDomain
	}
	known := make(map[string]HostName)
	for _, p := range patterns(built) {
		p = p.fill(g.Name, built)
		known[p.Name] = p
	}
	for _, h := range g.Hosts {
		known[h.Name] = g.ownName(h, built)
	}
	stated := false
	for _, e := range g.Editions {
		for _, h := range e.Hosts {
			stated = true
			n, usual := known[h.Name]
			if !usual {
				n = g.ownName(h, built)
			}
			switch rest, ours := strings.CutSuffix(h.Name, built); {
			case ours:
				n.Name = rest + domain
			case g.underOther(h.Name, built): // it is among the names of that domain
				continue
			}
			names = append(names, n)
		}
	}
	if stated && names == nil {
		return []HostName{}
	}
	return names
}

// underOther reports whether a name is under another domain of clients than this one.
func (g Game) underOther(name, domain string) bool {
	return slices.ContainsFunc(append([]string{DefaultDomain}, g.Domains...), func(d string) bool { return d != domain && under(name, d) })
}

// under reports whether a name is a domain, or lies under it.
func under(name, domain string) bool {
	rest, ok := strings.CutSuffix(name, domain)
	return ok && (rest == "" || rest[len(rest)-1] == '.')
}

// WriteHosts writes lines for a hosts file that send the clients of a game to
// ip: address and name, everything else as # comments. Names for which leads is
// false, because their service does not run, are written as comments with the
// reason. domains are the operator's; none means DefaultDomain. Clients of that
// time support only IPv4, so ip must be an IPv4 address that a host can have.
// Nothing is written if an argument is refused.
func WriteHosts(w io.Writer, g Game, ip netip.Addr, domains []string, leads func(HostName) bool) error {
	ip = ip.Unmap()
	if !ip.Is4() || ip.IsUnspecified() || ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return fmt.Errorf("%w: %q", ErrBadAddress, shorten(ip.String()))
	}
	if len(domains) == 0 {
		domains = []string{DefaultDomain}
	}
	var out strings.Builder
	seen := make(map[string]bool)
	for _, domain := range g.DomainsBeside(domains) {
		names, err := g.HostNames(domain)
		if err != nil {
			return err
		}
		domain = ascii.ToLower(domain)
		fmt.Fprintf(&out, "# %s under %s\n", g.Name, domain)
		if len(domain) != len(DefaultDomain) && domain != NintendoDomain && !slices.Contains(g.Domains, domain) {
			fmt.Fprintf(&out, "# warning: %s has %d characters and %s has %d: it cannot take its place inside an executable\n",
				domain, len(domain), DefaultDomain, len(DefaultDomain))
		}
		var purpose Purpose
		for _, n := range names {
			if seen[n.Name] {
				continue
			}
			seen[n.Name] = true
			if n.For != purpose {
				purpose = n.For
				fmt.Fprintf(&out, "# %s\n", purpose)
			}
			if leads(n) {
				fmt.Fprintf(&out, "%s %s\n", ip, n.Name)
			} else {
				fmt.Fprintf(&out, "# not redirected: %s: no %s here\n", n.Name, n.Service.Words())
			}
		}
	}
	for _, name := range g.refused() {
		fmt.Fprintf(&out, "# the game would wait for an answer from this name\n0.0.0.0 %s\n", name)
	}
	if automatch := g.Name + "am"; ValidName(automatch) && g.exactHosts(DefaultDomain) == nil {
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
