package account

import (
	"context"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
)

// ResetPath is the path of the page on which a reset link is used. The code of the
// link is a fragment, which browsers send to no server: so it is in no log.
const ResetPath = prefix + "/reset"

// maxCodeField is the longest link that is read, in bytes.
const maxCodeField = 1000

// maxContact is the longest contact that the page shows, in characters.
const maxContact = 200

// SetContact sets whom visitors ask for help, as plain text; it may be empty.
func (p *Pages) SetContact(text string) {
	text = clean.Line(text, maxContact)
	p.contact.Store(&text)
}

// resetView returns the data of the page for a code, which may be empty.
func (v *visit) resetView(code string) accountView {
	a := v.view("Set a new password")
	a.Script, a.Code, a.Contact = v.site.ResetScript(), code, *v.contact.Load()
	return a
}

// serveReset answers /account/reset.
func (v *visit) serveReset() {
	if v.r.Method != http.MethodPost {
		v.show("reset", v.resetView(""))
		return
	}
	code := v.line("code")
	if len(code) > maxCodeField {
		code = ""
	}
	code = code[strings.LastIndexByte(code, '#')+1:]
	if err := v.useReset(context.WithoutCancel(v.r.Context()), code); err != nil {
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
	v.user.ID = id
	if err := v.opt.Service.UseReset(v.noted(ctx, "account.reset"), code, password, v.from); err != nil {
		return err
	}
	return v.endGames(ctx, id)
}
