package account

import (
	"context"
	"embed"
	"errors"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
	"github.com/respawnd/respawnd/web/session"
)

// maxForm is the maximum size of a form in bytes.
const maxForm = 16 << 10

// prefix is the path of the pages: the only ones that take forms which change
// something.
const prefix = "/account"

//go:embed templates
var files embed.FS

// Options configure the pages.
type Options struct {
	Service *accounts.Service // nil: the pages do not exist
	Store   Store
	// Sessions is the set of players signed in with their games.
	Sessions Presence
	// Banned returns whether an address may not sign in; nil: none is banned.
	Banned func(netip.Addr) bool
	// Private returns whether answers must not reveal which e-mails have an
	// account, even if no mail is sent; nil: they may.
	Private func() bool
	// Games are the games whose namespace a visitor may choose by name; nil:
	// none.
	Games *games.Catalog
	// Mail returns the present settings of mail; nil: none is sent.
	Mail func() mail.Config
	// PublicURL is where visitors find the pages; empty: at any host.
	PublicURL string
}

// Store is the part of the store that the pages use.
type Store interface {
	AddAudit(ctx context.Context, e storage.AuditEntry) (storage.AuditEntry, error)
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	UserByEmail(ctx context.Context, partner int, email string) (storage.User, error)
	ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error)
}

// Presence ends the sessions of games; a presence.Hub is one.
type Presence interface {
	KickUser(ctx context.Context, id storage.UserID, reason error) int
	KickProfile(ctx context.Context, id storage.ProfileID, reason error) int
}

// Pages are the pages of accounts. All methods may be called concurrently.
type Pages struct {
	*front.Front
	opt        Options
	site       *page.Site
	limits     atomic.Pointer[limits] // never nil
	registered func(netip.Addr)       // counts a registration on the other nodes
	mailer     *mailer
	sessions   *session.Table[storage.UserID, login]
	forms      *session.Forms
	cookie     session.Cookie // of a session
	tie        session.Cookie // ties forms to a browser that is not logged in
	secure     bool           // visitors come over HTTPS
	origins    *http.CrossOriginProtection
	trouble    netserve.Trouble
}

// limits are the live settings of the pages.
type limits struct {
	on                   bool
	forms, registrations *netserve.Limiter
}

// templates are those of the pages. All Pages of a process share them.
var templates = page.NewTemplates(files, "login", "register", "account", "reset")

// New returns pages that are switched off until SetLimits is called.
func New(f *front.Front, site *page.Site, opt Options) *Pages {
	p := &Pages{
		Front: f, site: site, opt: opt,
		sessions: newSessions(), forms: session.NewForms(), origins: http.NewCrossOriginProtection(),
	}
	prefix := "respawnd-"
	if u, err := url.Parse(opt.PublicURL); err == nil && u.Host != "" {
		if p.secure = u.Scheme == "https"; p.secure {
			prefix = "__Host-respawnd-" // browsers reject one set by another host or over plain HTTP
		}
		_ = p.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host) // our own, even if a proxy changes the Host header
	}
	p.cookie = session.Cookie{Name: prefix + "session", Secure: p.secure}
	p.tie = session.Cookie{Name: prefix + "form", Secure: p.secure}
	p.SetLimits(false, 0, 0)
	if opt.Service != nil {
		p.registered = opt.Service.ShareQuota("web", func(from netip.Addr) { p.limits.Load().registrations.Allow(from, time.Now()) })
		f.Gauge("respawnd_web_account_sessions", "Players who are logged in on the pages.", p.sessions.Len)
	}
	p.mailer = newMailer(p)
	return p
}

// SetLimits switches the pages on or off, and bounds the forms that one address
// sends, and the accounts that it makes, per minute; 0: no bound. Every address
// starts with a whole minute's worth.
func (p *Pages) SetLimits(on bool, forms, registrations int) {
	on = on && p.opt.Service != nil
	p.limits.Store(&limits{on, perMinute(forms), perMinute(registrations)})
	p.site.SetAccounts(on)
}

// perMinute returns a limiter of n events per minute; 0: no bound. All n may
// come at once.
func perMinute(n int) *netserve.Limiter {
	return netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(n) / time.Minute.Seconds(), Burst: n})
}

// Routes returns every path of the pages.
func (p *Pages) Routes() []front.Route {
	return []front.Route{
		{Pattern: prefix, Serve: p.handler((*visit).serveAccount)},
		{Pattern: prefix + "/login", Serve: p.handler((*visit).serveLogin)},
		{Pattern: prefix + "/logout", Serve: p.handler((*visit).serveLogout)},
		{Pattern: prefix + "/register", Serve: p.handler((*visit).serveRegister)},
		{Pattern: ResetPath, Serve: p.anonymous((*visit).serveReset)},
		{Pattern: ResetPath + "/mail", Serve: p.anonymous((*visit).serveResetMail)},
		{Pattern: prefix + "/password", Serve: p.change("password", "account.password", changePassword)},
		{Pattern: prefix + "/email", Serve: p.change("email", "account.email", changeEmail)},
		{Pattern: prefix + "/profile", Serve: p.change("nick", "account.profile_add", addProfile)},
		{Pattern: prefix + "/nick", Serve: p.change("renamed", "account.nick", renameProfile)},
		{Pattern: prefix + "/uniquenick", Serve: p.change("uniquenick", "account.uniquenick", changeUniqueNick)},
		{Pattern: prefix + "/drop", Serve: p.change("dropped", "account.profile_remove", dropProfile)},
		{Pattern: prefix + "/delete", Serve: p.change("deleted", "account.delete", deleteAccount)},
	}
}

// TakesForms reports whether a path may be sent a form.
func (p *Pages) TakesForms(path string) bool {
	return p.limits.Load().on && strings.HasPrefix(path, prefix+"/")
}

// Reasons under which forms are refused.
const (
	dropForms         = "form_rate"         // more from one address or account than allowed
	dropRegistrations = "registration_rate" // more accounts from one address than allowed
	dropForm          = "form"              // not a form of ours or too large
	dropForgery       = "form_forged"       // made by another page
	dropMails         = "mail_rate"         // more mails with links asked for from one address than configured
)

// DropReasons returns the reasons for netserve.NewMetrics, beside those of package
// front.
func DropReasons() []string {
	return []string{dropForms, dropRegistrations, dropForm, dropForgery, dropMails}
}

// visit is one request for a page of accounts.
type visit struct {
	*Pages
	w       http.ResponseWriter
	r       *http.Request
	from    netip.Addr
	form    url.Values      // empty unless it is a form
	browser string          // the cookie that the forms are tied to
	session *accountSession // nil: not logged in
	user    storage.User
	lang    *lang.Language
}

// handler makes the handler of a page of accounts. Forms come to it only if they
// are ours.
func (p *Pages) handler(serve func(*visit)) http.HandlerFunc {
	return p.handle((*visit).identify, serve)
}

// anonymous is handler for a page that is the same with and without a session. Its
// forms are not tied to one: a browser that follows a link from another site, such as
// one in a mail, sends the cookie of its session with the form, but not with the
// request for the page.
func (p *Pages) anonymous(serve func(*visit)) http.HandlerFunc {
	return p.handle(func(v *visit) bool { v.tieForms(); return true }, serve)
}

func (p *Pages) handle(identify func(*visit) bool, serve func(*visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !p.limits.Load().on {
			p.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		v := &visit{Pages: p, w: w, r: r, from: p.Visitor(r), form: url.Values{}, lang: p.site.Language(w, r)}
		if p.opt.Banned != nil && p.opt.Banned(v.from) {
			p.Fail(w, r, http.StatusForbidden, "your address is banned from signing in")
			return
		}
		if !identify(v) || r.Method == http.MethodPost && !v.readForm() {
			return
		}
		serve(v)
	}
}

// identify finds the visitor's session. It returns false if it has answered the
// request.
func (v *visit) identify() bool {
	token := v.cookie.Value(v.r)
	if s := v.sessions.Find(token, time.Now()); s != nil {
		u, mark, err := v.userOf(v.r.Context(), s.Owner)
		switch {
		case err == nil && s.Data.mark.Load() == mark && !u.Ban.In(time.Now()):
			v.session, v.user, v.browser = s, u, token
			return true
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			v.fault(err)
			return false
		}
		v.sessions.End(s)
	}
	if token != "" {
		v.cookie.Delete(v.w)
	}
	v.tieForms()
	return true
}

// tieForms ties forms to a cookie of the browser that is not a session.
func (v *visit) tieForms() {
	if v.browser = v.tie.Value(v.r); v.browser == "" {
		v.browser = session.NewToken()
		v.tie.Set(v.w, v.browser)
	}
}

// userOf returns an account, and a mark that changes with its password.
func (p *Pages) userOf(ctx context.Context, id storage.UserID) (u storage.User, mark uint64, err error) {
	if u, err = p.opt.Store.GetUser(ctx, id); err == nil {
		mark, err = p.opt.Service.Passwords.Mark(&u)
	}
	return u, mark, err
}

// readForm reads the form of a request and checks that it is one of ours. It
// returns false if it answered.
func (v *visit) readForm() bool {
	if !v.Trusted(v.from) && !v.limits.Load().forms.Allow(v.from, time.Now()) {
		v.Drop(dropForms)
		v.w.Header().Set("Retry-After", "60")
		v.Fail(v.w, v.r, http.StatusTooManyRequests, "too many forms from your address, wait a minute")
		return false
	}
	if kind, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		v.Drop(dropForm)
		v.Fail(v.w, v.r, http.StatusUnsupportedMediaType, "this form was not sent by a page of this site")
		return false
	}
	if status := session.ReadForm(v.w, v.r, maxForm); status != 0 {
		v.Drop(dropForm)
		v.Fail(v.w, v.r, status, map[int]string{
			http.StatusRequestEntityTooLarge: lang.Key("the form is too large"), http.StatusBadRequest: lang.Key("the form cannot be read"),
		}[status])
		return false
	}
	v.form = v.r.PostForm
	if v.origins.Check(v.r) != nil || !v.forms.Valid(v.browser, v.form.Get("token")) {
		v.Drop(dropForgery)
		v.Fail(v.w, v.r, http.StatusForbidden,
			"the form has expired, another site sent it, or your browser blocks cookies; nothing was changed, go back and try again")
		return false
	}
	return true
}

// fault answers after an error of ours.
func (v *visit) fault(err error) {
	if v.r.Context().Err() != nil {
		err = v.r.Context().Err() // the visitor is gone; not a fault of the server
		v.Log().Debug().Err(err).Msg("visitor left")
	} else if untold, tell := v.trouble.Tell(time.Now()); tell {
		fault.Log(*v.Log(), err).Err(err).Str("path", v.r.Pattern).Int("untold", untold).Msg("page of an account failed")
	}
	code := http.StatusInternalServerError
	if errors.Is(err, storage.ErrUnavailable) {
		code = http.StatusServiceUnavailable
	}
	v.Fail(v.w, v.r, code, "something went wrong here; try again later")
}

// goTo redirects the visitor to another page of this site after a form. The
// path is never taken from a request.
func (v *visit) goTo(path string) {
	http.Redirect(v.w, v.r, v.site.Base()+path, http.StatusSeeOther)
}

// line returns a value of the form without spaces around it.
func (v *visit) line(name string) string { return strings.TrimSpace(v.form.Get(name)) }
