package games

import (
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Names tells which host names lead to the services of games: all names under
// the domains that clients were built for, and those that are fixed in clients.
// It is what a DNS server answers. It is never changed, so goroutines may share
// it.
type Names struct {
	under []string // domains
	exact map[string]bool
}

// NewNames returns the names of clients that were built for the domains, and
// some more, which mean themselves and nothing under them. The error is
// ErrBadDomain.
func NewNames(domains []string, more ...string) (*Names, error) {
	n := &Names{exact: make(map[string]bool)}
	for _, name := range more {
		if name = ascii.ToLower(name); !validDomain(name) {
			return nil, fmt.Errorf("%w: %q", ErrBadDomain, shorten(name))
		}
		n.exact[name] = true
	}
	patterns := hostPatterns()
	for _, domain := range domains {
		if domain = ascii.ToLower(domain); !validDomain(domain) {
			return nil, fmt.Errorf("%w: %q", ErrBadDomain, shorten(domain))
		}
		n.under = append(n.under, domain)
		if domain == NintendoDomain {
			patterns = append(patterns, nintendoPatterns()...)
		}
	}
	for _, p := range patterns {
		// What follows a game's name and is no domain of the list has the list's
		// host under it, and nothing else.
		switch _, list, perGame := strings.Cut(p.Name, "{n}."); {
		case strings.HasSuffix(p.Name, ".{d}"):
		case perGame:
			n.under = append(n.under, list)
		default:
			n.exact[p.Name] = true
		}
	}
	return n, nil
}

// Has reports whether a name is one of them. The name is in lower case and has no
// dot at its end.
func (n *Names) Has(name string) bool {
	if n.exact[name] {
		return true
	}
	for _, domain := range n.under {
		rest, ok := strings.CutSuffix(name, domain)
		if ok && (rest == "" || rest[len(rest)-1] == '.') {
			return true
		}
	}
	return false
}
