package daemon

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// makeHub makes the hub of the players: of this node, or of all nodes of its cluster.
func (h *shared) makeHub(ctx context.Context, s *settings, log zerolog.Logger) error {
	local := presence.New(h.store, presence.Options{
		MaxSessions: greatest(s, func(e *Entry) int { return e.Sessions }), Registerer: s.registerer(noun.Accounts, h.metrics), Log: log,
	})
	h.hub, h.signedIn = local, local
	if h.cluster == nil {
		return nil
	}
	sessions, ok := h.store.(storage.Sessions)
	if !ok {
		return errors.New("storage.engine: this one cannot be used by several nodes")
	}
	c := presence.NewClustered(local, presence.ClusterOptions{
		Bus: h.cluster, Sessions: sessions, Registerer: s.registerer(noun.Accounts, h.metrics), Log: log,
	})
	h.hub, h.signedIn = c, c
	if err := c.Begin(ctx); err != nil {
		return err
	}
	if grants, ok := h.store.(storage.Grants); ok && h.accounts != nil {
		h.unshare = h.accounts.Share(grants, h.cluster)
	}
	return nil
}

// followPlayers keeps the hub in step with the store and the other nodes until ctx ends.
func (h *shared) followPlayers(ctx context.Context) { h.signedIn.Run(ctx) }
