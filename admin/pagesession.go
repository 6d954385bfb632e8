package admin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of the sessions of the page.
const (
	maxPageSessions = 64               // the one that rested longest makes room
	sessionIdle     = 2 * time.Hour    // without a request
	sessionLife     = 24 * time.Hour   // in all
	loginFormLife   = 30 * time.Minute // from the form to the login
)

// Names of cookies. The first is the session, the second ties a login form to
// the browser that asked for it.
const (
	sessionCookie = "respawnd_admin"
	loginCookie   = "respawnd_login"
)

// randomBytes is the length of everything random in a cookie or form.
const randomBytes = 32

func randomText() string {
	var b [randomBytes]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// sessionKey is the hash of what the cookie holds, so that looking one up takes
// the same time whatever was sent.
type sessionKey [sha256.Size]byte

// pageSession is an operator who is logged in to the page.
type pageSession struct {
	key     sessionKey
	by      string // what he calls himself
	form    string // what every form must carry
	created time.Time

	seen   time.Time // guarded by the table's mu
	notice string    // shown once; guarded by the table's mu
}

// pageSessions are those who are logged in. An id is given out by open alone:
// one that a client made up is never taken over.
type pageSessions struct {
	mu   sync.Mutex // guards the field below and the marked fields of sessions
	open map[sessionKey]*pageSession
}

func newPageSessions() *pageSessions {
	return &pageSessions{open: make(map[sessionKey]*pageSession)}
}

// start opens a session and returns it with the value of its cookie.
func (t *pageSessions) start(by string, now time.Time) (s *pageSession, cookie string) {
	cookie = randomText()
	s = &pageSession{key: sha256.Sum256([]byte(cookie)), by: by, form: randomText(), created: now, seen: now}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	if len(t.open) >= maxPageSessions {
		var oldest *pageSession
		for _, o := range t.open {
			if oldest == nil || o.seen.Before(oldest.seen) {
				oldest = o
			}
		}
		delete(t.open, oldest.key)
	}
	t.open[s.key] = s
	return s, cookie
}

// sweep removes sessions that are over. mu is held.
func (t *pageSessions) sweep(now time.Time) {
	for k, s := range t.open {
		if s.over(now) {
			delete(t.open, k)
		}
	}
}

// over reports whether a session has ended by itself. The table's mu is held.
func (s *pageSession) over(now time.Time) bool {
	return now.Sub(s.seen) >= sessionIdle || now.Sub(s.created) >= sessionLife
}

// find returns the session of a request, nil if there is none, and keeps it
// alive.
func (t *pageSessions) find(r *http.Request, now time.Time) *pageSession {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	key := sessionKey(sha256.Sum256([]byte(c.Value)))
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.open[key]
	if s == nil {
		return nil
	}
	if s.over(now) {
		delete(t.open, key)
		return nil
	}
	s.seen = now
	return s
}

// alive reports whether a session still lasts, without keeping it alive.
func (t *pageSessions) alive(s *pageSession, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[s.key] == s && !s.over(now)
}

// end ends a session.
func (t *pageSessions) end(s *pageSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, s.key)
}

// len returns how many sessions there are.
func (t *pageSessions) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// tell leaves a notice for the next page of a session.
func (t *pageSessions) tell(s *pageSession, notice string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.notice = notice
}

// told returns the notice for a session and forgets it.
func (t *pageSessions) told(s *pageSession) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	notice := s.notice
	s.notice = ""
	return notice
}

// checkForm reports whether a form is one of this session's.
func (s *pageSession) checkForm(value string) bool {
	return subtle.ConstantTimeCompare([]byte(value), []byte(s.form)) == 1
}

// loginForms ties login forms to the browsers that they were sent to. It keeps
// nothing: what the form carries is a keyed hash of what the cookie holds.
type loginForms struct{ key [randomBytes]byte }

func newLoginForms() *loginForms {
	f := new(loginForms)
	_, _ = rand.Read(f.key[:]) // never returns an error
	return f
}

// value returns what the form for a cookie must carry.
func (f *loginForms) value(cookie string) string {
	h := hmac.New(sha256.New, f.key[:])
	_, _ = h.Write([]byte(cookie)) // never returns an error
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// check reports whether a form belongs to the cookie that came with it.
func (f *loginForms) check(r *http.Request, value string) bool {
	c, err := r.Cookie(loginCookie)
	return err == nil && c.Value != "" && hmac.Equal([]byte(value), []byte(f.value(c.Value)))
}

// setCookie sends a cookie that scripts cannot read and other sites cannot send.
// life 0 removes it.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	c := &http.Cookie{ //nolint:gosec // Secure depends on the request: the page is plain HTTP on the loopback address
		Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
		MaxAge: int(life / time.Second),
	}
	if life == 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
