// Package news holds the messages of the day and the patches that games show at their start, of
// the store and of the configuration. It counts the versions of games that ask.
//
// It stores nothing itself (package storage does) and knows no protocol.
package news

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/respawnd/respawnd/storage"
)

// MaxVersions is the number of versions that are counted. When there are more, the one
// that was seen the fewest times is forgotten.
const MaxVersions = 4096

// ErrConfigured reports a patch of the configuration, which only its file can change.
var ErrConfigured = errors.New("it is in the configuration: webservices.patches")

// Patch is a patch, and whether it is of the configuration.
type Patch struct {
	storage.Patch

	Configured bool `json:"configured,omitzero"`
}

// Version is a version of a game. It names no player.
type Version struct {
	Game    string `json:"game"` // empty: not in the catalogue
	Product int    `json:"product"`
	Version string `json:"version"`
}

// Count is how often games of a version have asked since the start.
type Count struct {
	Version

	Times int64 `json:"times"`
}

// Table has all messages and patches in memory. All methods may be called concurrently.
type Table struct {
	store storage.News

	// changing is held through a change, also while the store writes: the order in
	// which changes reach the store must be the order in which they come into force.
	changing sync.Mutex

	mu      sync.RWMutex // guards the fields below
	motds   map[string]storage.Motd
	patches map[storage.PatchID]storage.Patch // of the store
	text    string                            // message for all games without one
	fixed   map[storage.PatchID]storage.Patch // of the configuration
	seen    map[Version]int64
}

// New returns a table without news. Load fills it from store.
func New(store storage.News) *Table {
	return &Table{
		store: store, motds: make(map[string]storage.Motd), patches: make(map[storage.PatchID]storage.Patch),
		seen: make(map[Version]int64),
	}
}

// Load loads the records of the store. Damaged records are left out.
func (t *Table) Load(ctx context.Context) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	motds, patches := make(map[string]storage.Motd), make(map[storage.PatchID]storage.Patch)
	for m, err := range t.store.Motds(ctx) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return fmt.Errorf("load messages of the day: %w", err)
		}
		if err == nil {
			motds[m.Game] = m
		}
	}
	for p, err := range t.store.Patches(ctx) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return fmt.Errorf("load patches: %w", err)
		}
		if err == nil {
			patches[p.PatchID] = p
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.motds, t.patches = motds, patches
	return nil
}

// SetConfigured replaces the news of the configuration: the message for all games without
// one, and patches. Those of the store win.
func (t *Table) SetConfigured(text string, patches []storage.Patch) {
	fixed := make(map[storage.PatchID]storage.Patch, len(patches))
	for _, p := range patches {
		fixed[p.PatchID] = p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.fixed = text, fixed
}

// Motd returns the message of the day of a game, empty if there is none.
func (t *Table) Motd(game string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if m, ok := t.motds[game]; ok {
		return m.Text
	}
	return t.text
}

// Patch returns the patch for a version of a product.
func (t *Table) Patch(id storage.PatchID) (storage.Patch, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, ok := t.patches[id]
	if !ok {
		p, ok = t.fixed[id]
	}
	return p, ok
}

// Mirror returns a patch with the number of a file, for mirror lists.
func (t *Table) Mirror(file int) (storage.Patch, bool) {
	for _, p := range t.Patches() {
		if p.File == file && file != 0 && p.URL != "" {
			return p.Patch, true
		}
	}
	return storage.Patch{}, false
}

// Motds returns the messages of the store in the order of games.
func (t *Table) Motds() []storage.Motd {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Values(t.motds), func(a, b storage.Motd) int { return cmp.Compare(a.Game, b.Game) })
}

// Patches returns all patches in the order of their ids.
func (t *Table) Patches() []Patch {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var all []Patch
	for _, p := range t.patches {
		all = append(all, Patch{Patch: p})
	}
	for id, p := range t.fixed {
		if _, own := t.patches[id]; !own {
			all = append(all, Patch{p, true})
		}
	}
	slices.SortFunc(all, func(a, b Patch) int { return a.Compare(b.PatchID) })
	return all
}

// PutMotd stores the message of a game.
func (t *Table) PutMotd(ctx context.Context, m storage.Motd) error {
	m, err := m.Canonical()
	if err != nil {
		return err
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	if err := t.store.PutMotd(ctx, m); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.motds[m.Game] = m
	return nil
}

// RemoveMotd removes the message of a game. The error is storage.ErrNotFound if there is
// none.
func (t *Table) RemoveMotd(ctx context.Context, game string) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	if err := t.store.RemoveMotd(ctx, game); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.motds, game)
	return nil
}

// PutPatch stores a patch.
func (t *Table) PutPatch(ctx context.Context, p storage.Patch) error {
	p, err := p.Canonical()
	if err != nil {
		return err
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	if err := t.store.PutPatch(ctx, p); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.patches[p.PatchID] = p
	return nil
}

// RemovePatch removes a patch. The error is storage.ErrNotFound if there is none, and
// ErrConfigured if it is of the configuration only.
func (t *Table) RemovePatch(ctx context.Context, id storage.PatchID) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	err := t.store.RemovePatch(ctx, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, fixed := t.fixed[id]; fixed && errors.Is(err, storage.ErrNotFound) {
		return ErrConfigured
	}
	if err == nil {
		delete(t.patches, id)
	}
	return err
}

// See counts a version that asked. A version that cannot be stored is not counted.
func (t *Table) See(v Version) {
	id := storage.PatchID{Product: v.Product, Version: v.Version}
	if id.Check() != nil {
		return
	}
	v.Version = strings.Clone(v.Version) // it may be part of a larger text
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.seen[v]; !known && len(t.seen) >= MaxVersions {
		t.forgetRarest()
	}
	t.seen[v]++
}

// forgetRarest forgets a version with the lowest count. t.mu is held.
func (t *Table) forgetRarest() {
	var rarest Version
	least := int64(-1)
	for v, n := range t.seen {
		if least < 0 || n < least {
			rarest, least = v, n
		}
		if least == 1 {
			break
		}
	}
	delete(t.seen, rarest)
}

// Seen returns the versions that asked since the start, by game, product and version.
func (t *Table) Seen() []Count {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]Count, 0, len(t.seen))
	for v, n := range t.seen {
		all = append(all, Count{v, n})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Game, b.Game), cmp.Compare(a.Product, b.Product), cmp.Compare(a.Version.Version, b.Version.Version))
	})
	return all
}
