package auth

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// consoleTicket is the content of the ticket of a PS3 about its player. Numbers are big-endian:
//
//	version                  4 bytes: 21 01 00 00 and later ones
//	length of the rest       4 bytes
//	sections                 30, kind (00: body, 02: signature), length (2 bytes), content
//	the body, entries        type (2 bytes), length (2 bytes), content, in this order:
//	  serial number          type 8
//	  number of the issuer   type 1
//	  issued                 type 7, milliseconds since 1970
//	  expires                type 7
//	  number of the player   type 2, 8 bytes
//	  name of the player     type 4, with zeros up to its length
//	  and more: region, domain, title, status
//
// The signature cannot be checked: only the maker of the console has the key.
type consoleTicket struct {
	user    uint64
	name    string
	expires time.Time
}

// Bounds of a ticket.
const (
	maxTicket     = 4 << 10 // bytes
	maxTicketName = 64      // bytes of a name, with its zeros
)

// Types of the entries of a ticket.
const (
	ticketU32    = 1
	ticketU64    = 2
	ticketText   = 4
	ticketTime   = 7
	ticketBinary = 8
)

var errTicket = errors.New("the ticket of the PS3 cannot be read")

// parseTicket reads a ticket in base64.
func parseTicket(text string) (t consoleTicket, err error) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	if base64.RawStdEncoding.DecodedLen(len(text)) > maxTicket {
		return t, errTicket
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(b) < 8 || b[0] < 0x21 || b[1] != 1 || int64(binary.BigEndian.Uint32(b[4:])) != int64(len(b)-8) {
		return t, errTicket
	}
	body, ok := ticketBody(b[8:])
	if !ok {
		return t, errTicket
	}
	return t, t.read(body)
}

// ticketBody returns the content of the first section, which is the body.
func ticketBody(b []byte) (body []byte, ok bool) {
	if len(b) < 4 || b[0] != 0x30 || b[1] != 0 {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n > len(b)-4 {
		return nil, false
	}
	return b[4 : 4+n], true
}

// read reads the entries of a body up to the name.
func (t *consoleTicket) read(body []byte) error {
	for _, e := range []struct {
		kind uint16
		size int // 0: any
		take func([]byte)
	}{
		{ticketBinary, 0, nil},
		{ticketU32, 4, nil},
		{ticketTime, 8, nil},
		{ticketTime, 8, func(v []byte) { t.expires = time.UnixMilli(int64(min(binary.BigEndian.Uint64(v), 1<<53))) }},
		{ticketU64, 8, func(v []byte) { t.user = binary.BigEndian.Uint64(v) }},
		{ticketText, 0, func(v []byte) { t.name, _, _ = strings.Cut(string(v), "\x00") }},
	} {
		if len(body) < 4 || binary.BigEndian.Uint16(body) != e.kind {
			return errTicket
		}
		n := int(binary.BigEndian.Uint16(body[2:]))
		if body = body[4:]; n > len(body) || e.size != 0 && n != e.size || e.kind == ticketText && n > maxTicketName {
			return errTicket
		}
		if e.take != nil {
			e.take(body[:n])
		}
		body = body[n:]
	}
	return nil
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
		return 0, errors.Join(err, accounts.ErrBadTicket)
	case !time.Now().Before(t.expires):
		return 0, accounts.ErrExpiredTicket
	}
	profile, made, err := r.opt.Accounts.Users.Console(ctx, accounts.ConsolePlayer{
		Console: "ps3", ID: t.user, Nick: t.name, Partner: p.Partner, Namespace: p.Namespace, From: p.From,
		MayRegister: func() bool { return r.MayRegister(p.From) },
	})
	if made {
		r.note(q, verdicts.AccountMade, "")
	}
	return profile.ID, err
}
