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
	return s.change(ctx, func(c *change) error {
		for i := range wanted {
			list[i] = wanted[i]
			list[i].Profiles = slices.Clone(wanted[i].Profiles)
		}
		c.createUsers(list)
		made()
		return nil
	})
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

// createUsers stores users that have no Err, and sets that of those that are refused. Nothing
// of one is written before all of it is checked, so that a refusal affects no other.
func (c *change) createUsers(list []storage.NewUser) {
	var keys []engine.Key
	for i := range list {
		if list[i].Err == nil {
			keys = append(keys, c.keysOfNew(&list[i])...)
		}
	}
	c.load(keys...)
	for i := range list {
		n := &list[i]
		if n.Err == nil {
			n.Err = checkNewUser(c.view, n)
		}
		if n.Err == nil {
			n.Err = c.createUser(n)
		}
		if !isRefusal(n.Err) {
			c.failed(n.Err)
		}
	}
}

// checkNewUser returns an error if the id or a unique key of a new user, or of a profile of it,
// is taken, also by another of its profiles.
func checkNewUser(v *view, n *storage.NewUser) error {
	err := orElse(users.checkID(v, n.User.ID, storage.IndexUserID), checkEntries(v, userEntries(&n.User), n.User.ID))
	if err != nil {
		return err
	}
	owners := make(map[entry]int)
	for i, p := range n.Profiles {
		if err := checkNew(v, p); err != nil {
			return err
		}
		entries := profileEntries(&p)
		if p.ID != 0 {
			entries = append(entries, entry{tableProfiles, string(idKey(p.ID)), storage.IndexProfileID, ""})
		}
		for _, e := range entries {
			if owner, taken := owners[e]; taken && owner != i && e.index != "" {
				return &storage.TakenError{Index: e.index}
			}
			owners[e] = i
		}
	}
	return nil
}

// isRefusal reports whether an error is about one new record, and others can be stored.
func isRefusal(err error) bool {
	return errors.Is(err, storage.ErrTaken) || errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrFull)
}

// createUser stores a user with its profiles, which were checked, and fills in their ids and
// revisions.
func (c *change) createUser(n *storage.NewUser) (err error) {
	if n.User.ID, err = users.takeID(c, n.User.ID); err != nil {
		return err
	}
	for i := range n.Profiles {
		p := &n.Profiles[i]
		p.User = n.User.ID
		if p.ID, err = profiles.takeID(c, p.ID); err != nil {
			return err
		}
		if slices.ContainsFunc(n.Profiles[:i], func(o storage.Profile) bool { return o.ID == p.ID }) { // new ids and given ones
			return &storage.TakenError{Index: storage.IndexProfileID}
		}
	}
	c.addCount(countUsers, 1)
	users.create(c, &n.User)
	for i := range n.Profiles {
		profiles.create(c, &n.Profiles[i])
	}
	return nil
}

// keysOfNew returns what is read of a new user, to be loaded.
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
