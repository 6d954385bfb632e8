package master

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
)

// Run removes silent servers from the list until ctx ends; expired is called
// with each of this node, without locks held.
func (r *Registry) Run(ctx context.Context, expired func(*Server)) error {
	for now := range clock.Ticks(ctx, sweepEvery) {
		for _, s := range append(r.expire(now), r.trials.expire(now)...) {
			if s.Node == "" {
				expired(s)
			}
		}
		r.names.sweep()
	}
	return nil
}

// expire removes the servers that were silent for their lifetime. It searches
// for them under the read lock: readers continue, and changes wait for the
// scan, which takes about a millisecond for 50,000 servers.
func (r *Registry) expire(now time.Time) []*Server {
	var silent []Key
	r.mu.RLock()
	for _, g := range r.games {
		silent = r.silentOf(g, now, silent)
	}
	silent = r.silentOf(&r.hidden, now, silent)
	r.mu.RUnlock()

	var out []*Server
	for _, k := range silent {
		r.mu.Lock()
		if e, ok := r.bySource[k.Source]; ok && e.server.Key == k && r.silent(e, now) {
			out = append(out, e.server)
			r.remove(e)
		}
		r.mu.Unlock()
	}
	return out
}

// silentOf appends the servers of an index that were silent for their lifetime.
// r.mu is held.
func (r *Registry) silentOf(g *gameIndex, now time.Time, out []Key) []Key {
	for _, e := range g.entries {
		if r.silent(e, now) {
			out = append(out, e.server.Key)
		}
	}
	return out
}

// silent reports whether a server has sent nothing for its lifetime. r.mu is
// held.
func (r *Registry) silent(e *entry, now time.Time) bool {
	if e.server.Node != "" {
		return false // its node decides
	}
	lifetime := r.limits.Expire
	if e.server.Lifetime > 0 {
		lifetime = e.server.Lifetime
	}
	return r.since(now)-e.seen.Load() >= int64(lifetime)
}

// since returns t as nanoseconds since the registry was made.
func (r *Registry) since(t time.Time) int64 { return int64(t.Sub(r.start)) }
