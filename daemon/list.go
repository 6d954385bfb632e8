package daemon

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
)

// Entry is a service in a configuration.
type Entry struct {
	Name    string // of its section: "qr2"
	Key     string // that opens it, for messages: "qr2.listen"
	On      bool
	Service service.Service
	service.Descriptor
}

// List returns the services of a configuration in the order in which they are
// opened, on or off. A section is a service if a pointer to it is a service.Service. config
// is a pointer, see configs.Keys.
func List(config any) []Entry {
	listens := make(map[string]string) // keys of the services that listen, by name
	for _, s := range configs.Services(config) {
		listens[s.Name] = s.Key
	}
	on := make(map[string]bool)
	for _, l := range configs.Listeners(config) {
		on[l.Service] = true
	}
	var all []Entry
	for _, section := range configs.Sections(config) {
		s, ok := section.Value.(service.Service)
		if !ok {
			continue
		}
		e := Entry{Name: section.Name, Service: s, Descriptor: s.Describe()}
		if e.Key, e.On = listens[e.Name], on[e.Name]; e.Key == "" {
			e.Key, e.On = e.Switch, e.Switch != "" && !configs.LeftOut(config, e.Name)
		}
		all = append(all, e)
	}
	for i, e := range all {
		all[i].On = e.On && len(Lacking(e, all)) == 0
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.Stage, b.Stage) })
	return all
}

// Lacking returns the services that one needs and that are off.
func Lacking(e Entry, all []Entry) []string {
	return slices.DeleteFunc(slices.Clone(e.Needs), func(name string) bool {
		return slices.ContainsFunc(all, func(other Entry) bool { return other.Name == name && other.On })
	})
}

// Missing returns the keys of addresses that are configured for services that are
// not part of the build.
func Missing(config any) (keys []string) {
	entries := List(config)
	for _, l := range configs.Listeners(config) {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == l.Service }) {
			keys = append(keys, l.Key)
		}
	}
	return keys
}

// hostOf is service.Network.Host.
func (s *settings) hostOf(listeners []configs.Listener, n noun.Noun) string {
	of := slices.IndexFunc(s.entries, func(e Entry) bool { return e.On && slices.Contains(e.Nouns, n) })
	i := slices.IndexFunc(listeners, func(l configs.Listener) bool { return of >= 0 && l.Service == s.entries[of].Name })
	if i < 0 {
		return ""
	}
	host, _, _ := net.SplitHostPort(listeners[i].Address) // checked when it was loaded
	return host
}

// udpHost returns the host that all UDP services listen on, see service.Network.UDPHost.
func udpHost(listeners []configs.Listener) string {
	host, first := "", true
	for _, l := range listeners {
		if !strings.HasPrefix(l.Network, "udp") {
			continue
		}
		h, _, _ := net.SplitHostPort(l.Address) // checked when it was loaded
		if !first && h != host {
			return ""
		}
		host, first = h, false
	}
	return host
}
