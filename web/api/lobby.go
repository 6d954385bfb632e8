package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/games"
)

// Chat counts the members of chat rooms. Its methods may be called concurrently.
type Chat interface {
	// Serial changes whenever a count does.
	Serial() uint64
	// Counts returns the title and group rooms that have members, in any order.
	Counts() []RoomCount
}

// RoomCount is how many members a chat room has.
type RoomCount struct {
	Game    string
	Group   uint32 // id of the group room; 0: the title room of the game
	Members int
}

// lobbyPause is how old counts may be, and the shortest time between two events
// about the rooms of a game.
const lobbyPause = time.Second

// lobby keeps the counts of chat rooms by game. They are read again when they are
// older than lobbyPause and asked for.
type lobby struct {
	chat    Chat // nil: there is none
	catalog *games.Catalog

	mu     sync.Mutex // guards the fields below
	serial uint64     // of the chat when it was read last
	read   time.Time  // zero: never
	latest uint64     // version of the last change of any game
	games  map[string]lobbyGame
	moved  chan struct{} // closed when latest changes
}

// lobbyGame are the counts of a game. It never changes.
type lobbyGame struct {
	members map[uint32]int // by group; 0: title room
	version uint64
}

func newLobby(chat Chat, catalog *games.Catalog) *lobby {
	return &lobby{chat: chat, catalog: catalog, games: make(map[string]lobbyGame), moved: make(chan struct{})}
}

func (l *lobby) of(game string) lobbyGame {
	l.refresh(time.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.games[game]
}

// refresh reads the chat if the counts are old.
func (l *lobby) refresh(now time.Time) {
	if l.chat == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	serial := l.chat.Serial()
	if !l.read.IsZero() && (serial == l.serial || now.Sub(l.read) < lobbyPause) {
		return
	}
	l.serial, l.read = serial, now
	l.apply(l.counts())
}

// counts returns the members by game and group. Only known games count, so that the
// names of rooms cannot fill the memory.
func (l *lobby) counts() map[string]map[uint32]int {
	out := make(map[string]map[uint32]int)
	for _, r := range l.chat.Counts() {
		g, known := l.catalog.Lookup(r.Game)
		if !known {
			continue
		}
		if out[g.Name] == nil {
			out[g.Name] = make(map[uint32]int)
		}
		out[g.Name][r.Group] = r.Members
	}
	return out
}

// apply takes over counts and gives the games that changed a new version.
func (l *lobby) apply(now map[string]map[uint32]int) {
	version := l.latest + 1
	for name := range l.games {
		if _, still := now[name]; !still {
			now[name] = nil
		}
	}
	for name, members := range now {
		if !maps.Equal(l.games[name].members, members) {
			l.games[name] = lobbyGame{members, version}
			l.latest = version
		}
	}
	if l.latest == version {
		close(l.moved)
		l.moved = make(chan struct{})
	}
}

// now returns the present version, and a channel that is closed with the next one.
func (l *lobby) now() (version uint64, moved <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest, l.moved
}

// roomsEvent is the data of an event about the rooms of a game.
type roomsEvent struct {
	Game         string      `json:"game"`
	TitleMembers int         `json:"title_members"`
	Rooms        []groupSize `json:"rooms"` // that have members, by id
}

type groupSize struct {
	ID      uint32 `json:"id"`
	Members int    `json:"members"`
}

// since returns an event for each game whose counts changed after a version, of one
// game if it is not empty, and the version that they lead to.
func (l *lobby) since(version uint64, game string) (text []byte, now uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.games)) {
		g := l.games[name]
		if g.version <= version || (game != "" && game != name) {
			continue
		}
		text = append(text, "event: rooms\ndata: "...)
		text = append(text, encodeJSON(g.event(name))...) // ends with a line feed
		text = append(text, '\n')
	}
	return text, l.latest
}

func (g lobbyGame) event(name string) roomsEvent {
	e := roomsEvent{Game: name, TitleMembers: g.members[0], Rooms: []groupSize{}}
	for id, n := range g.members {
		if id != 0 {
			e.Rooms = append(e.Rooms, groupSize{id, n})
		}
	}
	slices.SortFunc(e.Rooms, func(a, b groupSize) int { return cmp.Compare(a.ID, b.ID) })
	return e
}

// run keeps the counts fresh while there are streams, until ctx ends.
func (l *lobby) run(ctx context.Context, streams func() int) {
	if l.chat == nil {
		return
	}
	for now := range clock.Ticks(ctx, lobbyPause) {
		if streams() > 0 {
			l.refresh(now)
		}
	}
}

// RoomView is a group room of a game, or its title room.
type RoomView struct {
	ID      uint32 // 0: title room
	Name    string
	Members int
}

// Lobby returns the members of the title room of a game, its group rooms, and a number
// that changes when one of the counts does. on is false if there is no chat.
func (s *API) Lobby(g games.Game) (title int, rooms []RoomView, version uint64, on bool) {
	now := s.lobby.of(g.Name)
	seen := make(map[uint32]bool)
	add := func(list []games.Room) {
		for _, r := range list {
			if !seen[r.ID] {
				seen[r.ID] = true
				rooms = append(rooms, RoomView{r.ID, r.Name, now.members[r.ID]})
			}
		}
	}
	add(g.Rooms)
	if s.opt.Rooms != nil {
		add(s.opt.Rooms(g.Name))
	}
	return now.members[0], rooms, now.version, s.lobby.chat != nil
}
