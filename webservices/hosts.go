package webservices

import (
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

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
