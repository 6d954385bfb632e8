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

// usageKey names the usage of a profile, to load it.
func usageKey(owner storage.ProfileID) engine.Key {
	return engine.Key{Table: tableFileUsage, Key: idKey(owner)}
}

// fileUsage returns the usage of a profile, or of all for 0.
func fileUsage(tx engine.Reader, owner storage.ProfileID) (storage.FileUsage, error) {
	if owner == 0 {
		s, err := readTotal(tx, totalFiles)
		return storage.FileUsage{Files: int(s.records), Bytes: s.bytes}, err
	}
	s, err := readSum(tx, tableFileUsage, idKey(owner))
	return storage.FileUsage{Files: int(s.records), Bytes: s.bytes}, err
}

// addFileUsage changes the usage of a profile and of all.
func (c *change) addFileUsage(owner storage.ProfileID, by sum) {
	c.addTotal(totalFiles, by)
	c.addSum(tableFileUsage, idKey(owner), by)
}

// loadUsage loads what addFileUsage reads, and other keys.
func (c *change) loadUsage(owner storage.ProfileID, more ...engine.Key) error {
	return c.Load(append(append(more, usageKey(owner)), c.totalKeys(totalFiles)...)...)
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
		if err := c.loadUsage(f.Owner, append(files.number(0), profiles.key(f.Owner))...); err != nil {
			return err
		}
		if _, err := profiles.get(c, f.Owner); err != nil {
			return err
		}
		if err := checkUsage(c, 0, f.Size, all); err != nil {
			return err
		}
		if err := checkUsage(c, f.Owner, f.Size, owner); err != nil {
			return err
		}
		next, err = c.createFile(f)
		return err
	})
	if err != nil {
		return storage.File{}, fmt.Errorf("file of profile %d: %w", f.Owner, err)
	}
	return next, nil
}

// checkUsage returns ErrFull if one more file exceeds a limit of a profile, or of all for
// 0. That of all may be exceeded by steps at the same time.
func checkUsage(tx engine.Reader, owner storage.ProfileID, size int64, limit storage.FileUsage) error {
	u, err := fileUsage(tx, owner)
	if err == nil && !u.With(size).Within(limit) {
		err = storage.ErrFull
	}
	return err
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
		f, err := files.get(c, id)
		if err != nil {
			return err
		}
		if err := c.loadUsage(f.Owner); err != nil {
			return err
		}
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
	keys, err := keysOf(c, engine.Prefix(tableFilesByOwner, idKey(owner)))
	if err != nil || len(keys) == 0 {
		return err
	}
	for i, key := range keys {
		keys[i] = key[len(key)-4:]
	}
	if err := c.loadUsage(owner, keysIn(tableFiles, keys)...); err != nil {
		return err
	}
	for _, key := range keys {
		f, err := get[storage.File](c, tableFiles, key)
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
	return read(ctx, s, func(tx engine.Reader) (storage.FileUsage, error) { return fileUsage(tx, owner) })
}

// HasContent is described in [storage.Files].
func (s *Store) HasContent(ctx context.Context, hash string) (found bool, err error) {
	prefix, err := hashPrefix(hash)
	if err != nil {
		return false, err
	}
	err = s.view(ctx, func(tx engine.Reader) error {
		n, err := count(tx, tableFilesByHash, prefix, 1)
		found = n > 0
		return err
	})
	return found, err
}

// AddDownloads is described in [storage.Files].
func (s *Store) AddDownloads(ctx context.Context, counts map[storage.FileID]int64) error {
	keys := make([]engine.Key, 0, len(counts))
	for id := range counts {
		keys = append(keys, files.key(id))
	}
	return s.change(ctx, func(c *change) error {
		if err := c.Load(keys...); err != nil {
			return err
		}
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
	f, err := get[storage.File](c, tableFiles, idKey(id))
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
