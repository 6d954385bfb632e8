package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// sealStep is the number of values that sealKeys rewrites in one transaction,
// which holds them in memory.
const sealStep = 20000

// sealMark is the key in the meta bucket of the progress of sealKeys: the name
// of the bucket, NUL and the last rewritten key.
const sealMark = "sealing"

// sealing reports whether sealKeys was interrupted in this file.
func (e *Engine) sealing(ctx context.Context) (yes bool, err error) {
	err = e.view(ctx, func(tx *bbolt.Tx) error {
		yes = tx.Bucket([]byte("meta")).Get([]byte(sealMark)) != nil
		return nil
	})
	return yes, err
}

// sealKeys goes from schema 3 to 4. Schema 3 had no checksums over keys, so
// that a damaged key was not noticed: its value was silently missing. It
// rewrites every value, a part in each transaction.
func sealKeys(tx *bbolt.Tx) (done bool, err error) {
	records := []string{
		"games", "rooms", "bans", "added_servers", "hidden_servers", "users", "profiles", "requests", "mailboxes",
		"audit", "audit_players", "servers",
	}
	entries := []string{
		"rooms_by_game", "users_by_email", "nicks", "uniquenicks", "cdkeys", "found_by",
		"buddies", "buddy_of", "blocks", "blocked_by", "requests_from",
	}
	all := append(slices.Clone(records), entries...)
	meta := tx.Bucket([]byte("meta"))
	at, from, _ := bytes.Cut(bytes.Clone(meta.Get([]byte(sealMark))), []byte{0})
	for _, name := range all[max(slices.Index(all, string(at)), 0):] {
		if name != string(at) {
			from = nil
		}
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return false, err
		}
		seal := sealedEntry
		if slices.Contains(records, name) {
			seal = sealedRecord
		}
		last, err := sealPart(b, from, seal)
		if err != nil {
			return false, err
		}
		if last != nil {
			return false, meta.Put([]byte(sealMark), append(append([]byte(name), 0), last...))
		}
	}
	if err := meta.Delete([]byte(sealMark)); err != nil {
		return false, err
	}
	for _, name := range []string{"room", "user", "profile", "audit", "audit_players"} {
		if v := meta.Get([]byte(name)); v != nil {
			if err := meta.Put([]byte(name), sealedEntry([]byte(name), v)); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// sealPart seals the values of a bucket after the key from; nil: from the first
// on. It returns the last key if it left some for another transaction.
func sealPart(b *bbolt.Bucket, from []byte, seal func(key, value []byte) []byte) (last []byte, err error) {
	var keys, values [][]byte
	c := b.Cursor()
	k, v := c.First()
	if from != nil {
		if k, v = c.Seek(from); bytes.Equal(k, from) {
			k, v = c.Next()
		}
	}
	for ; k != nil && len(keys) < sealStep; k, v = c.Next() {
		if v == nil { // a bucket: chunks of a server list, which have checksums of their own
			continue
		}
		keys, values = append(keys, bytes.Clone(k)), append(values, seal(k, v))
	}
	b.FillPercent = 0.9 // keys are rewritten in order; most pages stay as full as they are
	for i, key := range keys {
		if err := b.Put(key, values[i]); err != nil {
			return nil, err
		}
	}
	if k == nil {
		return nil, nil
	}
	return keys[len(keys)-1], nil
}

// sealedRecord converts a record of schema 3, version 1, to schema 4. The
// checksum of the payload is kept, so that a damaged record stays recognizable.
func sealedRecord(key, value []byte) []byte {
	if len(value) < 5 || value[0] != 1 {
		return bytes.Clone(value)
	}
	sealed := append(append(make([]byte, 0, len(value)+4), 2), value[1:5]...)
	sealed = binary.BigEndian.AppendUint32(sealed, crc32.Checksum(key, crc32.MakeTable(crc32.Castagnoli)))
	return append(sealed, value[5:]...)
}

// sealedEntry converts an entry of schema 3, which is only its content, to
// schema 4.
func sealedEntry(key, content []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(key, table), table, content)
	return binary.BigEndian.AppendUint32(bytes.Clone(content), sum)
}
