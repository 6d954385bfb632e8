// Package records keeps the records of package storage in the tables of an engine: their
// encoding, indexes, limits, revisions and audit entries, once for all engines.
//
// A kind of record without rules of its own is declared as a value, see kind. The others
// have one file each.
//
// # Tables
//
//	table           key                                   value
//	servers         node, NUL, h                          list head: generation, chunks, time
//	                node, NUL, c, generation, chunk       chunk of a list (generation and chunk: 8 bytes)
//	games           name                                  game
//	rooms           id (4 bytes)                          room
//	rooms_by_game   game, NUL, id (4 bytes)               empty
//	bans            family, address, bits, scope          ban
//	chat_rules      kind, profile or address, channel     chat rule
//	product_keys    product (4 bytes), hash               CD key
//	motds           game                                  message of the day
//	patches         product (4 bytes), version            patch
//	added_servers   host:port                             server to be asked
//	hidden_servers  address (4 or 16 bytes), port         server that is hidden
//	users           id (4 bytes)                          user
//	users_by_email  partner (4 bytes), folded e-mail      user id
//	profiles        id (4 bytes)                          profile
//	nicks           user id, folded nick                  profile id
//	uniquenicks     namespace (4 bytes), key              profile id, user id, which schema 7 had not
//	cdkeys          game, NUL, digest or hash             profile id
//	found_by        index (1 byte), folded value, NUL, id empty
//	buddies         owner, buddy (ids)                    empty
//	buddy_of        buddy, owner                          empty
//	blocks          owner, other                          empty
//	blocked_by      other, owner                          empty
//	requests        to, from                              request
//	requests_from   from, to                              empty
//	mailboxes       to                                    messages that wait
//	files           id (4 bytes)                          file
//	files_by_owner  owner, id                             empty
//	files_by_hash   hash (32 bytes), id                   empty
//	file_usage      owner                                 number and size of files
//	sake_tables     game, NUL, folded name of table       SAKE table: number, columns
//	sake_records    table, id (4 bytes each)              SAKE record in binary form, see storage.SakeRow
//	sake_by_owner   owner, table, id                      empty
//	sake_ratings    table, id, author                     rating (1 byte)
//	sake_meta       see sakekeys.go                       counts, numbers
//	audit           number (8 bytes)                      entry of the audit log
//	audit_players   number (8 bytes)                      likewise, of changes by players
//	stat_blocks     profile, game, NUL, index, kind       data of a game for a player
//	stat_sums       profile or game                       number and size of records
//	reports         id (8 bytes)                          game that a server reported
//	reports_of      game, NUL, id (8 bytes)               empty
//	report_runs     game, NUL, connection, session        report id
//	scores          profile, game, NUL, board             score
//	ranks           game, NUL, board, NUL, value, profile empty
//	rank_chunks     likewise, of the first of a chunk     number of ranks in the chunk
//	matches         id (8 bytes)                          match of the competition service
//	matches_of      game, NUL, inverted id                empty
//	matches_open    id (8 bytes)                          empty: reports are missing
//	match_players   profile, id (8 bytes)                 empty
//	counts          name, NUL, part (1 byte)              part of a count (8 bytes), see counts.go
//	marks           room                                  id given out last (4 bytes)
//	                copy                                  which copy is not complete
//
// The ids of users, profiles and files are numbers of the tables user_ids, profile_ids and
// file_ids, which hold nothing. Numbers of other tables are revisions, and the ids of
// messages, reports, matches, audit entries and lists of servers. Daemons that share a
// database have more tables, see tables.go.
//
// Numbers in keys and values are big-endian, so that byte order is number order. Every
// value has checksums, also those that are empty here: records over their key and their
// payload (value.go), the others over both together (layout.go). They are checked whenever
// a value is read. A record that is damaged can be deleted but not changed.
//
// # Steps
//
// In a database each read that was not loaded costs a round trip, and two steps of which
// one reads what the other changes do not run at the same time. So a step loads together
// what it needs, and no row is changed by every step of a kind: sums of all are kept in
// parts (counts.go). A step keeps its first error, so that its code need not ask for it
// after each read (view.go).
package records

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// Options say how a store is used. The zero value is right for an engine that nothing else
// uses.
type Options struct {
	// Shared says that other daemons change the tables too.
	Shared bool
	// Node is the name of this daemon among them: each saves a server list of its own.
	Node string
	// Log gets what is wrong but makes no call fail.
	Log zerolog.Logger
}

// Store keeps records in an engine. It implements [storage.Store].
type Store struct {
	eng       engine.Engine
	opt       Options
	relations relations
	maxAudit  atomic.Int64 // entries
	list      savedList
	saving    chan struct{} // held while the saved server list changes
	parts     atomic.Uint32 // of counts, that steps changed, see change.part
	changed   func(table string, err error)
}

// New returns a store in an engine, which it owns: Close closes it.
func New(eng engine.Engine, opt Options) *Store {
	s := &Store{eng: eng, opt: opt, saving: make(chan struct{}, 1)}
	s.maxAudit.Store(storage.DefaultAuditEntries)
	s.parts.Store(rand.Uint32()) // daemons that start together change different ones
	return s
}

// OnChange sets the function that is called after each step that changes a table which daemons hold in
// memory, such as storage.TableBans, with the step's error. It is called before the store is used.
func (s *Store) OnChange(observe func(table string, err error)) { s.changed = observe }

// Close is described in [storage.Store].
func (s *Store) Close() error {
	s.relations.close()
	return s.eng.Close()
}

// view runs a step that reads.
func (s *Store) view(ctx context.Context, read func(*view) error) error {
	return s.eng.View(ctx, func(tx engine.Reader) error {
		v := view{Reader: tx}
		err := read(&v)
		return orElse(v.err, err)
	})
}

// read returns the result of a step that reads.
func read[T any](ctx context.Context, s *Store, fn func(*view) (T, error)) (result T, err error) {
	err = s.view(ctx, func(v *view) (err error) {
		result, err = fn(v)
		return err
	})
	return result, err
}

// look is read of what is there or not.
func look[T any](ctx context.Context, s *Store, fn func(*view) T) (T, error) {
	return read(ctx, s, func(v *view) (T, error) { return fn(v), nil })
}

// A change is a step that changes records. The errors of its changes are kept as those of its
// reads are.
type change struct {
	*view
	tx      engine.Tx
	shared  bool                      // a read that was not loaded costs a round trip
	number  bool                      // that of the audit entry is to be loaded
	part    byte                      // of the counts that it changes
	drawn   map[engine.Table][]uint64 // numbers that were drawn ahead, see draw
	wrote   bool
	touched []pair   // pairs whose relation changed
	held    []string // changed tables that daemons hold in memory, see heldAs
}

// load is that of view. The first one loads the number of the audit entry too.
func (c *change) load(keys ...engine.Key) {
	if c.number {
		keys, c.number = append(keys, engine.Key{Table: tableAudit}), false
	}
	c.view.load(keys...)
}

// change runs fn as a step, with the audit entry of ctx if it changed something. fn may run
// more than once; it must reset its results.
func (s *Store) change(ctx context.Context, fn func(*change) error) error {
	var touched []pair
	var held []string
	var part byte
	if s.opt.Shared {
		part = byte(s.parts.Add(1) % countParts)
	}
	_, audited := storage.AuditOf(ctx)
	err := s.eng.Update(ctx, func(tx engine.Tx) error {
		c := &change{view: &view{Reader: tx}, tx: tx, shared: s.opt.Shared, number: s.opt.Shared && audited, part: part}
		err := fn(c)
		touched, held = c.touched, c.held
		if err == nil && s.opt.Shared {
			c.raiseRevisions()
		}
		if err == nil && c.wrote {
			s.note(ctx, c)
		}
		return orElse(c.err, err)
	})
	s.relations.forget(touched)
	if s.changed != nil {
		for _, table := range held {
			s.changed(table, err)
		}
	}
	return err
}

// touch records that the relation of two profiles changes.
func (c *change) touch(one, other storage.ProfileID) {
	p, _ := newPair(one, other)
	c.touched = append(c.touched, p)
}

// put stores a record under a key.
func (c *change) put(t engine.Table, key []byte, record any) {
	value, err := encode(key, record)
	c.failed(err)
	c.putValue(t, key, value)
}

// putValue stores a value that is sealed.
func (c *change) putValue(t engine.Table, key, value []byte) {
	c.changes(t)
	if c.err == nil {
		c.failed(c.tx.Put(t, key, value))
	}
}

// putRaw stores a payload that is not JSON, in two parts, under a key.
func (c *change) putRaw(t engine.Table, key, head, data []byte) {
	c.putValue(t, key, sealRecord(key, head, data))
}

// putEntry stores an entry of an index, a pair or a number.
func (c *change) putEntry(t engine.Table, key, content []byte) {
	c.putValue(t, key, sealEntry(key, content))
}

// delete removes a key, which may be missing.
func (c *change) delete(t engine.Table, key []byte) {
	c.changes(t)
	if c.err == nil {
		c.failed(c.tx.Delete(t, key))
	}
}

// deleteAll removes keys of a table.
func (c *change) deleteAll(t engine.Table, keys [][]byte) {
	for _, key := range keys {
		c.delete(t, key)
	}
}

// remove deletes a key and reports whether it was there.
func (c *change) remove(t engine.Table, key []byte) bool {
	found := c.has(t, key)
	if found {
		c.delete(t, key)
	}
	return found
}

// removeAll deletes keys and returns how many were there.
func (c *change) removeAll(t engine.Table, keys [][]byte) (n int) {
	c.load(keysIn(t, keys)...)
	for _, key := range keys {
		if c.remove(t, key) {
			n++
		}
	}
	return n
}

// next returns the next number of a table, raise makes later ones higher than n.
func (c *change) next(t engine.Table) uint64 {
	if c.err != nil {
		return 0
	}
	n, err := c.tx.Next(t)
	c.failed(err)
	return n
}

func (c *change) raise(t engine.Table, n uint64) {
	if c.err == nil {
		c.failed(c.tx.Raise(t, n))
	}
}

// revise returns the revision for a record that is about to be stored: given is the
// caller's revision, found and err are the result of get for its key. A damaged record
// cannot be replaced, only deleted.
func (c *change) revise(t engine.Table, index string, given, found storage.Rev, err error) (storage.Rev, error) {
	missing := isMissing(err)
	switch {
	case err != nil && !missing:
		return 0, err
	case given == 0 && !missing:
		return 0, &storage.TakenError{Index: index}
	case given != 0 && missing:
		return 0, storage.ErrNotFound
	case given != 0 && given != found:
		return 0, storage.ErrConflict
	}
	return storage.Rev(c.next(t)), nil
}
