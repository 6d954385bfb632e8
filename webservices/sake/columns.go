package sake

import (
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/storage"
)

// automatic is a field that every record has.
type automatic uint8

const (
	stored automatic = iota // none: a field of the record
	recordID
	ownerID
	numRatings
	averageRating
	myRating
	sumRatings
)

// automaticNames are the names of the automatic fields, by number.
var automaticNames = [...]string{"", "recordid", "ownerid", "num_ratings", "average_rating", "my_rating", "sum_ratings"}

// automaticByName returns an automatic field, ignoring case; stored: there is none.
func automaticByName(name string) automatic {
	for i := recordID; i <= sumRatings; i++ {
		if ascii.EqualFold(automaticNames[i], name) {
			return i
		}
	}
	return stored
}

// value returns the value of an automatic field of a record.
func (a automatic) value(id uint32, owner storage.ProfileID, ratings int, sum int64, mine int) storage.SakeValue {
	integer := func(n int64) storage.SakeValue { return storage.SakeValue{Type: storage.SakeInt, Num: n} }
	switch a {
	case recordID:
		return integer(int64(id))
	case ownerID:
		return integer(int64(owner))
	case numRatings:
		return integer(int64(ratings))
	case averageRating:
		return storage.SakeFloatValue(average(ratings, sum))
	case myRating:
		return integer(int64(mine))
	case sumRatings:
		return integer(sum)
	default:
		return storage.SakeValue{}
	}
}

// average returns the average of ratings; 0 if there are none.
func average(ratings int, sum int64) float32 {
	if ratings == 0 {
		return 0
	}
	return float32(float64(sum) / float64(ratings))
}

// columns resolves the names of a search: each column that it uses gets a slot.
type columns struct {
	table *storage.SakeTable
	// declared has further columns that no record has yet.
	declared func(name string) bool
	names    []string    // of the slots, in lower case
	numbers  []int       // of the slots' columns; -1: automatic, or in no record
	auto     []automatic // of the slots
	rated    bool        // whether my_rating is used
}

// slot returns the slot of a column. ok is false if the table has no such column.
func (c *columns) slot(name string) (slot int, ok bool) {
	folded := ascii.ToLower(name)
	for i, n := range c.names {
		if n == folded {
			return i, true
		}
	}
	auto, column := automaticByName(folded), -1
	if auto == stored {
		column = c.table.Column(folded)
		if column < 0 && (c.declared == nil || !c.declared(folded)) {
			return 0, false
		}
	}
	c.rated = c.rated || auto == myRating
	c.names, c.numbers, c.auto = append(c.names, folded), append(c.numbers, column), append(c.auto, auto)
	return len(c.names) - 1, true
}

// slots has the values of the row that is looked at, for the columns of a search.
type slots struct {
	values []storage.SakeValue
	work   int // units that were spent

	auto   []automatic // by slot
	byData []int16     // slot by number of the column; -1: not used
	wanted int         // how many slots are stored columns
}

func (c *columns) newSlots() *slots {
	s := &slots{values: make([]storage.SakeValue, len(c.names)), auto: c.auto, byData: make([]int16, len(c.table.Columns))}
	for i := range s.byData {
		s.byData[i] = -1
	}
	for i, n := range c.numbers {
		if n >= 0 {
			s.byData[n] = int16(i)
			s.wanted++
		}
	}
	return s
}

// read fills the slots with the values of a row, without copying them.
func (s *slots) read(r *storage.SakeRow) {
	s.work += rowWork + r.Rest()>>rowWorkShift
	if len(s.values) == 0 {
		return
	}
	for i, a := range s.auto {
		s.values[i] = storage.SakeValue{}
		if a != stored {
			s.values[i] = a.value(r.ID, r.Owner, r.Ratings, r.RatingSum, r.MyRating)
		}
	}
	for missing := s.wanted; missing > 0; {
		column, v, ok := r.Next()
		if !ok {
			return
		}
		if int(column) < len(s.byData) && s.byData[column] >= 0 {
			s.values[s.byData[column]] = v
			missing--
		}
	}
}
