package api

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/web/webtest"
)

// crowd is a chat whose counts the test sets.
type crowd struct {
	mu     sync.Mutex // guards the fields below
	serial uint64
	counts []RoomCount
	reads  int
}

func (c *crowd) set(counts ...RoomCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	c.counts = counts
}

func (c *crowd) Serial() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.serial
}

func (c *crowd) Counts() []RoomCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.counts
}

// withChat gives an API a chat and a group room that was added.
func withChat(c *crowd) func(*Options) {
	return func(o *Options) {
		o.Chat = c
		o.Rooms = func(game string) []games.Room {
			if game != "gmtest" {
				return nil
			}
			return []games.Room{{ID: 9001, Name: "Added"}}
		}
	}
}

func TestGameMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(crowd)
		f := newFixture(t, withChat(c))
		get := func() gameDetails { return webtest.Decode[gameDetails](t, f.Get("/api/v1/games/gmtest").Body) }
		if d := get(); d.Members != 0 || len(d.Rooms) != 2 || d.Rooms[0].Members != 0 {
			t.Errorf("without members: %+v", d)
		}
		c.set(RoomCount{"gmtest", 0, 3}, RoomCount{"gmtest", 9001, 2}, RoomCount{"unknown", 0, 9})
		time.Sleep(lobbyPause)
		d := get()
		if diff := cmp.Diff([]roomJSON{{7, "Lobby", 0}, {9001, "Added", 2}}, d.Rooms); diff != "" || d.Members != 3 {
			t.Errorf("%d members in the title room; rooms (-want +got):\n%s", d.Members, diff)
		}
		for range 10 {
			c.set(RoomCount{"gmtest", 0, 4})
			get()
		}
		if c.reads != 2 {
			t.Errorf("the chat was read %d times, want twice", c.reads)
		}
		if len(f.api.lobby.games) != 1 {
			t.Errorf("counts of %d games are kept, want those of gmtest", len(f.api.lobby.games))
		}
	})
}

func TestEventsOfRooms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(crowd)
		c.set(RoomCount{"gmtest", 0, 1}, RoomCount{"gmother", 0, 5})
		f := newFixture(t, withChat(c))
		f.api.lobby.refresh(time.Now())
		f.Serving(t, func(ln *webtest.Pipes, _ func() time.Duration) {
			all, other := listen(t, ln.Dial(t), ""), listen(t, ln.Dial(t), "?game=gmother")
			synctest.Wait()
			for n := range 50 { // joined within a moment
				c.set(RoomCount{"gmtest", 0, 1}, RoomCount{"gmtest", 7, n + 1}, RoomCount{"gmother", 0, 5})
			}
			if e := all.next(); e.kind != "rooms" || e.data != `{"game":"gmtest","title_members":1,"rooms":[{"id":7,"members":50}]}` {
				t.Errorf("event %+v, want the rooms of gmtest once", e)
			}
			c.set(RoomCount{"gmtest", 0, 1})
			for _, want := range []string{`{"game":"gmother","title_members":0,"rooms":[]}`, `{"game":"gmtest","title_members":1,"rooms":[]}`} {
				if e := all.next(); e.data != want {
					t.Errorf("event %+v, want %s", e, want)
				}
			}
			if e := other.next(); e.kind != "rooms" || !strings.Contains(e.data, "gmother") {
				t.Errorf("event %+v of a stream of gmother alone", e)
			}
		})
	})
}

func TestLobbyRunWithoutChat(t *testing.T) {
	newLobby(nil, nil).run(context.Background(), nil) // returns
}
