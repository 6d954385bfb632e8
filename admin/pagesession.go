package admin

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/web/session"
)

// Bounds of the sessions of the page.
const (
	maxPageSessions = 64               // beyond that the least recently used is removed
	sessionIdle     = 2 * time.Hour    // without a request
	sessionLife     = 24 * time.Hour   // total
	loginFormLife   = 30 * time.Minute // from the form to the login
)

// Names of cookies. The first is the session, the second ties a login form to
// the browser that asked for it.
const (
	sessionCookie = "respawnd_admin"
	loginCookie   = "respawnd_login"
)

// pageSession is an operator who is logged in to the page. Its owner is the name
// that the operator gave.
type pageSession = session.Session[string, notice]

// notice is a text that the next page of a session shows.
type notice struct{ text atomic.Pointer[string] }

func (n *notice) set(text string) { n.text.Store(&text) }

// take returns the text and forgets it.
func (n *notice) take() string {
	if text := n.text.Swap(nil); text != nil {
		return *text
	}
	return ""
}

func newPageSessions() *session.Table[string, notice] {
	return session.NewTable[string, notice](session.Options{Max: maxPageSessions, Idle: sessionIdle, Life: sessionLife})
}

// cookie returns a cookie for the answer to a request. It is bound to HTTPS where
// the request came over it: the page is plain HTTP on the loopback address.
func cookie(r *http.Request, name string, life time.Duration) session.Cookie {
	return session.Cookie{
		Name: name, Life: life, Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// findSession returns the session of a request, nil if there is none, and the
// token that came with it.
func (s *Server) findSession(r *http.Request) (*pageSession, string) {
	token := cookie(r, sessionCookie, 0).Value(r)
	return s.sessions.Find(token, time.Now()), token
}
