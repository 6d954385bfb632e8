package bolt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/storage/engine"
)

// contents checks keys and values while a tree is walked. Its findings are
// valid only for a file of the present schema: older ones have other tables.
type contents struct {
	layout *engine.Layout
	known  map[string]bool // buckets that must be there; true: they are

	lost    faults // damaged keys, whose values would silently be missing
	bad     faults // records that cannot be read; reading them returns an error
	oneHead bool   // the other head of the file cannot be read
}

func newContents(layout *engine.Layout) *contents {
	c := &contents{layout: layout, known: map[string]bool{bucketMeta: false, bucketSequences: false}}
	for _, t := range layout.Tables {
		c.known[string(t)] = false
	}
	return c
}

// enter begins a bucket, whose name is the last in of.
func (c *contents) enter(of [][]byte) {
	bucket := string(of[0])
	if _, known := c.known[bucket]; !known {
		return
	}
	c.known[bucket] = true
	if len(of) > 1 {
		c.lost.add(bucket, of[1], errors.New("a bucket where none belongs"))
	}
}

// visit checks a key and its value.
func (c *contents) visit(of [][]byte, key, value []byte) {
	switch bucket := string(of[0]); {
	case bucket == bucketMeta || bucket == bucketSequences:
		if err := c.own(bucket, key, value); err != nil {
			c.lost.add(bucket, key, err)
		}
	case c.known[bucket] && c.layout.Check != nil:
		lost, err := c.layout.Check(engine.Table(bucket), key, value)
		switch {
		case err != nil && lost:
			c.lost.add(bucket, key, err)
		case err != nil:
			c.bad.add(bucket, key, err)
		}
	}
}

// own checks an entry of a bucket of the engine.
func (c *contents) own(bucket string, key, value []byte) error {
	if bucket == bucketMeta && (string(key) == metaApp || string(key) == metaSchema) {
		return nil // readHeader checks them, also in older versions
	}
	_, err := engine.Unseal(key, value)
	return err
}

// end makes the checks that need all keys.
func (c *contents) end() {
	for _, bucket := range slices.Sorted(maps.Keys(c.known)) {
		if !c.known[bucket] {
			c.lost.add(bucket, nil, errors.New("the bucket is missing"))
		}
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
	return fmt.Errorf("%w: %s%s", engine.ErrDamaged, strings.Join(f.first, "; "), more)
}
