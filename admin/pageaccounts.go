package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
)

// accountsView is the data of the page of accounts.
type accountsView struct {
	Query    string
	Accounts []accounts.Account
	LeftOut  int
	Next     string
}

func (s *Server) accountsPage(r *http.Request) (view, error) {
	v := accountsView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	q, err := operator.FromURL[operator.AccountQuery](r)
	if err != nil {
		return view{}, err
	}
	page, err := operator.ListAccounts.Call(r.Context(), s.opt.Operator, operator.AccountQuery{After: q.After, Limit: pageRows, Match: v.Query})
	if err != nil {
		return view{}, err
	}
	v.Accounts, v.LeftOut = page.Accounts, page.LeftOut
	if page.Next != 0 {
		v.Next = "/accounts?" + url.Values{"q": {v.Query}, "after": {strconv.FormatUint(uint64(page.Next), 10)}}.Encode()
	}
	return view{"accounts", "Accounts", v}, nil
}

// accountView is the data of the page of an account.
type accountView struct {
	Account accounts.Account
	Banned  bool
	Stats   []operator.PlayerStats // of its profiles that have any
}

func (s *Server) readAccount(r *http.Request) (v accountView, err error) {
	ref, err := operator.FromURL[operator.AccountID](r)
	if err != nil {
		return v, err
	}
	v.Account, err = operator.FindAccount.Call(r.Context(), s.opt.Operator, operator.AccountRef{ID: ref.ID})
	v.Banned = v.Account.Ban.In(time.Now())
	return v, err
}

func (s *Server) accountPage(r *http.Request) (view, error) {
	v, err := s.readAccount(r)
	if err == nil {
		v.Stats, err = s.playerStats(r.Context(), &v.Account)
	}
	return view{"account", fmt.Sprintf("Account %d", v.Account.ID), v}, err
}

func (s *Server) accountDeletePage(r *http.Request) (view, error) {
	v, err := s.readAccount(r)
	return view{"accountdelete", fmt.Sprintf("Delete account %d?", v.Account.ID), v}, err
}

func pageOfAccount(id storage.UserID) string {
	return "/accounts/" + strconv.FormatUint(uint64(id), 10)
}

func (s *Server) accountCreateForm(r *http.Request) (done, to string, err error) {
	a := operator.NewAccount{
		Namespace: 1, Email: strings.TrimSpace(r.PostFormValue("email")), Nick: strings.TrimSpace(r.PostFormValue("nick")),
		UniqueNick: strings.TrimSpace(r.PostFormValue("uniquenick")), Password: r.PostFormValue("password"),
	}
	for name, n := range map[string]*int{"partner": &a.Partner, "namespace": &a.Namespace} {
		text := strings.TrimSpace(r.PostFormValue(name))
		if text == "" {
			continue
		}
		if *n, err = strconv.Atoi(text); err != nil || *n < 0 {
			return "", "", fmt.Errorf("%w: %s is not a number", operator.ErrBadRequest, name)
		}
	}
	p, err := operator.CreateAccount.Call(r.Context(), s.opt.Operator, a)
	return fmt.Sprintf("Profile %d was created in account %d.", p.ID, p.User), pageOfAccount(p.User), err
}

func (s *Server) accountPasswordForm(r *http.Request) (done, to string, err error) {
	ref, err := operator.FromURL[operator.AccountID](r)
	if err == nil && r.PostFormValue("password") != r.PostFormValue("again") {
		err = fmt.Errorf("%w: the two passwords differ", operator.ErrBadRequest)
	}
	if err != nil {
		return "", "", err
	}
	return "The password was changed. Sessions and tickets of the account have ended.", pageOfAccount(ref.ID),
		operator.SetPassword.Exec(r.Context(), s.opt.Operator, operator.NewPassword{ID: ref.ID, Password: r.PostFormValue("password")})
}

func (s *Server) accountResetForm(r *http.Request) (done, to string, err error) {
	ref, err := operator.FromURL[operator.AccountID](r)
	if err != nil {
		return "", "", err
	}
	link, err := operator.IssueReset.Call(r.Context(), s.opt.Operator, ref)
	if err != nil {
		return "", "", err
	}
	hint := ""
	if strings.HasPrefix(link.Link, "/") {
		hint = " Put the address of your pages before it: web.public_url is not set."
	}
	return fmt.Sprintf("Give this link to the owner of the account. It works once, until %s, and is not shown again.%s %s", stamp(link.Expires), hint, link.Link),
		pageOfAccount(ref.ID), nil
}

func (s *Server) accountBanForm(r *http.Request) (done, to string, err error) {
	ref, err := operator.FromURL[operator.AccountID](r)
	var span time.Duration
	if err == nil {
		span, err = formSpan(r)
	}
	if err != nil {
		return "", "", err
	}
	b := operator.NewAccountBan{ID: ref.ID, Reason: strings.TrimSpace(r.PostFormValue("reason")), By: pageBy(r)}
	if span > 0 {
		b.Expires = time.Now().Add(span)
	}
	return fmt.Sprintf("Account %d is banned.", ref.ID), pageOfAccount(ref.ID), operator.BanAccount.Exec(r.Context(), s.opt.Operator, b)
}

func (s *Server) accountUnbanForm(r *http.Request) (done, to string, err error) {
	ref, err := operator.FromURL[operator.AccountID](r)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Account %d is no longer banned.", ref.ID), pageOfAccount(ref.ID), operator.UnbanAccount.Exec(r.Context(), s.opt.Operator, ref)
}

// errNotConfirmed reports that a deletion was not confirmed.
var errNotConfirmed = errors.New("type the e-mail address of the account to delete it")

func (s *Server) accountDeleteForm(r *http.Request) (done, to string, err error) {
	v, err := s.readAccount(r)
	if err != nil {
		return "", "", err
	}
	if !strings.EqualFold(strings.TrimSpace(r.PostFormValue("confirm")), v.Account.Email) {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, errNotConfirmed)
	}
	return fmt.Sprintf("Account %d is deleted.", v.Account.ID), "", operator.DeleteAccount.Exec(r.Context(), s.opt.Operator, operator.AccountID{ID: v.Account.ID})
}

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
