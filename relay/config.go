package relay

import (
	"fmt"
	"time"
)

// Config is section relay of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Relays players, true or false. false: also ends the relaying under way.
	Enabled bool `key:"enabled" default:"true" live:"true"`
	// Players who are relayed at their first meeting: {words}. unknown: those of whom it is not known
	// whether their routers let them connect; a direct connection is tried the next time, if the
	// routers allow it. never: none, so that such players fail once and are relayed when they
	// try again. always: all who are in different networks, so that none of them sees the
	// other's address. Players whose routers show that they cannot connect are always relayed.
	First string `key:"first" default:"unknown" words:"never, unknown, always" live:"true"`
	// UDP ports for the players, LOW-HIGH, from 1024 on. A relayed pair uses two of
	// them. Open them in the firewall; a router in front must not change them. The
	// system must not give them to other programs (net.ipv4.ip_local_reserved_ports of
	// Linux), or there is room for fewer pairs.
	Ports string `key:"ports" default:"40000-40999" as:"ports" live:"true"`
	// Relayed pairs at a time, {range}.
	MaxPairs int `key:"max_pairs" default:"500" range:"1 to 30000" live:"true"`
	// Pairs at a time with one address, {range}. A player of a match of eight has
	// up to seven.
	MaxPerAddr int `key:"max_per_addr" default:"16" range:"1 to 30000" live:"true"`
	// Pairs at a time with a network of 256 addresses (/24), {range}.
	MaxPerNet int `key:"max_per_net" default:"64" range:"1 to 30000" live:"true"`
	// Bytes per second that a pair may send, both players together, {range}. Packets above the
	// limit are lost, here as in the two limits below.
	PairRate int `key:"pair_rate" default:"256KiB" range:"4KiB to 1GiB" live:"true"`
	// Bytes per second that come from one address in all its pairs, {range}.
	AddrRate int `key:"addr_rate" default:"1MiB" range:"4KiB to 1GiB" live:"true"`
	// Bytes per second of all pairs, {range}.
	TotalRate int `key:"total_rate" default:"64MiB" range:"4KiB to 1GiB" live:"true"`
	// A pair ends after this long without a packet, {range}.
	Idle time.Duration `key:"idle" default:"60s" range:"10s to 1h" live:"true"`
	// A pair ends after this long in any case, {range}.
	MaxTime time.Duration `key:"max_time" default:"6h" range:"1m to 168h" live:"true"`
}

// Warnings returns settings that are allowed but rarely intended.
func (c *Config) Warnings() []string {
	if room := parsePorts(c.Ports).count() / 2; c.Enabled && c.MaxPairs > room {
		return []string{fmt.Sprintf("relay.max_pairs: %d pairs need %d ports, and relay.ports has room for %d pairs", c.MaxPairs, 2*c.MaxPairs, room)}
	}
	return nil
}
