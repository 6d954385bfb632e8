// Package views keeps the lists that a service makes, finished and encoded, for
// the requests that follow: many clients ask for the same, and a list costs more
// to make than to send.
//
// A Cache bounds what is kept, what is being sent and how many are made at a time.
// It does not know what a list is made of or when it is too old: the services say
// so. A Latest keeps the one list of a service that reads all servers, and knows
// that. Nothing runs in the background.
package views

import (
	"container/list"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// RefuseFor is how long a list that could not be made is not tried again.
const RefuseFor = time.Second

// ErrBusy is returned while too many different lists are being sent.
var ErrBusy = errors.New("server is busy")

// Sending is embedded in a list. It counts the connections that the list is being
// sent on; it belongs to the Cache.
type Sending struct{ connections atomic.Int32 }

func (s *Sending) sending() *atomic.Int32 { return &s.connections }

// View is a list: a pointer to a struct that embeds Sending. Nothing else of it
// changes once it is made.
type View[T any] interface {
	*T
	// Size is how much memory the list takes, in bytes.
	Size() int
	sending() *atomic.Int32
}

// Options bound a Cache.
type Options struct {
	// Views and Bytes bound what is kept. What is over them is forgotten, the
	// longest unused first, but never the one used last; it costs a build when it
	// is wanted again.
	Views, Bytes int
	// SendingBytes bounds the lists that are being sent, kept or not: slow readers
	// keep old ones alive.
	SendingBytes int
	// Kept, if not nil, is called with what is kept after each change. It must not
	// call the Cache.
	Kept func(views, bytes int)
}

// Cache keeps lists by what they have in common that can be shared. All methods
// may be called concurrently.
type Cache[K comparable, T any, V View[T]] struct {
	opt Options
	// turns has room for every build at a time: one processor is left to those
	// who take servers in.
	turns   chan struct{}
	sending atomic.Int64 // bytes of the lists that are being sent

	mu     sync.Mutex // guards the fields below
	slots  map[K]*slot[K, T]
	recent list.List // of *slot, the one used last in front
	bytes  int
}

// slot holds one list.
type slot[K comparable, T any] struct {
	key     K
	current atomic.Pointer[T]

	building sync.Mutex // held while a list is made; guards the fields below
	failed   error      // why the last one could not be made; nil: it could
	failedAt time.Time

	elem *list.Element // guarded by Cache.mu; nil: it was forgotten
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

// Get returns the list of a key: the one that is kept if fresh says that it is
// fresh enough, else a new one. One caller builds, the others wait for it. The
// error is that of build, which is not tried again for RefuseFor.
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

// InTurn builds when it is the caller's turn: builds that keep a processor busy
// wait for each other, those that wait for something else must not use it.
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

// keep makes a list the slot's latest. If the slot was forgotten meanwhile, only
// callers that have waited for it find it.
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

// evict forgets slots until the bounds are kept. c.mu is held.
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

// Begin notes that a list is about to be sent. It returns ErrBusy while too many
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

// End notes that a list was sent on one connection.
func (c *Cache[K, T, V]) End(v V) {
	if v.sending().Add(-1) == 0 {
		c.sending.Add(-int64(v.Size()))
	}
}
