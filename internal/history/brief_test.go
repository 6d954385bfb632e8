package history

import (
	"slices"
	"testing"
	"time"
)

func TestBrief(t *testing.T) {
	b, old, fresh := NewBook(), key(1), key(2)
	if _, ok := b.Brief(old); ok {
		t.Error("an empty book has a server")
	}
	end := noon().Add(10 * 24 * time.Hour)
	for at := noon(); at.Before(end); at = at.Add(time.Hour) {
		if day := end.Sub(at); day > 100*time.Hour && day <= 110*time.Hour {
			continue // no daemon ran
		}
		players := map[Key]int{old: 2}
		if end.Sub(at) <= 20*time.Hour {
			delete(players, old)
		}
		if end.Sub(at) <= 3*time.Hour {
			players[fresh] = 5
		}
		sample(b, at, players)
	}
	got, _ := b.Brief(old)
	if got.New || !got.First.Equal(noon()) || got.Counted != 158 || got.Listed != 138 || got.Players != 276 || got.Day[3] != 2 || got.Day[4] != Away {
		t.Errorf("the old server: got %+v", got)
	}
	got, _ = b.Brief(fresh)
	if !got.New || !got.First.Equal(end.Add(-3*time.Hour)) || got.Counted != 3 || got.Listed != 3 || !slices.Equal(got.Day[20:], []int{Away, 5, 5, 5}) {
		t.Errorf("the new server: got %+v", got)
	}
}

// A server is new for three days, and only if its absence before was seen.
func TestBriefNew(t *testing.T) {
	for name, c := range map[string]struct {
		before, since time.Duration
		want          bool
	}{
		"just listed":           {minBefore, 0, true},
		"nearly three days ago": {minBefore, NewFor - Interval, true},
		"three days ago":        {minBefore, NewFor, false},
		"nothing was kept":      {minBefore - Interval, 0, false},
	} {
		b := NewBook()
		sample(b, noon(), nil)
		sample(b, noon().Add(c.before), map[Key]int{key(1): 1})
		sample(b, noon().Add(c.before+c.since), map[Key]int{key(1): 1})
		if got, _ := b.Brief(key(1)); got.New != c.want {
			t.Errorf("%s: new is %t", name, got.New)
		}
	}
}

func BenchmarkBrief(b *testing.B) {
	book := NewBook()
	for i := range 200 {
		sample(book, noon().Add(time.Duration(i)*time.Hour), map[Key]int{key(1): i})
	}
	b.ReportAllocs()
	for b.Loop() {
		book.Brief(key(1))
	}
}
