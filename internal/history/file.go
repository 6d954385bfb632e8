package history

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/respawnd/respawnd/master"
)

// The file of a Book is compressed with gzip, whose checksum reveals damage.
// Numbers are little-endian:
//
//	offset size
//	     0   16  magic
//	    16    8  round of the last sample
//	    24    4  number of servers, at most MaxServers; for each of them:
//
//	     0    1  length of its ID, n
//	     1    n  ID as in the API
//	   n+1    8  round in which it was listed first
//	   n+9    8  round in which it was listed last
//	  n+17  576  samples, that of round r at r modulo Samples
const magic = "respawnd players"

// maxRound is later than any clock, and far below the limit of int64.
const maxRound = 1 << 40

// ErrFile reports a file that is damaged or was not written by Save.
var ErrFile = errors.New("not a history of players, or damaged")

// record is a track in the file, after its ID.
type record struct {
	First, Last int64
	Players     [Samples]uint16
}

// Save writes the whole history.
func (b *Book) Save(w io.Writer) error {
	round, tracks := b.copied()
	packed := gzip.NewWriter(w)
	out := bufio.NewWriter(packed)
	head := binary.LittleEndian.AppendUint64([]byte(magic), uint64(round))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(tracks)))
	_, err := out.Write(head)
	for k, t := range tracks {
		id := master.AppendID([]byte{0}, k.Origin, k.Public)
		id[0] = byte(len(id) - 1)
		if _, e := out.Write(id); e != nil {
			err = errors.Join(err, e)
			break
		}
		if e := binary.Write(out, binary.LittleEndian, record{t.first, t.last, t.players}); e != nil {
			err = errors.Join(err, e)
			break
		}
	}
	return errors.Join(err, out.Flush(), packed.Close())
}

// copied returns a copy of the history, so that a slow writer holds no lock.
func (b *Book) copied() (round int64, tracks map[Key]track) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tracks = make(map[Key]track, len(b.tracks))
	for k, t := range b.tracks {
		tracks[k] = *t
	}
	return b.round, tracks
}

// Load replaces the history by one that Save wrote. It must be called before
// the first sample; times without samples count as Away. After an error, which
// may be ErrFile, nothing has changed.
func (b *Book) Load(r io.Reader) error {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	in := bufio.NewReader(packed)
	head := make([]byte, len(magic)+12)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(magic)]) != magic {
		return errors.Join(ErrFile, err)
	}
	round := int64(binary.LittleEndian.Uint64(head[len(magic):]))
	n := binary.LittleEndian.Uint32(head[len(magic)+8:])
	if round < 0 || round > maxRound || n > MaxServers {
		return ErrFile
	}
	tracks := make(map[Key]*track)
	for range n {
		k, t, err := readTrack(in, round)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFile, err)
		}
		tracks[k] = t
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) { // at EOF gzip has also checked the sum
		return errors.Join(ErrFile, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.round, b.tracks, b.refused = round, tracks, 0
	return nil
}

var errTrack = errors.New("impossible times or name")

// readTrack reads the track of one server.
func readTrack(in *bufio.Reader, round int64) (k Key, t *track, err error) {
	length, err := in.ReadByte()
	if err != nil {
		return k, nil, err
	}
	id := make([]byte, length)
	if _, err := io.ReadFull(in, id); err != nil {
		return k, nil, err
	}
	var rec record
	if err := binary.Read(in, binary.LittleEndian, &rec); err != nil {
		return k, nil, err
	}
	var ok bool
	if k.Origin, k.Public, ok = master.ParseID(string(id)); !ok || rec.First < 0 || rec.First > rec.Last || rec.Last > round {
		return k, nil, errTrack
	}
	return k, &track{rec.First, rec.Last, rec.Players}, nil
}
