package gstats

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// maxPlayers is how many players a connection may authenticate. Game servers do it for
// all of theirs.
const maxPlayers = 128

// player is the authentication of a player on a connection. It implements
// presence.Attached: a ban, a deletion or another password ends it.
type player struct {
	session *session
	profile storage.ProfileID
	user    storage.UserID
	since   time.Time
	detach  func()
	ended   atomic.Bool
}

var _ presence.Attached = (*player)(nil)

// Profile implements presence.Attached.
func (p *player) Profile() storage.ProfileID { return p.profile }

// User implements presence.Attached.
func (p *player) User() storage.UserID { return p.user }

// Client implements presence.Attached.
func (p *player) Client() presence.Client {
	return presence.Client{Peer: p.session.peer, Game: p.session.game, Since: p.since}
}

// Kick implements presence.Attached. The connection and its other players stay.
func (p *player) Kick(error) { p.ended.Store(true) }

// owner reports whether the player of a profile is authenticated.
func (x *session) owner(id storage.ProfileID) bool {
	p := x.players[id]
	if p == nil {
		return false
	}
	if p.ended.Load() {
		x.forget(p)
		return false
	}
	return true
}

// forget removes the authentication of a player.
func (x *session) forget(p *player) {
	p.detach()
	delete(x.players, p.profile)
	x.server.metrics.players.Dec()
}

// authenticatePlayer is the request authp.
func (x *session) authenticatePlayer(ctx context.Context, r *request, now time.Time) {
	l, err := x.check(ctx, r, now)
	if err == nil {
		err = x.admit(ctx, &l, now)
	}
	if err != nil {
		x.out = appendPlayer(x.out, "pauthr", 0, r.lid, x.refusal(ctx, err))
		return
	}
	x.server.metrics.logins[loginAccepted].Inc()
	x.note(verdicts.SignedIn)
	x.out = appendPlayer(x.out, "pauthr", l.Profile.ID, r.lid, "")
}

// errTooManyPlayers refuses one player more than a connection may authenticate.
var errTooManyPlayers = errors.New("too many players on one connection")

// check checks the proof of a player.
func (x *session) check(ctx context.Context, r *request, now time.Time) (accounts.Login, error) {
	proof := accounts.StatsProof{
		Token: string(r.authToken), Response: string(r.response), Challenge: x.pch, From: x.peer.Addr(), Game: x.game,
	}
	if proof.Token == "" {
		proof.KeyHash, proof.Nick = string(r.keyHash), string(r.nick)
	}
	if proof.Token == "" && proof.KeyHash == "" {
		id, ok := profileID(r.pid)
		if !ok {
			return accounts.Login{}, accounts.ErrMalformed
		}
		proof.Profile = id
	}
	if len(x.players) >= maxPlayers && !x.owner(proof.Profile) && !x.dropEnded() {
		return accounts.Login{}, errTooManyPlayers
	}
	l, err := x.server.opt.SignIn.CheckStatsProof(ctx, proof)
	if proof.Profile != 0 && x.server.unproven(err) {
		return x.unproven(ctx, proof.Profile, err)
	}
	return l, err
}

// dropEnded forgets the players whose authentication was ended, and reports whether there is
// room for another one.
func (x *session) dropEnded() bool {
	for id := range x.players {
		x.owner(id)
	}
	return len(x.players) < maxPlayers
}

// unproven accepts a player whose proof cannot be checked, if gstats.unproven says so and
// the player is signed in from the same address. Else it returns the refusal.
func (x *session) unproven(ctx context.Context, id storage.ProfileID, refusal error) (accounts.Login, error) {
	p, err := x.server.opt.Players.GetProfile(ctx, id)
	if err != nil {
		return accounts.Login{}, err
	}
	u, err := x.server.opt.Players.GetUser(ctx, p.User) // before: a new password ends the presence
	if err != nil {
		return accounts.Login{}, err
	}
	if !x.server.opt.Present(ctx, id, x.peer.Addr()) {
		return accounts.Login{}, refusal
	}
	return accounts.LoginOf(&u, p), nil
}

// admit adds an authenticated player. It attaches first and looks at the account then:
// one that was banned or deleted or got another password meanwhile is not admitted.
func (x *session) admit(ctx context.Context, l *accounts.Login, now time.Time) error {
	if x.owner(l.Profile.ID) {
		return nil
	}
	p := &player{session: x, profile: l.Profile.ID, user: l.User, since: now}
	p.detach = x.server.opt.Attach(p)
	u, err := x.server.opt.Players.GetUser(ctx, l.User)
	switch {
	case err == nil && u.Ban.In(now):
		err = accounts.ErrBanned
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrDeleted):
		err = accounts.ErrProfileDeleted
	case err == nil && !x.server.opt.SignIn.SamePassword(l, &u):
		err = accounts.ErrBadPassword
	}
	if err != nil {
		p.detach()
		return err
	}
	if x.players == nil {
		x.players = make(map[storage.ProfileID]*player)
	}
	x.players[p.profile] = p
	x.server.metrics.players.Inc()
	return nil
}

// refusal counts and notes a refusal and returns its text.
func (x *session) refusal(ctx context.Context, err error) string {
	x.server.metrics.logins[loginRefused].Inc()
	if v, ok := accounts.VerdictOn(err); ok {
		x.server.opt.Verdicts.NoteDetail(name, x.peer.Addr(), x.game, v, accounts.DetailOf(err))
		return err.Error()
	}
	if errors.Is(err, errTooManyPlayers) {
		return err.Error()
	}
	x.server.troubled(ctx, err, "player not authenticated")
	return "the server cannot check that now"
}

// findPlayer is the request getpid.
func (x *session) findPlayer(ctx context.Context, r *request) {
	p, err := x.server.opt.ByCDKey(ctx, x.game, string(r.nick), string(r.keyHash))
	text := "not found"
	if err != nil {
		if _, refused := errors.AsType[accounts.Refusal](err); !refused {
			x.server.troubled(ctx, err, "profile not found by CD key")
		}
		p.ID = 0
	}
	x.out = appendPlayer(x.out, "getpidr", p.ID, r.lid, text)
}

func profileID(n number) (storage.ProfileID, bool) {
	if !n.given || n.value <= 0 || n.value > storage.MaxAccountID {
		return 0, false
	}
	return storage.ProfileID(n.value), true
}
