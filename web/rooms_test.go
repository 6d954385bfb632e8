package web

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/web/api"
)

// few is a chat with some members.
type few []api.RoomCount

func (few) Serial() uint64            { return 1 }
func (f few) Counts() []api.RoomCount { return f }

func TestGamePageRooms(t *testing.T) {
	for name, test := range map[string]struct {
		game string
		chat api.Chat
		want []string
		not  string
	}{
		"no chat":        {"gmtest", nil, []string{"1 room of", "<bdi>Lobby</bdi></li>"}, "chat lobby"},
		"members":        {"gmtest", few{{Game: "gmtest", Members: 2}, {Game: "gmtest", Group: 7, Members: 1}}, []string{"2 players in the game’s chat lobby", "<bdi>Lobby</bdi>: 1 player</li>"}, "1 players"},
		"needs chat":     {"gmquiet", few{}, []string{"0 players in the game’s chat lobby"}, "of the game’s lobby"},
		"has no lobby":   {"gmother", few{}, nil, "chat lobby"},
		"members anyway": {"gmother", few{{Game: "gmother", Members: 1}}, []string{"1 player in the game’s chat lobby"}, "1 players"},
	} {
		f := newFixture(t, func(o *Options) { o.Chat = test.chat })
		page := f.Get("/games/" + test.game).Body.String()
		for _, want := range test.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page of %s lacks %q", name, test.game, want)
			}
		}
		if strings.Contains(page, test.not) {
			t.Errorf("%s: the page of %s has %q", name, test.game, test.not)
		}
	}
}
