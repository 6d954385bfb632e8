package account

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// errNotConfirmed reports that the confirmation box was not ticked.
var errNotConfirmed = errors.New("not confirmed")

// errNeedPassword reports that the current password is wrong.
var errNeedPassword = errors.New("wrong password")

// formProblem says in words for the visitor what is wrong with a form.
type formProblem string

// Error implements error.
func (p formProblem) Error() string { return string(p) }

// change makes the handler of a form that changes the visitor's account. done is
// the word for the page that says so, action the one for the audit log. The
// change outlives a visitor who leaves.
func (p *Pages) change(done, action string, do func(context.Context, *visit) error) http.HandlerFunc {
	return p.handler(func(v *visit) {
		if v.session == nil || v.r.Method != http.MethodPost {
			v.goTo("/account")
			return
		}
		if !v.withinQuota() {
			return
		}
		err := do(v.noted(context.WithoutCancel(v.r.Context()), action), v)
		if err == nil {
			v.opt.Log.Debug().Uint32("user", uint32(v.user.ID)).Str("change", done).Msg("account changed on the page")
			v.goTo("/account?done=" + done)
			return
		}
		var problem formProblem
		text, refused := problemText(err)
		switch {
		case errors.As(err, &problem):
			v.tellChange(http.StatusUnprocessableEntity, string(problem))
		case errors.Is(err, errNeedPassword):
			v.tellChange(http.StatusUnprocessableEntity, problemPassword)
		case errors.Is(err, errNotConfirmed):
			v.tellChange(http.StatusUnprocessableEntity, problemSure)
		case errors.Is(err, accounts.ErrThrottled):
			v.tellChange(http.StatusTooManyRequests, text)
		case refused:
			v.tellChange(http.StatusUnprocessableEntity, text)
		default:
			v.fault(err)
		}
	})
}

// noted returns a context whose change of the account is in the audit log. The
// entry names the account by its number and first nick; neither e-mail nor
// password get there.
func (v *visit) noted(ctx context.Context, action string) context.Context {
	nick := ""
	if list, err := v.opt.Store.ProfilesOf(ctx, v.user.ID); err == nil && len(list) > 0 {
		nick = list[0].Nick
	}
	return storage.WithAudit(ctx, storage.AuditEntry{
		Via: storage.ViaPlayer, From: v.from, Action: action, Subject: nick, ID: uint32(v.user.ID),
	})
}

// withinQuota takes one change from what the account may do. It returns false if
// it answered.
func (v *visit) withinQuota() bool {
	if v.session.Data.quota.AllowN(time.Now(), 1) {
		return true
	}
	v.Drop(dropForms)
	v.tellChange(http.StatusTooManyRequests, problemQuota)
	return false
}

// tellChange shows the visitor's account with what was wrong.
func (v *visit) tellChange(status int, problem string) {
	a, err := v.accountView()
	if err != nil {
		v.fault(err)
		return
	}
	v.again("account", a, status, problem)
}

// checkCurrent checks the current password. Failures count as those of games do.
func (v *visit) checkCurrent(ctx context.Context) error {
	id, err := v.opt.Service.CheckPassword(ctx, accounts.Credentials{
		Partner: v.user.Partner, Email: v.user.Email, Password: asGamesSend(v.form.Get("password")), From: v.from,
	})
	switch {
	case errors.Is(err, accounts.ErrBadPassword), errors.Is(err, accounts.ErrBadEmail), err == nil && id != v.user.ID:
		return errNeedPassword
	}
	return err
}

// changePassword changes the password. Games and other browsers have to sign in
// again; this one stays.
func changePassword(ctx context.Context, v *visit) error {
	password, problem := v.newPassword()
	if problem != "" {
		return formProblem(problem)
	}
	if err := v.checkCurrent(ctx); err != nil {
		return err
	}
	if err := v.opt.Service.ChangePassword(ctx, v.user.ID, password); err != nil {
		return err
	}
	return errors.Join(v.endGames(ctx, v.user.ID), v.stay(ctx))
}

// stay continues this browser's session after a change of the password.
func (v *visit) stay(ctx context.Context) error {
	_, mark, err := v.userOf(ctx, v.user.ID)
	if err == nil {
		v.session.Data.mark.Store(&mark)
	}
	return err
}

// changeEmail changes the e-mail. With Options.Private, an invalid one and one that
// is taken are refused in the same way.
func changeEmail(ctx context.Context, v *visit) error {
	if err := v.checkCurrent(ctx); err != nil {
		return err
	}
	err := v.opt.Service.ChangeEmail(ctx, v.user.ID, v.line("email"))
	switch {
	case v.private() && (errors.Is(err, accounts.ErrEmailTaken) || errors.Is(err, accounts.ErrBadEmail)):
		return formProblem(problemEmailUsed)
	case err != nil:
		return err
	}
	return v.stay(ctx) // the e-mail is part of the seal
}

// own returns the visitor's profile that a form names.
func (v *visit) own(ctx context.Context) (storage.Profile, error) {
	id, err := strconv.ParseUint(v.line("profile"), 10, 32)
	if err != nil {
		return storage.Profile{}, accounts.ErrBadProfile
	}
	list, err := v.opt.Store.ProfilesOf(ctx, v.user.ID)
	if err != nil {
		return storage.Profile{}, err
	}
	for _, p := range list {
		if uint64(p.ID) == id {
			return p, nil
		}
	}
	return storage.Profile{}, accounts.ErrBadProfile
}

func addProfile(ctx context.Context, v *visit) error {
	nick, ok := latin1(v.line("nick"))
	if !ok {
		return formProblem(problemLetters)
	}
	_, err := v.opt.Service.NewProfile(ctx, v.user.ID, nick)
	return err
}

func renameProfile(ctx context.Context, v *visit) error {
	nick, ok := latin1(v.line("nick"))
	if !ok {
		return formProblem(problemLetters)
	}
	p, err := v.own(ctx)
	if err != nil {
		return err
	}
	_, err = v.opt.Service.ReplaceProfile(ctx, v.user.ID, p.Nick, nick)
	return err
}

func changeUniqueNick(ctx context.Context, v *visit) error {
	nick, ok := latin1(v.line("uniquenick"))
	if !ok {
		return formProblem(problemLetters)
	}
	namespace, ok := number31(v.line("namespace"), 1)
	if !ok {
		return accounts.ErrBadNamespace
	}
	p, err := v.own(ctx)
	if err != nil {
		return err
	}
	_, err = v.opt.Service.RegisterNick(ctx, p.ID, namespace, nick)
	return err
}

func dropProfile(ctx context.Context, v *visit) error {
	if v.form.Get("sure") != "1" {
		return errNotConfirmed
	}
	p, err := v.own(ctx)
	if err != nil {
		return err
	}
	if err := v.opt.Service.DeleteProfile(ctx, p.ID); err != nil {
		return err
	}
	v.opt.Sessions.KickProfile(ctx, p.ID, presence.ErrDeleted)
	return nil
}

// serveDelete answers /account/delete: the account with everything that hangs on
// it goes.
func (v *visit) serveDelete() {
	if v.session == nil || v.r.Method != http.MethodPost {
		v.goTo("/account")
		return
	}
	if !v.withinQuota() {
		return
	}
	if v.form.Get("sure") != "1" {
		v.tellChange(http.StatusUnprocessableEntity, problemSure)
		return
	}
	ctx := context.WithoutCancel(v.r.Context())
	err := v.checkCurrent(ctx)
	if errors.Is(err, errNeedPassword) {
		v.tellChange(http.StatusUnprocessableEntity, problemPassword)
		return
	}
	if err == nil {
		err = v.opt.Service.DeleteUser(v.noted(ctx, "account.delete"), v.user.ID)
	}
	if err != nil {
		if text, refused := problemText(err); refused {
			v.tellChange(http.StatusTooManyRequests, text)
			return
		}
		v.fault(err)
		return
	}
	v.opt.Sessions.KickUser(ctx, v.user.ID, presence.ErrDeleted)
	v.sessions.End(v.session)
	v.cookie.Delete(v.w)
	v.goTo("/account/login?done=deleted")
}
