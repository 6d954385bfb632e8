package main

import (
	"context"
	"errors"
	"fmt"

	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webhook"
)

// loadAll reads everything that a reload takes over besides the configuration,
// and checks the configuration as a start would. If there is no mistake anywhere,
// the games and the bans are in force when it returns, and what is still to be
// taken over is known to be good. After an error nothing has changed.
func (d *daemon) loadAll(ctx context.Context, cfg *services.Config) ([]webhook.Hook, error) {
	if err := errors.Join(check(cfg, svc.AtReload), d.checkListings(ctx)); err != nil {
		return nil, err
	}
	hooks, err := webhooks(cfg)
	if err != nil {
		return nil, err
	}
	return hooks, d.catalogue.LoadIf(ctx, cfg.Games.File, func() error { return d.bans.Reload(ctx) })
}

// checkListings returns an error if the store cannot tell which servers were
// added and hidden. Damaged records are left out with a warning, here as there.
func (d *daemon) checkListings(ctx context.Context) error {
	for _, err := range d.store.AddedServers(ctx) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return fmt.Errorf("servers that were added: %w", err)
		}
	}
	for _, err := range d.store.HiddenServers(ctx) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return fmt.Errorf("servers that were hidden: %w", err)
		}
	}
	return nil
}
