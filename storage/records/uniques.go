package records

import (
	"context"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// An entry is one key of an index that belongs to a record.
type entry struct {
	t     engine.Table
	key   string
	index string // the index in a TakenError; empty: several records may have the key, followed by their ids
	more  string // what the entry has beside the id, if only one record may have it
}

// unique returns the keys of those entries that only one record may have, to load them.
func unique(entries []entry) (keys []engine.Key) {
	for _, e := range entries {
		if e.index != "" {
			keys = append(keys, engine.Key{Table: e.t, Key: []byte(e.key)})
		}
	}
	return keys
}

// checkEntries returns an error if another record than that with an id has one of the
// unique entries.
func checkEntries[ID ~uint32](v *view, entries []entry, id ID) error {
	for _, e := range entries {
		if e.index == "" {
			continue
		}
		other, err := lookup[ID](v, e.t, []byte(e.key))
		switch {
		case isMissing(err):
		case err != nil:
			return err
		case other != id:
			return &storage.TakenError{Index: e.index}
		}
	}
	return nil
}

// moveEntries stores the new entries of a record with an id and removes the old ones that
// it has no longer.
func (c *change) moveEntries(old, entries []entry, id []byte) {
	for _, e := range old {
		if slices.Contains(entries, e) {
			continue
		}
		c.delete(e.t, []byte(e.key))
	}
	for _, e := range entries {
		if slices.Contains(old, e) {
			continue
		}
		var content []byte
		if e.index != "" {
			content = append(slices.Clip(id), e.more...)
		}
		c.putEntry(e.t, []byte(e.key), content)
	}
}

// indexed is a kind of record with ids, revisions and entries in indexes.
type indexed[R any, ID ~uint32] struct {
	numbered[R, ID]
	entries func(*R) []entry
	head    func(*R) (*ID, *storage.Rev)
}

// The kinds that are indexed.
var (
	users = indexed[storage.User, storage.UserID]{
		numbered[storage.User, storage.UserID]{tableUsers, tableUserIDs},
		userEntries,
		func(u *storage.User) (*storage.UserID, *storage.Rev) { return &u.ID, &u.Rev },
	}
	profiles = indexed[storage.Profile, storage.ProfileID]{
		numbered[storage.Profile, storage.ProfileID]{tableProfiles, tableProfileIDs},
		profileEntries,
		func(p *storage.Profile) (*storage.ProfileID, *storage.Rev) { return &p.ID, &p.Rev },
	}
)

// create stores a record with an id of takeID, of which checkEntries found nothing taken, and
// fills in its revision.
func (n *indexed[R, ID]) create(c *change, r *R) {
	_, rev := n.head(r)
	*rev = storage.Rev(c.next(n.table))
	n.put(c, nil, r)
}

// put stores a record and moves its index entries.
func (n *indexed[R, ID]) put(c *change, old []entry, r *R) {
	id, _ := n.head(r)
	key := idKey(*id)
	c.moveEntries(old, n.entries(r), key)
	c.put(n.table, key, *r)
}

// update stores a record with a new revision, if its present one is current and check, which
// gets the record that is there, has no error.
func (n *indexed[R, ID]) update(ctx context.Context, s *Store, r R, check func(old *R) error) (R, error) {
	return perform(ctx, s, func(c *change) (R, error) {
		next := r
		id, rev := n.head(&next)
		entries := n.entries(&next)
		c.load(append(unique(entries), n.key(*id))...)
		old, err := n.get(c.view, *id)
		if err != nil {
			return next, err
		}
		if _, current := n.head(&old); *current != *rev {
			return next, storage.ErrConflict
		}
		if err = orElse(check(&old), checkEntries(c.view, entries, *id)); err != nil {
			return next, err
		}
		*rev = storage.Rev(c.next(n.table))
		n.put(c, n.entries(&old), &next)
		return next, nil
	})
}
