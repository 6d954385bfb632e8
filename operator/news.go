package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/storage"
)

// PatchList are the patches in force, and the versions of games that asked since the start
// of the daemon.
type PatchList struct {
	Patches  []news.Patch `json:"patches"`
	Versions []news.Count `json:"versions"`
}

// NewsOperator is the part of Operator about messages that games show at their start.
type NewsOperator interface {
	// Motds returns the messages of the day that were set.
	Motds(ctx context.Context) ([]storage.Motd, error)
	// SetMotd sets the message of the day of a game at once. ErrBadRequest: the game is
	// not in the catalogue.
	SetMotd(ctx context.Context, m storage.Motd) error
	// ClearMotd removes the message of a game. storage.ErrNotFound: there is none.
	ClearMotd(ctx context.Context, game string) error
	// Patches returns the patches and the versions that asked for them.
	Patches(ctx context.Context) (PatchList, error)
	// AddPatch announces a patch at once, in place of one for the same version.
	AddPatch(ctx context.Context, p storage.Patch) error
	// RemovePatch withdraws a patch. storage.ErrNotFound: there is none.
	RemovePatch(ctx context.Context, id storage.PatchID) error
}

// Motds implements Operator.
func (l *Local) Motds(context.Context) ([]storage.Motd, error) {
	return append([]storage.Motd{}, l.News.Motds()...), nil // never null as JSON
}

// SetMotd implements Operator.
func (l *Local) SetMotd(ctx context.Context, m storage.Motd) error {
	g, known := l.Catalogue.Catalog().Lookup(m.Game)
	if !known {
		return fmt.Errorf("%w: there is no game %q: `respawnd game list` shows all", ErrBadRequest, m.Game)
	}
	m.Game, m.Set = g.Name, time.Now()
	return l.News.PutMotd(noted(ctx, actMotdSet, m.Game, m.Text), m)
}

// ClearMotd implements Operator.
func (l *Local) ClearMotd(ctx context.Context, game string) error {
	game = storage.Fold(game)
	if err := l.News.RemoveMotd(noted(ctx, actMotdClear, game, ""), game); err != nil {
		return fmt.Errorf("message of the day of %q: %w", game, err)
	}
	return nil
}

// Patches implements Operator.
func (l *Local) Patches(context.Context) (PatchList, error) {
	return PatchList{append([]news.Patch{}, l.News.Patches()...), l.News.Seen()}, nil
}

// AddPatch implements Operator.
func (l *Local) AddPatch(ctx context.Context, p storage.Patch) error {
	p.Added = time.Now()
	return l.News.PutPatch(noted(ctx, actPatchAdd, patchText(p.PatchID), p.Name+" "+p.URL), p)
}

// RemovePatch implements Operator.
func (l *Local) RemovePatch(ctx context.Context, id storage.PatchID) error {
	err := l.News.RemovePatch(noted(ctx, actPatchRemove, patchText(id), ""), id)
	if errors.Is(err, news.ErrConfigured) {
		err = fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	if err != nil {
		return fmt.Errorf("patch for %s: %w", patchText(id), err)
	}
	return nil
}

// patchText returns the version that a patch is for, as the audit log has it.
func patchText(id storage.PatchID) string {
	return "product " + strconv.Itoa(id.Product) + ", version " + id.Version
}
