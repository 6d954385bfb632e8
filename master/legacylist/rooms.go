package legacylist

import (
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

// groupFields are the columns of a table of rooms. The last one packs what a
// room says beyond them.
var groupFields = [...]string{"groupid", "hostname", "numplayers", "maxwaiting", "numwaiting", "numservers", "password", "other"}

const (
	// defaultCapacity is what a room says it holds if nothing is known.
	defaultCapacity = 100
	// maxRooms bounds the rooms in one list.
	maxRooms = 4096
	// packMark stands before each key and each value in the last column.
	packMark = '\x01'
)

// room is one row, as a filter and a list see it.
type room struct {
	games.Room
	waiting, servers, players int
}

// roomRow is a room as a filter sees it.
type roomRow struct {
	*room
	names []string // of the filter
}

// Field implements filter.Row.
func (r *roomRow) Field(i int) (string, bool) {
	v := r.value(r.names[i])
	return v, v != ""
}

// value returns what a room says under a name, "" if nothing.
func (r *room) value(name string) string {
	switch strings.ToLower(name) {
	case "groupid":
		return strconv.FormatUint(uint64(r.ID), 10)
	case "hostname":
		return r.Name
	case "numplayers":
		return strconv.Itoa(r.players)
	case "maxwaiting":
		if r.MaxWaiting <= 0 {
			return strconv.Itoa(defaultCapacity)
		}
		return strconv.Itoa(r.MaxWaiting)
	case "numwaiting":
		return strconv.Itoa(r.waiting)
	case "numservers":
		return strconv.Itoa(r.servers)
	case "other":
		return r.packed()
	}
	for _, f := range r.Fields {
		if strings.EqualFold(f.Key, name) {
			return f.Value
		}
	}
	return ""
}

// packed returns the fields that have no column of their own.
func (r *room) packed() string {
	var b strings.Builder
	for _, f := range r.Fields {
		if strings.EqualFold(f.Key, "password") {
			continue
		}
		for _, s := range [...]string{f.Key, f.Value} {
			b.WriteByte(packMark)
			b.WriteString(s)
		}
	}
	return b.String()
}

// buildRooms makes the list of the rooms of a game as it is now.
func (s *Server) buildRooms(game games.Game, f *filter.Filter) (*view, error) {
	v := &view{text: appendFieldNames(nil, groupFields[:])}
	rooms := s.rooms(game)
	countServers(s.opt.Registry, game.Name, rooms)
	row := roomRow{names: f.Names()}
	budget := filter.Budget{Steps: filterSteps}
	for i := range rooms {
		row.room = &rooms[i]
		if !f.Match(&row, &budget) {
			if budget.Exhausted() {
				return nil, endedExpensive
			}
			continue
		}
		for _, name := range groupFields {
			v.text = appendValue(v.text, row.value(name))
		}
		v.rows++
	}
	v.finish()
	return v, nil
}

// rooms returns the rooms of a game: those of the catalogue, then those of the
// store that have another id.
func (s *Server) rooms(game games.Game) []room {
	all := game.Rooms
	if s.opt.Rooms != nil {
		all = append(slices.Clip(all), s.opt.Rooms(game.Name)...)
	}
	var out []room
	seen := make(map[uint32]bool)
	for _, r := range all[:min(len(all), maxRooms)] {
		if seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		next := room{Room: r}
		if s.opt.Waiting != nil {
			next.waiting = s.opt.Waiting(r.ID)
		}
		out = append(out, next)
	}
	return out
}

// countServers counts the listed servers of a game, and the players on them, in
// the rooms that they say they belong to.
func countServers(reg *master.Registry, game string, rooms []room) {
	byID := make(map[string]*room, len(rooms))
	for i := range rooms {
		byID[strconv.FormatUint(uint64(rooms[i].ID), 10)] = &rooms[i]
	}
	for s := range reg.List(game) {
		id, _ := s.Field("groupid")
		r, ok := byID[id]
		if !ok {
			continue
		}
		r.servers++
		text, _ := s.Field("numplayers")
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			r.players += int(n)
		}
	}
}
