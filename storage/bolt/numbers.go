package bolt

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// lastNumber returns the last number of a table, 0 if there is none yet.
func lastNumber(tx *bbolt.Tx, t engine.Table) (uint64, error) {
	b := tx.Bucket([]byte(bucketSequences))
	if b == nil {
		return 0, fmt.Errorf("%w: bucket %s is missing", engine.ErrDamaged, bucketSequences)
	}
	value := b.Get([]byte(t))
	if value == nil {
		return 0, nil
	}
	content, err := engine.Unseal([]byte(t), value)
	if err == nil && len(content) != 8 {
		err = fmt.Errorf("%w: %d bytes", engine.ErrDamaged, len(content))
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", bucketSequences, t, err)
	}
	return binary.BigEndian.Uint64(content), nil
}

// putNumber stores the last number of a table, of which lastNumber found none that is
// higher.
func putNumber(tx *bbolt.Tx, t engine.Table, n uint64) error {
	return tx.Bucket([]byte(bucketSequences)).Put([]byte(t), engine.Seal([]byte(t), binary.BigEndian.AppendUint64(nil, n)))
}
