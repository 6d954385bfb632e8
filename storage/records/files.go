package records

import (
	"context"
	"encoding/hex"
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
func (c *change) fileEntries(f storage.File) []entry {
	prefix, err := hashPrefix(f.Hash)
	c.failed(err)
	return []entry{
		{t: tableFilesByOwner, key: string(append(idKey(f.Owner), idKey(f.ID)...))},
		{t: tableFilesByHash, key: string(append(prefix, idKey(f.ID)...))},
	}
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
	next, err := perform(ctx, s, func(c *change) (storage.File, error) {
		c.loadUsage(f.Owner, append(files.number(0), profiles.key(f.Owner))...)
		profiles.want(c.view, f.Owner)
		if !fits(c.view, 0, f.Size, all) || !fits(c.view, f.Owner, f.Size, owner) {
			return f, storage.ErrFull
		}
		return c.createFile(f), nil
	})
	return next, wrapped(err, "file of profile %d", f.Owner)
}

// fits reports whether one more file is within a limit of a profile, or of all for 0. That of all
// may be exceeded by steps at the same time.
func fits(v *view, owner storage.ProfileID, size int64, limit storage.FileUsage) bool {
	return v.fileUsage(owner).With(size).Within(limit)
}

// createFile stores a file after the checks and returns it with its id.
func (c *change) createFile(f storage.File) storage.File {
	id, err := files.newID(c)
	c.failed(err)
	f.ID = id
	c.moveEntries(nil, c.fileEntries(f), nil)
	c.addFileUsage(f.Owner, sum{1, f.Size})
	c.put(tableFiles, idKey(f.ID), f)
	return f
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
		f := files.want(c.view, id)
		c.loadUsage(f.Owner)
		c.dropFile(f)
		return nil
	})
}

// dropFile removes a file from everything that names or counts it.
func (c *change) dropFile(f storage.File) {
	c.moveEntries(c.fileEntries(f), nil, nil)
	c.addFileUsage(f.Owner, sum{-1, -f.Size})
	c.delete(tableFiles, idKey(f.ID))
}

// dropFiles removes the files of a profile.
func (c *change) dropFiles(owner storage.ProfileID) {
	keys := c.keys(engine.Prefix(tableFilesByOwner, idKey(owner)))
	if len(keys) == 0 {
		return
	}
	for i, key := range keys {
		keys[i] = lastID(key)
	}
	c.loadUsage(owner, keysIn(tableFiles, keys)...)
	for _, key := range keys {
		c.dropFile(want[storage.File](c.view, tableFiles, key))
	}
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
			c.addDownloads(id, n)
		}
		return nil
	})
}

// addDownloads adds to the number of downloads of a file, if there is one.
func (c *change) addDownloads(id storage.FileID, n int64) {
	f, err := get[storage.File](c.view, tableFiles, idKey(id))
	if isMissing(err) {
		return
	}
	f.Downloads += n
	if err == nil {
		_, err = f.Canonical()
	}
	c.failed(err)
	c.put(tableFiles, idKey(id), f)
}
