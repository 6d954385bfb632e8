package account

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/storage"
)

// ResetPath is the path of the page on which a reset link is used. The code of the
// link is a fragment, which browsers send to no server: so it is in no log.
const ResetPath = prefix + "/reset"

// maxCodeField is the longest link that is read, in bytes.
const maxCodeField = 1000

// maxContact is the longest contact that the page and mail show, in characters, and
// maxSiteName the longest name of the site in mail.
const (
	maxContact  = 200
	maxSiteName = 100
)

// contact returns the contact for visitors who need help, as plain text; it may be empty.
func (p *Pages) contact() string { return clean.Line(p.site.Look().Contact.Title, maxContact) }

// Run mails reset links until ctx ends. It is called once.
func (p *Pages) Run(ctx context.Context) { p.mailer.run(ctx) }

// name returns the name of the site in mail.
func (p *Pages) name() string { return clean.Line(p.site.Name(), maxSiteName) }

// resetView returns the data of the page for a code, which may be empty.
func (v *visit) resetView(code string) accountView {
	a := v.view(v.lang.T("Set a new password"))
	a.Script, a.Code, a.Contact = v.site.ResetScript(), code, v.contact()
	return a
}

// serveReset answers /account/reset.
func (v *visit) serveReset() {
	if v.r.Method != http.MethodPost {
		a := v.resetView("")
		a.Done = v.done()
		v.show("reset", a)
		return
	}
	code := v.line("code")
	if len(code) > maxCodeField {
		code = ""
	}
	code = code[strings.LastIndexByte(code, '#')+1:]
	if err := v.useReset(context.WithoutCancel(v.r.Context()), code); err != nil {
		if errors.Is(err, accounts.ErrBadReset) {
			code = "" // the page says how to get a new one
		}
		v.refuse("reset", v.resetView(clean.Line(code, maxCodeField)), err)
		return
	}
	v.goTo("/account/login?done=reset")
}

// useReset sets the password of the form with the code of a reset link, and ends
// all sessions of the account.
func (v *visit) useReset(ctx context.Context, code string) error {
	id, err := accounts.ResetAccount(code)
	if err != nil {
		return err
	}
	password, err := v.newPassword()
	if err != nil {
		return err
	}
	if err := v.opt.Service.Passwords.UseReset(v.noted(ctx, "account.reset", id, v.from), code, password, v.from); err != nil {
		return err
	}
	return v.endGames(ctx, id)
}

// serveResetMail answers /account/reset/mail: a request for a mail with a link. Its
// answer does not depend on whether there is an account.
func (v *visit) serveResetMail() {
	c, on := v.mailer.config()
	if v.r.Method != http.MethodPost || !on {
		v.goTo(ResetPath)
		return
	}
	email, partner := clean.Line(v.line("email"), storage.MaxEmail+1), clean.Line(v.line("partner"), 10)
	a := v.resetView("")
	a.Email, a.Partner = email, partner
	n, ok := number31(partner, 0)
	if !ok {
		v.refuse("reset", a, problemNumbers)
		return
	}
	if len(email) > storage.MaxEmail || !strings.Contains(email, "@") {
		v.refuse("reset", a, accounts.ErrBadEmail)
		return
	}
	if !v.Trusted(v.from) && !v.mailer.admits(v.from, &c) {
		v.Drop(dropMails)
		v.w.Header().Set("Retry-After", "3600")
		v.refuse("reset", a, problemMails)
		return
	}
	v.mailer.ask(mailRequest{partner: n, email: email, from: v.from, lang: v.lang}, &c)
	v.goTo(ResetPath + "?done=mailed")
}
