package history

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
)

// kept returns a book's file.
func kept(t testing.TB, b *Book) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := b.Save(&file); err != nil {
		t.Fatalf("Save: %v", err)
	}
	return file.Bytes()
}

// loaded returns a book that read a file.
func loaded(t testing.TB, file []byte) *Book {
	t.Helper()
	b := NewBook()
	if err := b.Load(bytes.NewReader(file)); err != nil {
		t.Fatalf("Load: %v", err)
	}
	return b
}

func TestBookGoesOnFromItsFile(t *testing.T) {
	one, two := key(1), key(2)
	two.Origin = "zandronum"
	b := NewBook()
	sample(b, noon(), map[Key]int{one: 3})
	sample(b, noon().Add(Interval), map[Key]int{one: 4, two: 9})
	file := kept(t, b)

	b = loaded(t, file)
	expect(t, b, one, noon(), 3, 4)
	sample(b, noon().Add(4*Interval), map[Key]int{one: 5})
	expect(t, b, one, noon(), 3, 4, Away, Away, 5)
	expect(t, b, two, noon().Add(Interval), 9, Away, Away, Away)
	expectSpan(t, b, one, Week, noon(), 5)
	for what, got := range map[string]Series{"all": b.All(Day), "its game": b.Games(Day, "gmtest")} {
		if !slices.Equal(got.Players, []int{3, 13, Away, Away, 5}) || !slices.Equal(got.Servers, []int{1, 2, Away, Away, 1}) {
			t.Errorf("%s: got %+v", what, got)
		}
	}

	// Samples that are a month old are dropped.
	b = loaded(t, file)
	sample(b, noon().AddDate(0, 0, 31), map[Key]int{one: 5})
	expect(t, b, one, noon().AddDate(0, 0, 31), 5)
	if n := b.Usage().Servers; n != 1 {
		t.Errorf("%d servers are remembered a month later, want 1", n)
	}
}

func TestEmptyBookIsAFile(t *testing.T) {
	b := loaded(t, kept(t, NewBook()))
	if b.Usage().Servers != 0 || len(b.All(Day).Players) != 0 {
		t.Errorf("an empty book came back as %+v", b.Usage())
	}
}

// slowWriter calls step before each write.
type slowWriter struct {
	bytes.Buffer
	step func()
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.step()
	return w.Buffer.Write(p)
}

// TestSamplesDuringSave takes samples while a file is written: it has the state from
// before.
func TestSamplesDuringSave(t *testing.T) {
	racetest.Skip(t, "takes many samples")
	b := NewBook()
	random := rand.New(rand.NewPCG(1, 2))
	const servers = 3 * saved
	for i := range daySteps + 5 {
		r := b.Begin(noon().Add(time.Duration(i) * Interval))
		for k := range servers {
			r.Add(key(k), fmt.Sprint("game", k%5), random.IntN(5000))
		}
		r.End()
	}
	want := make(map[Key]Series)
	for k := range servers {
		s, _ := b.Of(key(k), Day)
		want[key(k)] = s
	}
	all := b.All(Day)
	at := noon().Add((daySteps + 5) * Interval)
	steps := 0
	w := &slowWriter{step: func() {
		if steps++; steps > 4 {
			return
		}
		sample(b, at, map[Key]int{key(1): 60_000, key(servers + at.Second()): 1})
		at = at.Add(Interval)
	}}
	if err := b.Save(w); err != nil {
		t.Fatal(err)
	}
	if at.Sub(noon()) < (daySteps+8)*Interval {
		t.Fatalf("only %v passed during the save", at.Sub(noon())-(daySteps+5)*Interval)
	}
	b = loaded(t, w.Bytes())
	if b.Usage().Servers != servers {
		t.Errorf("%d servers were saved, want %d", b.Usage().Servers, servers)
	}
	for k, s := range want {
		got, _ := b.Of(k, Day)
		if tail := len(got.Players); tail < daySteps-20 || !slices.Equal(got.Players, s.Players[daySteps-tail:]) { // the oldest gave way
			t.Fatalf("%v: got %v, want %v", k, got.Players, s.Players)
		}
	}
	if got := b.All(Day).Players; len(got) < daySteps-20 || !slices.Equal(got, all.Players[daySteps-len(got):]) {
		t.Errorf("total: got %v, want %v", got, all.Players)
	}
}

// old returns a file of an earlier version.
func old(t testing.TB, round int64, records map[Key]oldRecord) []byte {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	head := binary.LittleEndian.AppendUint64([]byte(oldMagic), uint64(round))
	_, err := w.Write(binary.LittleEndian.AppendUint32(head, uint32(len(records))))
	for k, rec := range records {
		b := master.AppendID([]byte{0}, k.Origin, k.Public)
		b[0] = byte(len(b) - 1)
		b = binary.LittleEndian.AppendUint64(b, uint64(rec.First))
		b = binary.LittleEndian.AppendUint64(b, uint64(rec.Last))
		for _, n := range rec.Players {
			b = binary.LittleEndian.AppendUint16(b, n)
		}
		_, e := w.Write(b)
		err = errors.Join(err, e)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestOldFile(t *testing.T) {
	last := noon().UnixNano() / int64(Interval)
	records := make(map[Key]oldRecord)
	for i, players := range []int{3, 4} {
		rec := oldRecord{First: last - 40, Last: last}
		for n := range rec.Players {
			rec.Players[n] = absent[uint16]()
		}
		rec.Players[(last-30)%daySteps] = uint16(10 * players)
		rec.Players[last%daySteps] = uint16(players)
		records[key(i)] = rec
	}
	b := loaded(t, old(t, last, records))
	day, _ := b.Of(key(0), Day)
	if len(day.Players) != 31 || day.Players[0] != 30 || day.Players[1] != Away || day.Players[30] != 3 {
		t.Errorf("day %v, want 30, 29 times away, 3", day.Players)
	}
	expectSpan(t, b, key(0), Week, noon().Add(-3*time.Hour), 30, Away, Away, 3)
	expectSpan(t, b, key(1), Month, noon().Add(-4*time.Hour), 40, 4)
	if all := b.All(Week); !slices.Equal(all.Players, []int{70, Away, Away, 7}) || !slices.Equal(all.Servers, []int{2, Away, Away, 2}) {
		t.Errorf("total %+v", all)
	}
	sample(b, noon().Add(Interval), map[Key]int{key(0): 5})
	expectSpan(t, b, key(0), Week, noon().Add(-3*time.Hour), 30, Away, Away, 5)
	b = loaded(t, kept(t, b))
	expectSpan(t, b, key(0), Week, noon().Add(-3*time.Hour), 30, Away, Away, 5)
}

func TestOldFileWithTooManyServers(t *testing.T) {
	racetest.Skip(t, "a file of 32,768 servers")
	records := make(map[Key]oldRecord)
	for i := range MaxServers + 10 {
		records[key(i)] = oldRecord{First: 1000, Last: 1000 + int64(i)}
	}
	b := loaded(t, old(t, 1<<20, records))
	if _, ok := b.tracks[key(9)]; b.Usage().Servers != MaxServers || ok {
		t.Errorf("%d servers, the oldest is there: %t; want %d without it", b.Usage().Servers, ok, MaxServers)
	}
}

func TestDamagedFileChangesNothing(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 3, key(2): 4})
	for version, file := range map[string][]byte{"new": kept(t, b), "old": old(t, 1000, map[Key]oldRecord{key(1): {First: 1, Last: 5}, key(2): {}})} {
		for i := range file {
			changed := bytes.Clone(file)
			changed[i] ^= 0x41
			for what, bad := range map[string][]byte{"cut": file[:i], "changed": changed} {
				c := NewBook()
				err := c.Load(bytes.NewReader(bad))
				n := c.Usage().Servers
				// The header of gzip has bytes without meaning.
				if err == nil && (what == "cut" || n != 2) || err != nil && (!errors.Is(err, ErrFile) || n != 0) {
					t.Fatalf("%s, %s at byte %d of %d: %v, %d servers", version, what, i, len(file), err, n)
				}
			}
		}
	}
}

// pack compresses the text of a file.
func pack(t *testing.T, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(plain)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestImpossibleFiles(t *testing.T) {
	racetest.Skip(t, "packs large files")
	head := func(round uint64) []byte {
		b := binary.LittleEndian.AppendUint64([]byte(magic), round)
		return append(b, make([]byte, totalSize)...)
	}
	game := func(n int) []byte {
		b := append([]byte{byte(len(fmt.Sprint(n)))}, fmt.Sprint(n)...)
		return append(b, make([]byte, totalSize)...)
	}
	var many []byte
	for i := range MaxGames + 1 {
		many = append(many, game(i)...)
	}
	id := master.AppendID(nil, "qr2", key(1).Public)
	server := append(append([]byte{byte(len(id))}, id...), make([]byte, trackSize)...)
	later := slices.Clone(server)
	later[1+len(id)+4] = 9 // its last round
	for what, plain := range map[string][]byte{
		"late round":           append(head(maxRound+1), 0, 0),
		"too many games":       slices.Concat(head(5), []byte{0}, many, []byte{0}),
		"more behind it":       append(head(5), 0, 0, 0),
		"no end of servers":    append(head(5), server...),
		"last after the round": slices.Concat(head(5), later, []byte{0, 0}),
		"no server":            slices.Concat(head(5), game(7), []byte{0, 0}),
		"half a sample":        slices.Concat(binary.LittleEndian.AppendUint64([]byte(magic), 5), make([]byte, totalSize-2), []byte{0xFF, 0xFF, 0, 0}),
		"half a total":         append(binary.LittleEndian.AppendUint64([]byte(magic), 5), make([]byte, totalSize-1)...),
		"another kind of file": []byte("respawnd backups, long enough"),
	} {
		if err := NewBook().Load(bytes.NewReader(pack(t, plain))); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v", what, err)
		}
	}
	good := slices.Concat(head(5), server, []byte{0}, game(7), []byte{0})
	if b := loaded(t, pack(t, good)); b.Usage().Servers != 1 || b.Usage().Games != 1 {
		t.Errorf("a good file made by hand: got %+v", b.Usage())
	}
}

// TestFileIsBounded saves a book that is full of numbers without any pattern.
func TestFileIsBounded(t *testing.T) {
	racetest.Skip(t, "a file of 32,768 servers")
	b := NewBook()
	random := rand.New(rand.NewPCG(1, 2))
	r := b.Begin(noon())
	for i := range MaxServers {
		r.Add(key(i), fmt.Sprint("game", i%MaxGames), 1)
	}
	r.End()
	for _, t := range b.tracks {
		for i := range t.players {
			t.players[i] = uint16(random.Uint32())
		}
	}
	size := len(kept(t, b))
	t.Logf("%d servers of random numbers: %d of at most %d bytes", MaxServers, size, MaxFile)
	if size > MaxFile {
		t.Errorf("the file has %d bytes, want at most %d", size, MaxFile)
	}
}

func FuzzLoad(f *testing.F) {
	b := NewBook()
	f.Add(kept(f, b))
	f.Add(old(f, 1000, map[Key]oldRecord{key(1): {First: 1, Last: 5}, key(2): {}}))
	r := b.Begin(noon())
	r.Add(key(1), "gmtest", 3)
	r.End()
	f.Add(kept(f, b))
	f.Fuzz(func(t *testing.T, file []byte) {
		b := NewBook()
		if err := b.Load(bytes.NewReader(file)); err != nil {
			return
		}
		again := NewBook()
		if err := again.Load(bytes.NewReader(kept(t, b))); err != nil {
			t.Errorf("what was loaded and saved is refused: %v", err)
		}
		b.Begin(noon()).End()
		for _, s := range Spans() {
			b.Of(key(1), s)
			b.All(s)
			b.Games(s, "gmtest")
		}
	})
}
