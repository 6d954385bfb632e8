package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// nickKey is the key of a profile in bucketNicks.
func nickKey(user storage.UserID, nick string) []byte {
	return append(idKey(user), storage.Fold(nick)...)
}

// uniqueNickKey is the key of a profile in bucketUniqueNicks.
func uniqueNickKey(namespace int, key string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(namespace)), key...)
}

// cdKeyKey is the key of a profile in bucketCDKeys. Names of games have no
// control characters, so NUL ends one.
func cdKeyKey(game, digest string) []byte { return append(gamePrefix(game), digest...) }

// foundByPrefix is the prefix of the keys in bucketFoundBy of all profiles with
// a value. The values have no NUL.
func foundByPrefix(by storage.ProfileIndex, value string) []byte {
	key := append([]byte{byte(by)}, storage.Fold(value)...)
	return append(key, 0)
}

// An entry is one key of an index that belongs to a profile.
type entry struct {
	bucket string
	key    string
	index  string // the index in a TakenError; empty: several profiles may have the key, followed by their ids
}

// entriesOf returns the index entries of a profile.
func entriesOf(p storage.Profile) []entry {
	all := []entry{{bucketNicks, string(nickKey(p.User, p.Nick)), storage.IndexNick}}
	for _, n := range p.UniqueNicks {
		all = append(all, entry{bucketUniqueNicks, string(uniqueNickKey(n.Namespace, n.Key)), storage.IndexUniqueNick})
	}
	for _, k := range p.CDKeys {
		all = append(all, entry{bucketCDKeys, string(cdKeyKey(k.Game, k.Digest)), storage.IndexCDKey})
		if k.Hash != "" {
			all = append(all, entry{bucketCDKeys, string(cdKeyKey(k.Game, k.Hash)), storage.IndexCDKey})
		}
	}
	foundBy := func(by storage.ProfileIndex, value string) {
		if value != "" {
			all = append(all, entry{bucketFoundBy, string(append(foundByPrefix(by, value), idKey(p.ID)...)), ""})
		}
	}
	foundBy(storage.ByNick, p.Nick)
	foundBy(storage.ByFirstName, p.FirstName)
	foundBy(storage.ByLastName, p.LastName)
	if p.ICQ != 0 {
		foundBy(storage.ByICQ, strconv.Itoa(int(p.ICQ)))
	}
	return all
}

// checkEntries returns an error if another profile has one of the unique keys.
func checkEntries(tx *bbolt.Tx, p storage.Profile) error {
	for _, e := range entriesOf(p) {
		if e.index == "" {
			continue
		}
		id, err := lookup[storage.ProfileID](tx, e.bucket, []byte(e.key))
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case err != nil:
			return err
		case id != p.ID:
			return &storage.TakenError{Index: e.index}
		}
	}
	return nil
}

// putProfile stores next and moves its index entries; old is nil if there was
// none.
func (c *change) putProfile(old []entry, next storage.Profile) error {
	entries := entriesOf(next)
	for _, e := range old {
		if slices.Contains(entries, e) {
			continue
		}
		if err := c.delete(e.bucket, []byte(e.key)); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if slices.Contains(old, e) {
			continue
		}
		var content []byte
		if e.index != "" {
			content = idKey(next.ID)
		}
		if err := c.putEntry(e.bucket, []byte(e.key), content); err != nil {
			return err
		}
	}
	return c.put(bucketProfiles, idKey(next.ID), next)
}

// prepareProfile assigns the id of a new profile and returns an error if a
// unique key is taken. It writes nothing.
func prepareProfile(tx *bbolt.Tx, p *storage.Profile) error {
	id, err := pickID(tx, bucketProfiles, metaProfile, storage.IndexProfileID, uint32(p.ID))
	if err != nil {
		return err
	}
	p.ID = storage.ProfileID(id)
	return checkEntries(tx, *p)
}

// createProfile stores a profile after prepareProfile.
func (c *change) createProfile(p *storage.Profile) (err error) {
	if p.Rev, err = c.nextRev(bucketProfiles); err != nil {
		return err
	}
	if err := c.usedID(metaProfile, uint32(p.ID)); err != nil {
		return err
	}
	c.append(bucketProfiles, idKey(p.ID))
	c.append(bucketNicks, nickKey(p.User, p.Nick))
	return c.putProfile(nil, *p)
}

// CreateProfile is described in [storage.Accounts].
func (s *Store) CreateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	p, err := p.Canonical()
	if err != nil {
		return storage.Profile{}, err
	}
	var next storage.Profile
	ctx, about := withMade(ctx)
	*about = uint32(p.User)
	err = s.change(ctx, func(c *change) error {
		next = p
		if _, err := getUser(c.Tx, p.User); err != nil {
			return err
		}
		if count(c.Tx, bucketNicks, idKey(p.User), storage.MaxProfiles) >= storage.MaxProfiles {
			return storage.ErrFull
		}
		if err := prepareProfile(c.Tx, &next); err != nil {
			return err
		}
		return c.createProfile(&next)
	})
	if err != nil {
		return storage.Profile{}, fmt.Errorf("create profile of user %d: %w", p.User, err)
	}
	return next, nil
}

// count returns the number of keys of a bucket that begin with prefix, or
// limit if there are more.
func count(tx *bbolt.Tx, bucket string, prefix []byte, limit int) int {
	n := 0
	c := tx.Bucket([]byte(bucket)).Cursor()
	for k, _ := c.Seek(prefix); n < limit && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		n++
	}
	return n
}

// GetProfile is described in [storage.Accounts].
func (s *Store) GetProfile(ctx context.Context, id storage.ProfileID) (p storage.Profile, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		return getByID(tx, bucketProfiles, metaProfile, id, &p)
	})
	return p, err
}

// ProfilesOf is described in [storage.Accounts].
func (s *Store) ProfilesOf(ctx context.Context, user storage.UserID) (all []storage.Profile, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		all, err = profilesOf(tx, user)
		return err
	})
	return all, err
}

// profilesOf returns the profiles of a user in the order of their nicks.
func profilesOf(tx *bbolt.Tx, user storage.UserID) (all []storage.Profile, err error) {
	prefix := idKey(user)
	c := tx.Bucket([]byte(bucketNicks)).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		id, err := openEntry(k, v)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", bucketNicks, k, err)
		}
		p, err := get[storage.Profile](tx, bucketProfiles, id)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// profileBy returns the profile to which a unique key belongs.
func (s *Store) profileBy(ctx context.Context, bucket string, key []byte) (p storage.Profile, err error) {
	if len(key) > bbolt.MaxKeySize {
		return p, storage.ErrNotFound
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		id, err := lookup[storage.ProfileID](tx, bucket, key)
		if err != nil {
			return err
		}
		return getByID(tx, bucketProfiles, metaProfile, id, &p)
	})
	return p, err
}

// ProfileByNick is described in [storage.Accounts].
func (s *Store) ProfileByNick(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error) {
	return s.profileBy(ctx, bucketNicks, nickKey(user, nick))
}

// ProfileByUniqueNick is described in [storage.Accounts].
func (s *Store) ProfileByUniqueNick(ctx context.Context, namespace int, key string) (storage.Profile, error) {
	return s.profileBy(ctx, bucketUniqueNicks, uniqueNickKey(namespace, key))
}

// NamespacesOfUniqueNick is described in [storage.Accounts].
func (s *Store) NamespacesOfUniqueNick(ctx context.Context, key string) (namespaces []int, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(bucketUniqueNicks)).Cursor()
		k, _ := c.First()
		for range storage.MaxNickNamespaces {
			if len(k) < 4 {
				return nil
			}
			namespace := binary.BigEndian.Uint32(k)
			want := uniqueNickKey(int(namespace), key)
			if k, _ = c.Seek(want); bytes.Equal(k, want) {
				namespaces = append(namespaces, int(namespace))
			}
			k, _ = c.Seek(uniqueNickKey(int(namespace)+1, ""))
		}
		return nil
	})
	return namespaces, err
}

// ProfileByCDKey is described in [storage.Accounts].
func (s *Store) ProfileByCDKey(ctx context.Context, game, digest string) (storage.Profile, error) {
	return s.profileBy(ctx, bucketCDKeys, cdKeyKey(game, digest))
}

// FindProfiles is described in [storage.Accounts].
func (s *Store) FindProfiles(ctx context.Context, by storage.ProfileIndex, value string,
) iter.Seq2[storage.Profile, error] {
	prefix := foundByPrefix(by, value)
	if value == "" || bytes.IndexByte(prefix[1:len(prefix)-1], 0) >= 0 {
		prefix = []byte{0} // no index: nothing is found, but context and store are checked
	}
	return iterate(ctx, s, bucketFoundBy, prefix, readByID[storage.Profile](bucketProfiles))
}

// UpdateProfile is described in [storage.Accounts].
func (s *Store) UpdateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	p, err := p.Canonical()
	if err != nil {
		return storage.Profile{}, err
	}
	var next storage.Profile
	err = s.change(ctx, func(c *change) error {
		next = p
		old, err := getProfile(c.Tx, p.ID)
		switch {
		case err != nil:
			return err
		case old.Rev != p.Rev:
			return storage.ErrConflict
		case old.User != p.User:
			return fmt.Errorf("%w: a profile never changes its user", storage.ErrInvalid)
		}
		if err := checkEntries(c.Tx, next); err != nil {
			return err
		}
		if next.Rev, err = c.nextRev(bucketProfiles); err != nil {
			return err
		}
		return c.putProfile(entriesOf(old), next)
	})
	if err != nil {
		return storage.Profile{}, fmt.Errorf("profile %d: %w", p.ID, err)
	}
	return next, nil
}

// DeleteProfile is described in [storage.Accounts].
func (s *Store) DeleteProfile(ctx context.Context, id storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		p, err := getProfile(c.Tx, id)
		if err != nil {
			return err
		}
		if count(c.Tx, bucketNicks, idKey(p.User), 2) < 2 {
			return storage.ErrLast
		}
		return c.dropProfile(p)
	})
}

// dropProfile removes a profile and all data that belongs to it.
func (c *change) dropProfile(p storage.Profile) error {
	for _, e := range entriesOf(p) {
		if err := c.delete(e.bucket, []byte(e.key)); err != nil {
			return err
		}
	}
	for _, pair := range pairBuckets() {
		if err := c.dropPairs(pair.there, pair.back, p.ID); err != nil {
			return err
		}
		if err := c.dropPairs(pair.back, pair.there, p.ID); err != nil {
			return err
		}
	}
	if err := c.delete(bucketMailboxes, idKey(p.ID)); err != nil {
		return err
	}
	if err := c.dropFiles(p.ID); err != nil {
		return err
	}
	if err := c.dropSake(p.ID); err != nil {
		return err
	}
	if _, err := c.dropStats(p.ID); err != nil {
		return err
	}
	if err := c.forgetMatches(p.ID); err != nil {
		return err
	}
	return c.delete(bucketProfiles, idKey(p.ID))
}
