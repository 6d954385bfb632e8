package fesl

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// newKey returns a session key: 20 random bytes in the form of EA's service.
func newKey() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:]) + "."
}

// signIn signs the client in to an account, by password or by the token of an earlier
// sign-in.
func (x *session) signIn(ctx context.Context, r *request, answer *wire.Text) error {
	x.forget()
	x.life.stage, x.ticketed = stageReady, false
	u, err := x.prove(ctx, r)
	if err == nil {
		err = x.admit(ctx, accounts.LoginOf(&u, storage.Profile{}), lobby.Player{})
	}
	if err != nil {
		if v, ok := accounts.VerdictOn(err); ok {
			x.server.opt.Verdicts.NoteDetail(name, x.peer.Addr(), x.title.game, v, accounts.DetailOf(err))
		}
		return err
	}
	x.note(verdicts.SignedIn)
	x.life.stage = stageAccount
	id := strconv.FormatUint(uint64(u.ID), 10)
	display := r.Get("name")
	if nuid, ok := r.Look("nuid"); ok {
		answer.Add("nuid", nuid)
		display = nuid
	}
	answer.Add("profileId", id)
	answer.Add("userId", id)
	if display == "" { // by a token
		display = u.Email
	}
	answer.Add("displayName", display)
	answer.Add("lkey", x.server.newKey())
	if r.Get("returnEncryptedInfo") == "1" {
		answer.Add("encryptedLoginInfo", x.server.remember(&u, time.Now()))
	}
	const list = "entitledGameFeatureWrappers"
	answer.AddNumber(list+".[]", int64(len(x.title.features)))
	for i, f := range x.title.features {
		entry := wire.Member(list, i)
		answer.Add(entry+".gameFeatureId", f)
		answer.Add(entry+".status", "0")
		answer.Add(entry+".message", "")
		answer.Add(entry+".entitlementExpirationDate", "")
		answer.Add(entry+".entitlementExpirationDays", "-1")
	}
	return nil
}

// prove returns the account whose password or token the client has.
func (x *session) prove(ctx context.Context, r *request) (storage.User, error) {
	if token := r.Get("encryptedInfo"); token != "" {
		return x.remembered(ctx, token, time.Now())
	}
	who, password := r.Get("name"), r.Get("password")
	if nuid := r.Get("nuid"); nuid != "" {
		who = nuid
	}
	opt := &x.server.opt
	if strings.IndexByte(who, '@') < 0 {
		sum := md5.Sum([]byte(password))
		l, err := opt.Accounts.SignIn.CheckProof(ctx, accounts.Proof{
			UniqueNick: who, Namespace: x.namespace(), Digest: hex.EncodeToString(sum[:]), From: x.peer.Addr(),
		})
		if err != nil {
			return storage.User{}, err
		}
		return x.same(ctx, &l)
	}
	u, err := opt.Store.UserByEmail(ctx, 0, who) // before: another password meanwhile is noticed
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return u, err
	}
	id, err := opt.Accounts.SignIn.CheckPassword(ctx, accounts.Credentials{Email: who, Password: password, From: x.peer.Addr()})
	if err == nil && id != u.ID {
		err = storage.ErrConflict // made, or made again, meanwhile
	}
	return u, err
}

// same returns the account of a login, if it is neither banned nor gone nor has another
// password by now.
func (x *session) same(ctx context.Context, l *accounts.Login) (storage.User, error) {
	u, err := x.server.opt.Store.GetUser(ctx, l.User)
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrDeleted):
		err = accounts.ErrProfileDeleted
	case err == nil && u.Ban.In(time.Now()):
		err = accounts.ErrBanned
	case err == nil && !x.server.opt.Accounts.SignIn.SamePassword(l, &u):
		err = accounts.ErrBadPassword
	}
	return u, err
}

// admit makes the client a player of an account, and of one of its profiles unless that is none. It
// attaches first and looks at the account then: one that was banned or deleted or got
// another password meanwhile is not admitted.
func (x *session) admit(ctx context.Context, l accounts.Login, as lobby.Player) error {
	p := &player{session: x, login: l, profile: as.Profile, since: time.Now()}
	if as.Profile != 0 {
		p.key = x.server.newKey()
		x.server.opt.Lobby.Enter(p.key, as)
	}
	p.detach = x.server.opt.Attach(p)
	if _, err := x.same(ctx, &l); err != nil {
		p.detach()
		x.server.opt.Lobby.Revoke(p.key)
		return err
	}
	x.forget()
	x.player = p
	x.server.metrics.players.Inc()
	return nil
}

// addAccount makes an account. A client of family SubAccount also names its first profile.
func (x *session) addAccount(ctx context.Context, r *request, answer *wire.Text) error {
	nick, email, password := r.Get("name"), r.Get("email"), r.Get("password")
	nuid, family := r.Look("nuid")
	if family {
		nick, email = unnamed+nuid[:min(len(nuid), storage.MaxNick-len(unnamed))], nuid
	}
	switch {
	case email == "":
		return badField(fieldEmail, fieldMissing)
	case password == "":
		return badField(fieldPassword, fieldMissing)
	case len(password) > accounts.MaxPassword:
		return badField(fieldPassword, fieldLong)
	case !x.server.mayRegister(x.peer.Addr()):
		x.server.opt.Metrics.Drop(droppedRegistration.Error())
		return refuse(codeTooOften, "Too many registrations. Try again in a minute.")
	}
	registration := accounts.Registration{Email: email, Nick: nick, Password: password, From: x.peer.Addr()}
	if !family {
		if err := checkPersona(nick); err != nil {
			return err
		}
		registration.Namespace, registration.UniqueNick = x.namespace(), nick
	}
	p, err := x.server.opt.Accounts.Users.Register(ctx, registration)
	switch {
	case err == nil:
		x.note(verdicts.AccountMade)
		if err := x.describe(ctx, p.ID, r); err != nil { // the account is made
			_ = x.refusal(ctx, x.server.commands["acct updateaccount"], err) // it is counted and logged there
		}
	case errors.Is(err, accounts.ErrBadEmail):
		return badField(fieldEmail, fieldInvalid)
	case errors.Is(err, accounts.ErrBadPassword):
		return refuse(codeNameTaken, "There is an account with that e-mail address.")
	default:
		if v, ok := accounts.VerdictOn(err); ok {
			x.note(v)
		}
		return err
	}
	if !family {
		answer.AddNumber("userId", int64(p.User))
		answer.AddNumber("profileId", int64(p.ID))
	}
	return nil
}

// unnamed begins the nick of the first profile of an account whose player has not chosen a
// name.
const unnamed = "@"
