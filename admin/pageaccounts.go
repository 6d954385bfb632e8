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
