package account

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

// evenTime is the duration of a registration that must not reveal whether there
// is an account already: the store is slower if there is none.
const evenTime = 250 * time.Millisecond

// accountView is the data of the account templates.
type accountView struct {
	page.Frame
	Token   string
	Done    string
	Problem string
	Plain   bool // the page is not encrypted, and the visitor is not near

	Email, Nick, UniqueNick string // entered or present values
	Partner, Namespace      string
	Game                    string
	Created                 string
	Profiles                []profileView
	MaxPassword             int

	Code    string // of a reset link
	Contact string // contact for help
	Mails   bool   // links are mailed
}

// profileView is a profile of an account.
type profileView struct {
	ID          storage.ProfileID
	Nick        string
	UniqueNicks []uniqueNickView
	Only        bool // it cannot be deleted
}

type uniqueNickView struct {
	Namespace int
	Nick      string
}

func (v *visit) view(title string) accountView {
	_, mails := v.mailer.config()
	return accountView{
		Mails: mails,

		Frame: v.site.Frame(v.lang, title, page.Account), Token: v.forms.Token(v.browser),
		Plain: !v.secure && v.r.TLS == nil && !front.IsNear(v.from), MaxPassword: accounts.MaxPassword,
		Partner: "0", Namespace: "1",
	}
}

// refuse shows a page with the error of its form, or answers after a fault.
func (v *visit) refuse(name string, a accountView, err error) {
	p, status := problemOf(err)
	if status == 0 {
		v.fault(err)
		return
	}
	a.Problem = v.lang.T(string(p))
	front.WritePage(v.w, status, templates.Render(name, a))
}

// done returns the confirmation that the address of the page names, "" if there is none.
func (v *visit) done() string { return v.lang.T(doneTexts[v.r.URL.Query().Get("done")]) }

// show shows a page.
func (v *visit) show(name string, a accountView) { templates.Show(v.Front, v.w, v.r, name, a) }

// serveLogin answers /account/login.
func (v *visit) serveLogin() {
	a := v.view(v.lang.T("Log in"))
	if v.r.Method != http.MethodPost {
		a.Done = v.done()
		v.show("login", a)
		return
	}
	a.Email, a.Partner = clean.Line(v.line("email"), storage.MaxEmail), clean.Line(v.line("partner"), 10)
	partner, ok := number31(a.Partner, 0)
	if !ok {
		v.refuse("login", a, problemLogin)
		return
	}
	c := accounts.Credentials{Partner: partner, Email: v.line("email"), Password: asGamesSend(v.form.Get("password")), From: v.from}
	id, err := v.opt.Service.SignIn.CheckPassword(v.r.Context(), c)
	if errors.Is(err, accounts.ErrBadEmail) || errors.Is(err, accounts.ErrBadPassword) {
		err = problemLogin
	}
	if err != nil {
		v.refuse("login", a, err)
		return
	}
	v.enter(id)
}

// asGamesSend is latin1 for a password that is only compared.
func asGamesSend(password string) string {
	if p, ok := latin1(password); ok {
		return p
	}
	return password
}

// enter opens a session and redirects to the account. An existing session ends,
// so that a planted token is useless.
func (v *visit) enter(id storage.UserID) {
	_, mark, err := v.userOf(v.r.Context(), id)
	if err != nil {
		v.fault(err)
		return
	}
	if v.session != nil {
		v.sessions.End(v.session)
	}
	v.cookie.Set(v.w, v.openSession(id, mark, time.Now()))
	v.tie.Delete(v.w)
	v.Log().Info().Uint32("user", uint32(id)).Stringer("peer", v.from).Msg("logged in on the page")
	v.goTo("/account")
}

// serveRegister answers /account/register.
func (v *visit) serveRegister() {
	a := v.view(v.lang.T("Create an account"))
	if v.r.Method != http.MethodPost {
		v.show("register", a)
		return
	}
	began := time.Now()
	a.Email, a.Nick = clean.Line(v.line("email"), storage.MaxEmail), clean.Line(v.line("nick"), storage.MaxNick)
	a.UniqueNick, a.Partner = clean.Line(v.line("uniquenick"), storage.MaxUniqueNick), clean.Line(v.line("partner"), 10)
	a.Namespace, a.Game = clean.Line(v.line("namespace"), 10), clean.Line(v.line("game"), games.MaxNameLen)
	reg, err := v.registration()
	if err != nil {
		v.refuse("register", a, err)
		return
	}
	if !v.Trusted(v.from) && !v.limits.Load().registrations.Allow(v.from, began) {
		v.Drop(dropRegistrations)
		v.refuse("register", a, problemQuota)
		return
	}
	if !v.Trusted(v.from) {
		v.registered(v.from)
	}
	if reg.UniqueNick != "" {
		// Checked first, so that the answer does not reveal whether there is an
		// account.
		if err := v.opt.Service.Profiles.CheckUniqueNick(v.r.Context(), reg.Namespace, reg.UniqueNick); err != nil {
			v.refuse("register", a, err)
			return
		}
	}
	ctx := storage.WithAudit(v.r.Context(), storage.AuditEntry{
		Via: storage.ViaPlayer, From: v.from, Action: "account.create", Subject: reg.Nick,
	})
	profile, err := v.opt.Service.Users.Register(ctx, reg)
	if v.private() {
		v.answerInPrivate(a, reg, err, began)
		return
	}
	if errors.Is(err, accounts.ErrBadPassword) {
		err = problemExists
	}
	if err != nil {
		v.refuse("register", a, err)
		return
	}
	v.enter(profile.User)
}

// private reports whether answers must not reveal which e-mails have an
// account: so where mail says it to the owner.
func (v *visit) private() bool {
	_, mails := v.mailer.config()
	return mails || v.opt.Private != nil && v.opt.Private()
}

// answerInPrivate answers a registration in the same way whether there was an
// account with that e-mail or not. If there was, its owner gets a mail; a new one gets none,
// because anyone may name any address.
func (v *visit) answerInPrivate(a accountView, reg accounts.Registration, err error, began time.Time) {
	done := "asked"
	if c, mails := v.mailer.config(); mails {
		done = "mailed-owner"
		// Every registration counts, so that later refusals reveal nothing.
		if admitted := v.Trusted(v.from) || v.mailer.admits(v.from, &c); admitted && errors.Is(err, accounts.ErrBadPassword) {
			v.mailer.ask(mailRequest{partner: reg.Partner, email: reg.Email, from: v.from, exists: true, lang: v.lang}, &c)
		}
	}
	clock.Pause(v.r.Context(), time.Until(began.Add(evenTime)))
	same := err == nil || errors.Is(err, accounts.ErrBadPassword) || errors.Is(err, accounts.ErrThrottled) || errors.Is(err, accounts.ErrUniqueNickTaken)
	if !same {
		v.refuse("register", a, err)
		return
	}
	v.goTo("/account/login?done=" + done)
}

// registration reads the form of a registration.
func (v *visit) registration() (reg accounts.Registration, err error) {
	namespace, partner, err := v.space()
	if err != nil {
		return reg, err
	}
	nick, nickOK := latin1(v.line("nick"))
	unique, uniqueOK := latin1(v.line("uniquenick"))
	if !nickOK || !uniqueOK {
		return reg, problemLetters
	}
	password, err := v.newPassword()
	return accounts.Registration{
		Partner: partner, Namespace: namespace, Email: v.line("email"), Nick: nick, UniqueNick: unique, Password: password, From: v.from,
	}, err
}

// space reads the namespace and the partner code of a form: those of the game that
// it names, or the numbers.
func (v *visit) space() (namespace, partner int, err error) {
	if name := v.line("game"); name != "" {
		if v.opt.Games == nil {
			return 0, 0, problemGame
		}
		g, ok := v.opt.Games.Lookup(name)
		if !ok {
			return 0, 0, problemGame
		}
		return g.UniqueNicks(), g.Partner, nil
	}
	namespace, ok := number31(v.line("namespace"), 1)
	partner, good := number31(v.line("partner"), 0)
	if !ok || !good {
		return 0, 0, problemNumbers
	}
	return namespace, partner, nil
}

// newPassword reads a password that was typed twice.
func (v *visit) newPassword() (password string, err error) {
	if v.form.Get("new") != v.form.Get("repeat") {
		return "", problemRepeat
	}
	password, ok := latin1(v.form.Get("new"))
	switch {
	case !ok:
		return "", problemLetters
	case password == "" || len(password) > accounts.MaxPassword:
		return "", problemLength
	}
	return password, nil
}

// number31 reads a number that fits the protocol; empty means none.
func number31(text string, none int) (int, bool) {
	if text == "" {
		return none, true
	}
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

// serveAccount answers /account.
func (v *visit) serveAccount() {
	if v.session == nil {
		v.goTo("/account/login")
		return
	}
	a, err := v.accountView()
	if err != nil {
		v.fault(err)
		return
	}
	a.Done = v.done()
	v.show("account", a)
}

// accountView returns the data of the visitor's account page.
func (v *visit) accountView() (accountView, error) {
	a := v.view(v.lang.T("Your account"))
	a.Email = clean.Text(v.user.Email)
	a.Created = v.lang.Time(v.user.Created.UTC(), "2 January 2006")
	if v.user.Created.IsZero() {
		a.Created = ""
	}
	list, err := v.opt.Store.ProfilesOf(v.r.Context(), v.user.ID)
	if err != nil {
		return a, err
	}
	for _, p := range list {
		view := profileView{ID: p.ID, Nick: clean.Text(p.Nick), Only: len(list) == 1}
		for _, n := range p.UniqueNicks {
			view.UniqueNicks = append(view.UniqueNicks, uniqueNickView{n.Namespace, clean.Text(n.Nick)})
		}
		a.Profiles = append(a.Profiles, view)
	}
	return a, nil
}

// serveLogout answers /account/logout.
func (v *visit) serveLogout() {
	if v.r.Method == http.MethodPost && v.session != nil {
		v.endSession()
		v.goTo("/account/login?done=out")
		return
	}
	v.goTo("/account")
}

// endGames ends the game sessions of an account, and revokes their tickets and
// tokens.
func (v *visit) endGames(ctx context.Context, id storage.UserID) error {
	v.opt.Sessions.KickUser(ctx, id, presence.ErrDisplaced)
	list, err := v.opt.Store.ProfilesOf(ctx, id)
	for _, p := range list {
		v.opt.Service.Grants.Revoke(p.ID)
	}
	return err
}
