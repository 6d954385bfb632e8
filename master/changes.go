package master

import (
	"net/netip"
	"slices"
)

// ChangeKind is the kind of a Change.
type ChangeKind uint8

// The kinds of change.
const (
	Added ChangeKind = iota
	Changed
	Removed
)

// String returns the kind as events spell it.
func (k ChangeKind) String() string {
	switch k {
	case Added:
		return "added"
	case Changed:
		return "changed"
	default:
		return "removed"
	}
}

// Change is one entry of the log. It names the server without its record, which
// may have changed again since.
type Change struct {
	Serial uint64
	Kind   ChangeKind
	Game   string
	Origin *Origin
	Key    Key
	Public netip.AddrPort
}

// changeLog is a ring of the last changes, guarded by Registry.mu. Serials
// start at 1 and have no gaps.
type changeLog struct {
	cap    int
	ring   []Change
	serial uint64        // of the newest change
	moved  chan struct{} // closed at the next change; nil if no goroutine waits
}

func (l *changeLog) add(kind ChangeKind, s *Server) uint64 {
	l.serial++
	c := Change{l.serial, kind, s.Game, s.Origin, s.Key, s.Public}
	if len(l.ring) < l.cap {
		l.ring = append(l.ring, c)
	} else {
		l.ring[(l.serial-1)%uint64(l.cap)] = c
	}
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
	return l.serial
}

// Changes appends to buf the changes after serial since, oldest first: of the
// list of one game, or of all if game is empty. It returns the serial for the
// next call. ok is false if the log does not reach back that far; nothing is
// appended then, and the reader must read the whole list again.
func (r *Registry) Changes(game string, since uint64, buf []Change) (list []Change, now uint64, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	l := &r.log
	if since > l.serial || l.serial-since > uint64(len(l.ring)) {
		return buf, l.serial, false
	}
	sharing := r.groups[game]
	for s := since; s < l.serial; s++ {
		c := &l.ring[s%uint64(l.cap)]
		if game == "" || c.Game == game || slices.Contains(sharing, c.Game) {
			buf = append(buf, *c)
		}
	}
	return buf, l.serial, true
}

// LastSerial returns the serial of the last change of all games, 0 if there was
// none. A follower of the list calls it before reading the list: changes made
// meanwhile are then reported again.
func (r *Registry) LastSerial() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.log.serial
}

// Changed returns a channel that is closed when the list changes after serial
// since; it is closed already if it has.
func (r *Registry) Changed(since uint64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log.serial != since {
		c := make(chan struct{})
		close(c)
		return c
	}
	if r.log.moved == nil {
		r.log.moved = make(chan struct{})
	}
	return r.log.moved
}
