package fesl

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// consoleNamespace is that of the unique nicks of players who signed in with a ticket of a console. The
// signature of tickets is not checked, so such players get no names where others have theirs.
const consoleNamespace = 1943

// consoleClock is how far the clock of a console may be wrong.
const consoleClock = 24 * time.Hour

// consoleSignIn signs the client in by the ticket of a PS3, as the one profile of its player. The first
// ticket of a player makes the account.
func (x *session) consoleSignIn(ctx context.Context, r *request, answer *wire.Text) error {
	x.forget()
	x.life.stage, x.ticketed = stageReady, false
	if !x.server.live.Load().ConsoleTickets {
		return refuse(codeUnknownName, "Consoles cannot sign in here.")
	}
	p, u, err := x.console(ctx, r.Get("ticket"))
	if err == nil {
		x.ticketed = true
		err = x.play(ctx, accounts.LoginOf(&u, p), &p)
	}
	if err != nil {
		x.ticketed = false
		if v, ok := accounts.VerdictOn(err); ok {
			x.server.opt.Verdicts.NoteDetail(name, x.peer.Addr(), x.title.game, v, accounts.DetailOf(err))
		}
		return err
	}
	x.note(verdicts.SignedIn)
	answer.Add("lkey", x.player.key)
	answer.AddNumber("userId", int64(p.User))
	answer.AddNumber("profileId", int64(p.ID))
	key := "screenName"
	if r.TXN() == "NuPS3Login" {
		key = "personaName"
	}
	answer.Add(key, x.persona(&p))
	return nil
}

// console returns the player of a ticket, which is in hexadecimal digits behind a $.
func (x *session) console(ctx context.Context, text string) (p storage.Profile, u storage.User, err error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "$"))
	if err != nil {
		return p, u, accounts.ErrBadTicket
	}
	t, err := accounts.ParseConsoleTicket(raw)
	switch {
	case err != nil:
		return p, u, err
	case time.Now().After(t.Expires.Add(consoleClock)):
		return p, u, accounts.ErrExpiredTicket
	}
	p, made, err := x.server.opt.Accounts.Users.Console(ctx, accounts.ConsolePlayer{
		Console: t.Console(), ID: t.User, Nick: t.Name, Namespace: consoleNamespace, From: x.peer.Addr(),
		MayRegister: func() bool { return x.server.mayRegister(x.peer.Addr()) },
	})
	if err != nil {
		return p, u, err
	}
	if made {
		x.note(verdicts.AccountMade)
	}
	u, err = x.server.opt.Store.GetUser(ctx, p.User)
	return p, u, err
}
