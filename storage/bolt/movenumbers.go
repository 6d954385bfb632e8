package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// moveNumbers goes from schema 7 to 8. Schema 7 had the last numbers of tables in the
// headers of their buckets, without a checksum, or in the meta bucket; totals among other
// records; and a bucket in a bucket for each generation of the saved server list. Few
// values change, so one transaction is enough for any number of accounts.
func moveNumbers(tx *bbolt.Tx) error {
	if err := createBuckets(tx, "sequences", "marks", "counts"); err != nil {
		return err
	}
	for _, move := range []func(*bbolt.Tx) error{moveSequences, moveMeta, moveTotals, moveGenerations} {
		if err := move(tx); err != nil {
			return err
		}
	}
	return nil
}

// moveSequences moves the numbers of buckets. The number of one whose keys are numbers is
// at least the last of them, whatever the header says.
func moveSequences(tx *bbolt.Tx) error {
	numbers := make(map[string]uint64)
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if n := b.Sequence(); n > 0 && string(name) != "meta" {
			numbers[string(name)] = n
		}
		return nil
	})
	if err != nil {
		return err
	}
	for table, buckets := range map[string][]string{"audit": {"audit", "audit_players"}, "reports": {"reports"}, "matches": {"matches"}} {
		for _, name := range buckets {
			if last, _ := tx.Bucket([]byte(name)).Cursor().Last(); len(last) == 8 {
				numbers[table] = max(numbers[table], binary.BigEndian.Uint64(last))
			}
		}
	}
	for table, n := range numbers {
		if err := putSequence(tx, table, n); err != nil {
			return err
		}
		if err := tx.Bucket([]byte(table)).SetSequence(0); err != nil {
			return err
		}
	}
	return nil
}

// putSequence stores the last number of a table.
func putSequence(tx *bbolt.Tx, table string, n uint64) error {
	return tx.Bucket([]byte("sequences")).Put([]byte(table), sealedEntry([]byte(table), binary.BigEndian.AppendUint64(nil, n)))
}

// moveMeta moves the numbers and marks of the meta bucket. What it has of the number of
// users and of audit entries is not needed any more.
func moveMeta(tx *bbolt.Tx) error {
	meta := tx.Bucket([]byte("meta"))
	for key, table := range map[string]string{"user": "user_ids", "profile": "profile_ids", "file": "file_ids"} {
		last, err := entryOf(meta, []byte(key), 4)
		if err != nil {
			return err
		}
		if last != nil {
			if err := putSequence(tx, table, uint64(binary.BigEndian.Uint32(last))); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"room", "copy"} {
		if value := meta.Get([]byte(key)); value != nil {
			if err := tx.Bucket([]byte("marks")).Put([]byte(key), bytes.Clone(value)); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"user", "profile", "file", "room", "copy", "users", "audit", "audit_players"} {
		if err := meta.Delete([]byte(key)); err != nil {
			return err
		}
	}
	return nil
}

// entryOf returns the content of an entry, nil if there is none.
func entryOf(b *bbolt.Bucket, key []byte, size int) ([]byte, error) {
	value := b.Get(key)
	if value == nil {
		return nil, nil
	}
	if len(value) != size+4 || !bytes.Equal(sealedEntry(key, value[:size]), value) {
		return nil, fmt.Errorf("%w: the number under %q", engine.ErrDamaged, key)
	}
	return value[:size], nil
}

// moveTotals moves what is counted of all records, and counts the users.
func moveTotals(tx *bbolt.Tx) error {
	if err := putTotal(tx, "users", uint64(tx.Bucket([]byte("users")).Stats().KeyN)); err != nil {
		return err
	}
	for _, total := range []struct{ bucket, key, number, size string }{
		{"sake_meta", "A", "sake_records", "sake_bytes"},
		{"stat_sums", "b", "stat_blocks", "stat_block_bytes"},
		{"stat_sums", "r", "reports", "report_bytes"},
		{"file_usage", "\x00\x00\x00\x00", "files", "file_bytes"},
	} {
		b, key := tx.Bucket([]byte(total.bucket)), []byte(total.key)
		sum, err := entryOf(b, key, 16)
		if err != nil {
			return err
		}
		if sum == nil {
			continue
		}
		number, size := binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])
		if err := putTotal(tx, total.number, number); err != nil {
			return err
		}
		if err := putTotal(tx, total.size, size); err != nil {
			return err
		}
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// putTotal stores a count in one part.
func putTotal(tx *bbolt.Tx, name string, n uint64) error {
	if n == 0 {
		return nil
	}
	key := append([]byte(name), 0, 0) // part 0
	return tx.Bucket([]byte("counts")).Put(key, sealedEntry(key, binary.BigEndian.AppendUint64(nil, n)))
}

// moveGenerations moves the chunks of the saved server list out of their buckets.
func moveGenerations(tx *bbolt.Tx) error {
	servers := tx.Bucket([]byte("servers"))
	var generations [][]byte
	err := servers.ForEachBucket(func(k []byte) error {
		generations = append(generations, bytes.Clone(k))
		return nil
	})
	if err != nil {
		return err
	}
	servers.FillPercent = 1
	for _, generation := range generations {
		err := servers.Bucket(generation).ForEach(func(number, chunk []byte) error {
			key := append(append([]byte("\x00c"), generation...), number...)
			return servers.Put(key, bytes.Clone(chunk))
		})
		if err != nil {
			return err
		}
		if err := servers.DeleteBucket(generation); err != nil {
			return err
		}
	}
	head := servers.Get([]byte("head"))
	if head == nil {
		return nil
	}
	if err := servers.Put([]byte("\x00h"), movedRecord([]byte("head"), []byte("\x00h"), head)); err != nil {
		return err
	}
	return servers.Delete([]byte("head"))
}

// movedRecord returns the value of a record under another key. A damaged one stays
// recognizable.
func movedRecord(from, to, value []byte) []byte {
	moved := bytes.Clone(value)
	table := crc32.MakeTable(crc32.Castagnoli)
	if len(moved) >= 9 && binary.BigEndian.Uint32(moved[5:]) == crc32.Checksum(from, table) {
		binary.BigEndian.PutUint32(moved[5:], crc32.Checksum(to, table))
	}
	return moved
}
