package records

import (
	"context"
	"encoding/binary"

	"github.com/respawnd/respawnd/storage"
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

// The keys of tableStatSums begin with the subject of the sum. A value has two numbers of
// 8 bytes: how many records, how many bytes.
const (
	sumProfile = 'p' // and the id: blocks of a profile
	sumGame    = 'g' // and the name: reports of a game
	sumMatches = 'm' // and the name: matches of a game
)

// A sum counts records, so that no step has to iterate over them. Files and SAKE records are
// counted likewise in tables of their own.
type sum struct {
	records int64
	bytes   int64
}

// sum returns a sum, zero if there is none.
func (v *view) sum(t engine.Table, key []byte) sum {
	content := v.entry(t, key, 16)
	if content == nil {
		return sum{}
	}
	return sum{int64(binary.BigEndian.Uint64(content)), int64(binary.BigEndian.Uint64(content[8:]))}
}

// putSum stores a sum, or removes it if nothing is counted.
func (c *change) putSum(t engine.Table, key []byte, s sum) {
	if s == (sum{}) {
		c.delete(t, key)
		return
	}
	content := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(s.records))
	c.putEntry(t, key, binary.BigEndian.AppendUint64(content, uint64(s.bytes)))
}

// addSum changes a sum.
func (c *change) addSum(t engine.Table, key []byte, by sum) {
	s := c.sum(t, key)
	c.putSum(t, key, sum{s.records + by.records, s.bytes + by.bytes})
}

// A total is the sum of all records of a kind, kept as two counts.
type total struct{ records, bytes countName }

var (
	totalSake    = total{countSakeRecords, countSakeBytes}
	totalFiles   = total{countFiles, countFileBytes}
	totalBlocks  = total{countStatBlocks, countStatBlockBytes}
	totalReports = total{countReports, countReportBytes}
)

// totalKeys returns what addTotal reads.
func (c *change) totalKeys(t total) []engine.Key {
	return []engine.Key{t.records.part(c.part), t.bytes.part(c.part)}
}

// addTotal changes a total.
func (c *change) addTotal(t total, by sum) {
	if by.records != 0 {
		c.addCount(t.records, by.records)
	}
	if by.bytes != 0 {
		c.addCount(t.bytes, by.bytes)
	}
}

// total returns a total. A step that changes something does not rely on it.
func (v *view) total(t total) sum { return sum{v.countOf(t.records), v.countOf(t.bytes)} }

func profileSumKey(id storage.ProfileID) []byte { return append([]byte{sumProfile}, idKey(id)...) }

// statSize returns how much a profile has stored.
func (v *view) statSize(id storage.ProfileID) storage.StatSize {
	s := v.sum(tableStatSums, profileSumKey(id))
	return storage.StatSize{Blocks: int(s.records), Bytes: s.bytes}
}

// putSize stores how much a profile has stored, and changes the total. It had old.
func (c *change) putSize(id storage.ProfileID, old, size storage.StatSize) {
	if old == size {
		return
	}
	c.addTotal(totalBlocks, sum{int64(size.Blocks - old.Blocks), size.Bytes - old.Bytes})
	c.putSum(tableStatSums, profileSumKey(id), sum{int64(size.Blocks), size.Bytes})
}

// StatTotals is described in [storage.Stats].
func (s *Store) StatTotals(ctx context.Context) (storage.StatTotals, error) {
	return look(ctx, s, func(v *view) storage.StatTotals {
		blocks, reports := v.total(totalBlocks), v.total(totalReports)
		return storage.StatTotals{
			Blocks: int(blocks.records), BlockBytes: blocks.bytes, Reports: int(reports.records), ReportBytes: reports.bytes,
		}
	})
}
