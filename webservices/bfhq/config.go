package bfhq

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
)

// PagesConfig is the part of section webservices of the configuration about the pages of
// Battlefield 2 and 2142. The comment of each field explains its key.
type PagesConfig struct {
	// Game servers whose rounds count for the totals of players of Battlefield 2 and
	// Battlefield 2142: networks such as 192.0.2.0/24 or single addresses, at most 256.
	// Nothing in a round is signed, so list only servers that you trust. Empty: none, and
	// all totals stay 0.
	SnapshotServers []netip.Prefix `key:"snapshot_servers" live:"true"`
	// Further weapons of the players of Battlefield 2 and Battlefield 2142: {words}. none:
	// they get none. rank: they choose some, more with each rank. all: each has all of them.
	Unlocks string `key:"unlocks" default:"rank" words:"none, rank, all" live:"true"`
	// Key with which Battlefield 2142 and its servers sign who asks for a page, 32 hex
	// digits. It is a constant of the game, which public emulators of its pages have, so it
	// proves little. Empty: pages are for players at the address where they are signed in,
	// and for servers in snapshot_servers.
	StellaKey string `key:"stella_key" as:"line" live:"true"`
}

// stellaKeyLen is the length of PagesConfig.StellaKey.
const stellaKeyLen = 32

// maxServers bounds PagesConfig.SnapshotServers.
const maxServers = 256

// CheckPages returns the mistake in the configuration.
func (c *PagesConfig) CheckPages() error {
	if len(c.SnapshotServers) > maxServers {
		return fmt.Errorf("webservices.snapshot_servers: %d entries, at most %d are allowed", len(c.SnapshotServers), maxServers)
	}
	if _, err := hex.DecodeString(c.StellaKey); err != nil || c.StellaKey != "" && len(c.StellaKey) != stellaKeyLen {
		return fmt.Errorf("webservices.stella_key: it has %d hex digits", stellaKeyLen)
	}
	return nil
}

// lists reports whether rounds of a server count.
func (c *PagesConfig) lists(a netip.Addr) bool {
	return slices.ContainsFunc(c.SnapshotServers, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}
