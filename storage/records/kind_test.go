package records

import (
	"errors"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// The number of keys is written, because so many keys take too long to make.
func TestProductKeysFull(t *testing.T) {
	s := openNew(t)
	key := func(n int) storage.ProductKey {
		return storage.ProductKey{ProductKeyID: storage.ProductKeyID{Product: 1, Hash: fmt.Sprintf("%032x", n)}, Banned: true}
	}
	err := s.change(t.Context(), func(c *change) error {
		c.addCount(countName(tableProductKeys), storage.MaxProductKeys-2)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(keys ...storage.ProductKey) error { return s.PutProductKeys(t.Context(), keys) }
	for i, step := range []struct{ got, want error }{
		{put(key(1), key(1)), nil}, // one key
		{put(key(2), key(3)), storage.ErrFull},
		{put(key(2), key(1)), nil},
		{put(key(3)), storage.ErrFull},
		{put(key(1), key(2)), nil},
		{s.RemoveProductKey(t.Context(), key(1).ProductKeyID), nil},
		{put(key(3)), nil},
		{put(key(4)), storage.ErrFull},
	} {
		if !errors.Is(step.got, step.want) {
			t.Errorf("step %d = %v, want %v", i, step.got, step.want)
		}
	}
}

// Records that older versions wrote are counted when there is one more or less.
func TestKindIsCounted(t *testing.T) {
	s := openNew(t)
	motd := func(game string) storage.Motd { return storage.Motd{Game: game, Text: "Hello"} }
	put := func(game string) error { return s.PutMotd(t.Context(), motd(game)) }
	err := s.change(t.Context(), func(c *change) error {
		c.put(tableMotds, []byte("a"), motd("a"))
		c.put(tableMotds, []byte("b"), motd("b"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		do   func() error
		want int64
	}{
		{func() error { return put("a") }, 0}, // nothing more or less
		{func() error { return put("c") }, 3},
		{func() error { return put("c") }, 3},
		{func() error { return put("d") }, 4},
		{func() error { return s.RemoveMotd(t.Context(), "a") }, 3},
	} {
		var n int64
		err := step.do()
		if err == nil {
			n, err = look(t.Context(), s, func(v *view) int64 { return v.countOf(countName(tableMotds)) })
		}
		if err != nil || n != step.want {
			t.Errorf("step %d: %d are counted, %v, want %d", i, n, err, step.want)
		}
	}
}
