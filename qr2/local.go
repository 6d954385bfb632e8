package qr2

import (
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/query"
)

// joinable reports whether a player could join a host at a private address that
// the host reports. A host that does not know its address reports 0.0.0.0. Loopback and
// self-assigned addresses are joinable: on one machine, or on a network without
// a router, they are the only ones.
func joinable(a netip.Addr) bool {
	first := a.As4()[0]
	return 0 < first && first < 224 // no multicast, reserved or broadcast address
}

const localRule = "localip" // a digit follows

// pointless reports whether a rule is a private address that no player can join.
// Its value is not kept: browsers see rules, too.
func pointless[T string | []byte](name string, value T) bool {
	if len(name) != len(localRule)+1 || !strings.EqualFold(name[:len(localRule)], localRule) {
		return false
	}
	a, ok := parseIPv4([]byte(value))
	return ok && !joinable(a)
}

// localValue returns the value that is kept of a rule.
func localValue(name string, value []byte) []byte {
	if pointless(name, value) {
		return nil
	}
	return value
}

// joinableFields empties the rules of the text protocol that are pointless.
func joinableFields(rules []query.Field) {
	for i := range rules {
		if pointless(rules[i].Name, rules[i].Value) {
			rules[i].Value = ""
		}
	}
}
