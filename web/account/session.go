package account

import (
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
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

// login is the data of a session besides its account.
type login struct {
	mark  atomic.Uint64 // of the password; with another one the session ends
	quota *rate.Limiter // of the account: all its sessions have the same
}

// accountSession is a browser that logged in with the password of an account.
type accountSession = session.Session[storage.UserID, login]

func newSessions() *session.Table[storage.UserID, login] {
	return session.NewTable[storage.UserID, login](session.Options{
		Max: maxSessions, PerOwner: sessionsPerUser, Idle: sessionIdle, Life: sessionLife,
	})
}

// openSession opens a session and returns its token.
func (p *Pages) openSession(user storage.UserID, mark uint64, now time.Time) string {
	return p.sessions.Open(user, now, func(l *login, another *accountSession) {
		l.mark.Store(mark)
		if another != nil {
			l.quota = another.Data.quota
		} else {
			l.quota = rate.NewLimiter(rate.Every(changeEvery), changesAtOnce)
		}
	})
}
