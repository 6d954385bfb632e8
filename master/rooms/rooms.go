// Package rooms returns the group rooms of a game with the numbers of servers
// and players in them: a listed server names its room. The number of players who
// are in the room itself is given.
//
// Rooms come from the catalogue and from the store; this package keeps none.
// The protocols that list rooms define their wire format.
package rooms

import (
	"strconv"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

const (
	// MaxStored is the maximum number of rooms of a game in the store, in
	// addition to those of the catalogue. Writers of rooms enforce it.
	MaxStored = 3000
	// Max is the maximum number of rooms of a game; further ones are left out.
	Max = games.MaxRooms + MaxStored
	// DefaultCapacity is the capacity of a room if none is configured.
	DefaultCapacity = 100

	// unlistable is an id that ends the list in one of the protocols.
	unlistable = 0xFFFFFFFF
)

// Room is a room with its servers and players.
type Room struct {
	games.Room
	Servers int // listed servers that name this room
	Players int // on those servers
	Waiting int // members of its chat room
}

// Sources are where the numbers and further rooms come from. Only List is required.
type Sources struct {
	List *master.Registry
	// More returns the rooms of a game that are not in the catalogue.
	More func(game string) []games.Room
	// Waiting returns how many players are in the chat room of a room.
	Waiting func(id uint32) int
}

// Of returns the rooms of a game: those of the catalogue, then those that More
// returns under another id. Hidden servers do not count.
func (src Sources) Of(game games.Game) []Room {
	var all []Room
	indexes := make(map[uint32]int) // by id
	add := func(list []games.Room) {
		for _, r := range list {
			if _, again := indexes[r.ID]; again || r.ID == 0 || r.ID == unlistable || len(all) == Max {
				continue
			}
			indexes[r.ID] = len(all)
			room := Room{Room: r}
			if src.Waiting != nil {
				room.Waiting = src.Waiting(r.ID)
			}
			all = append(all, room)
		}
	}
	add(game.Rooms)
	if src.More != nil {
		add(src.More(game.Name))
	}
	if len(all) == 0 {
		return nil
	}
	for srv := range src.List.List(game.Name) {
		text, _ := srv.Rules.Get("groupid")
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			continue
		}
		if i, ok := indexes[uint32(id)]; ok {
			all[i].Servers++
			all[i].Players += srv.Population()
		}
	}
	return all
}

// Value returns the value of the room under a name, without regard to case, ""
// if there is none.
func (r *Room) Value(name string) string {
	switch master.FoldName(name) {
	case "groupid":
		return strconv.FormatUint(uint64(r.ID), 10)
	case "hostname":
		return r.Name
	case "numplayers":
		return strconv.Itoa(r.Players)
	case "maxwaiting":
		if r.MaxWaiting <= 0 {
			return strconv.Itoa(DefaultCapacity)
		}
		return strconv.Itoa(r.MaxWaiting)
	case "numwaiting":
		return strconv.Itoa(r.Waiting)
	case "numservers":
		return strconv.Itoa(r.Servers)
	}
	for _, f := range r.Fields {
		if ascii.EqualFold(f.Key, name) {
			return f.Value
		}
	}
	return ""
}
