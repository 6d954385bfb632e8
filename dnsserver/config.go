package dnsserver

import "net/netip"

// Config is section dns of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Runs the DNS server, true or false. Off, because port 53 is often taken.
	Enabled bool `key:"enabled" default:"false"`
	// UDP address, and TCP with the same port. Players' machines expect port 53.
	// If another program has it on one address only, name another address here.
	Listen string `key:"listen" default:":53" listen:"udp+tcp 53"`
	// Address given to clients on none of this machine's networks. Empty: the
	// one that they queried.
	Address netip.Addr `key:"address"` // zero: the one that the client queried
	// DNS servers that are queried for all other names, at most 256, such as
	// 192.168.1.1 or 192.168.1.1:53, in this order. Empty: those names are
	// refused, and players cannot use the internet by name.
	Upstreams []netip.AddrPort `key:"upstreams"`
	// Networks whose clients are answered, at most 256, besides private,
	// loopback and link-local addresses. Others get no answer: an open DNS
	// server is soon abused to flood other hosts.
	Allow []netip.Prefix `key:"allow" live:"true"`
	// Domains that may have private, loopback and link-local addresses, at most
	// 256, with all their subdomains. Such addresses are removed from answers
	// of upstreams for other names: otherwise a foreign web page could reach
	// machines of this network under a name of its own. Names without a dot and
	// reverse lookups are left alone.
	AllowPrivate []string `key:"allow_private" default:"lan,local,home.arpa,internal,fritz.box" as:"domain" live:"true"`
	// Questions per second of each address, {range}.
	Rate int `key:"rate" default:"50" range:"1 to 1000000" live:"true"`
	// Questions of an address that may come at once, {range}.
	Burst int `key:"burst" default:"200" range:"1 to 1000000" live:"true"`
	// Questions to upstreams under way at a time, {range}.
	MaxForwards int `key:"max_forwards" default:"256" range:"1 to 10000"`
}
