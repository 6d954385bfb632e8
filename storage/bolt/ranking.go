package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// maxChunk is how many places of a ranking are counted together.
const maxChunk = 512

// A ranking has the scores of one board in order. bucketRanks has one key for each
// score: game, NUL, board, NUL and its place (12 bytes, see placeOf).
// bucketRankChunks divides them into chunks of up to maxChunk, so that a rank is
// found without counting all places above it: under the first place of a chunk it has
// the number of places in it (4 bytes). The first chunk of a board begins with a place
// of zero bytes, and stays when it is empty.
type ranking struct {
	tx     *bbolt.Tx
	prefix []byte
}

const placeLen = 12

func rankingOf(tx *bbolt.Tx, game, board string) ranking {
	return ranking{tx, append(append(gamePrefix(game), board...), 0)}
}

// key returns the key of a place, or of the beginning of one.
func (r ranking) key(place []byte) []byte {
	return append(append(make([]byte, 0, len(r.prefix)+placeLen), r.prefix...), place...)
}

// owns reports whether a key is one of this board.
func (r ranking) owns(key []byte) bool {
	return len(key) == len(r.prefix)+placeLen && bytes.HasPrefix(key, r.prefix)
}

// chunk is a part of a ranking.
type chunk struct {
	first []byte // its key; nil: there is none
	n     int
}

// openChunk returns the chunk of a key and its value.
func openChunk(key, value []byte) (chunk, error) {
	content, err := openEntry(key, value)
	if err == nil && len(content) != 4 {
		err = fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(content))
	}
	if err != nil {
		return chunk{}, fmt.Errorf("%s %q: %w", bucketRankChunks, key, err)
	}
	return chunk{bytes.Clone(key), int(binary.BigEndian.Uint32(content))}, nil
}

// chunkOf returns the chunk to which a place belongs, and the one before it.
func (r ranking) chunkOf(key []byte) (at, before chunk, err error) {
	c := r.tx.Bucket([]byte(bucketRankChunks)).Cursor()
	k, v := c.Seek(key)
	if !bytes.Equal(k, key) {
		if k == nil {
			k, v = c.Last()
		} else {
			k, v = c.Prev()
		}
	}
	if !r.owns(k) {
		return chunk{first: r.key(make([]byte, placeLen))}, chunk{}, nil // the first place of the board
	}
	if at, err = openChunk(k, v); err != nil {
		return at, before, err
	}
	if k, v = c.Prev(); r.owns(k) {
		before, err = openChunk(k, v)
	}
	return at, before, err
}

// putChunk stores a chunk.
func (c *change) putChunk(part chunk) error {
	return c.putEntry(bucketRankChunks, part.first, binary.BigEndian.AppendUint32(nil, uint32(part.n)))
}

// add inserts a place.
func (r ranking) add(c *change, place []byte) error {
	key := r.key(place)
	at, _, err := r.chunkOf(key)
	if err != nil {
		return err
	}
	if err := c.putEntry(bucketRanks, key, nil); err != nil {
		return err
	}
	if at.n++; at.n <= maxChunk {
		return c.putChunk(at)
	}
	cursor := r.tx.Bucket([]byte(bucketRanks)).Cursor()
	middle, _ := cursor.Seek(at.first)
	for range at.n / 2 {
		middle, _ = cursor.Next()
	}
	if !r.owns(middle) {
		return fmt.Errorf("%s %q: %w: it has fewer than %d places", bucketRankChunks, at.first, storage.ErrDamaged, at.n)
	}
	if err := c.putChunk(chunk{bytes.Clone(middle), at.n - at.n/2}); err != nil {
		return err
	}
	return c.putChunk(chunk{at.first, at.n / 2})
}

// remove deletes a place. A chunk that has become small is joined to the one
// before it.
func (r ranking) remove(c *change, place []byte) error {
	key := r.key(place)
	if r.tx.Bucket([]byte(bucketRanks)).Get(key) == nil {
		return fmt.Errorf("%s %q: %w: a score has no place", bucketRanks, key, storage.ErrDamaged)
	}
	at, before, err := r.chunkOf(key)
	if err != nil {
		return err
	}
	if err := c.delete(bucketRanks, key); err != nil {
		return err
	}
	at.n--
	if before.first == nil || at.n > maxChunk/4 || at.n+before.n > maxChunk/2 {
		return c.putChunk(at)
	}
	if err := c.delete(bucketRankChunks, at.first); err != nil {
		return err
	}
	return c.putChunk(chunk{before.first, before.n + at.n})
}

// before returns how many places are before one, or before the beginning of
// one.
func (r ranking) before(place []byte) (n int, err error) {
	key := r.key(place)
	start, last := r.prefix, 0
	c := r.tx.Bucket([]byte(bucketRankChunks)).Cursor()
	for k, v := c.Seek(r.prefix); r.owns(k) && bytes.Compare(k, key) <= 0; k, v = c.Next() {
		part, err := openChunk(k, v)
		if err != nil {
			return 0, err
		}
		n += last
		start, last = part.first, part.n
	}
	ranks := r.tx.Bucket([]byte(bucketRanks)).Cursor()
	for k, _ := ranks.Seek(start); r.owns(k) && bytes.Compare(k, key) < 0; k, _ = ranks.Next() {
		n++
	}
	return n, nil
}

// seek puts a cursor of bucketRanks at the place behind the first from places, and
// returns its key.
func (r ranking) seek(ranks *bbolt.Cursor, from int) ([]byte, error) {
	c := r.tx.Bucket([]byte(bucketRankChunks)).Cursor()
	for k, v := c.Seek(r.prefix); r.owns(k); k, v = c.Next() {
		part, err := openChunk(k, v)
		if err != nil {
			return nil, err
		}
		if from >= part.n {
			from -= part.n
			continue
		}
		k, _ := ranks.Seek(part.first)
		for range from {
			k, _ = ranks.Next()
		}
		return k, nil
	}
	return nil, nil
}

// find returns the place of a profile. It reads all places: it is for a score
// that is damaged.
func (r ranking) find(id storage.ProfileID) []byte {
	ranks := r.tx.Bucket([]byte(bucketRanks)).Cursor()
	for k, _ := ranks.Seek(r.prefix); r.owns(k); k, _ = ranks.Next() {
		if bytes.HasSuffix(k, idKey(id)) {
			return bytes.Clone(k[len(r.prefix):])
		}
	}
	return nil
}

// page returns up to n scores behind the first from.
func (r ranking) page(game, board string, from, n int) (page []storage.Score, err error) {
	ranks := r.tx.Bucket([]byte(bucketRanks)).Cursor()
	k, err := r.seek(ranks, from)
	if err != nil {
		return nil, err
	}
	for ; len(page) < n && r.owns(k); k, _ = ranks.Next() {
		place := k[len(r.prefix):]
		score, err := getScore(r.tx, storage.ScoreID{Game: game, Board: board, Profile: storage.ProfileID(binary.BigEndian.Uint32(place[8:]))})
		if err != nil {
			return nil, err
		}
		switch last := len(page) - 1; {
		case last < 0:
			above, err := r.before(place[:8])
			if err != nil {
				return nil, err
			}
			score.Rank = above + 1
		case page[last].Value == score.Value:
			score.Rank = page[last].Rank
		default:
			score.Rank = from + len(page) + 1
		}
		page = append(page, score)
	}
	return page, nil
}
