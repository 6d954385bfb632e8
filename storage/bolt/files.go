package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// fileKey is the key of a file.
func fileKey(id storage.FileID) []byte { return binary.BigEndian.AppendUint32(nil, uint32(id)) }

// fileOwnerKey is the key of a file in bucketFilesByOwner.
func fileOwnerKey(owner storage.ProfileID, id storage.FileID) []byte {
	return append(idKey(owner), fileKey(id)...)
}

// hashPrefix is the prefix of the keys in bucketFilesByHash of all files with a
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
		{bucket: bucketFilesByOwner, key: string(fileOwnerKey(f.Owner, f.ID))},
		{bucket: bucketFilesByHash, key: string(append(prefix, fileKey(f.ID)...))},
	}, err
}

// fileUsage reads the usage of a profile, or of all for 0.
func fileUsage(tx *bbolt.Tx, owner storage.ProfileID) (u storage.FileUsage, err error) {
	key := idKey(owner)
	value := tx.Bucket([]byte(bucketFileUsage)).Get(key)
	if value == nil {
		return u, nil
	}
	content, err := openEntry(key, value)
	if err == nil && len(content) != 16 {
		err = fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(content))
	}
	if err != nil {
		return u, fmt.Errorf("%s %q: %w", bucketFileUsage, key, err)
	}
	return storage.FileUsage{Files: int(binary.BigEndian.Uint64(content)), Bytes: int64(binary.BigEndian.Uint64(content[8:]))}, nil
}

// putFileUsage stores the usage of a profile, or of all for 0.
func (c *change) putFileUsage(owner storage.ProfileID, u storage.FileUsage) error {
	if u.Files <= 0 {
		return c.delete(bucketFileUsage, idKey(owner))
	}
	content := binary.BigEndian.AppendUint64(nil, uint64(u.Files))
	return c.putEntry(bucketFileUsage, idKey(owner), binary.BigEndian.AppendUint64(content, uint64(u.Bytes)))
}

// CreateFile is described in [storage.Files].
func (s *Store) CreateFile(ctx context.Context, f storage.File, owner, all storage.FileUsage) (storage.File, error) {
	f, err := f.Canonical()
	if err != nil {
		return storage.File{}, err
	}
	all.Files = min(all.Files, storage.MaxFiles)
	var next storage.File
	err = s.change(ctx, func(c *change) error {
		next = f
		if _, err := getProfile(c.Tx, f.Owner); err != nil {
			return err
		}
		total, totalErr := fileUsage(c.Tx, 0)
		own, ownErr := fileUsage(c.Tx, f.Owner)
		if err := errors.Join(totalErr, ownErr); err != nil {
			return err
		}
		total, own = total.With(f.Size), own.With(f.Size)
		if !total.Within(all) || !own.Within(owner) {
			return storage.ErrFull
		}
		last, err := lastID(c.Tx, metaFile)
		if err != nil {
			return err
		}
		if last >= storage.MaxAccountID { // clients read ids as numbers of 32 bits with a sign
			return storage.ErrFull
		}
		next.ID = storage.FileID(last + 1)
		entries, err := fileEntries(next)
		if err != nil {
			return err
		}
		for _, e := range entries {
			err = errors.Join(err, c.putEntry(e.bucket, []byte(e.key), nil))
		}
		return errors.Join(err, c.usedID(metaFile, last+1), c.put(bucketFiles, fileKey(next.ID), next),
			c.putFileUsage(0, total), c.putFileUsage(f.Owner, own))
	})
	if err != nil {
		return storage.File{}, fmt.Errorf("file of profile %d: %w", f.Owner, err)
	}
	return next, nil
}

// FilesOf is described in [storage.Files].
func (s *Store) FilesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.File, error] {
	return iterate(ctx, s, bucketFilesByOwner, idKey(owner), func(tx *bbolt.Tx, k, _ []byte) (storage.File, error) {
		return getFile(tx, storage.FileID(binary.BigEndian.Uint32(k[4:])))
	})
}

// getFile reads a file.
func getFile(tx *bbolt.Tx, id storage.FileID) (f storage.File, err error) {
	f, err = get[storage.File](tx, bucketFiles, fileKey(id))
	if id == 0 || !errors.Is(err, storage.ErrNotFound) {
		return f, err
	}
	last, damage := lastID(tx, metaFile)
	if damage != nil {
		return f, damage
	}
	if uint32(id) <= last {
		err = storage.ErrDeleted
	}
	return f, err
}

// GetFile is described in [storage.Files].
func (s *Store) GetFile(ctx context.Context, id storage.FileID) (f storage.File, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		f, err = getFile(tx, id)
		return err
	})
	return f, err
}

// DeleteFile is described in [storage.Files].
func (s *Store) DeleteFile(ctx context.Context, id storage.FileID) error {
	return s.change(ctx, func(c *change) error {
		f, err := getFile(c.Tx, id)
		if err != nil {
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
	for _, e := range entries {
		err = errors.Join(err, c.delete(e.bucket, []byte(e.key)))
	}
	for _, owner := range []storage.ProfileID{0, f.Owner} {
		u, readErr := fileUsage(c.Tx, owner)
		if readErr != nil {
			return readErr
		}
		err = errors.Join(err, c.putFileUsage(owner, storage.FileUsage{Files: u.Files - 1, Bytes: u.Bytes - f.Size}))
	}
	return errors.Join(err, c.delete(bucketFiles, fileKey(f.ID)))
}

// dropFiles removes the files of a profile.
func (c *change) dropFiles(owner storage.ProfileID) error {
	var ids []storage.FileID
	prefix := idKey(owner)
	cursor := c.Bucket([]byte(bucketFilesByOwner)).Cursor()
	for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cursor.Next() {
		ids = append(ids, storage.FileID(binary.BigEndian.Uint32(k[len(prefix):])))
	}
	for _, id := range ids {
		f, err := getFile(c.Tx, id)
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
	first := fileKey(after + 1)
	if after+1 == 0 {
		first = append(fileKey(after), 0)
	}
	return iterateFrom(ctx, s, bucketFiles, []byte{}, first, readRecord[storage.File])
}

// FileUsage is described in [storage.Files].
func (s *Store) FileUsage(ctx context.Context, owner storage.ProfileID) (u storage.FileUsage, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		u, err = fileUsage(tx, owner)
		return err
	})
	return u, err
}

// HasContent is described in [storage.Files].
func (s *Store) HasContent(ctx context.Context, hash string) (found bool, err error) {
	prefix, err := hashPrefix(hash)
	if err != nil {
		return false, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		k, _ := tx.Bucket([]byte(bucketFilesByHash)).Cursor().Seek(prefix)
		found = bytes.HasPrefix(k, prefix)
		return nil
	})
	return found, err
}

// AddDownloads is described in [storage.Files].
func (s *Store) AddDownloads(ctx context.Context, counts map[storage.FileID]int64) error {
	return s.change(ctx, func(c *change) error {
		for id, n := range counts {
			f, err := getFile(c.Tx, id)
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			if f.Downloads += n; err == nil {
				if _, err = f.Canonical(); err == nil {
					err = c.put(bucketFiles, fileKey(id), f)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
