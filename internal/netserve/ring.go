package netserve

// ring is an element of a doubly linked list, or the list itself: the zero ring
// is an element in no list, and one that init was called on an empty list. The
// links are embedded in the listed values, so that moving an element does not
// allocate.
type ring struct {
	prev, next *ring
	seat       *Seat // nil: the list itself
}

// init makes r an empty list.
func (r *ring) init() { r.prev, r.next = r, r }

// push puts e, which is in no list, at the end of the list r.
func (r *ring) push(e *ring) {
	e.prev, e.next = r.prev, r
	r.prev.next, r.prev = e, e
}

// remove removes the element r from its list, if it is in one.
func (r *ring) remove() {
	if r.next == nil {
		return
	}
	r.prev.next, r.next.prev = r.next, r.prev
	r.prev, r.next = nil, nil
}

// first returns the oldest seat of the list r, nil if it is empty.
func (r *ring) first() *Seat { return r.next.seat }
