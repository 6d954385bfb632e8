package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// parseTicket reads a ticket in base64.
func parseTicket(text string) (t accounts.ConsoleTicket, err error) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	if base64.RawStdEncoding.DecodedLen(len(text)) > accounts.MaxConsoleTicket {
		return t, accounts.ErrBadTicket
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return t, accounts.ErrBadTicket
	}
	return accounts.ParseConsoleTicket(b)
}

var errConsole = errors.New("tickets of the PS3 are not accepted, see webservices.console_tickets")

// byConsole is LoginPs3Cert. Its reply has a token, with which the game signs in elsewhere.
func (r *Backend) byConsole(ctx context.Context, q *soap.Request) []byte {
	profile, err := r.consoleProfile(ctx, q)
	if err != nil {
		return r.answer(q, nil, nil, err)
	}
	token := r.opt.Accounts.Grants.IssueToken(profile, 0, false)
	r.metrics.results.WithLabelValues(codeNames[codeOK]).Inc()
	r.note(q, verdicts.SignedIn, "with a ticket of the PS3, whose signature cannot be checked")
	return soap.Reply(q.Method, Namespace, func(w *soap.Writer) {
		w.Open(q.Method + "Result")
		w.Int("responseCode", int64(codeOK))
		w.Text("authToken", token.Value)
		w.Text("partnerChallenge", token.Challenge)
		w.Close()
	})
}

// consoleProfile returns the profile of the player in a ticket.
func (r *Backend) consoleProfile(ctx context.Context, q *soap.Request) (storage.ProfileID, error) {
	if !r.consoles.Load() {
		return 0, errConsole
	}
	p, err := newProof(q)
	if err != nil {
		return 0, err
	}
	t, err := parseTicket(q.Body.Child("npticket").Text("Value"))
	switch {
	case err != nil:
		return 0, err
	case !time.Now().Before(t.Expires):
		return 0, accounts.ErrExpiredTicket
	}
	profile, made, err := r.opt.Accounts.Users.Console(ctx, accounts.ConsolePlayer{
		Console: "ps3", ID: t.User, Nick: t.Name, Partner: p.Partner, Namespace: p.Namespace, From: p.From,
		MayRegister: func() bool { return r.MayRegister(p.From) },
	})
	if made {
		r.note(q, verdicts.AccountMade, "")
	}
	return profile.ID, err
}
