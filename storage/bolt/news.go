package bolt

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// patchKey is the key of a patch: the number of the product (4 bytes) and the version.
func patchKey(id storage.PatchID) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id.Product)), id.Version...)
}

// PutMotd is described in [storage.News].
func (s *Store) PutMotd(ctx context.Context, m storage.Motd) error {
	m, err := m.Canonical()
	if err != nil {
		return err
	}
	return s.putBounded(ctx, bucketMotds, []byte(m.Game), m, storage.MaxMotds)
}

// RemoveMotd is described in [storage.News].
func (s *Store) RemoveMotd(ctx context.Context, game string) error {
	return s.removeKey(ctx, bucketMotds, []byte(game))
}

// Motds is described in [storage.News].
func (s *Store) Motds(ctx context.Context) iter.Seq2[storage.Motd, error] {
	return iterate(ctx, s, bucketMotds, []byte{}, readRecord[storage.Motd])
}

// PutPatch is described in [storage.News].
func (s *Store) PutPatch(ctx context.Context, p storage.Patch) error {
	p, err := p.Canonical()
	if err != nil {
		return err
	}
	return s.putBounded(ctx, bucketPatches, patchKey(p.PatchID), p, storage.MaxPatches)
}

// RemovePatch is described in [storage.News].
func (s *Store) RemovePatch(ctx context.Context, id storage.PatchID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.removeKey(ctx, bucketPatches, patchKey(id))
}

// Patches is described in [storage.News].
func (s *Store) Patches(ctx context.Context) iter.Seq2[storage.Patch, error] {
	return iterate(ctx, s, bucketPatches, []byte{}, readRecord[storage.Patch])
}
