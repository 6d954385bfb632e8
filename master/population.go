package master

// countChunk is the number of records that Populations counts at a time. The list is
// locked for this many map lookups.
const countChunk = 1024

// Population is the number of listed servers of a game, and of their players.
type Population struct{ Servers, Players int }

// uncounted is the queue of servers whose players are not counted yet, in no
// particular order. Each is in it at most once, so it is never longer than the list.
type uncounted []*entry

// add queues an entry that is not queued yet.
func (u *uncounted) add(e *entry) {
	if e.queued > 0 {
		return
	}
	*u = append(*u, e)
	e.queued = int32(len(*u))
}

// remove takes an entry from the queue, if it is there.
func (u *uncounted) remove(e *entry) {
	if e.queued == 0 {
		return
	}
	last := len(*u) - 1
	moved := (*u)[last]
	(*u)[e.queued-1], moved.queued = moved, e.queued
	(*u)[last] = nil
	*u, e.queued = (*u)[:last], 0
}

// counting is a record whose players are being counted.
type counting struct {
	entry  *entry
	server *Server
}

// Populations returns the population of every game with listed servers, as it was
// at some time during the call. It reads only records whose content changed since
// the last call, because most are replaced before anyone reads them. The time
// that it takes grows with these and with the games, not with the list.
func (r *Registry) Populations() map[string]Population {
	r.counting.Lock()
	defer r.counting.Unlock()
	r.mu.RLock()
	waiting := len(r.uncounted)
	r.mu.RUnlock()
	batch := make([]counting, 0, min(waiting, countChunk))
	for range waiting/countChunk + 2 { // one more for those that come meanwhile, but not for ever
		if batch = r.takeUncounted(batch[:0]); len(batch) == 0 {
			break
		}
		r.count(batch)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make(map[string]Population, len(r.games))
	for name, g := range r.games {
		out[name] = Population{len(g.entries), g.players}
	}
	return out
}

// takeUncounted removes up to countChunk entries from the queue and appends them to
// batch.
func (r *Registry) takeUncounted(batch []counting) []counting {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range min(len(r.uncounted), countChunk) {
		e := r.uncounted[len(r.uncounted)-1]
		r.uncounted.remove(e)
		batch = append(batch, counting{e, e.server})
	}
	return batch
}

// count counts the players of some records, which may parse their texts, and then
// adds them to the sums of their games. A server that was removed or replaced
// meanwhile is left out; a new record is in the queue.
func (r *Registry) count(batch []counting) {
	players := make([]int32, len(batch))
	for i, c := range batch {
		players[i] = int32(c.server.Population())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range batch {
		e := c.entry
		if e.queued == 0 && r.bySource[e.server.Key.Source] == e {
			e.game.players += int(players[i] - e.players)
			e.players = players[i]
		}
	}
}
