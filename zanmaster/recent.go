package zanmaster

import "time"

// recent remembers keys for a fixed time, at most a fixed number of them: when
// it is full, the oldest is removed. The caller must synchronize access. Times
// are those of Server.now.
type recent[K comparable] struct {
	life time.Duration
	most int

	keys  map[K]time.Duration // when it was added
	queue []added[K]          // in the order in which they were added, from first on
	first int
}

type added[K comparable] struct {
	key K
	at  time.Duration
}

func newRecent[K comparable](life time.Duration, most int) *recent[K] {
	return &recent[K]{life: life, most: most, keys: make(map[K]time.Duration)}
}

// has reports whether k was added and not forgotten.
func (r *recent[K]) has(k K, now time.Duration) bool {
	at, ok := r.keys[k]
	return ok && now-at < r.life
}

// add remembers k from now on. One that is remembered already keeps its time.
func (r *recent[K]) add(k K, now time.Duration) {
	r.forget(now)
	if _, ok := r.keys[k]; ok {
		return
	}
	if len(r.keys) >= r.most {
		r.drop()
	}
	r.keys[k] = now
	r.queue = append(r.queue, added[K]{k, now})
}

// forget drops the expired keys.
func (r *recent[K]) forget(now time.Duration) {
	for r.first < len(r.queue) && now-r.queue[r.first].at >= r.life {
		r.drop()
	}
}

// drop forgets the key that was added first.
func (r *recent[K]) drop() {
	delete(r.keys, r.queue[r.first].key)
	r.first++
	if r.first > len(r.queue)/2 {
		n := copy(r.queue, r.queue[r.first:])
		r.queue, r.first = r.queue[:n], 0
	}
}
