package records

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// motds are the messages of the day.
var motds = kind[storage.Motd]{
	table: tableMotds,
	key:   func(m *storage.Motd) []byte { return []byte(m.Game) },
	canon: storage.Motd.Canonical,
	most:  storage.MaxMotds,
}

// patches are the newer versions of games.
var patches = kind[storage.Patch]{
	table: tablePatches,
	key:   func(p *storage.Patch) []byte { return patchKey(p.PatchID) },
	canon: storage.Patch.Canonical,
	most:  storage.MaxPatches,
}

// patchKey is the key of a patch: the number of the product (4 bytes) and the version.
func patchKey(id storage.PatchID) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id.Product)), id.Version...)
}

// PutMotd is described in [storage.News].
func (s *Store) PutMotd(ctx context.Context, m storage.Motd) error { return motds.put(ctx, s, m) }

// RemoveMotd is described in [storage.News].
func (s *Store) RemoveMotd(ctx context.Context, game string) error {
	return motds.remove(ctx, s, []byte(game))
}

// Motds is described in [storage.News].
func (s *Store) Motds(ctx context.Context) iter.Seq2[storage.Motd, error] { return motds.all(ctx, s) }

// PutPatch is described in [storage.News].
func (s *Store) PutPatch(ctx context.Context, p storage.Patch) error { return patches.put(ctx, s, p) }

// RemovePatch is described in [storage.News].
func (s *Store) RemovePatch(ctx context.Context, id storage.PatchID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return patches.remove(ctx, s, patchKey(id))
}

// Patches is described in [storage.News].
func (s *Store) Patches(ctx context.Context) iter.Seq2[storage.Patch, error] {
	return patches.all(ctx, s)
}
