package gpcm

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// A client sends most of its messages to the same few profiles.
const (
	maxKnown  = 4
	knownLife = 5 * time.Second // changes by others than this service count after that time

	// relationWait is how long a message waits for the database if the relation is known
	// and only old.
	relationWait = 200 * time.Millisecond
)

// knownRelations caches the last used relations of a client.
type knownRelations struct {
	entries []knownRelation // at most maxKnown; nil while the client sends nothing
	next    int             // the oldest of maxKnown

	reading chan readRelation // has the result of a reading for which a message did not wait; nil: there is none
}

// readRelation is a relation that was read, or not.
type readRelation struct {
	knownRelation
	err error
}

type knownRelation struct {
	to       storage.ProfileID
	relation storage.Relation
	version  uint64
	read     time.Time
}

// relation returns the relation of the client to another profile. A cached one
// is used unless a session has changed buddies or blocks since, and in any case while the
// database is away: those who were talking continue, and relations do not change. For one that
// is only old it waits little: those who talk do not notice a slow database.
func (x *session) relation(ctx context.Context, to storage.ProfileID, now time.Time) (storage.Relation, error) {
	version := x.server.lists.version(x.profile, to)
	if e := x.known.of(to); e != nil && e.version == version && now.Sub(e.read) < knownLife {
		return e.relation, nil
	}
	e := x.known.of(to)
	if e == nil || e.version != version {
		return x.useRelation(x.readRelation(ctx, to, version, now), e)
	}
	old := *e
	if x.known.reading == nil {
		reading := make(chan readRelation, 1)
		x.known.reading = reading
		go func() {
			defer x.containPanic()
			reading <- x.readRelation(ctx, to, version, now)
		}()
	} else if len(x.known.reading) == 0 {
		return old.relation, nil // an earlier message has waited
	}
	select {
	case r := <-x.known.reading:
		x.known.reading = nil
		if relation, err := x.useRelation(r, &old); r.to == to {
			return relation, err
		}
	case <-time.After(relationWait):
	}
	return old.relation, nil
}

// useRelation caches a relation that was read, and returns it. While the database is away it
// returns the one before it, if there is one.
func (x *session) useRelation(r readRelation, before *knownRelation) (storage.Relation, error) {
	switch {
	case r.err == nil:
		x.known.put(r.knownRelation)
	case before != nil && errors.Is(r.err, storage.ErrUnavailable):
		return before.relation, nil
	}
	return r.relation, r.err
}

func (x *session) readRelation(ctx context.Context, to storage.ProfileID, version uint64, now time.Time) readRelation {
	relation, err := x.server.opt.Store.Relation(ctx, x.profile, to)
	return readRelation{knownRelation{to, relation, version, now}, err}
}

// of returns the relation to a profile as it was read last; nil: it is not cached.
func (k *knownRelations) of(to storage.ProfileID) *knownRelation {
	for i := range k.entries {
		if e := &k.entries[i]; e.to == to {
			return e
		}
	}
	return nil
}

// put replaces the relation to the same profile, or the oldest one.
func (k *knownRelations) put(r knownRelation) {
	if e := k.of(r.to); e != nil {
		*e = r
		return
	}
	if len(k.entries) < maxKnown {
		if k.entries == nil {
			k.entries = make([]knownRelation, 0, maxKnown)
		}
		k.entries = append(k.entries, r)
		return
	}
	k.entries[k.next] = r
	k.next = (k.next + 1) % maxKnown
}

// listCounters is the number of counters in lists.
const listCounters = 1024

// lists counts the changes of buddies and blocks. Profiles share counters: after a change of the
// lists of one, a session reads some relations again that are the same.
type lists [listCounters]atomic.Uint64

// version changes with the lists of two profiles.
func (l *lists) version(a, b storage.ProfileID) uint64 {
	return l[a%listCounters].Load() + l[b%listCounters].Load()
}

func (l *lists) changed(of storage.ProfileID) { l[of%listCounters].Add(1) }

// listsNote tells other nodes that lists have changed.
type listsNote struct{ Of storage.ProfileID }

// listsChanged makes sessions read the relations of a profile again, on all nodes. knownLife bounds
// the harm of a note that is lost.
func (s *Server) listsChanged(of storage.ProfileID) {
	s.lists.changed(of)
	s.nodes.Tell(listsNote{of})
}

// follow makes sessions read relations again that other nodes changed, until cancel is
// called.
func (s *Server) follow() (cancel func()) {
	return s.nodes.Listen(func(n listsNote) { s.lists.changed(n.Of) })
}
