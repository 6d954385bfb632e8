package verdicts

// The chains that a record is in.
const (
	ofLog = iota
	ofHost
)

// link is the place of a record in a chain.
type link struct{ prev, next *record }

// chain is a list of records, the one that was used last first. Its links are in the
// records, so that it allocates nothing.
type chain struct {
	first, last *record
	n           int
}

// push adds a record at the front; of is the index of its link.
func (c *chain) push(r *record, of int) {
	r.links[of] = link{next: c.first}
	if c.first != nil {
		c.first.links[of].prev = r
	} else {
		c.last = r
	}
	c.first = r
	c.n++
}

func (c *chain) remove(r *record, of int) {
	l := r.links[of]
	if l.prev != nil {
		l.prev.links[of].next = l.next
	} else {
		c.first = l.next
	}
	if l.next != nil {
		l.next.links[of].prev = l.prev
	} else {
		c.last = l.prev
	}
	r.links[of] = link{}
	c.n--
}

func (c *chain) toFront(r *record, of int) {
	if c.first != r {
		c.remove(r, of)
		c.push(r, of)
	}
}
