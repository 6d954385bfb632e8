package main

import (
	"net/netip"

	"github.com/respawnd/respawnd/storage"
)

// bannedFromPresence returns whether an address is kept from signing in.
func (d *daemon) bannedFromPresence(a netip.Addr) bool { return d.bannedFrom(storage.ScopePresence, a) }
