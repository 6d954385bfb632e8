package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
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
	made := []storage.NewUser{{User: u, Profiles: []storage.Profile{first}}}
	ctx, about := withMade(ctx)
	err := s.importUsers(ctx, made, func() { *about = uint32(made[0].User.ID) })
	if err = orElse(err, made[0].Err); err != nil {
		return storage.User{}, storage.Profile{}, wrapped(err, "create user")
	}
	return made[0].User, made[0].Profiles[0], nil
}

// ImportUsers is described in [storage.Accounts].
func (s *Store) ImportUsers(ctx context.Context, list []storage.NewUser) error {
	return s.importUsers(ctx, list, func() {})
}

// importUsers is ImportUsers; made is called in the step, when all are stored.
func (s *Store) importUsers(ctx context.Context, list []storage.NewUser, made func()) error {
	wanted := slices.Clone(list)
	for i := range wanted {
		wanted[i].Err = canonicalNew(&wanted[i])
	}
	for {
		undo := false
		err := s.change(ctx, func(c *change) error {
			for i := range wanted {
				list[i] = wanted[i]
				list[i].Profiles = slices.Clone(wanted[i].Profiles)
			}
			at, err := c.createUsers(list)
			if undo = err != nil && at >= 0; undo {
				wanted[at].Err = err
			} else if err == nil {
				made()
			}
			return err
		})
		if !undo || !isRefusal(err) {
			return err
		}
	}
}

// canonicalNew brings a new user and its profiles into the form in which they are stored.
func canonicalNew(n *storage.NewUser) (err error) {
	if len(n.Profiles) == 0 || len(n.Profiles) > storage.MaxProfiles {
		return fmt.Errorf("%w: %d profiles, want 1 to %d", storage.ErrInvalid, len(n.Profiles), storage.MaxProfiles)
	}
	if n.User, err = n.User.Canonical(); err != nil {
		return err
	}
	n.Profiles = slices.Clone(n.Profiles)
	for i := range n.Profiles {
		n.Profiles[i].User = n.User.ID
		if n.Profiles[i], err = n.Profiles[i].Canonical(); err != nil {
			return err
		}
	}
	return nil
}

// createUsers stores users that have no Err, and sets that of those that are refused. If one is
// refused of which something was stored already, the step must be undone and done without it:
// it is at that index. For any other error the index is -1.
func (c *change) createUsers(list []storage.NewUser) (at int, err error) {
	var keys []engine.Key
	for i := range list {
		if list[i].Err == nil {
			keys = append(keys, c.keysOfNew(&list[i])...)
		}
	}
	c.load(keys...)
	c.drawIDs(list)
	for i := range list {
		n := &list[i]
		if n.Err != nil {
			continue
		}
		before := c.wrote
		c.wrote = false
		err := c.createUser(&n.User, n.Profiles)
		switch {
		case err == nil:
		case !isRefusal(err):
			return -1, err
		case c.wrote:
			return i, err
		}
		n.Err = err
		c.wrote = c.wrote || before
	}
	return -1, nil
}

// drawIDs draws the ids of many new users and profiles, and loads whether they are free, which
// else takes a round trip for each. None are drawn for users that are refused.
func (c *change) drawIDs(list []storage.NewUser) {
	if !c.shared || len(list) == 1 {
		return
	}
	var keys []engine.Key
	for _, n := range list {
		if n.Err != nil || checkEntries(c.view, userEntries(&n.User), n.User.ID) != nil {
			continue
		}
		id := users.draw(c, n.User.ID)
		keys = append(keys, users.key(id))
		for _, p := range n.Profiles {
			p.User = id
			keys = append(append(keys, profiles.key(profiles.draw(c, p.ID))), unique(profileEntries(&p))...)
		}
	}
	c.load(keys...)
}

// isRefusal reports whether an error is about one new record, and others can be stored.
func isRefusal(err error) bool {
	return errors.Is(err, storage.ErrTaken) || errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrFull)
}

// createUser stores a user with its profiles and fills in their ids and revisions. Nothing
// is written before the user and the first profile are checked, so that most refusals do
// not affect the other steps of a group.
func (c *change) createUser(u *storage.User, all []storage.Profile) error {
	if err := users.checkID(c.view, u.ID, storage.IndexUserID); err != nil {
		return err
	}
	if err := checkEntries(c.view, userEntries(u), u.ID); err != nil {
		return err
	}
	for i := range all {
		p := &all[i]
		p.User = u.ID // 0 for the first of a new user, who has no nicks yet
		err := checkNew(c.view, *p)
		if err == nil && i == 0 {
			c.addCount(countUsers, 1)
			err = users.create(c, u)
		}
		if err != nil {
			return err
		}
		p.User = u.ID
		if err := profiles.create(c, p); err != nil {
			return err
		}
	}
	return nil
}

// keysOfNew returns what createUser reads, to be loaded.
func (c *change) keysOfNew(n *storage.NewUser) []engine.Key {
	u := &n.User
	keys := append(unique(userEntries(u)), countUsers.part(c.part), users.key(u.ID))
	keys = append(keys, users.number(u.ID)...)
	for _, p := range n.Profiles {
		keys = append(append(keys, unique(profileEntries(&p))...), profiles.key(p.ID))
		keys = append(keys, profiles.number(p.ID)...)
	}
	return keys
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
	return next, wrapped(err, "user %d", u.ID)
}

// DeleteUser is described in [storage.Accounts].
func (s *Store) DeleteUser(ctx context.Context, id storage.UserID) error {
	return s.change(ctx, func(c *change) error {
		u := users.want(c.view, id)
		for _, p := range profilesOf(c.view, id) {
			c.dropProfile(p)
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
