package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// maxChunk is how many places of a ranking are counted together.
const maxChunk = 512

// A ranking has the scores of one board in order. tableRanks has one key for each
// score: game, NUL, board, NUL and its place (12 bytes, see placeOf).
// tableRankChunks divides them into chunks of up to maxChunk, so that a rank is
// found without counting all places above it: under the first place of a chunk it has
// the number of places in it (4 bytes). The first chunk of a board begins with a place
// of zero bytes, and stays when it is empty.
type ranking struct {
	v      *view
	prefix []byte
}

const placeLen = 12

func rankingOf(v *view, game, board string) ranking {
	return ranking{v, append(append(gamePrefix(game), board...), 0)}
}

// key returns the key of a place, or of the beginning of one.
func (r ranking) key(place []byte) []byte {
	return append(append(make([]byte, 0, len(r.prefix)+placeLen+1), r.prefix...), place...)
}

// places yields the keys of the places from one up to, but without, another; if that is nil, to the
// last. A limit above 0 is how many it yields at most.
func (r ranking) places(from, to []byte, limit int) iter.Seq[[]byte] {
	if to == nil {
		to = engine.After(r.prefix)
	}
	return func(yield func([]byte) bool) {
		for e := range r.v.scan(engine.Range{Table: tableRanks, From: from, To: to, Limit: limit}) {
			if len(e.Key) != len(r.prefix)+placeLen {
				r.v.failed(fmt.Errorf("%s %q: %w: key of a place", tableRanks, e.Key, storage.ErrDamaged))
				return
			}
			if !yield(e.Key) {
				return
			}
		}
	}
}

// profileAt returns the profile of the key of a place.
func profileAt(key []byte) storage.ProfileID {
	return storage.ProfileID(binary.BigEndian.Uint32(key[len(key)-4:]))
}

// chunk is a part of a ranking.
type chunk struct {
	first []byte // its key; nil: there is none
	n     int
}

// chunks yields the chunks of a range of tableRankChunks.
func (r ranking) chunks(of engine.Range) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		for e := range r.v.entries(of, 4) {
			if !yield(chunk{bytes.Clone(e.Key), int(binary.BigEndian.Uint32(e.Value))}) {
				return
			}
		}
	}
}

// upTo is the range of the chunks that begin at a key or before it.
func (r ranking) upTo(key []byte) engine.Range {
	return engine.Range{Table: tableRankChunks, From: r.prefix, To: append(bytes.Clone(key), 0)}
}

// nearest is the range of the chunk to which a place belongs, and the one before it.
func (r ranking) nearest(key []byte) engine.Range {
	at := r.upTo(key)
	at.Backward, at.Limit = true, 2
	return at
}

// chunkOf returns the chunk to which a place belongs, and the one before it.
func (r ranking) chunkOf(key []byte) (at, before chunk) {
	for part := range r.chunks(r.nearest(key)) {
		if at.first == nil {
			at = part
		} else {
			before = part
		}
	}
	if at.first == nil {
		at.first = r.key(make([]byte, placeLen)) // the first place of the board
	}
	return at, before
}

// putChunk stores a chunk.
func (c *change) putChunk(part chunk) {
	c.putEntry(tableRankChunks, part.first, binary.BigEndian.AppendUint32(nil, uint32(part.n)))
}

// add inserts a place.
func (r ranking) add(c *change, place []byte) {
	key := r.key(place)
	at, _ := r.chunkOf(key)
	c.putEntry(tableRanks, key, nil)
	if at.n++; at.n <= maxChunk {
		c.putChunk(at)
	} else {
		r.divide(c, at)
	}
}

// divide makes two chunks of one.
func (r ranking) divide(c *change, at chunk) {
	var middle []byte
	n := 0
	for key := range r.places(at.first, nil, at.n/2+1) {
		middle = bytes.Clone(key)
		n++
	}
	if n <= at.n/2 {
		c.failed(fmt.Errorf("%s %q: %w: it has fewer than %d places", tableRankChunks, at.first, storage.ErrDamaged, at.n))
	}
	c.putChunk(chunk{middle, at.n - at.n/2})
	c.putChunk(chunk{at.first, at.n / 2})
}

// remove deletes a place. A chunk that has become small is joined to the one
// before it.
func (r ranking) remove(c *change, place []byte) {
	key := r.key(place)
	at, before := r.chunkOf(key)
	r.leave(c, key)
	at.n--
	if before.first == nil || at.n > maxChunk/4 || at.n+before.n > maxChunk/2 {
		c.putChunk(at)
		return
	}
	c.delete(tableRankChunks, at.first)
	c.putChunk(chunk{before.first, before.n + at.n})
}

// leave deletes the key of a place, which must be there.
func (r ranking) leave(c *change, key []byte) {
	if !c.remove(tableRanks, key) {
		c.failed(fmt.Errorf("%s %q: %w: a score has no place", tableRanks, key, storage.ErrDamaged))
	}
}

// move replaces a place by another. Most moves stay in their chunk and leave its number as
// it is, so that steps that move other scores of the chunk need not wait.
func (r ranking) move(c *change, from, to []byte) {
	old, _ := r.chunkOf(r.key(from))
	next, _ := r.chunkOf(r.key(to))
	if !bytes.Equal(old.first, next.first) {
		r.remove(c, from)
		r.add(c, to)
		return
	}
	c.putEntry(tableRanks, r.key(to), nil)
	r.leave(c, r.key(from))
}

// before returns how many places are before one, or before the beginning of
// one.
func (r ranking) before(place []byte) (n int) {
	key := r.key(place)
	start, last := r.prefix, 0
	for part := range r.chunks(r.upTo(key)) {
		n += last
		start, last = part.first, part.n
	}
	for range r.places(start, key, 0) {
		n++
	}
	return n
}

// start returns the chunk in which the place behind the first from is, and how many places of
// the chunk are before it.
func (r ranking) start(from int) (first []byte, skip int) {
	for part := range r.chunks(engine.Prefix(tableRankChunks, r.prefix)) {
		if from < part.n {
			return part.first, from
		}
		from -= part.n
	}
	return nil, 0
}

// find returns the place of a profile, nil if it has none. It reads all places: it is for a
// score that is damaged.
func (r ranking) find(id storage.ProfileID) []byte {
	for key := range r.places(r.prefix, nil, 0) {
		if profileAt(key) == id {
			return bytes.Clone(key[len(r.prefix):])
		}
	}
	return nil
}

// profiles returns the profiles of up to n places behind the first from.
func (r ranking) profiles(from, n int) (all []storage.ProfileID) {
	first, skip := r.start(from)
	if first == nil || n == 0 {
		return nil
	}
	for key := range r.places(first, nil, skip+n) {
		if skip--; skip < 0 {
			all = append(all, profileAt(key))
		}
	}
	return all
}

// page returns up to n scores behind the first from.
func (r ranking) page(game, board string, from, n int) (page []storage.Score, err error) {
	profiles := r.profiles(from, n)
	id := func(p storage.ProfileID) storage.ScoreID {
		return storage.ScoreID{Game: game, Board: board, Profile: p}
	}
	loadEach(r.v, tableScores, profiles, func(p storage.ProfileID) []byte { return scoreKey(id(p)) })
	for _, p := range profiles {
		score, err := getScore(r.v, id(p))
		if err != nil {
			return nil, err
		}
		switch last := len(page) - 1; {
		case last < 0:
			score.Rank = r.before(valueKey(score.Value)) + 1
		case page[last].Value == score.Value:
			score.Rank = page[last].Rank
		default:
			score.Rank = from + len(page) + 1
		}
		page = append(page, score)
	}
	return page, nil
}
