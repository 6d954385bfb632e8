package serverbrowse

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/rooms"
)

// roomFields are the fields of a list of rooms if the client names none.
var roomFields = [...]string{"hostname", "numwaiting", "maxwaiting", "numservers", "numplayers"}

// roomRow is a room as a filter sees it.
type roomRow struct {
	*rooms.Room
	names []string // of the filter
}

// Field implements filter.Row.
func (r *roomRow) Field(i int) (string, bool) {
	v := r.Value(r.names[i])
	return v, v != ""
}

// buildRooms makes the list of the rooms of a game. All values are texts; there
// are too few rooms for shorter forms to pay off.
func (s *Server) buildRooms(a *asked) (*view, error) {
	start := time.Now()
	keys := make([]Key, 0, len(a.names))
	for _, name := range a.names {
		keys = append(keys, Key{KeyString, name})
	}
	v := &view{serial: s.opt.Registry.Serial(a.key.game), built: start}
	v.clear = append(appendKeys(nil, keys), 0)
	v.first = uint32(len(v.clear))
	row := roomRow{names: a.filter.Names()}
	game, _ := s.opt.Games.Lookup(a.key.game)
	list := rooms.Sources{List: s.opt.Registry, More: s.opt.Rooms, Waiting: s.opt.Waiting}.Of(game)
	budget := filter.ListBudget(len(list))
	for i := range list {
		row.Room = &list[i]
		if !a.filter.Match(&row, &budget) {
			if budget.Exhausted() {
				return nil, errTooExpensive
			}
			continue
		}
		v.clear = appendRoom(v.clear, row.Room, keys)
		v.ends = append(v.ends, uint32(len(v.clear)))
	}
	v.clear = append(v.clear, listEnd...)
	v.took = time.Since(start)
	return v, nil
}

// appendRoom appends the entry of a room: its id is in the place of the address.
func appendRoom(dst []byte, r *rooms.Room, keys []Key) []byte {
	var flags Flag
	if len(keys) > 0 {
		flags = FlagValues
	}
	var id [4]byte
	binary.BigEndian.PutUint32(id[:], r.ID)
	dst = appendEntryHead(dst, flags, netip.AddrPortFrom(netip.AddrFrom4(id), 0), netip.AddrPort{}, netip.Addr{})
	values := make([]string, len(keys))
	size := 5
	for i, k := range keys {
		values[i] = r.Value(k.Name)
		size += len(values[i]) + 2
	}
	trim(values, size-maxElement)
	for _, v := range values {
		dst = appendLiteral(dst, v)
	}
	return dst
}
