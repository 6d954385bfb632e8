package history

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/respawnd/respawnd/master"
)

// The file of earlier versions, which kept a day of each server and nothing else:
//
//	offset size
//	     0   16  magic
//	    16    8  round of the last sample
//	    24    4  number of servers, at most maxOldServers; for each of them:
//
//	     0    1  length of its ID, n
//	     1    n  ID as in the API
//	   n+1    8  round in which it was listed first
//	   n+9    8  round in which it was listed last
//	  n+17  576  samples, that of round r at r modulo daySteps
const oldMagic = "respawnd players"

const maxOldServers = 1 << 16

// oldRecord is a server in the old file, after its ID.
type oldRecord struct {
	First, Last int64
	Players     [daySteps]uint16
}

// loadOld reads an old file behind its magic. Longer steps, and the total of all
// games, are made of the samples of its day. If there are too many servers, the
// ones listed last stay.
func (b *Book) loadOld(in *bufio.Reader) error {
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return errors.Join(errRecord, err)
	}
	round, n := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint32(head[8:])
	if round > maxRound || n > maxOldServers {
		return errRecord
	}
	b.round = int64(round)
	sums := make([]count, daySteps)
	for range n {
		k, rec, err := readOld(in)
		if err != nil {
			return errors.Join(errRecord, err)
		}
		if rec.First < 0 || rec.First > rec.Last || rec.Last > b.round {
			return errRecord
		}
		b.tracks[k] = rec.track(b.round, sums)
	}
	b.sumOld(sums)
	b.forgetOldest()
	return nil
}

func readOld(in *bufio.Reader) (k Key, rec oldRecord, err error) {
	length, err := in.ReadByte()
	if err != nil {
		return k, rec, err
	}
	id := make([]byte, length)
	if _, err := io.ReadFull(in, id); err != nil {
		return k, rec, err
	}
	var ok bool
	if k.Origin, k.Public, ok = master.ParseID(string(id)); !ok {
		return k, rec, errRecord
	}
	var p [16 + 2*daySteps]byte
	if _, err := io.ReadFull(in, p[:]); err != nil {
		return k, rec, err
	}
	rec.First, rec.Last = int64(binary.LittleEndian.Uint64(p[:])), int64(binary.LittleEndian.Uint64(p[8:]))
	for i := range rec.Players {
		rec.Players[i] = binary.LittleEndian.Uint16(p[16+2*i:])
	}
	return k, rec, nil
}

// track returns the history of a server and adds its samples to those of all.
func (rec *oldRecord) track(round int64, sums []count) *track {
	t := &track{first: uint32(rec.First), last: uint32(rec.Last)}
	t.players.reset()
	for n := max(round-daySteps+1, rec.First); n <= round; n++ {
		if v := rec.Players[n%daySteps]; v != absent[uint16]() {
			t.players.put(n, int(v))
			sums[n%daySteps].servers++
			sums[n%daySteps].players += int(v)
		}
	}
	return t
}

// sumOld makes the total of all games. Where there was no server, no daemon may have
// run.
func (b *Book) sumOld(sums []count) {
	first := max(b.round-daySteps+1, 0)
	b.all = newTotal(first)
	b.all.last = uint32(b.round)
	for n := first; n <= b.round; n++ {
		if c := sums[n%daySteps]; c.servers > 0 {
			b.all.put(n, c)
		}
	}
}

// forgetOldest keeps MaxServers servers.
func (b *Book) forgetOldest() {
	if len(b.tracks) <= MaxServers {
		return
	}
	_, keys, _ := b.keys()
	slices.SortFunc(keys, func(a, c Key) int { return cmp.Compare(b.tracks[a].last, b.tracks[c].last) })
	for _, k := range keys[:len(keys)-MaxServers] {
		delete(b.tracks, k)
	}
}
