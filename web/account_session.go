package web

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/storage"
)

// Bounds of sessions on the pages of accounts.
const (
	maxSessions     = 10_000
	sessionsPerUser = 8
	sessionLife     = 24 * time.Hour
	sessionIdle     = 2 * time.Hour

	// Changes that one account may make: at once, and in the long run.
	changesAtOnce = 10
	changeEvery   = 6 * time.Second
)

// session is somebody who logged in with the password of an account.
type session struct {
	digest [sha256.Size]byte // of the token
	user   storage.UserID
	mark   [sha256.Size]byte // of the password; another one ends the session
	began  time.Time
	seen   time.Time
	quota  *rate.Limiter // of the account: all its sessions have the same
}

// sessions are kept in memory: they end with the process. There are at most max
// of them, and sessionsPerUser of one account; a new one takes the place of the
// oldest. Tokens are kept as digests, so that looking one up tells nothing of it.
type sessions struct {
	max int

	mu   sync.Mutex // guards the fields below and the times and marks of sessions
	all  map[[sha256.Size]byte]*list.Element
	ages *list.List // of *session, oldest first
	of   map[storage.UserID][]*list.Element
}

func newSessions(most int) *sessions {
	return &sessions{
		max: most, all: make(map[[sha256.Size]byte]*list.Element), ages: list.New(), of: make(map[storage.UserID][]*list.Element),
	}
}

// randomToken returns 32 random bytes as text.
func randomToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// open starts a session and returns its token.
func (t *sessions) open(user storage.UserID, mark [sha256.Size]byte, now time.Time) string {
	token := randomToken()
	s := &session{digest: sha256.Sum256([]byte(token)), user: user, mark: mark, began: now, seen: now}
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.of[user]
	if len(mine) > 0 {
		s.quota = mine[0].Value.(*session).quota
	} else {
		s.quota = rate.NewLimiter(rate.Every(changeEvery), changesAtOnce)
	}
	if len(mine) >= sessionsPerUser {
		t.remove(mine[0])
	}
	for len(t.all) >= t.max {
		t.remove(t.ages.Front())
	}
	e := t.ages.PushBack(s)
	t.all[s.digest] = e
	t.of[user] = append(t.of[user], e)
	return token
}

// find returns the session of a token; nil if there is none, or it is over.
func (t *sessions) find(token string, now time.Time) *session {
	if token == "" {
		return nil
	}
	digest := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.all[digest]
	if e == nil {
		return nil
	}
	s := e.Value.(*session)
	if now.Sub(s.began) >= sessionLife || now.Sub(s.seen) >= sessionIdle {
		t.remove(e)
		return nil
	}
	s.seen = now
	return s
}

// holds reports whether a session began with the password that an account has.
func (t *sessions) holds(s *session, mark [sha256.Size]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.mark == mark
}

// keep lets a session go on after its account's password changed.
func (t *sessions) keep(s *session, mark [sha256.Size]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.mark = mark
}

// end ends a session.
func (t *sessions) end(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.all[s.digest]; e != nil {
		t.remove(e)
	}
}

// remove takes a session out. t.mu is held.
func (t *sessions) remove(e *list.Element) {
	s := t.ages.Remove(e).(*session)
	delete(t.all, s.digest)
	mine := t.of[s.user]
	for i := range mine {
		if mine[i] == e {
			mine = append(mine[:i:i], mine[i+1:]...)
			break
		}
	}
	if len(mine) == 0 {
		delete(t.of, s.user)
		return
	}
	t.of[s.user] = mine
}

// len returns how many sessions there are.
func (t *sessions) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}
