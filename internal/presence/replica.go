package presence

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// maxFarProfiles is the maximum number of profiles of another node that this one
// knows. More are dropped and counted.
const maxFarProfiles = 1 << 20

// newFar returns the players of the other nodes.
func newFar(opt ClusterOptions, changed func(farChange)) *cluster.Map[storage.ProfileID, *far] {
	return cluster.NewMap(cluster.MapOptions[storage.ProfileID, *far]{
		Name: "presence", Bus: opt.Bus, Max: maxFarProfiles, Changed: changed, Log: opt.Log, Registerer: opt.Registerer,
		Codec: cluster.Codec[storage.ProfileID, *far]{
			Version:   personVersion,
			AppendKey: func(b []byte, id storage.ProfileID) []byte { return binary.AppendUvarint(b, uint64(id)) },
			ParseKey: func(b []byte) (storage.ProfileID, error) {
				c := cursor{b: b}
				return c.profile(), c.err()
			},
			AppendValue: func(b []byte, f *far) []byte { return f.appendTo(b) },
			ParseValue:  parseFar,
		},
	})
}

// AwaitNodes waits until the players of all live nodes are known here, while Run runs. It returns
// the nodes whose players are not when ctx ends.
func (c *Clustered) AwaitNodes(ctx context.Context) (missing []string) { return c.far.Await(ctx) }

// newestFar returns the state of a profile with the newest session, nil if no other
// node has it.
func (c *Clustered) newestFar(id storage.ProfileID) (best *far) {
	for _, f := range c.far.Elsewhere(id) {
		best = newer(best, f)
	}
	return best
}

// newer returns the one of two states, which may be nil, with the newest session.
func newer(a, b *far) *far {
	if a == nil || b != nil && b.fence() > a.fence() {
		return b
	}
	return a
}

// effective returns the status of a profile as others see it: that of the node with
// its newest session.
func (c *Clustered) effective(id storage.ProfileID) (Status, bool) {
	return c.shown(id, c.newestFar(id))
}

// shown is effective if f is the newest state of other nodes.
func (c *Clustered) shown(id storage.ProfileID, f *far) (Status, bool) {
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
	return c.newestFar(id) != nil
}

// Status implements Hub.
func (c *Clustered) Status(_ context.Context, id storage.ProfileID) (Status, bool) {
	return c.effective(id)
}

// Tell implements Hub.
func (c *Clustered) Tell(_ context.Context, s Session, of storage.ProfileID) bool {
	order := c.order(of)
	order.Lock()
	defer order.Unlock()
	c.telling.RLock()
	defer c.telling.RUnlock()
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
	list := []storage.ProfileID{to}
	c.publish(of, note{flags: flags | flagAlways | flagTold, watchers: list})
	c.telling.RLock()
	defer c.telling.RUnlock()
	c.tell(of, list, flags)
}

// tell delivers the status of a profile to those of the watchers that are signed in on this
// node. c.telling is held.
func (c *Clustered) tell(of storage.ProfileID, watchers []storage.ProfileID, flags byte) {
	var st Status
	if flags&flagHide == 0 {
		st, _ = c.effective(of)
	}
	event := Event(StatusChanged{of, st})
	for _, w := range watchers {
		c.deliver(w, event)
	}
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
	for _, p := range c.far.Elsewhere(id) {
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
	best := make(map[storage.ProfileID]*far)
	for id, f := range c.far.Others() {
		best[id] = newer(best[id], f)
	}
	found := c.Local.Match(ctx, product, math.MaxInt)
	found = slices.DeleteFunc(found, func(p Present) bool { return best[p.Profile] != nil && !c.newerHere(best[p.Profile]) })
	for id, f := range best {
		if f.status.State != Offline && (f.status.Product == product || slices.Contains(f.invitable, product)) && !c.newerHere(f) {
			found = append(found, Present{id, f.status})
		}
	}
	slices.SortFunc(found, func(a, b Present) int { return cmp.Compare(a.Profile, b.Profile) })
	return found[:max(0, min(len(found), limit))]
}

// newerHere reports whether this node has a newer session of a profile than f.
func (c *Clustered) newerHere(f *far) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := c.profiles[f.profile]
	return p != nil && p.fence >= f.fence()
}

// Count implements Hub: the sessions of all nodes.
func (c *Clustered) Count() int { return c.Local.Count() + int(c.sessions.Load()) }

// List implements Hub: the sessions of all nodes.
func (c *Clustered) List(after storage.ProfileID, limit int) (list []SignedIn, more bool) {
	here, moreHere := c.Local.List(after, limit)
	for i := range here {
		here[i].Node = c.bus.Self()
	}
	var ids []storage.ProfileID
	for id := range c.far.Others() {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
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

// farList returns the sessions of a profile on other nodes.
func (c *Clustered) farList(id storage.ProfileID) (list []SignedIn) {
	for _, f := range c.far.Elsewhere(id) {
		for i := range f.sessions {
			list = append(list, SignedIn{Profile: id, User: f.user, Status: f.status, Client: f.sessions[i].client, Node: f.node})
		}
	}
	return list
}
