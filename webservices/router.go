package webservices

import (
	"fmt"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/webservices/soap"
)

// route is the target of a path on the hosts of some patterns: methods or a
// page, never both.
type route struct {
	hosts   []string
	service *soap.Service
	page    *soap.Page
}

// router finds the route of a request. It is never changed.
type router map[string][]route // by path in lower case

// newRouter returns the router of the backends. It panics if two of them have the
// same path on the same host.
func newRouter(backends []backend) router {
	t := make(router)
	for _, backend := range backends {
		for i := range backend.services {
			s := &backend.services[i]
			t.add(s.Path, route{hosts: s.Hosts, service: s})
		}
		for i := range backend.pages {
			p := &backend.pages[i]
			t.add(p.Path, route{hosts: p.Hosts, page: p})
		}
	}
	return t
}

func (t router) add(path string, r route) {
	path = ascii.ToLower(path)
	for _, other := range t[path] {
		for _, h := range r.hosts {
			if patternOf(other.hosts, h) != otherHost {
				panic(fmt.Sprintf("webservices: two backends have %s on %s", path, h))
			}
		}
	}
	t[path] = append(t[path], r)
}

// find returns the route of a path on a host. label is that of the game in the
// host.
func (t router) find(host, path string) (r route, label string, ok bool) {
	for _, r := range t[ascii.ToLower(path)] {
		for _, pattern := range r.hosts {
			if label, ok := matchHost(pattern, host); ok {
				return r, label, true
			}
		}
	}
	return route{}, "", false
}

// hostOf returns the host of a request, without a port, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return ascii.ToLower(strings.TrimSuffix(host, "."))
}

// matchHost reports whether a host has the form of a pattern, see soap.Service. label is the value
// of {g}.
func matchHost(pattern, host string) (label string, ok bool) {
	for pattern != "" {
		want, pattern2, _ := strings.Cut(pattern, ".")
		if want == "{d}" {
			return label, host != ""
		}
		got, host2, _ := strings.Cut(host, ".")
		switch {
		case got == "" || want != "{g}" && want != got:
			return "", false
		case want == "{g}":
			label = got
		}
		pattern, host = pattern2, host2
	}
	return label, host == ""
}

// otherHost is the pattern of hosts that have none of the known ones.
const otherHost = "other"

// patternOf returns the first pattern that a host has, otherHost if there is none.
func patternOf(patterns []string, host string) string {
	for _, p := range patterns {
		if _, ok := matchHost(p, host); ok {
			return p
		}
	}
	return otherHost
}
