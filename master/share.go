package master

import (
	"maps"
	"slices"
)

// Share makes the games of each group one list: Snapshot, List, Serial, Varies
// and Changes of one name are then about the servers of all names of its group.
// Counts and the records keep the name under which each server registered. The
// groups replace those of the last call and are kept; a name may be in one of
// them. The servers of games whose group changes are logged as changed, so that
// readers of the log read them again.
func (r *Registry) Share(groups [][]string) {
	next := make(map[string][]string)
	for _, names := range groups {
		for _, name := range names {
			next[name] = names
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.groups
	if maps.EqualFunc(before, next, slices.Equal) {
		return
	}
	r.groups = next
	for name, g := range r.games {
		if !slices.Equal(before[name], next[name]) {
			r.reviseAll(g)
		}
	}
	r.emptied = r.log.serial // no serial of a list goes back
}

// reviseAll gives the servers of a game new serials, and so other records.
func (r *Registry) reviseAll(g *gameIndex) {
	for _, e := range g.entries {
		s := *e.server
		r.changed(Changed, e, &s)
		r.revise(e)
		e.server = &s
	}
}

// Sharing returns the games whose servers are in the list of a game, itself
// included; nil: its own servers only. The slice must not be modified.
func (r *Registry) Sharing(game string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.groups[game]
}

// serial returns the serial of the last change of one name.
func (r *Registry) serial(name string) uint64 {
	if g := r.games[name]; g != nil {
		return g.changed
	}
	return r.emptied
}

// IsOf reports whether the server is in the list of a game, given the result of
// Sharing for it.
func (s *Server) IsOf(game string, sharing []string) bool {
	return s.Game == game || slices.Contains(sharing, s.Game)
}
