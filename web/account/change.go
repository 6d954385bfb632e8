package account

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// change makes the handler of a form that changes the visitor's account. done
// is the key of the confirmation on the page, action the one for the audit log.
// The change is completed even if the visitor leaves.
func (p *Pages) change(done, action string, do func(context.Context, *visit) error) http.HandlerFunc {
	return p.handler(func(v *visit) {
		if v.session == nil || v.r.Method != http.MethodPost {
			v.goTo("/account")
			return
		}
		if !v.session.Data.quota.AllowN(time.Now(), 1) {
			v.Drop(dropForms)
			v.refuseChange(problemQuota)
			return
		}
		ctx := v.noted(context.WithoutCancel(v.r.Context()), action, v.user.ID, v.from)
		if err := do(ctx, v); err != nil {
			v.refuseChange(err)
			return
		}
		v.Log().Debug().Uint32("user", uint32(v.user.ID)).Str("change", done).Msg("account changed on the page")
		to := "/account"
		if v.session == nil { // the change ended it
			to = "/account/login"
		}
		v.goTo(to + "?done=" + done)
	})
}

// noted returns a context whose change of an account is recorded in the audit log.
func (p *Pages) noted(ctx context.Context, action string, id storage.UserID, from netip.Addr) context.Context {
	return storage.WithAudit(ctx, p.entry(ctx, action, id, from))
}

// entry returns an entry of the audit log. It names the account by its number and
// first nick, without e-mail and password.
func (p *Pages) entry(ctx context.Context, action string, id storage.UserID, from netip.Addr) storage.AuditEntry {
	nick := ""
	if list, err := p.opt.Store.ProfilesOf(ctx, id); err == nil && len(list) > 0 {
		nick = list[0].Nick
	}
	return storage.AuditEntry{Via: storage.ViaPlayer, From: from, Action: action, Subject: nick, ID: uint32(id)}
}

// refuseChange shows the visitor's account with the error.
func (v *visit) refuseChange(err error) {
	a, fault := v.accountView()
	if fault != nil {
		err = fault
	}
	v.refuse("account", a, err)
}

// checkCurrent checks the current password. Failures count as those of games do.
func (v *visit) checkCurrent(ctx context.Context) error {
	id, err := v.opt.Service.SignIn.CheckPassword(ctx, accounts.Credentials{
		Partner: v.user.Partner, Email: v.user.Email, Password: asGamesSend(v.form.Get("password")), From: v.from,
	})
	switch {
	case errors.Is(err, accounts.ErrBadPassword), errors.Is(err, accounts.ErrBadEmail), err == nil && id != v.user.ID:
		return problemPassword
	}
	return err
}

// changePassword changes the password. Games and other browsers have to sign in
// again; this one stays.
func changePassword(ctx context.Context, v *visit) error {
	password, err := v.newPassword()
	if err != nil {
		return err
	}
	if err := v.checkCurrent(ctx); err != nil {
		return err
	}
	if err := v.opt.Service.Passwords.Change(ctx, v.user.ID, password); err != nil {
		return err
	}
	return errors.Join(v.endGames(ctx, v.user.ID), v.stay(ctx))
}

// stay continues this browser's session after a change of the password.
func (v *visit) stay(ctx context.Context) error {
	_, mark, err := v.userOf(ctx, v.user.ID)
	if err == nil {
		v.session.Data.mark.Store(mark)
	}
	return err
}

// changeEmail changes the e-mail. Where answers are private, an invalid one and one that
// is taken are refused in the same way.
func changeEmail(ctx context.Context, v *visit) error {
	if err := v.checkCurrent(ctx); err != nil {
		return err
	}
	err := v.opt.Service.Passwords.ChangeEmail(ctx, v.user.ID, v.line("email"))
	switch {
	case v.private() && (errors.Is(err, accounts.ErrEmailTaken) || errors.Is(err, accounts.ErrBadEmail)):
		return problemEmailUsed
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
		return problemLetters
	}
	_, err := v.opt.Service.Profiles.New(ctx, v.user.ID, nick)
	return err
}

func renameProfile(ctx context.Context, v *visit) error {
	nick, ok := latin1(v.line("nick"))
	if !ok {
		return problemLetters
	}
	p, err := v.own(ctx)
	if err != nil {
		return err
	}
	_, err = v.opt.Service.Profiles.Replace(ctx, v.user.ID, p.Nick, nick)
	return err
}

func changeUniqueNick(ctx context.Context, v *visit) error {
	nick, ok := latin1(v.line("uniquenick"))
	if !ok {
		return problemLetters
	}
	namespace, _, err := v.space()
	if errors.Is(err, problemNumbers) {
		err = accounts.ErrBadNamespace
	}
	if err != nil {
		return err
	}
	p, err := v.own(ctx)
	if err != nil {
		return err
	}
	_, err = v.opt.Service.Profiles.RegisterNick(ctx, p.ID, namespace, nick)
	return err
}

func dropProfile(ctx context.Context, v *visit) error {
	if v.form.Get("sure") != "1" {
		return problemSure
	}
	p, err := v.own(ctx)
	if err != nil {
		return err
	}
	if err := v.opt.Service.Profiles.Delete(ctx, p.ID); err != nil {
		return err
	}
	v.opt.Sessions.KickProfile(ctx, p.ID, presence.ErrDeleted)
	return nil
}

// deleteAccount deletes the account with everything that belongs to it.
func deleteAccount(ctx context.Context, v *visit) error {
	if v.form.Get("sure") != "1" {
		return problemSure
	}
	if err := v.checkCurrent(ctx); err != nil {
		return err
	}
	if err := v.opt.Service.Users.Delete(ctx, v.user.ID); err != nil {
		return err
	}
	v.opt.Sessions.KickUser(ctx, v.user.ID, presence.ErrDeleted)
	v.endSession()
	return nil
}

// endSession ends the session of this browser.
func (v *visit) endSession() {
	v.sessions.End(v.session)
	v.session = nil
	v.cookie.Delete(v.w)
}
