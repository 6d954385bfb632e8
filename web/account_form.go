package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
)

// maxForm is how many bytes a form may have.
const maxForm = 16 << 10

// accountPrefix is where the pages of accounts are: the only ones that take
// forms which change something.
const accountPrefix = "/account"

// Accounts is what players look after their accounts with.
type Accounts struct {
	Service *accounts.Service // nil: the pages do not exist
	Store   AccountStore
	// Sessions are the players who are signed in with their games.
	Sessions PresenceSessions
	// Banned tells which addresses may not sign in; nil: none.
	Banned func(netip.Addr) bool
}

// AccountStore is what the pages read of the store.
type AccountStore interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error)
}

// PresenceSessions end the sessions of games; a presence.Hub is one.
type PresenceSessions interface {
	KickUser(ctx context.Context, id storage.UserID, reason error) int
	KickProfile(ctx context.Context, id storage.ProfileID, reason error) int
}

// keeper is the state of the pages of accounts.
type keeper struct {
	Accounts
	sessions *session.Table[storage.UserID, login]
	forms    *session.Forms
	cookie   session.Cookie // of a session
	tie      session.Cookie // ties forms to a browser that is not logged in
	secure   bool           // visitors come over HTTPS
	origins  *http.CrossOriginProtection
	trouble  netserve.Trouble
}

// newKeeper returns the state of the pages. publicURL is Options.PublicURL.
func newKeeper(a Accounts, publicURL string) *keeper {
	k := &keeper{Accounts: a, sessions: newSessions(), forms: session.NewForms(), origins: http.NewCrossOriginProtection()}
	prefix := "respawnd-"
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		if k.secure = u.Scheme == "https"; k.secure {
			prefix = "__Host-respawnd-" // browsers refuse one that another host or plain HTTP set
		}
		_ = k.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host) // ours, whatever a proxy makes of the Host header
	}
	k.cookie = session.Cookie{Name: prefix + "session", Secure: k.secure}
	k.tie = session.Cookie{Name: prefix + "form", Secure: k.secure}
	return k
}

// visit is one request for a page of accounts.
type visit struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	from    netip.Addr
	form    url.Values      // empty unless it is a form
	tie     string          // the cookie that the forms are tied to
	session *accountSession // nil: not logged in
	user    storage.User
}

// account makes the handler of a page of accounts. Forms come to it only if they
// are ours.
func (s *Server) account(serve func(*visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.accountsOn() {
			s.notFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		v := &visit{Server: s, w: w, r: r, from: s.visitor(r), form: url.Values{}}
		if s.keeper.Banned != nil && s.keeper.Banned(v.from) {
			s.fail(w, r, http.StatusForbidden, "your address is banned from signing in")
			return
		}
		if !v.identify() || r.Method == http.MethodPost && !v.readForm() {
			return
		}
		serve(v)
	}
}

// accountsOn reports whether there are pages of accounts.
func (s *Server) accountsOn() bool { return s.keeper.Service != nil && s.policy.Load().Accounts }

// identify finds out who the visitor is. It returns false if it answered.
func (v *visit) identify() bool {
	k := v.keeper
	token := k.cookie.Value(v.r)
	if s := k.sessions.Find(token, time.Now()); s != nil {
		u, mark, err := k.userOf(v.r.Context(), s.Owner)
		switch {
		case err == nil && *s.Data.mark.Load() == mark && !u.Ban.In(time.Now()):
			v.session, v.user, v.tie = s, u, token
			return true
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			v.fault(err)
			return false
		}
		k.sessions.End(s)
	}
	if token != "" {
		k.cookie.Delete(v.w)
	}
	if v.tie = k.tie.Value(v.r); v.tie == "" {
		v.tie = session.NewToken()
		k.tie.Set(v.w, v.tie)
	}
	return true
}

// userOf returns an account, and what changes with its password.
func (k *keeper) userOf(ctx context.Context, id storage.UserID) (u storage.User, mark passwordMark, err error) {
	if u, err = k.Store.GetUser(ctx, id); err == nil {
		mark, err = k.Service.PasswordMark(&u)
	}
	return u, mark, err
}

// readForm reads the form of a request and checks that it is one of ours. It
// returns false if it answered.
func (v *visit) readForm() bool {
	p := v.policy.Load()
	if !p.exempt(v.from) && !p.forms.Allow(v.from, time.Now()) {
		v.opt.Metrics.Drop(dropForms)
		v.w.Header().Set("Retry-After", "60")
		v.fail(v.w, v.r, http.StatusTooManyRequests, "too many forms from your address, wait a minute")
		return false
	}
	if kind, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		v.opt.Metrics.Drop(dropForm)
		v.fail(v.w, v.r, http.StatusUnsupportedMediaType, "this is not a form of ours")
		return false
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		v.opt.Metrics.Drop(dropForm)
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			v.fail(v.w, v.r, http.StatusRequestEntityTooLarge, "the form is too large")
			return false
		}
		v.fail(v.w, v.r, http.StatusBadRequest, "the form cannot be read")
		return false
	}
	v.form = v.r.PostForm
	if v.keeper.origins.Check(v.r) != nil || !v.keeper.forms.Valid(v.tie, v.form.Get("token")) {
		v.opt.Metrics.Drop(dropForgery)
		v.fail(v.w, v.r, http.StatusForbidden,
			"the form is too old, came from elsewhere, or your browser keeps no cookies; nothing was changed, go back and try again")
		return false
	}
	return true
}

// fault answers after an error of ours.
func (v *visit) fault(err error) {
	if v.r.Context().Err() != nil {
		err = v.r.Context().Err() // the visitor is gone; nothing is wrong with us
		v.opt.Log.Debug().Err(err).Msg("visitor left")
	} else if untold, tell := v.keeper.trouble.Tell(time.Now()); tell {
		v.opt.Log.Error().Err(err).Str("path", label(v.r.Pattern)).Int("untold", untold).Msg("page of an account failed")
	}
	v.fail(v.w, v.r, http.StatusInternalServerError, "something went wrong here; try again later")
}

// goTo sends the visitor to another page of ours after a form. The path is never
// one that somebody sent.
func (v *visit) goTo(path string) {
	http.Redirect(v.w, v.r, v.pages.base+path, http.StatusSeeOther)
}

// line returns a value of the form without spaces around it.
func (v *visit) line(name string) string { return strings.TrimSpace(v.form.Get(name)) }
