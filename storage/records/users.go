package records

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// emailKey is the key of a user in tableUsersByEmail.
func emailKey(partner int, email string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(partner)), storage.Fold(email)...)
}

// userEntries returns the index entries of a user.
func userEntries(u *storage.User) []entry {
	return []entry{{tableUsersByEmail, string(emailKey(u.Partner, u.Email)), storage.IndexUserEmail, ""}}
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
func (s *Store) ImportUser(ctx context.Context, u storage.User, all []storage.Profile) (storage.User, []storage.Profile, error) {
	if len(all) == 0 || len(all) > storage.MaxProfiles {
		return storage.User{}, nil, fmt.Errorf("%w: %d profiles, want 1 to %d", storage.ErrInvalid, len(all), storage.MaxProfiles)
	}
	u, err := u.Canonical()
	if err != nil {
		return storage.User{}, nil, err
	}
	wanted := make([]storage.Profile, len(all))
	for i, p := range all {
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
	return user, made, nil
}

// createUser stores a user with its profiles and fills in their ids and revisions. Nothing
// is written before the user and the first profile are checked, so that most refusals do
// not affect the other steps of a group.
func (c *change) createUser(u storage.User, all []storage.Profile) (storage.User, error) {
	c.loadNew(u, all)
	if err := users.checkID(c.view, u.ID, storage.IndexUserID); err != nil {
		return u, err
	}
	if err := checkEntries(c.view, userEntries(&u), u.ID); err != nil {
		return u, err
	}
	for i := range all {
		p := &all[i]
		p.User = u.ID // 0 for the first of a new user, who has no nicks yet
		err := checkNew(c.view, *p)
		if err == nil && i == 0 {
			c.addCount(countUsers, 1)
			err = users.create(c, &u)
		}
		if err != nil {
			return u, err
		}
		p.User = u.ID
		if err := profiles.create(c, p); err != nil {
			return u, err
		}
	}
	return u, nil
}

// loadNew loads what createUser reads.
func (c *change) loadNew(u storage.User, all []storage.Profile) {
	keys := append(unique(userEntries(&u)), countUsers.part(c.part), users.key(u.ID))
	keys = append(keys, users.number(u.ID)...)
	for _, p := range all {
		keys = append(append(keys, unique(profileEntries(&p))...), profiles.key(p.ID))
		keys = append(keys, profiles.number(p.ID)...)
	}
	c.load(keys...)
}

// GetUser is described in [storage.Accounts].
func (s *Store) GetUser(ctx context.Context, id storage.UserID) (storage.User, error) {
	return users.fetch(ctx, s, id)
}

// UserByEmail is described in [storage.Accounts].
func (s *Store) UserByEmail(ctx context.Context, partner int, email string) (storage.User, error) {
	if len(email) > storage.MaxEmail {
		return storage.User{}, storage.ErrNotFound
	}
	return users.fetchBy(ctx, s, tableUsersByEmail, emailKey(partner, email))
}

// UpdateUser is described in [storage.Accounts].
func (s *Store) UpdateUser(ctx context.Context, u storage.User) (storage.User, error) {
	u, err := u.Canonical()
	if err != nil {
		return storage.User{}, err
	}
	next, err := users.update(ctx, s, u, func(*storage.User) error { return nil })
	if err != nil {
		return storage.User{}, fmt.Errorf("user %d: %w", u.ID, err)
	}
	return next, nil
}

// DeleteUser is described in [storage.Accounts].
func (s *Store) DeleteUser(ctx context.Context, id storage.UserID) error {
	return s.change(ctx, func(c *change) error {
		u, err := users.get(c.view, id)
		if err != nil {
			return err
		}
		all, err := profilesOf(c.view, id)
		if err != nil {
			return err
		}
		for _, p := range all {
			if err := c.dropProfile(p); err != nil {
				return err
			}
		}
		c.moveEntries(userEntries(&u), nil, nil)
		c.addCount(countUsers, -1)
		c.delete(tableUsers, idKey(id))
		return nil
	})
}

// CountUsers is described in [storage.Accounts].
func (s *Store) CountUsers(ctx context.Context) (int, error) {
	n, err := look(ctx, s, func(v *view) int64 { return v.countOf(countUsers) })
	return int(n), err
}

// Users is described in [storage.Accounts].
func (s *Store) Users(ctx context.Context, after storage.UserID) iter.Seq2[storage.User, error] {
	return iterate(ctx, s, users.rangeAfter(after), readRecord[storage.User])
}
