package probe

import (
	"time"

	"github.com/respawnd/respawnd/master"
)

// follower describes servers that another service lists and the Prober queries for fields that
// their reports lack.
type follower struct {
	origin   *master.Origin
	protocol Protocol
	every    time.Duration // between two visits
}

// pace takes over which servers are followed, and how often they are visited. A follower that
// stays is the same one. p.mu is held.
func (p *Prober) pace(every map[*master.Origin]time.Duration) {
	before := p.followers
	p.followers = make(map[*master.Origin]*follower)
	for o, interval := range every {
		f := before[o]
		if f == nil {
			f = &follower{origin: o}
		}
		var err error
		if f.protocol, err = ParseProtocol(o.Query); err == nil {
			f.every = max(interval, f.protocol.least())
			p.followers[o] = f
		}
	}
}

// follow begins and ends to visit servers as other services list and unlist them.
// p.mu is held.
func (p *Prober) follow(now time.Time) {
	var ok bool
	if p.followed != unread {
		p.changes, p.followed, ok = p.opt.Registry.Changes("", p.followed, p.changes[:0])
	}
	if !ok {
		p.followAll(now)
		return
	}
	for i := range p.changes {
		if c := &p.changes[i]; p.followers[c.Origin] != nil {
			p.followOne(c.Key, now)
		}
	}
}

// followAll compares all servers with the list. p.mu is held.
func (p *Prober) followAll(now time.Time) {
	p.followed = p.opt.Registry.LastSerial()
	for _, t := range p.table.targets {
		if t.owner != nil {
			p.followOne(t.follow, now)
		}
	}
	for _, srv := range p.opt.Registry.All() {
		if p.followers[srv.Origin] != nil {
			p.followOne(srv.Key, now)
		}
	}
}

// followOne begins or ends to visit the server with a key, unless it is visited
// already. Hidden servers are not visited, nor those that report to other nodes. p.mu is
// held.
func (p *Prober) followOne(key master.Key, now time.Time) {
	srv, listed := p.opt.Registry.Listed(key)
	t := p.table.targets[key.Source]
	var f *follower
	if listed && srv.Node == "" && !srv.Restored && p.may(key.Source) {
		f = p.followers[srv.Origin]
	}
	switch {
	case f == nil && (t == nil || t.owner == nil || t.follow != key):
		return
	case f == nil:
		p.setOwner(t, nil)
		return
	case t == nil || t.owner != f:
		if p.table.followed[f.protocol] >= maxFollowed {
			p.metrics.refused(refusedFull)
			return
		}
		t = p.table.get(key.Source, now)
		p.setOwner(t, f)
		if t.visit == nil {
			due := now
			if next := t.asked.Add(f.protocol.least()); next.After(now) {
				due = next
			}
			p.table.queue.at(t, due)
		}
	}
	t.follow, t.via = key, srv.Via
}

// setOwner changes the follower of a target; nil: none. p.mu is held.
func (p *Prober) setOwner(t *target, f *follower) {
	if t.owner != nil {
		p.table.followed[t.owner.protocol]--
	}
	if t.owner = f; f != nil {
		p.table.followed[f.protocol]++
	}
}
