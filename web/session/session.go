// Package session keeps the logins to pages over HTTP, of players to those of
// package web and of operators to those of package admin, and reads their forms.
//
// A session is identified by a random token of 256 bits in a protected cookie
// (HttpOnly, SameSite=Strict). Sessions are kept in memory, keyed by digests of
// their tokens, so they do not survive the process, lookups leak nothing
// through their time, and a token chosen by a client is never accepted. Their
// number is bounded, and they end after a time without a request and after a
// total time. Session libraries keep the data in the cookie, where it cannot be
// revoked, or any number of sessions in a store.
//
// The rights of a session, and whether it is still valid for thems owner, is up to the
// caller.
package session

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

// Options bound a Table.
type Options struct {
	Max      int           // sessions in all
	PerOwner int           // sessions of one owner; 0: Max
	Idle     time.Duration // a session ends that long after its last request,
	Life     time.Duration // and that long after it began
}

// Table holds the open sessions of owners O with data D. All methods may be called
// concurrently.
type Table[O comparable, D any] struct {
	opt Options

	mu   sync.Mutex // guards the fields below and Session.seen
	all  map[digest]*list.Element
	used *list.List // of *Session, the one without a request for longest first
}

// Session is one browser that logged in.
type Session[O comparable, D any] struct {
	Owner O // never changed
	Data  D // the table does not touch it

	digest digest
	began  time.Time
	seen   time.Time
}

type digest [sha256.Size]byte

// NewTable returns an empty table.
func NewTable[O comparable, D any](opt Options) *Table[O, D] {
	if opt.PerOwner <= 0 {
		opt.PerOwner = opt.Max
	}
	return &Table[O, D]{opt: opt, all: make(map[digest]*list.Element), used: list.New()}
}

// NewToken returns 256 random bits as text.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Open opens a session and returns its token. If there are too many, the one
// without a request for longest ends. prepare, if not nil, fills in the data;
// another is a session of the same owner, nil if there is none.
func (t *Table[O, D]) Open(owner O, now time.Time, prepare func(data *D, another *Session[O, D])) (token string) {
	token = NewToken()
	s := &Session[O, D]{Owner: owner, digest: sha256.Sum256([]byte(token)), began: now, seen: now}
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.of(owner, now)
	if prepare != nil {
		var another *Session[O, D]
		if len(mine) > 0 {
			another = mine[0].Value.(*Session[O, D])
		}
		prepare(&s.Data, another)
	}
	if len(mine) >= t.opt.PerOwner {
		t.remove(mine[0])
	}
	if len(t.all) >= t.opt.Max {
		t.remove(t.used.Front())
	}
	t.all[s.digest] = t.used.PushBack(s)
	return token
}

// of returns the sessions of an owner, the one without a request for longest
// first, and removes all that have ended. t.mu is held.
func (t *Table[O, D]) of(owner O, now time.Time) (mine []*list.Element) {
	var next *list.Element
	for e := t.used.Front(); e != nil; e = next {
		next = e.Next()
		switch s := e.Value.(*Session[O, D]); {
		case t.ended(s, now):
			t.remove(e)
		case s.Owner == owner:
			mine = append(mine, e)
		}
	}
	return mine
}

// ended reports whether a session has expired. t.mu is held.
func (t *Table[O, D]) ended(s *Session[O, D], now time.Time) bool {
	return now.Sub(s.seen) >= t.opt.Idle || now.Sub(s.began) >= t.opt.Life
}

// Find returns the session of a token and extends it; nil if there is none or it
// has ended.
func (t *Table[O, D]) Find(token string, now time.Time) *Session[O, D] {
	if token == "" {
		return nil
	}
	key := digest(sha256.Sum256([]byte(token)))
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.all[key]
	if e == nil {
		return nil
	}
	s := e.Value.(*Session[O, D])
	if t.ended(s, now) {
		t.remove(e)
		return nil
	}
	s.seen = now
	t.used.MoveToBack(e)
	return s
}

// Alive reports whether a session has not ended, without extending it.
func (t *Table[O, D]) Alive(s *Session[O, D], now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[s.digest] != nil && !t.ended(s, now)
}

// End ends a session.
func (t *Table[O, D]) End(s *Session[O, D]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.all[s.digest]; e != nil {
		t.remove(e)
	}
}

// remove forgets a session. t.mu is held.
func (t *Table[O, D]) remove(e *list.Element) {
	delete(t.all, t.used.Remove(e).(*Session[O, D]).digest)
}

// Len returns the number of sessions.
func (t *Table[O, D]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}
