package records

import (
	"encoding/binary"

	"github.com/respawnd/respawnd/storage/engine"
)

// A count is a number that many steps change, such as that of all users. It is kept in
// parts, so that steps in a database that several daemons share do not wait for each other:
// each step of a daemon changes the part after that of the step before. tableCounts has them
// under the name of the count, NUL and the number of the part, as 8 bytes. The count is their
// sum; a part may be below 0.
//
// The number of records of a kind with a limit is kept likewise, under the name of its
// table, in one part; see kind.count.
type countName string

// The counts.
const (
	countUsers          countName = "users"
	countProductKeys    countName = "product_keys"
	countFiles          countName = "files"
	countFileBytes      countName = "file_bytes"
	countSakeRecords    countName = "sake_records"
	countSakeBytes      countName = "sake_bytes"
	countStatBlocks     countName = "stat_blocks"
	countStatBlockBytes countName = "stat_block_bytes"
	countReports        countName = "reports"
	countReportBytes    countName = "report_bytes"
)

// countParts is the number of parts of a count.
const countParts = 64

func (n countName) prefix() []byte { return append([]byte(n), 0) }

// part names a part of a count, to load it.
func (n countName) part(i byte) engine.Key {
	return engine.Key{Table: tableCounts, Key: append(n.prefix(), i)}
}

// addCount adds to a count.
func (c *change) addCount(name countName, n int64) {
	key := name.part(c.part).Key
	if old := c.entry(tableCounts, key, 8); old != nil {
		n += int64(binary.BigEndian.Uint64(old))
	}
	c.putEntry(tableCounts, key, numberKey(uint64(n)))
}

// countOf returns a count. A step that changes something does not rely on it.
func (v *view) countOf(name countName) (n int64) {
	r := engine.Prefix(tableCounts, name.prefix())
	r.Loose = true
	for e := range v.entries(r, 8) {
		n += int64(binary.BigEndian.Uint64(e.Value))
	}
	return n
}
