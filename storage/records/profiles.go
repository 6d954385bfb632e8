package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// nickKey is the key of a profile in tableNicks.
func nickKey(user storage.UserID, nick string) []byte {
	return append(idKey(user), storage.Fold(nick)...)
}

// uniqueNickKey is the key of a profile in tableUniqueNicks.
func uniqueNickKey(namespace int, key string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(namespace)), key...)
}

// cdKeyKey is the key of a profile in tableCDKeys. Names of games have no
// control characters, so NUL ends one.
func cdKeyKey(game, digest string) []byte { return append(gamePrefix(game), digest...) }

// foundByPrefix is the prefix of the keys in tableFoundBy of all profiles with
// a value. The values have no NUL.
func foundByPrefix(by storage.ProfileIndex, value string) []byte {
	key := append([]byte{byte(by)}, storage.Fold(value)...)
	return append(key, 0)
}

// profileEntries returns the index entries of a profile.
func profileEntries(p *storage.Profile) []entry {
	all := []entry{{tableNicks, string(nickKey(p.User, p.Nick)), storage.IndexNick, ""}}
	for _, n := range p.UniqueNicks {
		all = append(all, entry{tableUniqueNicks, string(uniqueNickKey(n.Namespace, n.Key)), storage.IndexUniqueNick, string(idKey(p.User))})
	}
	for _, k := range p.CDKeys {
		all = append(all, entry{tableCDKeys, string(cdKeyKey(k.Game, k.Digest)), storage.IndexCDKey, ""})
		if k.Hash != "" {
			all = append(all, entry{tableCDKeys, string(cdKeyKey(k.Game, k.Hash)), storage.IndexCDKey, ""})
		}
	}
	foundBy := func(by storage.ProfileIndex, value string) {
		if value != "" {
			all = append(all, entry{tableFoundBy, string(append(foundByPrefix(by, value), idKey(p.ID)...)), "", ""})
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

// checkNew returns an error for a new profile if its id or a unique key of it is taken.
func checkNew(v *view, p storage.Profile) error {
	if err := profiles.checkID(v, p.ID, storage.IndexProfileID); err != nil {
		return err
	}
	return checkEntries(v, profileEntries(&p), p.ID)
}

// CreateProfile is described in [storage.Accounts].
func (s *Store) CreateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	p, err := p.Canonical()
	if err != nil {
		return storage.Profile{}, err
	}
	ctx, about := withMade(ctx)
	*about = uint32(p.User)
	next, err := perform(ctx, s, func(c *change) (storage.Profile, error) {
		next := p
		keys := append(unique(profileEntries(&p)), append(profiles.number(p.ID), users.key(p.User), profiles.key(p.ID))...)
		c.load(keys...)
		users.want(c.view, p.User)
		if c.count(tableNicks, idKey(p.User), storage.MaxProfiles) >= storage.MaxProfiles {
			return next, storage.ErrFull
		}
		if err := checkNew(c.view, p); err != nil {
			return next, err
		}
		id, err := profiles.takeID(c, p.ID)
		if next.ID = id; err == nil {
			profiles.create(c, &next)
		}
		return next, err
	})
	return next, wrapped(err, "create profile of user %d", p.User)
}

// GetProfile is described in [storage.Accounts].
func (s *Store) GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error) {
	return profiles.fetch(ctx, s, id)
}

// ProfilesOf is described in [storage.Accounts].
func (s *Store) ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error) {
	return look(ctx, s, func(v *view) []storage.Profile { return profilesOf(v, user) })
}

// profilesOf returns the profiles of a user in the order of their nicks.
func profilesOf(v *view, user storage.UserID) (all []storage.Profile) {
	var ids [][]byte
	for e := range v.entries(engine.Prefix(tableNicks, idKey(user)), 4) {
		ids = append(ids, e.Value)
	}
	v.load(keysIn(tableProfiles, ids)...)
	for _, id := range ids {
		all = append(all, want[storage.Profile](v, tableProfiles, id))
	}
	return all
}

// ProfileByNick is described in [storage.Accounts].
func (s *Store) ProfileByNick(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error) {
	return profiles.fetchBy(ctx, s, tableNicks, nickKey(user, nick))
}

// ProfileByUniqueNick is described in [storage.Accounts].
func (s *Store) ProfileByUniqueNick(ctx context.Context, namespace int, key string) (p storage.Profile, u storage.User, err error) {
	err = s.view(ctx, func(v *view) error {
		u = storage.User{}
		k := engine.Key{Table: tableUniqueNicks, Key: uniqueNickKey(namespace, key), Then: [2]engine.Table{tableProfiles, tableUsers}}
		if err := profiles.follow(v, k, &p); err != nil {
			return err
		}
		return users.getInto(v, p.User, &u) // an entry that schema 7 wrote does not lead to it
	})
	if err != nil {
		return storage.Profile{}, storage.User{}, err
	}
	return p, u, nil
}

// NamespacesOfUniqueNick is described in [storage.Accounts].
func (s *Store) NamespacesOfUniqueNick(ctx context.Context, key string) ([]int, error) {
	return look(ctx, s, func(v *view) (found []int) {
		all := namespaces(v)
		keys := loadEach(v, tableUniqueNicks, all, func(namespace int) []byte { return uniqueNickKey(namespace, key) })
		for i, namespace := range all {
			if v.has(tableUniqueNicks, keys[i]) {
				found = append(found, namespace)
			}
		}
		return found
	})
}

// namespaces returns the lowest namespaces of unique nicks.
func namespaces(v *view) (all []int) {
	rest := whole(tableUniqueNicks)
	for range storage.MaxNickNamespaces {
		e := v.first(rest)
		if len(e.Key) < 4 {
			break
		}
		namespace := int(binary.BigEndian.Uint32(e.Key))
		all = append(all, namespace)
		rest.From = uniqueNickKey(namespace+1, "")
	}
	return all
}

// ProfileByCDKey is described in [storage.Accounts].
func (s *Store) ProfileByCDKey(ctx context.Context, game, digest string) (storage.Profile, error) {
	return profiles.fetchBy(ctx, s, tableCDKeys, cdKeyKey(game, digest))
}

// FindProfiles is described in [storage.Accounts].
func (s *Store) FindProfiles(ctx context.Context, by storage.ProfileIndex, value string,
) iter.Seq2[storage.Profile, error] {
	prefix := foundByPrefix(by, value)
	if value == "" || bytes.IndexByte(prefix[1:len(prefix)-1], 0) >= 0 || len(prefix) > engine.MaxKey {
		prefix = []byte{0} // no index: nothing is found, but context and store are checked
	}
	return follow(ctx, s, engine.Prefix(tableFoundBy, prefix), tableProfiles, lastID, readRecord[storage.Profile])
}

// UpdateProfile is described in [storage.Accounts].
func (s *Store) UpdateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	p, err := p.Canonical()
	if err != nil {
		return storage.Profile{}, err
	}
	next, err := profiles.update(ctx, s, p, func(old *storage.Profile) error {
		if old.User != p.User {
			return fmt.Errorf("%w: a profile never changes its user", storage.ErrInvalid)
		}
		return nil
	})
	return next, wrapped(err, "profile %d", p.ID)
}

// DeleteProfile is described in [storage.Accounts].
func (s *Store) DeleteProfile(ctx context.Context, id storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		p := profiles.want(c.view, id)
		if c.count(tableNicks, idKey(p.User), 2) < 2 {
			return storage.ErrLast
		}
		c.dropProfile(p)
		return nil
	})
}

// dropProfile removes a profile and all data that belongs to it.
func (c *change) dropProfile(p storage.Profile) {
	c.moveEntries(profileEntries(&p), nil, nil)
	c.dropRelations(p.ID)
	c.delete(tableMailboxes, idKey(p.ID))
	c.dropFiles(p.ID)
	c.dropSake(p.ID)
	c.dropStats(p.ID)
	c.forgetMatches(p.ID)
	c.delete(tableProfiles, idKey(p.ID))
}
