package records

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// hashPrefix is the prefix of the keys in tableFilesByHash of all files with a
// content: the bytes of its hash.
func hashPrefix(hash string) ([]byte, error) {
	if err := storage.CheckFileHash(hash); err != nil {
		return nil, err
	}
	return hex.DecodeString(hash)
}

// fileEntries returns the index entries of a file.
func fileEntries(f storage.File) ([]entry, error) {
	prefix, err := hashPrefix(f.Hash)
	return []entry{
		{t: tableFilesByOwner, key: string(append(idKey(f.Owner), idKey(f.ID)...))},
		{t: tableFilesByHash, key: string(append(prefix, idKey(f.ID)...))},
	}, err
}

// fileUsage returns the usage of a profile, or of all for 0.
func (v *view) fileUsage(owner storage.ProfileID) storage.FileUsage {
	var s sum
	if owner == 0 {
		s = v.total(totalFiles)
	} else {
		s = v.sum(tableFileUsage, idKey(owner))
	}
	return storage.FileUsage{Files: int(s.records), Bytes: s.bytes}
}

// addFileUsage changes the usage of a profile and of all.
func (c *change) addFileUsage(owner storage.ProfileID, by sum) {
	c.addTotal(totalFiles, by)
	c.addSum(tableFileUsage, idKey(owner), by)
}

// loadUsage loads what addFileUsage reads, and other keys.
func (c *change) loadUsage(owner storage.ProfileID, more ...engine.Key) {
	c.load(append(append(more, engine.Key{Table: tableFileUsage, Key: idKey(owner)}), c.totalKeys(totalFiles)...)...)
}

// CreateFile is described in [storage.Files].
func (s *Store) CreateFile(ctx context.Context, f storage.File, owner, all storage.FileUsage) (storage.File, error) {
	f, err := f.Canonical()
	if err != nil {
		return storage.File{}, err
	}
	all.Files = min(all.Files, storage.MaxFiles)
	var next storage.File
	err = s.change(ctx, func(c *change) (err error) {
		c.loadUsage(f.Owner, append(files.number(0), profiles.key(f.Owner))...)
		if _, err := profiles.get(c.view, f.Owner); err != nil {
			return err
		}
		if !fits(c.view, 0, f.Size, all) || !fits(c.view, f.Owner, f.Size, owner) {
			return storage.ErrFull
		}
		next, err = c.createFile(f)
		return err
	})
	if err != nil {
		return storage.File{}, fmt.Errorf("file of profile %d: %w", f.Owner, err)
	}
	return next, nil
}

// fits reports whether one more file is within a limit of a profile, or of all for 0. That of all
// may be exceeded by steps at the same time.
func fits(v *view, owner storage.ProfileID, size int64, limit storage.FileUsage) bool {
	return v.fileUsage(owner).With(size).Within(limit)
}

// createFile stores a file after the checks and returns it with its id.
func (c *change) createFile(f storage.File) (_ storage.File, err error) {
	if f.ID, err = files.newID(c); err != nil {
		return f, err
	}
	entries, err := fileEntries(f)
	if err != nil {
		return f, err
	}
	c.moveEntries(nil, entries, nil)
	c.addFileUsage(f.Owner, sum{1, f.Size})
	c.put(tableFiles, idKey(f.ID), f)
	return f, nil
}

// FilesOf is described in [storage.Files].
func (s *Store) FilesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.File, error] {
	return follow(ctx, s, engine.Prefix(tableFilesByOwner, idKey(owner)), tableFiles, lastID, readRecord[storage.File])
}

// GetFile is described in [storage.Files].
func (s *Store) GetFile(ctx context.Context, id storage.FileID) (storage.File, error) {
	return files.fetch(ctx, s, id)
}

// DeleteFile is described in [storage.Files].
func (s *Store) DeleteFile(ctx context.Context, id storage.FileID) error {
	return s.change(ctx, func(c *change) error {
		f, err := files.get(c.view, id)
		if err != nil {
			return err
		}
		c.loadUsage(f.Owner)
		return c.dropFile(f)
	})
}

// dropFile removes a file from everything that names or counts it.
func (c *change) dropFile(f storage.File) error {
	entries, err := fileEntries(f)
	if err != nil {
		return err
	}
	c.moveEntries(entries, nil, nil)
	c.addFileUsage(f.Owner, sum{-1, -f.Size})
	c.delete(tableFiles, idKey(f.ID))
	return nil
}

// dropFiles removes the files of a profile.
func (c *change) dropFiles(owner storage.ProfileID) error {
	keys := c.keys(engine.Prefix(tableFilesByOwner, idKey(owner)))
	if len(keys) == 0 {
		return nil
	}
	for i, key := range keys {
		keys[i] = lastID(key)
	}
	c.loadUsage(owner, keysIn(tableFiles, keys)...)
	for _, key := range keys {
		f, err := get[storage.File](c.view, tableFiles, key)
		if err == nil {
			err = c.dropFile(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Files is described in [storage.Files].
func (s *Store) Files(ctx context.Context, after storage.FileID) iter.Seq2[storage.File, error] {
	return iterate(ctx, s, files.rangeAfter(after), readRecord[storage.File])
}

// FileUsage is described in [storage.Files].
func (s *Store) FileUsage(ctx context.Context, owner storage.ProfileID) (storage.FileUsage, error) {
	return look(ctx, s, func(v *view) storage.FileUsage { return v.fileUsage(owner) })
}

// HasContent is described in [storage.Files].
func (s *Store) HasContent(ctx context.Context, hash string) (found bool, err error) {
	prefix, err := hashPrefix(hash)
	if err != nil {
		return false, err
	}
	return look(ctx, s, func(v *view) bool { return v.count(tableFilesByHash, prefix, 1) > 0 })
}

// AddDownloads is described in [storage.Files].
func (s *Store) AddDownloads(ctx context.Context, counts map[storage.FileID]int64) error {
	keys := make([]engine.Key, 0, len(counts))
	for id := range counts {
		keys = append(keys, files.key(id))
	}
	return s.change(ctx, func(c *change) error {
		c.load(keys...)
		for id, n := range counts {
			if err := c.addDownloads(id, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// addDownloads adds to the number of downloads of a file, if there is one.
func (c *change) addDownloads(id storage.FileID, n int64) error {
	f, err := get[storage.File](c.view, tableFiles, idKey(id))
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Downloads += n
	if _, err := f.Canonical(); err != nil {
		return err
	}
	c.put(tableFiles, idKey(id), f)
	return nil
}
