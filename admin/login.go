package admin

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
)

// Limits of logins with a wrong token that are answered and logged; requests to the API
// with a wrong one count too. The right token is always accepted: 256 random bits cannot be guessed, and a limit
// would let strangers, or other clients of a proxy, lock the operator out.
const (
	loginEvery      = 10 * time.Second // per IPv4 address or IPv6 /64, in the long run
	loginBurst      = 10               // per address
	loginSlots      = 1 << 12          // addresses that are remembered
	wrongEvery      = time.Second      // in total
	wrongBurst      = 60
	retryAfterLogin = "10"      // seconds
	toldEvery       = time.Hour // between two log lines about an address and the API
)

// logins bounds logins and requests with a wrong token.
type logins struct {
	perAddr *netserve.Limiter
	wrong   *rate.Limiter
	told    *netserve.Limiter // log lines about the API
}

func newLogins() *logins {
	return &logins{
		perAddr: netserve.NewLimiter(netserve.LimiterOptions{
			Rate: float64(time.Second) / float64(loginEvery), Burst: loginBurst, Slots: loginSlots,
		}),
		wrong: rate.NewLimiter(rate.Every(wrongEvery), wrongBurst),
		told:  netserve.NewLimiter(netserve.LimiterOptions{Rate: 1 / toldEvery.Seconds(), Burst: 1, Slots: loginSlots}),
	}
}

// allow reports whether a login with a wrong token is within the limits.
func (l *logins) allow(peer netip.Addr, now time.Time) bool {
	return l.perAddr.Allow(peer, now) && l.wrong.AllowN(now, 1)
}

// rightToken compares in constant time.
func (s *Server) rightToken(given string) bool {
	sum := sha256.Sum256([]byte(given))
	return s.opt.Token != "" && subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// loginView is the data of the login page.
type loginView struct {
	Form, By, Problem string
}

// getLogin shows the form.
func (s *Server) getLogin(w http.ResponseWriter, r *http.Request) {
	if open, _ := s.findSession(r); open != nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.showLogin(w, r, http.StatusOK, loginView{})
}

// showLogin writes the form, with a cookie that binds it to this browser.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, code int, v loginView) {
	c := cookie(r, loginCookie, loginFormLife)
	tie := session.NewToken()
	if sent := c.Value(r); len(sent) == len(tie) {
		tie = sent // another tab may have the form open
	}
	c.Set(w, tie)
	v.Form = s.forms.Token(tie)
	s.write(w, code, view{name: "login", title: "Log in", data: v}, nil)
}

// postLogin opens a session for a browser that sends the token.
func (s *Server) postLogin(w http.ResponseWriter, r *http.Request) {
	by := strings.TrimSpace(r.PostFormValue("by"))
	v := loginView{By: by}
	now := time.Now()
	switch {
	case !s.forms.Valid(cookie(r, loginCookie, 0).Value(r), r.PostFormValue(formField)):
		s.metrics.refuse(refusedForgery)
		v.Problem = "That form was too old, or your browser does not keep cookies. Please try again."
		s.showLogin(w, r, http.StatusForbidden, v)
	case s.rightToken(strings.TrimSpace(r.PostFormValue("token"))):
		s.logIn(w, r, by, now)
	case !s.logins.allow(peerOf(r), now):
		s.metrics.logins.WithLabelValues(loginThrottled).Inc()
		w.Header().Set("Retry-After", retryAfterLogin)
		v.Problem = "Too many attempts. Wait a little and try again."
		s.showLogin(w, r, http.StatusTooManyRequests, v)
	default:
		s.metrics.logins.WithLabelValues(loginWrong).Inc()
		s.opt.Log.Warn().Stringer("peer", peerOf(r)).Msg("login to the admin page with a wrong token")
		v.Problem = "That is not the token. It is in the file admin.token in the data folder."
		s.showLogin(w, r, http.StatusForbidden, v)
	}
}

// logIn opens a session with a new id, whatever cookie was sent.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request, by string, now time.Time) {
	if old, _ := s.findSession(r); old != nil {
		s.sessions.End(old)
	}
	by = storage.AuditEntry{By: by}.Canonical().By
	cookie(r, sessionCookie, sessionLife).Set(w, s.sessions.Open(by, now, nil))
	cookie(r, loginCookie, 0).Delete(w)
	s.metrics.logins.WithLabelValues(loginDone).Inc()
	s.opt.Log.Info().Stringer("peer", peerOf(r)).Str("by", by).Msg("operator logged in to the admin page")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// postLogout ends the session.
func (s *Server) postLogout(w http.ResponseWriter, r *http.Request, v *visit) {
	s.sessions.End(v.session)
	s.opt.Log.Info().Stringer("peer", peerOf(r)).Str("by", v.session.Owner).Msg("operator logged out of the admin page")
	cookie(r, sessionCookie, 0).Delete(w)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// Headers with which the command line identifies its user, for the audit log
// only: the token permits everything under any name.
const (
	viaHeader = "Respawnd-Via" // cli
	byHeader  = "Respawnd-By"  // a name, percent-encoded
)

// maxByHeader is the longest byHeader that is read, in bytes.
const maxByHeader = 3 * storage.MaxAuditBy

func apiActor(r *http.Request) operator.Actor {
	a := operator.Actor{Via: storage.ViaAPI, From: peerOf(r)}
	if r.Header.Get(viaHeader) == string(storage.ViaCommand) {
		a.Via = storage.ViaCommand
	}
	if text := r.Header.Get(byHeader); len(text) <= maxByHeader {
		if by, err := url.QueryUnescape(text); err == nil {
			a.By = by
		}
	}
	return a
}

// peerOf returns the address that a request came from. Behind a proxy it is
// that of the proxy: headers with the original address can be forged.
func peerOf(r *http.Request) netip.Addr {
	a, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address means unknown
	return a.Addr().Unmap()
}

// minToken is the shortest token that is accepted from a file, in characters.
const minToken = 16

// LoadToken reads the admin token from a file. If the file is missing, it makes
// one with 256 random bits, readable only by its owner. The file gets its name
// only when it is complete and on disk: a truncated one would be rejected at
// every start.
func LoadToken(path string) (token string, created bool, err error) {
	token, err = ReadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never returns an error
	token = hex.EncodeToString(random[:])
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", false, err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".new-*") // of mode 0600
	if err != nil {
		return "", false, err
	}
	_, err = f.WriteString(token + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", false, errors.Join(err, os.Remove(f.Name()))
	}
	return token, true, nil
}

// ReadToken reads the admin token from a file.
func ReadToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	b = bytes.TrimSpace(b)
	if len(b) < minToken {
		return "", fmt.Errorf("%s: a token has at least %d characters; remove the file and start again to get a new one", path, minToken)
	}
	return string(b), nil
}
