package main

import (
	"fmt"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/services"
)

// zandronumNames are the hosts that servers and launchers of Zandronum, and of
// what came before it, look for their master under.
var zandronumNames = []string{"master.zandronum.com", "skulltag.servegame.com"}

// serviceNames returns the names that lead to our services.
func serviceNames(cfg *services.Config) (*games.Names, error) {
	var more []string
	if cfg.ZanMaster.Listen != "" {
		more = zandronumNames
	}
	names, err := games.NewNames(cfg.Games.Domains, more...)
	if err != nil {
		return nil, fmt.Errorf("games.domains: %w", err)
	}
	return names, nil
}

// checkDNS looks for mistakes in the configuration of the DNS server that only
// show on this machine.
func checkDNS(cfg *services.Config) error {
	if !cfg.DNS.Enabled || cfg.DNS.Listen == "" {
		return nil
	}
	_, err := serviceNames(cfg)
	return err
}

// addressesOrNone returns the addresses of this machine, none if the system does
// not tell.
func addressesOrNone() []hostnet.Address {
	list, err := hostnet.Addresses()
	if err != nil {
		return nil
	}
	return list
}
