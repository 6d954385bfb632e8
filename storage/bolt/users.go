package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// idKey is the key of a user or a profile, and the value of an index.
func idKey[ID storage.UserID | storage.ProfileID](id ID) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(id))
}

// emailKey is the key of a user in bucketUsersByEmail.
func emailKey(partner int, email string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(partner)), storage.Fold(email)...)
}

// lookup returns the id in an index under a key, or ErrNotFound.
func lookup[ID storage.UserID | storage.ProfileID](tx *bbolt.Tx, bucket string, key []byte) (ID, error) {
	v := tx.Bucket([]byte(bucket)).Get(key)
	if v == nil {
		return 0, storage.ErrNotFound
	}
	content, err := openEntry(key, v)
	if err == nil && len(content) != 4 {
		err = storage.ErrDamaged
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	return ID(binary.BigEndian.Uint32(content)), nil
}

// getByID reads the record of a user or profile. The error is ErrDeleted if
// there was one and ErrNotFound if there never was; last is the key of the last
// assigned id.
func getByID[R any, ID storage.UserID | storage.ProfileID](tx *bbolt.Tx, bucket, last string, id ID, record *R) error {
	err := getInto(tx, bucket, idKey(id), record)
	if id == 0 || !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	n, damage := lastID(tx, last)
	if damage != nil {
		return damage
	}
	if uint32(id) <= n {
		return storage.ErrDeleted
	}
	return err
}

func getUser(tx *bbolt.Tx, id storage.UserID) (u storage.User, err error) {
	err = getByID(tx, bucketUsers, metaUser, id, &u)
	return u, err
}

func getProfile(tx *bbolt.Tx, id storage.ProfileID) (p storage.Profile, err error) {
	err = getByID(tx, bucketProfiles, metaProfile, id, &p)
	return p, err
}

// lastID returns the last assigned id, 0 if there is none.
func lastID(tx *bbolt.Tx, name string) (uint32, error) {
	n, err := metaNumber(tx, name, 4)
	return uint32(n), err
}

// pickID returns the id for a new record: want if it is free, or the next one
// if want is 0.
func pickID(tx *bbolt.Tx, bucket, last, index string, want uint32) (uint32, error) {
	if want == 0 {
		id, err := lastID(tx, last)
		if err != nil {
			return 0, err
		}
		if id++; id > storage.MaxAccountID {
			return 0, fmt.Errorf("ids of %s: %w", bucket, storage.ErrFull)
		}
		return id, nil
	}
	if tx.Bucket([]byte(bucket)).Get(binary.BigEndian.AppendUint32(nil, want)) != nil {
		return 0, &storage.TakenError{Index: index}
	}
	return want, nil
}

// usedID records that an id was assigned.
func (c *change) usedID(name string, id uint32) error {
	last, err := lastID(c.Tx, name)
	if err != nil || id <= last {
		return err
	}
	return c.putEntry(bucketMeta, []byte(name), binary.BigEndian.AppendUint32(nil, id))
}

// CreateUser is described in [storage.Accounts].
func (s *Store) CreateUser(ctx context.Context, u storage.User, first storage.Profile,
) (storage.User, storage.Profile, error) {
	user, profiles, err := s.ImportUser(ctx, u, []storage.Profile{first})
	if err != nil {
		return storage.User{}, storage.Profile{}, err
	}
	return user, profiles[0], nil
}

// ImportUser is described in [storage.Accounts].
func (s *Store) ImportUser(ctx context.Context, u storage.User, profiles []storage.Profile,
) (storage.User, []storage.Profile, error) {
	if len(profiles) == 0 || len(profiles) > storage.MaxProfiles {
		return storage.User{}, nil, fmt.Errorf("%w: %d profiles, want 1 to %d", storage.ErrInvalid, len(profiles), storage.MaxProfiles)
	}
	u, err := u.Canonical()
	if err != nil {
		return storage.User{}, nil, err
	}
	wanted := make([]storage.Profile, len(profiles))
	for i, p := range profiles {
		p.User = u.ID
		if wanted[i], err = p.Canonical(); err != nil {
			return storage.User{}, nil, err
		}
	}
	var user storage.User
	var made []storage.Profile
	ctx, about := withMade(ctx)
	err = s.change(ctx, func(c *change) (err error) {
		made = slices.Clone(wanted)
		user, err = c.createUser(u, made)
		*about = uint32(user.ID)
		return err
	})
	if err != nil {
		return storage.User{}, nil, fmt.Errorf("create user: %w", err)
	}
	s.users.now.Add(1)
	return user, made, nil
}

// createUser stores a user with its profiles and fills in their ids and
// revisions. Nothing is written before the user and the first profile are
// checked, so that most refusals do not affect the other steps of a group.
func (c *change) createUser(u storage.User, profiles []storage.Profile) (storage.User, error) {
	id, err := pickID(c.Tx, bucketUsers, metaUser, storage.IndexUserID, uint32(u.ID))
	if err != nil {
		return u, err
	}
	u.ID = storage.UserID(id)
	if err := checkEmail(c.Tx, u); err != nil {
		return u, err
	}
	for i := range profiles {
		p := &profiles[i]
		p.User = u.ID
		if err := prepareProfile(c.Tx, p); err != nil {
			return u, err
		}
		if i == 0 {
			if u, err = c.newUser(u); err != nil {
				return u, err
			}
		}
		if err := c.createProfile(p); err != nil {
			return u, err
		}
	}
	return u, nil
}

// newUser stores a user with an assigned id and returns it with its revision.
func (c *change) newUser(u storage.User) (_ storage.User, err error) {
	if u.Rev, err = c.nextRev(bucketUsers); err != nil {
		return u, err
	}
	if err := c.usedID(metaUser, uint32(u.ID)); err != nil {
		return u, err
	}
	if err := c.addUsers(1); err != nil {
		return u, err
	}
	c.append(bucketUsers, idKey(u.ID))
	return u, c.putUser(storage.User{}, u)
}

// checkEmail returns an error for an e-mail that another user has.
func checkEmail(tx *bbolt.Tx, u storage.User) error {
	id, err := lookup[storage.UserID](tx, bucketUsersByEmail, emailKey(u.Partner, u.Email))
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil
	case err != nil:
		return err
	case id != u.ID:
		return &storage.TakenError{Index: storage.IndexUserEmail}
	}
	return nil
}

// putUser stores next and moves its index entry; old is the zero User if there
// was none.
func (c *change) putUser(old, next storage.User) error {
	was, is := emailKey(old.Partner, old.Email), emailKey(next.Partner, next.Email)
	if old.ID != 0 && string(was) != string(is) {
		if err := c.delete(bucketUsersByEmail, was); err != nil {
			return err
		}
	}
	if err := c.putEntry(bucketUsersByEmail, is, idKey(next.ID)); err != nil {
		return err
	}
	return c.put(bucketUsers, idKey(next.ID), next)
}

// GetUser is described in [storage.Accounts].
func (s *Store) GetUser(ctx context.Context, id storage.UserID) (u storage.User, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		return getByID(tx, bucketUsers, metaUser, id, &u)
	})
	return u, err
}

// UserByEmail is described in [storage.Accounts].
func (s *Store) UserByEmail(ctx context.Context, partner int, email string) (u storage.User, err error) {
	if len(email) > storage.MaxEmail {
		return u, storage.ErrNotFound
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		id, err := lookup[storage.UserID](tx, bucketUsersByEmail, emailKey(partner, email))
		if err != nil {
			return err
		}
		return getByID(tx, bucketUsers, metaUser, id, &u)
	})
	return u, err
}

// UpdateUser is described in [storage.Accounts].
func (s *Store) UpdateUser(ctx context.Context, u storage.User) (storage.User, error) {
	u, err := u.Canonical()
	if err != nil {
		return storage.User{}, err
	}
	var next storage.User
	err = s.change(ctx, func(c *change) error {
		next = u
		old, err := getUser(c.Tx, u.ID)
		switch {
		case err != nil:
			return err
		case old.Rev != u.Rev:
			return storage.ErrConflict
		}
		if err := checkEmail(c.Tx, next); err != nil {
			return err
		}
		if next.Rev, err = c.nextRev(bucketUsers); err != nil {
			return err
		}
		return c.putUser(old, next)
	})
	if err != nil {
		return storage.User{}, fmt.Errorf("user %d: %w", u.ID, err)
	}
	return next, nil
}

// DeleteUser is described in [storage.Accounts].
func (s *Store) DeleteUser(ctx context.Context, id storage.UserID) error {
	err := s.change(ctx, func(c *change) error {
		u, err := getUser(c.Tx, id)
		if err != nil {
			return err
		}
		profiles, err := profilesOf(c.Tx, id)
		if err != nil {
			return err
		}
		for _, p := range profiles {
			if err := c.dropProfile(p); err != nil {
				return err
			}
		}
		if err := c.delete(bucketUsersByEmail, emailKey(u.Partner, u.Email)); err != nil {
			return err
		}
		return errors.Join(c.addUsers(-1), c.delete(bucketUsers, idKey(id)))
	})
	if err == nil {
		s.users.now.Add(-1)
	}
	return err
}

// CountUsers is described in [storage.Accounts].
func (s *Store) CountUsers(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.group.isStopped() {
		return 0, storage.ErrClosed
	}
	return int(s.users.now.Load()), nil
}

// Users is described in [storage.Accounts].
func (s *Store) Users(ctx context.Context, after storage.UserID) iter.Seq2[storage.User, error] {
	return iterateFrom(ctx, s, bucketUsers, []byte{}, idKey(min(after, storage.MaxAccountID)+1), readRecord[storage.User])
}
