package presence

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/storage"
)

// maxFarProfiles is the maximum number of profiles of another node that this one
// knows. More are dropped and counted.
const maxFarProfiles = 1 << 20

// replica holds the known state of the players of other nodes.
type replica struct {
	mu     sync.RWMutex // guards the fields below; comes before Local.mu
	nodes  map[string]*farNode
	people map[storage.ProfileID][]*far // one for each node
	count  int                          // sessions
	left   map[string]uint64            // incarnations of nodes that are not live
}

// farNode is another node.
type farNode struct {
	incarnation uint64
	people      map[storage.ProfileID]*far
	round       uint64 // of snapshots
	asking      bool   // it will be asked for its players
	begun       bool   // the first part of a snapshot has come
	whole       bool   // all its players are known
}

func newReplica() replica {
	return replica{nodes: make(map[string]*farNode), people: make(map[storage.ProfileID][]*far), left: make(map[string]uint64)}
}

// put adds or replaces a profile of a node. It returns false if that has too many.
// mu is held.
func (r *replica) put(node string, f *far) bool {
	n := r.nodes[node]
	if n.people[f.profile] == nil && len(n.people) >= maxFarProfiles {
		return false
	}
	r.remove(node, f.profile)
	f.node, f.round = node, n.round
	n.people[f.profile] = f
	r.people[f.profile] = append(r.people[f.profile], f)
	r.count += len(f.sessions)
	return true
}

// remove removes a profile of a node. mu is held.
func (r *replica) remove(node string, id storage.ProfileID) {
	f := r.nodes[node].people[id]
	if f == nil {
		return
	}
	delete(r.nodes[node].people, id)
	r.count -= len(f.sessions)
	rest := slices.DeleteFunc(r.people[id], func(o *far) bool { return o == f })
	if len(rest) == 0 {
		delete(r.people, id)
		return
	}
	r.people[id] = rest
}

// newest returns the state of a profile with the newest session, nil if no other
// node has it. mu is held.
func (r *replica) newest(id storage.ProfileID) (best *far) {
	for _, f := range r.people[id] {
		if best == nil || f.fence() > best.fence() {
			best = f
		}
	}
	return best
}

// effective returns the status of a profile as others see it: that of the node with
// its newest session. far.mu is held.
func (c *Clustered) effective(id storage.ProfileID) (Status, bool) {
	f := c.far.newest(id)
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch p := c.profiles[id]; {
	case p != nil && (f == nil || p.fence >= f.fence()):
		return p.status, true
	case f != nil:
		return f.status, true
	}
	return Status{}, false
}

// elsewhere reports whether a profile is signed in on another node.
func (c *Clustered) elsewhere(id storage.ProfileID) bool {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	return len(c.far.people[id]) > 0
}

// Status implements Hub.
func (c *Clustered) Status(_ context.Context, id storage.ProfileID) (Status, bool) {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	return c.effective(id)
}

// Tell implements Hub.
func (c *Clustered) Tell(_ context.Context, s Session, of storage.ProfileID) bool {
	order := c.order(of)
	order.Lock()
	defer order.Unlock()
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	st, _ := c.effective(of)
	return c.hand(s, StatusChanged{of, st})
}

// Show implements Hub.
func (c *Clustered) Show(_ context.Context, to, of storage.ProfileID) { c.show(to, of, 0) }

// Hide implements Hub.
func (c *Clustered) Hide(_ context.Context, to, of storage.ProfileID) { c.show(to, of, flagHide) }

// show delivers the status of a profile to the sessions of another, on all nodes.
// The sessions may have come just now, so it is sent to nodes that are not known to
// have one too.
func (c *Clustered) show(to, of storage.ProfileID, flags byte) {
	order := c.order(of)
	order.Lock()
	defer order.Unlock()
	c.toAll(appendIDs(append(c.header(kindShow), flags), []storage.ProfileID{to, of}))
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	c.showHere(to, of, flags)
}

// showHere is show for this node. far.mu is held.
func (c *Clustered) showHere(to, of storage.ProfileID, flags byte) {
	var st Status
	if flags&flagHide == 0 {
		st, _ = c.effective(of)
	}
	c.deliver(to, StatusChanged{of, st})
}

// CheckKey implements Hub.
func (c *Clustered) CheckKey(ctx context.Context, id storage.ProfileID, key int32) bool {
	return c.Local.CheckKey(ctx, id, key) || key > 0 && c.anyFar(id, func(s *farSession) bool { return equalKeys(s.key, key) })
}

// SignedInFrom implements Hub.
func (c *Clustered) SignedInFrom(ctx context.Context, id storage.ProfileID, from netip.Addr) bool {
	if c.Local.SignedInFrom(ctx, id, from) {
		return true
	}
	from = from.Unmap().WithZone("")
	return from.IsValid() && c.anyFar(id, func(s *farSession) bool { return s.client.Peer.Addr().Unmap().WithZone("") == from })
}

// anyFar reports whether f is true for a session of a profile on another node.
func (c *Clustered) anyFar(id storage.ProfileID, f func(*farSession) bool) bool {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	for _, p := range c.far.people[id] {
		for i := range p.sessions {
			if f(&p.sessions[i]) {
				return true
			}
		}
	}
	return false
}

// Match implements Hub.
func (c *Clustered) Match(ctx context.Context, product, limit int) []Present {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	found := c.Local.Match(ctx, product, math.MaxInt)
	found = slices.DeleteFunc(found, func(p Present) bool { return len(c.far.people[p.Profile]) > 0 && !c.newestHere(p.Profile) })
	for id := range c.far.people {
		f := c.far.newest(id)
		if f.status.State != Offline && (f.status.Product == product || slices.Contains(f.invitable, product)) && !c.newestHere(id) {
			found = append(found, Present{id, f.status})
		}
	}
	slices.SortFunc(found, func(a, b Present) int { return cmp.Compare(a.Profile, b.Profile) })
	return found[:max(0, min(len(found), limit))]
}

// newestHere reports whether the newest session of a profile is on this node. far.mu
// is held.
func (c *Clustered) newestHere(id storage.ProfileID) bool {
	f := c.far.newest(id)
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := c.profiles[id]
	return p != nil && (f == nil || p.fence >= f.fence())
}

// Count implements Hub: the sessions of all nodes.
func (c *Clustered) Count() int {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	return c.Local.Count() + c.far.count
}

// List implements Hub: the sessions of all nodes.
func (c *Clustered) List(after storage.ProfileID, limit int) (list []SignedIn, more bool) {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	here, moreHere := c.Local.List(after, limit)
	for i := range here {
		here[i].Node = c.bus.Self()
	}
	ids := make([]storage.ProfileID, 0, len(c.far.people))
	for id := range c.far.people {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for len(ids) > 0 || len(here) > 0 {
		if len(list) >= limit {
			return list, true
		}
		if len(here) > 0 && (len(ids) == 0 || here[0].Profile <= ids[0]) {
			id := here[0].Profile
			n := slices.IndexFunc(here, func(s SignedIn) bool { return s.Profile != id })
			if n < 0 {
				n = len(here)
			}
			list, here = append(list, here[:n]...), here[n:]
			if len(ids) > 0 && ids[0] == id {
				list, ids = append(list, c.farList(id)...), ids[1:]
			}
			if len(here) == 0 && moreHere { // the next of this node are not known
				return list, true
			}
			continue
		}
		list, ids = append(list, c.farList(ids[0])...), ids[1:]
	}
	return list, moreHere
}

// farList returns the sessions of a profile on other nodes. far.mu is held.
func (c *Clustered) farList(id storage.ProfileID) (list []SignedIn) {
	for _, f := range c.far.people[id] {
		for i := range f.sessions {
			list = append(list, SignedIn{Profile: id, User: f.user, Status: f.status, Client: f.sessions[i].client, Node: f.node})
		}
	}
	return list
}
