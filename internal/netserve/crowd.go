package netserve

import (
	"container/heap"
	"net/netip"
)

// crowd holds the connections of one address, or of one network.
type crowd struct {
	key   netip.Addr           // its address, or the first one of its network
	open  int                  // connections in any state
	loose int                  // those that can be evicted
	by    [StateProtected]ring // the loose ones by state, oldest first
	index int                  // in crowds.heaviest; -1: not in it
}

// size returns how many connections a crowd has, and how many of them can be
// evicted; a nil crowd has none.
func (c *crowd) size() (open, loose int) {
	if c == nil {
		return 0, 0
	}
	return c.open, c.loose
}

// first returns the connection to evict first.
func (c *crowd) first() *Seat {
	for i := range c.by {
		if s := c.by[i].first(); s != nil {
			return s
		}
	}
	return nil
}

// crowds are all crowds of one kind. Finding the crowd with most evictable
// connections takes constant time, counting a connection logarithmic time.
type crowds struct {
	by       map[netip.Addr]*crowd
	heaviest crowdHeap // those with loose connections
}

// join adds a connection to x, the crowd of a key, and returns it; a nil x is a
// crowd that does not exist yet.
func (c *crowds) join(x *crowd, key netip.Addr) *crowd {
	if x == nil {
		x = &crowd{key: key, index: -1}
		for i := range x.by {
			x.by[i].init()
		}
		c.by[key] = x
	}
	x.open++
	return x
}

// leave removes a connection from x.
func (c *crowds) leave(x *crowd) {
	if x.open--; x.open == 0 {
		delete(c.by, x.key)
	}
}

// put enters a connection of x under a state, which may be StateProtected, and
// take undoes that.
func (c *crowds) put(x *crowd, e *ring, s State) {
	if s >= StateProtected {
		return
	}
	x.by[s].push(e)
	if x.loose++; x.index < 0 {
		heap.Push(&c.heaviest, x)
		return
	}
	heap.Fix(&c.heaviest, x.index)
}

func (c *crowds) take(x *crowd, e *ring, s State) {
	if s >= StateProtected {
		return
	}
	e.remove()
	if x.loose--; x.loose == 0 {
		heap.Remove(&c.heaviest, x.index)
		return
	}
	heap.Fix(&c.heaviest, x.index)
}

// most returns the largest number of evictable connections of one crowd.
func (c *crowds) most() int {
	if len(c.heaviest) == 0 {
		return 0
	}
	return c.heaviest[0].loose
}

// victim returns the connection to evict for a newcomer whose crowd has loose
// evictable connections, nil if no crowd would still have more than that.
func (c *crowds) victim(loose int) *Seat {
	if c.most() < loose+2 {
		return nil
	}
	return c.heaviest[0].first()
}

// crowdHeap is a heap with the heaviest crowd on top. It implements
// heap.Interface.
type crowdHeap []*crowd

func (h crowdHeap) Len() int           { return len(h) }
func (h crowdHeap) Less(i, j int) bool { return h[i].loose > h[j].loose }
func (h crowdHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *crowdHeap) Push(x any) {
	c := x.(*crowd)
	c.index = len(*h)
	*h = append(*h, c)
}

// Pop implements heap.Interface.
func (h *crowdHeap) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	c.index = -1
	return c
}
