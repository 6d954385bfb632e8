package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// A migration brings a file from one schema to the next. It is called in one
// transaction after the other until it reports that it is done, and again from
// the start after a crash. It must not use the functions and types of the
// present schema, because those will change.
type migration func(tx *bbolt.Tx) (done bool, err error)

// migrations returns the steps in order: the first goes from schema 0 to 1. The
// present schema is their number.
func migrations() []migration {
	return []migration{
		once(wrapValues),
		// Schema 1 had no accounts and no buddies. A version without them must not use the file:
		// its backups would lack the sealing key.
		with("users", "users_by_email", "profiles", "nicks", "uniquenicks", "cdkeys", "found_by",
			"buddies", "buddy_of", "blocks", "blocked_by", "requests", "requests_from", "mailboxes"),
		// Schema 2 had no audit log. A version without it must not use the file: its changes would
		// not be recorded.
		with("audit"),
		sealKeys,
		// Schema 4 had no rules of chat and no CD keys. A program that does not know them must not
		// run on the file: it would let banned players talk, and banned keys play.
		with("chat_rules", "product_keys"),
		// Schema 5 had no data of games: no results, records and files of players, and no messages
		// of the day. A program that does not know them must not run on the file: the data of a
		// deleted profile would stay.
		with("motds", "patches", "files", "files_by_owner", "files_by_hash", "file_usage",
			"sake_tables", "sake_records", "sake_by_owner", "sake_ratings", "sake_meta",
			"stat_blocks", "stat_sums", "reports", "reports_of", "report_runs", "scores", "ranks", "rank_chunks",
			"matches", "matches_of", "matches_open", "match_players"),
		// Schema 6 had users and profiles as JSON only, which is still read. A program that does not
		// know the binary form must not run on the file: it would take accounts for damaged.
		with(),
		once(moveNumbers),
		// Schema 8 had no reports of players on games. A program that does not know them must not run
		// on the file: its copies would lack them.
		with("play_reports"),
	}
}

// once is a migration in one transaction.
func once(step func(tx *bbolt.Tx) error) migration {
	return func(tx *bbolt.Tx) (bool, error) { return true, step(tx) }
}

// with is a migration that creates buckets.
func with(buckets ...string) migration {
	return once(func(tx *bbolt.Tx) error { return createBuckets(tx, buckets...) })
}

// createBuckets creates the buckets that are missing.
func createBuckets[S ~string](tx *bbolt.Tx, names ...S) error {
	for _, name := range names {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}

// wrapValues goes from schema 0 to 1. Schema 0 had the bare JSON of a record as
// value and kept no server list.
func wrapValues(tx *bbolt.Tx) error {
	for _, name := range []string{"games", "rooms", "bans"} {
		b := tx.Bucket([]byte(name))
		if b == nil {
			continue
		}
		wrapped := make(map[string][]byte)
		err := b.ForEach(func(k, v []byte) error {
			if !json.Valid(v) {
				return fmt.Errorf("%w: %s %q", engine.ErrDamaged, name, k)
			}
			value := append([]byte{1, 0, 0, 0, 0}, v...) // layout version, checksum, JSON
			binary.BigEndian.PutUint32(value[1:], crc32.Checksum(v, crc32.MakeTable(crc32.Castagnoli)))
			wrapped[string(k)] = value
			return nil
		})
		if err != nil {
			return err
		}
		for k, v := range wrapped {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
	}
	return nil
}

// header is the content of a file's meta bucket.
type header struct {
	empty  bool // nothing was ever written
	schema uint64
}

// readHeader recognises files of respawnd.
func readHeader(tx *bbolt.Tx) (header, error) {
	if k, _ := tx.Cursor().First(); k == nil {
		return header{empty: true}, nil
	}
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil || !bytes.Equal(meta.Get([]byte(metaApp)), []byte(appName)) {
		return header{}, ErrNotOurs
	}
	schema := meta.Get([]byte(metaSchema))
	if len(schema) != 8 {
		return header{}, fmt.Errorf("%w: schema number", ErrNotOurs)
	}
	return header{schema: binary.BigEndian.Uint64(schema)}, nil
}

// upgrade recognises the file, saves a copy if it is older, and brings it to the present
// layout. A refused file is not changed.
func (e *Engine) upgrade(ctx context.Context, steps []migration) error {
	info, err := os.Stat(e.path)
	if err != nil {
		return err
	}
	var old header
	err = e.view(ctx, func(tx *bbolt.Tx) (err error) {
		e.check.later = e.check.later && info.Size() > e.check.atOpen
		old, err = e.examine(tx, info.Size())
		return e.explain(err)
	})
	if errors.Is(err, ErrNewer) {
		return e.wayBack(err)
	}
	if err != nil || e.check.later {
		return err
	}
	close(e.check.done)
	switch {
	case old.empty:
		return e.update(e.begin)
	case old.schema < e.layout.Version:
		return e.migrate(ctx, old.schema, steps)
	}
	return nil
}

// copyOf is the name of the copy of the file that an upgrade from a schema saves.
func (e *Engine) copyOf(schema uint64) string { return fmt.Sprintf("%s.schema%d.bak", e.path, schema) }

// wayBack adds to ErrNewer how to go back to the copy from before the upgrade, if it is there.
func (e *Engine) wayBack(err error) error {
	for newer := range e.layout.Version + 1 {
		saved := e.copyOf(e.layout.Version - newer)
		if info, lost := os.Stat(saved); lost == nil {
			return fmt.Errorf("%w; %s is from before that upgrade, at %s: to go back to it, and lose what changed since, run: mv %s %s",
				err, saved, info.ModTime().Format(time.DateTime), saved, e.path)
		}
	}
	return err
}

// begin makes an empty file one of the present layout.
func (e *Engine) begin(tx *bbolt.Tx) error {
	if err := e.createTables(tx); err != nil {
		return err
	}
	if err := tx.Bucket([]byte(bucketMeta)).Put([]byte(metaApp), []byte(appName)); err != nil {
		return err
	}
	return putSchema(tx, e.layout.Version)
}

// createTables creates the buckets of the present layout that are missing.
func (e *Engine) createTables(tx *bbolt.Tx) error {
	return createBuckets(tx, append([]engine.Table{bucketMeta, bucketSequences}, e.layout.Tables...)...)
}

// errOneHead reports a file with one damaged head.
var errOneHead = fmt.Errorf("%w: one of its two heads cannot be read", engine.ErrDamaged)

// report returns an error for damage that would silently hide data, and logs
// damage that readers of the damaged record would notice.
func (e *Engine) report(found *contents, present bool) error {
	if found.oneHead {
		// A power failure may cause this too. The file is then complete, in the
		// state before the unfinished change.
		e.log.Error().Str("file", e.path).Err(errOneHead).Msg("the change that was made last may be missing")
	}
	if !present {
		return nil
	}
	if err := found.lost.err(); err != nil {
		return err
	}
	if err := found.bad.err(); err != nil {
		e.log.Error().Str("file", e.path).Int("records", found.bad.n).Err(err).Msg("damaged records cannot be read; \"respawnd restore\" puts a backup in their place")
	}
	return nil
}

// migrate runs the steps from schema on, after a copy of the file was saved.
func (e *Engine) migrate(ctx context.Context, schema uint64, steps []migration) error {
	saved := e.copyOf(schema)
	resumed, err := e.sealing(ctx)
	if err != nil {
		return err
	}
	e.log.Info().Str("file", e.path).Uint64("schema", schema).Bool("resumed", resumed).Msg("upgrading the storage file; a large one takes a minute")
	if !resumed { // else the copy exists, and the file is already changed
		if err := e.copyTo(ctx, saved); err != nil {
			return fmt.Errorf("storage file %s: copy before the upgrade: %w", e.path, err)
		}
	}
	for ; schema < uint64(len(steps)); schema++ {
		err := e.step(ctx, schema, steps[schema])
		if err != nil {
			return fmt.Errorf("storage file %s: upgrade from schema %d (the old file is %s): %w",
				e.path, schema, saved, err)
		}
		e.log.Info().Str("file", e.path).Uint64("schema", schema+1).Str("saved", saved).Msg("storage file upgraded")
	}
	return nil
}

// step runs one migration to its end. The last one comes with the tables that are new, so
// that a file of the present schema lacks none.
func (e *Engine) step(ctx context.Context, schema uint64, run migration) error {
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := e.update(func(tx *bbolt.Tx) (err error) {
			if done, err = run(tx); err != nil || !done {
				return err
			}
			if schema+1 == e.layout.Version {
				err = e.createTables(tx)
			}
			return errors.Join(err, putSchema(tx, schema+1))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// putSchema writes the schema number.
func putSchema(tx *bbolt.Tx, schema uint64) error {
	return tx.Bucket([]byte(bucketMeta)).Put([]byte(metaSchema), binary.BigEndian.AppendUint64(nil, schema))
}
