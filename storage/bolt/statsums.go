package bolt

import (
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// The keys of bucketStatSums begin with the subject of the sum: of a profile (id
// follows), of a game (name follows), of all. A value has two numbers of 8 bytes:
// how many records, how many bytes.
const (
	sumProfile = 'p'
	sumGame    = 'g'
	sumBlocks  = 'b'
	sumReports = 'r'
	sumMatches = 'm' // of a game
)

// A sum counts records, so that no step has to iterate over them.
type sum struct {
	records int64
	bytes   int64
}

// readSum returns a sum, zero if there is none.
func readSum(tx *bbolt.Tx, key []byte) (sum, error) {
	v := tx.Bucket([]byte(bucketStatSums)).Get(key)
	if v == nil {
		return sum{}, nil
	}
	content, err := openEntry(key, v)
	if err == nil && len(content) != 16 {
		err = fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(content))
	}
	if err != nil {
		return sum{}, fmt.Errorf("%s %q: %w", bucketStatSums, key, err)
	}
	return sum{int64(binary.BigEndian.Uint64(content)), int64(binary.BigEndian.Uint64(content[8:]))}, nil
}

// putSum stores a sum, or removes it if nothing is counted.
func (c *change) putSum(key []byte, s sum) error {
	if s == (sum{}) {
		return c.delete(bucketStatSums, key)
	}
	content := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(s.records))
	return c.putEntry(bucketStatSums, key, binary.BigEndian.AppendUint64(content, uint64(s.bytes)))
}

// addSum changes a sum and returns it.
func (c *change) addSum(key []byte, records, size int64) (sum, error) {
	s, err := readSum(c.Tx, key)
	if err != nil {
		return s, err
	}
	s.records += records
	s.bytes += size
	return s, c.putSum(key, s)
}

func profileSumKey(id storage.ProfileID) []byte { return append([]byte{sumProfile}, idKey(id)...) }

// statSize returns how much a profile has stored.
func statSize(tx *bbolt.Tx, id storage.ProfileID) (storage.StatSize, error) {
	s, err := readSum(tx, profileSumKey(id))
	return storage.StatSize{Blocks: int(s.records), Bytes: s.bytes}, err
}

// putSize stores how much a profile has stored, and changes the total.
func (c *change) putSize(id storage.ProfileID, size storage.StatSize) error {
	old, err := statSize(c.Tx, id)
	if err != nil || old == size {
		return err
	}
	if _, err := c.addSum([]byte{sumBlocks}, int64(size.Blocks-old.Blocks), size.Bytes-old.Bytes); err != nil {
		return err
	}
	return c.putSum(profileSumKey(id), sum{int64(size.Blocks), size.Bytes})
}

// StatTotals is described in [storage.Stats].
func (s *Store) StatTotals(ctx context.Context) (storage.StatTotals, error) {
	var blocks, reports sum
	err := s.view(ctx, func(tx *bbolt.Tx) (err error) {
		if blocks, err = readSum(tx, []byte{sumBlocks}); err != nil {
			return err
		}
		reports, err = readSum(tx, []byte{sumReports})
		return err
	})
	if err != nil {
		return storage.StatTotals{}, err
	}
	return storage.StatTotals{
		Blocks: int(blocks.records), BlockBytes: blocks.bytes, Reports: int(reports.records), ReportBytes: reports.bytes,
	}, nil
}
