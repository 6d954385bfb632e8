package legacylist

import (
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/rooms"
	"github.com/respawnd/respawnd/master/views"
)

// groupFields are the columns of a table of rooms. The last one packs the other
// fields of a room.
var groupFields = [...]string{"groupid", "hostname", "numplayers", "maxwaiting", "numwaiting", "numservers", "password", "other"}

// packMark precedes each key and each value in the last column.
const packMark = '\x01'

// roomRow is a room as a filter and a list see it.
type roomRow struct {
	*rooms.Room
	names []string // of the filter
}

// Field implements filter.Row.
func (r *roomRow) Field(i int) (string, bool) {
	v := r.value(r.names[i])
	return v, v != ""
}

// value returns the value of a room under a name, "" if there is none.
func (r *roomRow) value(name string) string {
	if strings.EqualFold(name, "other") {
		return r.packed()
	}
	return r.Value(name)
}

// packed returns the fields that have no column of their own.
func (r *roomRow) packed() string {
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
	v := &view{views.Text{Bytes: appendFieldNames(nil, groupFields[:])}}
	list := rooms.Sources{List: s.opt.Registry, More: s.opt.Rooms, Waiting: s.opt.Waiting}.Of(game)
	row := roomRow{names: f.Names()}
	budget := filter.ListBudget(len(list))
	for i := range list {
		row.Room = &list[i]
		if !f.Match(&row, &budget) {
			if budget.Exhausted() {
				return nil, endedExpensive
			}
			continue
		}
		for _, name := range groupFields {
			v.Bytes = appendValue(v.Bytes, row.value(name))
		}
		v.Rows++
	}
	v.finish()
	return v, nil
}
