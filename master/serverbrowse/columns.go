package serverbrowse

import (
	"strings"

	"github.com/respawnd/respawnd/master"
)

// Slots of columns that are not among a server's rules.
const (
	slotMissing int16 = -1 - iota
	slotCountry
	slotRegion
)

// columns finds the values of some fields in the records of servers. Servers of
// one game mostly share their list of names, so the names are looked up once
// per such list and not once per server.
type columns struct {
	names []string
	slots map[*master.Names][]int16
	last  *master.Names // last argument and result of of
	found []int16
	free  []int16 // memory for further results
}

// reset sets the columns to other names. It keeps the memory.
func (c *columns) reset(names []string) {
	if c.slots == nil {
		c.slots = make(map[*master.Names][]int16)
	}
	clear(c.slots)
	c.names, c.last, c.found, c.free = names, nil, nil, c.free[:0]
}

// of returns the slots of the columns in the rules of a server.
func (c *columns) of(n *master.Names) []int16 {
	if n == c.last && c.found != nil {
		return c.found
	}
	found, ok := c.slots[n]
	if !ok {
		found = c.resolve(n)
		c.slots[n] = found
	}
	c.last, c.found = n, found
	return found
}

func (c *columns) resolve(n *master.Names) []int16 {
	start := len(c.free)
	for _, name := range c.names {
		slot := slotMissing
		switch {
		case strings.EqualFold(name, "country"):
			slot = slotCountry
		case strings.EqualFold(name, "region"):
			slot = slotRegion
		default:
			if i, ok := n.Index(name); ok {
				slot = int16(i)
			}
		}
		c.free = append(c.free, slot)
	}
	return c.free[start:len(c.free):len(c.free)]
}

// columnValue returns the value in a slot, "" if there is none.
func columnValue(s *master.Server, slot int16) string {
	switch {
	case slot >= 0:
		return s.Rules.Value(int(slot))
	case slot == slotCountry:
		return s.Country
	case slot == slotRegion:
		return s.Region
	}
	return ""
}

// row is a server as a filter sees it.
type row struct {
	server *master.Server
	slots  []int16 // of the filter's names
}

// Field implements filter.Row.
func (r *row) Field(i int) (string, bool) {
	v := columnValue(r.server, r.slots[i])
	return v, v != ""
}
