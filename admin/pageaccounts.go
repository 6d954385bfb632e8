package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
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
	after, err := readParams(r, afterParam[storage.UserID])
	if err != nil {
		return view{}, err
	}
	page, err := s.opt.Operator.ListAccounts(r.Context(), operator.AccountQuery{After: after, Limit: pageRows, Match: v.Query})
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
	id, err := readParams(r, idParam[storage.UserID])
	if err != nil {
		return v, err
	}
	v.Account, err = s.opt.Operator.FindAccount(r.Context(), operator.AccountRef{ID: id})
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

// pageOfAccount is the path of the page of an account.
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
	p, err := s.opt.Operator.CreateAccount(r.Context(), a)
	return fmt.Sprintf("Profile %d was created in account %d.", p.ID, p.User), pageOfAccount(p.User), err
}

func (s *Server) accountPasswordForm(r *http.Request) (done, to string, err error) {
	id, err := readParams(r, idParam[storage.UserID])
	if err == nil && r.PostFormValue("password") != r.PostFormValue("again") {
		err = fmt.Errorf("%w: the two passwords differ", operator.ErrBadRequest)
	}
	if err != nil {
		return "", "", err
	}
	return "The password was changed. Sessions and tickets of the account have ended.", pageOfAccount(id),
		s.opt.Operator.SetPassword(r.Context(), id, r.PostFormValue("password"))
}

func (s *Server) accountResetForm(r *http.Request) (done, to string, err error) {
	id, err := readParams(r, idParam[storage.UserID])
	if err != nil {
		return "", "", err
	}
	link, err := s.opt.Operator.IssueReset(r.Context(), id)
	if err != nil {
		return "", "", err
	}
	hint := ""
	if strings.HasPrefix(link.Link, "/") {
		hint = " Put the address of your pages before it: web.public_url is not set."
	}
	return fmt.Sprintf("Give this link to the owner of the account. It works once, until %s, and is not shown again.%s %s", stamp(link.Expires), hint, link.Link),
		pageOfAccount(id), nil
}

func (s *Server) accountBanForm(r *http.Request) (done, to string, err error) {
	id, err := readParams(r, idParam[storage.UserID])
	var span time.Duration
	if err == nil {
		span, err = formSpan(r)
	}
	if err != nil {
		return "", "", err
	}
	b := storage.AccountBan{Reason: strings.TrimSpace(r.PostFormValue("reason")), By: pageBy(r)}
	if span > 0 {
		b.Expires = time.Now().Add(span)
	}
	return fmt.Sprintf("Account %d is banned.", id), pageOfAccount(id), s.opt.Operator.BanAccount(r.Context(), id, b)
}

func (s *Server) accountUnbanForm(r *http.Request) (done, to string, err error) {
	id, err := readParams(r, idParam[storage.UserID])
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Account %d is no longer banned.", id), pageOfAccount(id), s.opt.Operator.UnbanAccount(r.Context(), id)
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
	return fmt.Sprintf("Account %d is deleted.", v.Account.ID), "", s.opt.Operator.DeleteAccount(r.Context(), v.Account.ID)
}
