package serverbrowse

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

// roomFields are what a list of rooms has when the client names no fields.
var roomFields = [...]string{"hostname", "numwaiting", "maxwaiting", "numservers", "numplayers"}

// defaultCapacity is what a room says it holds if nothing is known.
const defaultCapacity = 100

// maxRooms bounds the rooms in one list.
const maxRooms = 4096

// roomRow is a room as a filter and a list see it.
type roomRow struct {
	room    games.Room
	waiting int
	servers int
	players int
	names   []string // of the filter
}

// Field implements filter.Row.
func (r *roomRow) Field(i int) (string, bool) {
	v := r.value(r.names[i])
	return v, v != ""
}

// value returns what a room says under a name.
func (r *roomRow) value(name string) string {
	switch strings.ToLower(name) {
	case "hostname":
		return r.room.Name
	case "groupid":
		return strconv.FormatUint(uint64(r.room.ID), 10)
	case "numwaiting":
		return strconv.Itoa(r.waiting)
	case "maxwaiting":
		if r.room.MaxWaiting <= 0 {
			return strconv.Itoa(defaultCapacity)
		}
		return strconv.Itoa(r.room.MaxWaiting)
	case "numservers":
		return strconv.Itoa(r.servers)
	case "numplayers":
		return strconv.Itoa(r.players)
	}
	for _, f := range r.room.Fields {
		if strings.EqualFold(f.Key, name) {
			return f.Value
		}
	}
	return ""
}

// buildRooms makes the list of the rooms of a game. All values are texts; there
// are too few rooms for anything shorter to pay.
func (s *Server) buildRooms(a *asked) (*view, error) {
	start := time.Now()
	keys := make([]Key, 0, len(a.names))
	for _, name := range a.names {
		keys = append(keys, Key{KeyString, name})
	}
	v := &view{serial: s.opt.Registry.Serial(a.key.game), built: start}
	v.clear = append(appendKeys(nil, keys), 0)
	v.first = uint32(len(v.clear))
	inside := countRooms(s.opt.Registry, a.key.game)
	row := roomRow{names: a.filter.Names()}
	budget := filter.Budget{Steps: filterSteps}
	for _, room := range s.roomsOf(a.key.game) {
		in := inside[room.ID]
		row.room, row.servers, row.players = room, in.servers, in.players
		row.waiting = s.waiting(room.ID)
		if !a.filter.Match(&row, &budget) {
			if budget.Exhausted() {
				return nil, errTooExpensive
			}
			continue
		}
		v.clear = appendRoom(v.clear, &row, keys)
		v.ends = append(v.ends, uint32(len(v.clear)))
	}
	v.clear = append(v.clear, listEnd...)
	v.took = time.Since(start)
	return v, nil
}

// appendRoom appends the entry of a room: its id is in the place of the address.
func appendRoom(dst []byte, row *roomRow, keys []Key) []byte {
	var flags Flag
	if len(keys) > 0 {
		flags = FlagValues
	}
	var id [4]byte
	binary.BigEndian.PutUint32(id[:], row.room.ID)
	dst = appendEntryHead(dst, flags, netip.AddrPortFrom(netip.AddrFrom4(id), 0), netip.AddrPort{}, netip.Addr{})
	values := make([]string, len(keys))
	size := 5
	for i, k := range keys {
		values[i] = row.value(k.Name)
		size += len(values[i]) + 2
	}
	trim(values, size-maxElement)
	for _, v := range values {
		dst = appendLiteral(dst, v)
	}
	return dst
}

// roomsOf returns the rooms of a game: those of the catalogue, then those of
// the store that have another id.
func (s *Server) roomsOf(game string) []games.Room {
	var all []games.Room
	seen := make(map[uint32]bool)
	add := func(rooms []games.Room) {
		for _, r := range rooms {
			if r.ID == 0 || r.ID == 0xFFFFFFFF || seen[r.ID] || len(all) == maxRooms {
				continue
			}
			seen[r.ID] = true
			all = append(all, r)
		}
	}
	if g, ok := s.opt.Games.Lookup(game); ok {
		add(g.Rooms)
	}
	if s.opt.Rooms != nil {
		add(s.opt.Rooms(game))
	}
	return all
}

func (s *Server) waiting(room uint32) int {
	if s.opt.Waiting == nil {
		return 0
	}
	return s.opt.Waiting(room)
}

// inRoom is what a room holds.
type inRoom struct{ servers, players int }

// countRooms counts the listed servers of a game, and the players on them, by
// the room that they say they belong to.
func countRooms(reg *master.Registry, game string) map[uint32]inRoom {
	counts := make(map[uint32]inRoom)
	var c columns
	c.reset([]string{"groupid", "numplayers"})
	for s := range reg.List(game) {
		slots := c.of(s.Rules.Names())
		id, err := strconv.ParseUint(columnValue(s, slots[0]), 10, 32)
		if err != nil || id == 0 {
			continue
		}
		in := counts[uint32(id)]
		in.servers++
		if n, ok := canonical(columnValue(s, slots[1])); ok {
			in.players += int(n)
		}
		counts[uint32(id)] = in
	}
	return counts
}
