package records

import (
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
func checkEntries[ID ~uint32](tx engine.Reader, entries []entry, id ID) error {
	for _, e := range entries {
		if e.index == "" {
			continue
		}
		other, err := lookup[ID](tx, e.t, []byte(e.key))
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
