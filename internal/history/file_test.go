package history

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master"
)

// kept returns what a book writes.
func kept(t testing.TB, b *Book) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := b.Save(&file); err != nil {
		t.Fatalf("Save: %v", err)
	}
	return file.Bytes()
}

func TestBookGoesOnFromItsFile(t *testing.T) {
	one, two := key(1), key(2)
	two.Origin = master.FromZandronum
	b := NewBook()
	sample(b, noon(), map[Key]int{one: 3})
	sample(b, noon().Add(Interval), map[Key]int{one: 4, two: 9})
	file := kept(t, b)

	b = NewBook()
	if err := b.Load(bytes.NewReader(file)); err != nil {
		t.Fatalf("Load: %v", err)
	}
	expect(t, b, one, noon(), 3, 4)
	sample(b, noon().Add(4*Interval), map[Key]int{one: 5})
	expect(t, b, one, noon(), 3, 4, Away, Away, 5)
	expect(t, b, two, noon().Add(Interval), 9, Away, Away, Away)

	// Samples that are a day old are dropped.
	b = NewBook()
	if err := b.Load(bytes.NewReader(file)); err != nil {
		t.Fatalf("Load: %v", err)
	}
	sample(b, noon().Add(25*time.Hour), map[Key]int{one: 5})
	expect(t, b, one, noon().Add(25*time.Hour), 5)
	if n, _ := b.Len(); n != 1 {
		t.Errorf("%d servers are remembered a day later, want 1", n)
	}
}

func TestEmptyBookIsAFile(t *testing.T) {
	if err := NewBook().Load(bytes.NewReader(kept(t, NewBook()))); err != nil {
		t.Errorf("Load of an empty book: %v", err)
	}
}

func TestDamagedFileChangesNothing(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 3, key(2): 4})
	file := kept(t, b)
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 0x41
		for what, bad := range map[string][]byte{"cut": file[:i], "changed": changed} {
			c := NewBook()
			err := c.Load(bytes.NewReader(bad))
			n, _ := c.Len()
			// The header of gzip has bytes without meaning.
			if err == nil && (what == "cut" || n != 2) || err != nil && (!errors.Is(err, ErrFile) || n != 0) {
				t.Fatalf("%s at byte %d of %d: %v, %d servers", what, i, len(file), err, n)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	b := NewBook()
	f.Add(kept(f, b))
	b.Begin(noon()).Add(key(1), 3)
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
		b.Begin(noon())
		b.Of(key(1))
	})
}
