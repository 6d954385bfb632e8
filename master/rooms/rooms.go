// Package rooms finds the group rooms of a game with what is in them: the people
// who wait there and the listed servers that say they belong to one.
//
// Rooms come from the catalogue and from the store; this package keeps none. How
// they are written is for the protocols that list them.
package rooms

import (
	"strconv"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

const (
	// MaxStored is how many rooms of the store a game may have, beside those of
	// the catalogue. Whoever stores rooms keeps to it.
	MaxStored = 3000
	// Max is how many rooms of a game there are at most; further ones are left out.
	Max = games.MaxRooms + MaxStored
	// DefaultCapacity is what a room says it holds if nothing is known.
	DefaultCapacity = 100

	// unlistable is an id that ends the list in one of the protocols.
	unlistable = 0xFFFFFFFF
)

// Room is a room and what is in it.
type Room struct {
	games.Room
	Waiting int // people
	Servers int // listed ones that say they belong to it
	Players int // on those servers
}

// Sources are where rooms and what is in them are known. Registry is required.
type Sources struct {
	Registry *master.Registry
	// More returns the rooms of a game that are not in the catalogue; nil: none.
	// It may block.
	More func(game string) []games.Room
	// Waiting returns how many people are in a room; nil: nobody.
	Waiting func(room uint32) int
}

// Of returns the rooms of a game: those of the catalogue, then those of the store
// that have another id. Hidden servers do not count.
func (s Sources) Of(game games.Game) []Room {
	var all []Room
	places := make(map[uint32]int)
	add := func(list []games.Room) {
		for _, r := range list {
			if _, again := places[r.ID]; again || r.ID == 0 || r.ID == unlistable || len(all) == Max {
				continue
			}
			places[r.ID] = len(all)
			next := Room{Room: r}
			if s.Waiting != nil {
				next.Waiting = s.Waiting(r.ID)
			}
			all = append(all, next)
		}
	}
	add(game.Rooms)
	if s.More != nil {
		add(s.More(game.Name))
	}
	if len(all) > 0 {
		s.count(game.Name, all, places)
	}
	return all
}

// count counts servers and players in the rooms.
func (s Sources) count(game string, all []Room, places map[uint32]int) {
	for srv := range s.Registry.List(game) {
		text, _ := srv.Rules.Get("groupid")
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			continue
		}
		if i, ok := places[uint32(id)]; ok {
			all[i].Servers++
			all[i].Players += srv.Population()
		}
	}
}

// Value returns what the room says under a name, without regard to case, "" if
// nothing.
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
