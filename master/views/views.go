// Package views caches the encoded lists of a service: many clients request the
// same list, and a list costs more to build than to send.
//
// A Cache bounds the cached lists, those being sent and the concurrent builds.
// It does not know how a list is built or when it is too old; the services do.
// A Latest caches a value made from the list of all servers and keeps it up to
// date. Nothing runs in the background.
package views

import (
	"container/list"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// RefuseFor is the time after which a failed build is tried again.
const RefuseFor = time.Second

// ErrBusy is returned while too many different lists are being sent.
var ErrBusy = errors.New("server is busy")

// Sending is embedded in a list. It counts the connections on which the list is
// being sent, for the Cache.
type Sending struct{ connections atomic.Int32 }

func (s *Sending) sending() *atomic.Int32 { return &s.connections }

// View is a list: a pointer to a struct that embeds Sending. Apart from that it
// is immutable.
type View[T any] interface {
	*T
	// Size returns the memory of the list in bytes.
	Size() int
	sending() *atomic.Int32
}

// Options bound a Cache.
type Options struct {
	// Views and Bytes bound the cached lists. Beyond them the least recently
	// used lists are dropped, but never the one used last.
	Views, Bytes int
	// SendingBytes bounds the lists that are being sent, kept or not: slow readers
	// keep old ones alive.
	SendingBytes int
	// Kept, if not nil, is called with the size of the cache after each change.
	// It must not call the Cache.
	Kept func(views, bytes int)
}

// Cache keeps lists by key. All methods may be called concurrently.
type Cache[K comparable, T any, V View[T]] struct {
	opt Options
	// turns bounds the concurrent builds: one processor is left for the
	// intakes.
	turns   chan struct{}
	sending atomic.Int64 // bytes of the lists that are being sent

	mu     sync.Mutex // guards the fields below
	slots  map[K]*slot[K, T]
	recent list.List // of *slot, the one used last in front
	bytes  int
}

type slot[K comparable, T any] struct {
	key     K
	current atomic.Pointer[T]

	building sync.Mutex // held while a list is made; guards the fields below
	failed   error      // error of the last build; nil: it succeeded
	failedAt time.Time

	elem *list.Element // guarded by Cache.mu; nil: the slot was dropped
	size int           // guarded by Cache.mu: bytes of current
}

// New returns an empty Cache.
func New[K comparable, T any, V View[T]](opt Options) *Cache[K, T, V] {
	return &Cache[K, T, V]{
		opt:   opt,
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		slots: make(map[K]*slot[K, T]),
	}
}

// Get returns the list of a key: the cached one if fresh accepts it, else a new
// one. One caller builds, the others wait for it. The error is that of build,
// which is not tried again for RefuseFor.
func (c *Cache[K, T, V]) Get(key K, fresh func(V) bool, build func() (V, error)) (V, error) {
	s := c.slot(key)
	if now := s.current.Load(); now != nil && fresh(now) {
		return now, nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if now := s.current.Load(); now != nil && fresh(now) {
		return now, nil
	}
	if s.failed != nil && time.Since(s.failedAt) < RefuseFor {
		return nil, s.failed
	}
	built, err := build()
	if s.failed = err; err != nil {
		s.failedAt = time.Now()
		return nil, err
	}
	c.keep(s, built)
	return built, nil
}

// InTurn runs build when it is the caller's turn. It is for builds that keep a
// processor busy; those that wait for I/O must not use it.
func (c *Cache[K, T, V]) InTurn(build func() (V, error)) (V, error) {
	c.turns <- struct{}{}
	defer func() { <-c.turns }()
	return build()
}

// slot returns the slot of a list, a new one if there is none yet.
func (c *Cache[K, T, V]) slot(key K) *slot[K, T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.slots[key]; ok {
		c.recent.MoveToFront(s.elem)
		return s
	}
	s := &slot[K, T]{key: key}
	s.elem = c.recent.PushFront(s)
	c.slots[key] = s
	c.evict()
	return s
}

// keep makes a list the slot's current one. If the slot was dropped meanwhile,
// only callers that waited for it see the list.
func (c *Cache[K, T, V]) keep(s *slot[K, T], built V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.current.Store(built)
	if s.elem == nil {
		return
	}
	c.bytes += built.Size() - s.size
	s.size = built.Size()
	c.evict()
}

// evict drops slots until the cache is within its bounds. c.mu is held.
func (c *Cache[K, T, V]) evict() {
	for c.recent.Len() > 1 && (c.recent.Len() > c.opt.Views || c.bytes > c.opt.Bytes) {
		s := c.recent.Remove(c.recent.Back()).(*slot[K, T])
		delete(c.slots, s.key)
		c.bytes -= s.size
		s.elem, s.size = nil, 0
		s.current.Store(nil)
	}
	if c.opt.Kept != nil {
		c.opt.Kept(c.recent.Len(), c.bytes)
	}
}

// Begin must be called before a list is sent. It returns ErrBusy while too many
// different ones are being sent; otherwise End must follow.
func (c *Cache[K, T, V]) Begin(v V) error {
	if v.sending().Add(1) > 1 {
		return nil
	}
	if c.sending.Add(int64(v.Size())) > int64(c.opt.SendingBytes) {
		c.End(v)
		return ErrBusy
	}
	return nil
}

// End must be called after a list was sent on one connection.
func (c *Cache[K, T, V]) End(v V) {
	if v.sending().Add(-1) == 0 {
		c.sending.Add(-int64(v.Size()))
	}
}
