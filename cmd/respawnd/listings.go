package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
)

// takeServers has the servers asked that the configuration and the store name,
// and hides those that the store says.
func (d *daemon) takeServers(ctx context.Context) error {
	if err := d.hideServers(ctx); err != nil {
		return err
	}
	d.listings.Lock()
	defer d.listings.Unlock()
	list := staticServers(d.configured.Load())
	for a, err := range d.store.AddedServers(ctx) {
		if errors.Is(err, storage.ErrDamaged) {
			d.log.Warn().Err(err).Msg("a server that was added cannot be read")
			continue
		}
		if err != nil {
			return fmt.Errorf("servers that were added: %w", err)
		}
		list = append(list, a)
	}
	var named []probe.Named
	for _, a := range list {
		protocol, err := probe.ParseProtocol(a.Protocol)
		if err != nil {
			d.log.Warn().Str("address", a.Address).Err(err).Msg("a server that was added is not asked")
			continue
		}
		named = append(named, probe.Named{Protocol: protocol, Address: a.Address, Game: a.Game})
	}
	d.statics.Set(named)
	return nil
}

// hideServers hides what the store says, and nothing else.
func (d *daemon) hideServers(ctx context.Context) error {
	d.listings.Lock()
	defer d.listings.Unlock()
	hide := make(map[netip.AddrPort]bool)
	for h, err := range d.store.HiddenServers(ctx) {
		if errors.Is(err, storage.ErrDamaged) {
			d.log.Warn().Err(err).Msg("a server that was hidden cannot be read")
			continue
		}
		if err != nil {
			return fmt.Errorf("servers that were hidden: %w", err)
		}
		hide[h.Address] = true
		d.registry.Hide(h.Address)
	}
	for _, a := range d.registry.HiddenAddresses() {
		if !hide[a] {
			d.registry.Unhide(a)
		}
	}
	return nil
}

// staticServers returns servers.static as the store would keep it.
func staticServers(c *services.Servers) []storage.AddedServer {
	list := make([]storage.AddedServer, 0, len(c.Static))
	for _, s := range c.Static {
		list = append(list, storage.AddedServer{Address: s.Address, Protocol: s.Protocol})
	}
	return list
}

func (d *daemon) checkAdded(a *storage.AddedServer) error {
	if err := probe.CheckAdded(d.catalogue.Catalog(), a); err != nil {
		return err
	}
	if at, err := netip.ParseAddrPort(a.Address); err == nil {
		return d.prober.Forbidden(at)
	}
	return nil
}

// askedServers says how it is with the servers that are asked because they were
// named.
func (d *daemon) askedServers() (list []operator.AskedServer) {
	for _, s := range d.statics.States() {
		list = append(list, operator.AskedServer{Address: s.Address, Answers: s.Answers, Why: s.Why})
	}
	return list
}
