package games

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Names are the host names that lead to the services of games: all names under
// the domains that clients were built for, and those that are fixed in clients.
// A DNS server answers them. Names follows changes of its catalogue; any number
// of goroutines may use it.
type Names struct {
	domains []string // of the operator
	more    []string
	catalog *Catalog
	served  func(Service) Served
	current atomic.Pointer[nameSet]
}

// nameSet are the names for one state of the catalogue. It is never changed.
type nameSet struct {
	of    *index
	under map[string]bool // domains
	exact map[string]bool
	lists map[string]bool // domains under which only the hosts of lists are ours
	none  map[string]bool // names that must have no address
}

// NewNames returns the names of clients that were built for the domains of the
// operator or of a game of the catalogue, and the names in more, without their
// subdomains. Names of other companies are included only if served reports that
// their service runs; that does not change. The error is ErrBadDomain.
func NewNames(domains []string, catalog *Catalog, served func(Service) Served, more ...string) (*Names, error) {
	n := &Names{catalog: catalog, served: served}
	for _, name := range more {
		if name = ascii.ToLower(name); !validDomain(name) {
			return nil, fmt.Errorf("%w: %q", ErrBadDomain, shorten(name))
		}
		n.more = append(n.more, name)
	}
	for _, domain := range domains {
		if domain = ascii.ToLower(domain); !validDomain(domain) {
			return nil, fmt.Errorf("%w: %q", ErrBadDomain, shorten(domain))
		}
		n.domains = append(n.domains, domain)
	}
	return n, nil
}

// Has reports whether a name is one of them. The name is in lower case and has no
// dot at its end.
func (n *Names) Has(name string) bool { return n.set().has(name) }

// None reports whether a name must have no address, because a game waits for its answer. The name
// is in lower case and has no dot at its end.
func (n *Names) None(name string) bool { return n.set().none[name] }

// set returns the names for the present state of the catalogue.
func (n *Names) set() *nameSet {
	set := n.current.Load()
	if of := n.catalog.current.Load(); set == nil || set.of != of {
		set = n.collect(of)
		n.current.Store(set)
	}
	return set
}

// collect returns the names for a state of the catalogue, which may be nil.
func (n *Names) collect(of *index) *nameSet {
	set := &nameSet{of: of, under: make(map[string]bool), exact: make(map[string]bool), lists: make(map[string]bool), none: make(map[string]bool)}
	for _, name := range n.more {
		set.exact[name] = true
	}
	for _, domain := range n.domains {
		set.under[domain] = true
	}
	if of != nil {
		for i := range of.games {
			set.add(&of.games[i], n.served)
		}
	}
	patterns := hostPatterns()
	if set.under[NintendoDomain] {
		patterns = append(patterns, nintendoPatterns()...)
	}
	for _, p := range patterns {
		list, isList := strings.CutPrefix(p.Name, "{g}.ms{n}.")
		domain, perGame := strings.CutPrefix(p.Name, "{g}.")
		switch {
		case strings.HasSuffix(p.Name, ".{d}"), !p.LeadsHere(n.served):
		case isList:
			set.lists[list] = true
		case perGame:
			set.under[domain] = true
		default:
			set.exact[p.Name] = true
		}
	}
	return set
}

func (s *nameSet) add(g *Game, served func(Service) Served) {
	for _, domain := range g.Domains {
		s.under[domain] = true
	}
	add := func(hosts []Host) {
		for _, h := range hosts {
			if (HostName{Service: h.Service, Foreign: true}).LeadsHere(served) {
				s.exact[h.Name] = true
			}
		}
	}
	add(g.Hosts)
	for i := range g.Editions { // without a service: a usual name, or one of g.Hosts
		add(slices.DeleteFunc(slices.Clone(g.Editions[i].Hosts), func(h Host) bool { return h.Service == "" }))
		for _, name := range g.Editions[i].Refuse {
			s.none[name] = true
		}
	}
}

func (s *nameSet) has(name string) bool {
	if s.exact[name] {
		return true
	}
	before := "" // the label in front of domain
	for domain := name; domain != ""; {
		if s.under[domain] || s.lists[domain] && isListHost(before) {
			return true
		}
		before, domain, _ = strings.Cut(domain, ".")
	}
	return false
}

// isListHost reports whether a label is the one of a list host, ms0 to ms19.
func isListHost(label string) bool {
	digits, ok := strings.CutPrefix(label, "ms")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n >= 0 && n < serverIndexes && len(digits) <= 2
}
