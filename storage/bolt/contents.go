package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// kind is the kind of values in a bucket.
type kind int

const (
	otherKind  kind = iota // unknown to this version
	recordKind             // records, see value.go
	entryKind              // entries of an index or pairs, see entry.go
)

// kindOf returns the kind of a bucket.
func kindOf(bucket string) kind {
	switch bucket {
	case bucketGames, bucketRooms, bucketBans, bucketChatRules, bucketProductKeys, bucketAddedServers, bucketHiddenServers, bucketUsers,
		bucketProfiles, bucketRequests, bucketMailboxes, bucketAudit, bucketAuditPlayers, bucketServers,
		bucketMotds, bucketPatches, bucketFiles, bucketSakeTables, bucketSakeRecords,
		bucketStatBlocks, bucketReports, bucketScores, bucketMatches:
		return recordKind
	case bucketMeta, bucketRoomsByGame, bucketUsersByEmail, bucketNicks, bucketUniqueNicks, bucketCDKeys, bucketFoundBy,
		bucketBuddies, bucketBuddyOf, bucketBlocks, bucketBlockedBy, bucketRequestsFrom,
		bucketFilesByOwner, bucketFilesByHash, bucketFileUsage, bucketSakeByOwner, bucketSakeRatings, bucketSakeMeta,
		bucketStatSums, bucketReportsOf, bucketReportRuns, bucketRanks, bucketRankChunks,
		bucketMatchesOf, bucketMatchesOpen, bucketMatchPlayers:
		return entryKind
	}
	return otherKind
}

// contents checks keys and values while a tree is walked. Its findings are
// valid only for a file of the present schema: older ones have no such
// checksums.
type contents struct {
	lost    faults // damaged keys, whose values would silently be missing
	bad     faults // records that cannot be read; reading them returns an error
	oneHead bool   // the other head of the file cannot be read
	users   int64

	bucket   string // the outermost bucket being visited
	kind     kind
	buckets  map[string]bool
	lastSeq  uint64 // highest number in the audit log
	auditSeq uint64 // the last assigned number
}

func newContents() *contents { return &contents{buckets: make(map[string]bool)} }

// enter begins a bucket, whose name is the last in of.
func (c *contents) enter(of [][]byte, sequence uint64) {
	c.bucket = string(of[0])
	c.kind = kindOf(c.bucket)
	if len(of) > 1 {
		if c.kind != otherKind && c.bucket != bucketServers {
			c.lost.add(c.bucket, of[1], errors.New("a bucket where none belongs"))
		}
		return
	}
	c.buckets[c.bucket] = true
	if c.bucket == bucketAudit {
		c.auditSeq = sequence
	}
}

// visit checks a key and its value.
func (c *contents) visit(of [][]byte, key, value []byte) {
	if len(of) > 1 { // a chunk of a server list
		if _, err := unseal(value); err != nil && c.bucket == bucketServers {
			c.bad.add(c.bucket, key, err)
		}
		return
	}
	if c.bucket == bucketUsers {
		c.users++
	}
	switch c.kind {
	case recordKind:
		c.record(key, value)
	case entryKind:
		if c.bucket == bucketMeta && (string(key) == metaApp || string(key) == metaSchema) {
			return // readLayout checks them, also in older versions
		}
		if _, err := openEntry(key, value); err != nil {
			c.lost.add(c.bucket, key, err)
		}
	case otherKind:
	}
}

func (c *contents) record(key, value []byte) {
	if err := checkKey(key, value); err != nil {
		c.lost.add(c.bucket, key, err)
	} else if _, err := unseal(value); err != nil {
		c.bad.add(c.bucket, key, err)
	}
	if (c.bucket == bucketAudit || c.bucket == bucketAuditPlayers) && len(key) == 8 {
		c.lastSeq = max(c.lastSeq, binary.BigEndian.Uint64(key))
	}
}

// end makes the checks that need all keys.
func (c *contents) end() {
	for _, name := range buckets() {
		if !c.buckets[name] {
			c.lost.add(name, nil, errors.New("the bucket is missing"))
		}
	}
	if c.lastSeq > c.auditSeq {
		c.lost.add(bucketAudit, nil, fmt.Errorf("entry %d is beyond the last one, %d", c.lastSeq, c.auditSeq))
	}
}

// maxFindings is the number of faults that an error names.
const maxFindings = 10

// faults counts faults and names the first.
type faults struct {
	n     int
	first []string
}

func (f *faults) add(bucket string, key []byte, err error) {
	if f.n++; len(f.first) < maxFindings {
		f.first = append(f.first, fmt.Sprintf("%s %q: %v", bucket, key, err))
	}
}

// err returns the faults as an error, nil if there are none.
func (f *faults) err() error {
	if f.n == 0 {
		return nil
	}
	more := ""
	if f.n > len(f.first) {
		more = fmt.Sprintf("; and %d more", f.n-len(f.first))
	}
	return fmt.Errorf("%w: %s%s", storage.ErrDamaged, strings.Join(f.first, "; "), more)
}
