package bfhq

import (
	"fmt"
	"net/netip"
	"slices"
)

// PagesConfig is the part of section webservices of the configuration about the pages of
// Battlefield 2. The comment of each field explains its key.
type PagesConfig struct {
	// Game servers whose rounds count for the totals of Battlefield 2's players: networks
	// such as 192.0.2.0/24 or single addresses, at most 256. Nothing in a round is signed,
	// so list only servers that you trust. Empty: none, and all totals stay 0.
	SnapshotServers []netip.Prefix `key:"snapshot_servers" live:"true"`
	// Further weapons of Battlefield 2's players: {words}. none: they get none. rank: they
	// choose some, more with each rank. all: each has all of them.
	Unlocks string `key:"unlocks" default:"rank" words:"none, rank, all" live:"true"`
}

// maxServers bounds PagesConfig.SnapshotServers.
const maxServers = 256

// CheckPages returns the mistake in the configuration.
func (c *PagesConfig) CheckPages() error {
	if len(c.SnapshotServers) > maxServers {
		return fmt.Errorf("webservices.snapshot_servers: %d entries, at most %d are allowed", len(c.SnapshotServers), maxServers)
	}
	return nil
}

// lists reports whether rounds of a server count.
func (c *PagesConfig) lists(a netip.Addr) bool {
	return slices.ContainsFunc(c.SnapshotServers, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}
