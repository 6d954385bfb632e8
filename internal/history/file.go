package history

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// The file of a Book is compressed with gzip, whose checksum reveals damage.
// Numbers are little-endian; a series has one number for each slot of a ring:
//
//	offset size
//	     0   16  magic
//	    16    8  round of the last sample
//	    24 3824  total of all games, without name
//	     -       servers, at most MaxServers, each:
//	     0    1  length of its ID, n; 0: there are no more, and nothing follows
//	     1    n  ID as in the API
//	   n+1    4  round in which it was listed first
//	   n+5    4  round in which it was listed last
//	   n+9 1272  players, 2 bytes each
//	     -       games, at most MaxGames, each:
//	     0    1  length of its name, n; 0: there are no more, and nothing follows
//	     1    n  name
//	   n+1    8  rounds, as for a server
//	   n+9 2544  players, 4 bytes each
//	     - 1272  servers, 2 bytes each
const magic = "respawnd history"

const (
	headSize  = len(magic) + 8
	trackSize = 8 + 2*slots
	totalSize = 8 + 4*slots + 2*slots
	// maxServerID is longer than any ID.
	maxServerID = 128
	// MaxFile is the maximum size of a file in bytes. It is that of a Book that is
	// full of numbers without any pattern; real files have a tenth of it.
	MaxFile = (headSize + totalSize + MaxServers*(1+maxServerID+trackSize) + MaxGames*(1+games.MaxNameLen+totalSize) + 2) / 1000 * 1001
)

// maxRound is later than any clock, and fits into the files.
const maxRound = 1<<32 - 1

// ErrFile reports a file that is damaged or was not written by Save.
var ErrFile = errors.New("not a history of players, or damaged")

// saved is how many servers or games are copied at a time while a file is written, so
// that samples and readers wait only for that long.
const saved = 256

// Save writes the whole history. Samples that are taken meanwhile are left out; only
// the longer steps that are not over yet may have them.
func (b *Book) Save(w io.Writer) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(packed, 64<<10)
	round, servers, games := b.keys()
	head := binary.LittleEndian.AppendUint64([]byte(magic), uint64(round))
	_, err = out.Write(b.appendAll(head, round))
	buf := make([]byte, 0, saved*(1+maxServerID+trackSize))
	for ; len(servers) > 0 && err == nil; servers = servers[min(len(servers), saved):] {
		buf = b.appendTracks(buf[:0], servers[:min(len(servers), saved)], round)
		_, err = out.Write(buf)
	}
	err = errors.Join(err, out.WriteByte(0))
	for ; len(games) > 0 && err == nil; games = games[min(len(games), saved):] {
		buf = b.appendTotals(buf[:0], games[:min(len(games), saved)], round)
		_, err = out.Write(buf)
	}
	return errors.Join(err, out.WriteByte(0), out.Flush(), packed.Close())
}

// appendAll appends the total of all games at a round.
func (b *Book) appendAll(dst []byte, round int64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := newTotal(round)
	if b.all != nil {
		*t = *b.all
	}
	return t.append(dst, round, b.round)
}

// appendTracks appends some servers, without those that were forgotten since.
func (b *Book) appendTracks(dst []byte, keys []Key, round int64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		t := b.tracks[k]
		if t == nil || int64(t.first) > round {
			continue
		}
		at := len(dst)
		dst = master.AppendID(append(dst, 0), k.Origin, k.Public)
		dst[at] = byte(len(dst) - at - 1)
		dst = appendTimes(dst, t.first, t.last, round)
		players := t.players
		players.clear(round, b.round)
		dst = players.append(dst)
	}
	return dst
}

// appendTotals appends some games.
func (b *Book) appendTotals(dst []byte, names []string, round int64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		t := b.games[name]
		if t == nil || int64(t.first) > round || name == "" || len(name) > games.MaxNameLen {
			continue
		}
		dst = append(append(dst, byte(len(name))), name...)
		dst = t.append(dst, round, b.round)
	}
	return dst
}

// append appends a total without the samples between two rounds.
func (t *total) append(dst []byte, round, now int64) []byte {
	c := *t
	c.clear(round, now)
	dst = appendTimes(dst, c.first, c.last, round)
	return c.servers.append(c.players.append(dst))
}

func appendTimes(dst []byte, first, last uint32, round int64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, min(first, uint32(round)))
	return binary.LittleEndian.AppendUint32(dst, min(last, uint32(round)))
}

func (r *ring[T]) append(dst []byte) []byte {
	for _, v := range r {
		dst = append(dst, byte(v), byte(v>>8))
		if uint64(absent[T]()) > 1<<16 {
			dst = append(dst, byte(uint32(v)>>16), byte(uint32(v)>>24))
		}
	}
	return dst
}

// parse is the inverse of append. It returns the rest of the input.
func (r *ring[T]) parse(p []byte) []byte {
	for i := range r {
		v := uint32(p[0]) | uint32(p[1])<<8
		p = p[2:]
		if uint64(absent[T]()) > 1<<16 {
			v |= uint32(p[0])<<16 | uint32(p[1])<<24
			p = p[2:]
		}
		r[i] = T(v)
	}
	return p
}

// Load replaces the history by one that Save wrote, in this or in an earlier version.
// It must be called before the first sample; times without samples count as Away.
// After an error, which may be ErrFile, nothing has changed.
func (b *Book) Load(r io.Reader) error {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	in := bufio.NewReaderSize(packed, 64<<10)
	var kind [len(magic)]byte
	if _, err := io.ReadFull(in, kind[:]); err != nil {
		return errors.Join(ErrFile, err)
	}
	read := NewBook()
	switch string(kind[:]) {
	case magic:
		err = read.load(in)
	case oldMagic:
		err = read.loadOld(in)
	default:
		err = ErrFile
	}
	if err == nil {
		_, err = in.ReadByte() // at EOF gzip has also checked the sum
		if err == nil {
			err = errors.New("it continues behind its end")
		}
	}
	if !errors.Is(err, io.EOF) || errors.Is(err, errRecord) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.round, b.tracks, b.games, b.all, b.refused = read.round, read.tracks, read.games, read.all, 0
	b.version.Add(1)
	return nil
}

// errRecord reports a record that Save cannot have written, or its end.
var errRecord = errors.New("impossible times, name or number")

// load reads a file behind its magic.
func (b *Book) load(in io.Reader) error {
	p := make([]byte, 8+totalSize)
	if _, err := io.ReadFull(in, p); err != nil {
		return errors.Join(errRecord, err)
	}
	round := binary.LittleEndian.Uint64(p)
	if round > maxRound {
		return errRecord
	}
	b.round = int64(round)
	b.all = new(total)
	if !b.all.parse(p[8:], b.round) {
		return errRecord
	}
	err := records(in, MaxServers, trackSize, func(id, p []byte) bool {
		origin, public, ok := master.ParseID(string(id))
		t := new(track)
		if !parseTimes(&t.first, &t.last, p, b.round) || !ok {
			return false
		}
		t.players.parse(p[8:])
		b.tracks[Key{origin, public}] = t
		return true
	})
	if err != nil {
		return err
	}
	return records(in, MaxGames, totalSize, func(name, p []byte) bool {
		t := new(total)
		b.games[string(name)] = t
		return len(name) <= games.MaxNameLen && t.parse(p, b.round)
	})
}

// records reads at most so many records of a size, each behind its name, until an
// empty name.
func records(in io.Reader, most, size int, read func(name, p []byte) bool) error {
	p := make([]byte, size)
	var name [256]byte
	for range most + 1 {
		if _, err := io.ReadFull(in, name[:1]); err != nil {
			return errors.Join(errRecord, err)
		}
		n := int(name[0])
		if n == 0 {
			return nil
		}
		if _, err := io.ReadFull(in, name[:n]); err != nil {
			return errors.Join(errRecord, err)
		}
		if _, err := io.ReadFull(in, p); err != nil {
			return errors.Join(errRecord, err)
		}
		if !read(name[:n], p) {
			return errRecord
		}
	}
	return errRecord // too many
}

func (t *total) parse(p []byte, round int64) bool {
	if !parseTimes(&t.first, &t.last, p, round) {
		return false
	}
	t.servers.parse(t.players.parse(p[8:]))
	for i := range t.players { // they are set together
		if (t.players[i] == absent[uint32]()) != (t.servers[i] == absent[uint16]()) {
			return false
		}
	}
	return true
}

func parseTimes(first, last *uint32, p []byte, round int64) bool {
	*first, *last = binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])
	return *first <= *last && int64(*last) <= round
}
