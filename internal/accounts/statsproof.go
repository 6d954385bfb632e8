package accounts

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// StatsProof is the proof of a client of the statistics service that it is a player: the md5hex of
// a secret and of a challenge. The first of Token, KeyHash and Profile that is set counts. Unlike
// that of a Proof, the secret is needed itself: its digest, which signs a player in, proves nothing
// here.
type StatsProof struct {
	// Token is an auth token. The secret is the challenge that was issued with it.
	Token string
	// KeyHash is the md5hex of a CD key that is registered for Game; the secret is the
	// key. Nick is a nick or unique nick of its account.
	KeyHash, Nick, Game string
	// Profile is a profile; the secret is the password of its account.
	Profile storage.ProfileID

	Challenge string     // of this connection
	Response  string     // md5hex of secret and challenge, in any case of letters
	From      netip.Addr // failures are counted by it
}

// proves reports whether the response was made with that secret, in constant time.
func (p *StatsProof) proves(secret string) bool {
	return equal(strings.ToLower(p.Response), secretOf(secret+p.Challenge))
}

// CheckStatsProof checks a proof for the statistics service. Login.Proof and
// Login.UniqueNick are empty. Refusals: ErrMalformed, ErrThrottled, ErrBanned,
// ErrBadProfile, ErrProfileDeleted, ErrBadPassword, ErrNotKept, ErrCDKeyNotKept,
// ErrBadToken.
func (s *SignIn) CheckStatsProof(ctx context.Context, p StatsProof) (Login, error) {
	l, err := s.checkStatsProof(ctx, &p)
	l.mark = s.loginMark(&l)
	s.metrics.login(err)
	return l, err
}

func (s *SignIn) checkStatsProof(ctx context.Context, p *StatsProof) (Login, error) {
	if s.guard.refuses(p.From, 0, time.Now()) {
		return Login{}, ErrThrottled
	}
	switch {
	case p.Token != "":
		return s.statsByToken(ctx, p)
	case p.KeyHash != "":
		return s.statsByCDKey(ctx, p)
	case p.Profile != 0:
		return s.statsByPassword(ctx, p)
	}
	return Login{}, ErrMalformed
}

// statsByToken is the proof with the challenge of an auth token.
func (s *SignIn) statsByToken(ctx context.Context, p *StatsProof) (Login, error) {
	return s.byGrant(ctx, s.grants.tokens, p.Token, p.From, func(g grant) (string, bool) { return "", p.proves(g.challenge) }, badToken)
}

// statsByPassword is the proof with the password of a profile.
func (s *SignIn) statsByPassword(ctx context.Context, p *StatsProof) (Login, error) {
	a := attempt{p.From, p.proves}
	prof, u, err := s.store.profile(ctx, p.Profile)
	if err != nil {
		return Login{}, s.missing(a, err)
	}
	if _, err = s.check(ctx, a, &u, s.secrets.password); err != nil {
		s.logNotKept(&u, err)
		return Login{}, err
	}
	return LoginOf(&u, prof), nil
}

// statsByCDKey is the proof with a registered CD key. Failures do not count as wrong
// passwords of the account, and a success does not make the address one of its own.
func (s *SignIn) statsByCDKey(ctx context.Context, p *StatsProof) (Login, error) {
	prof, key, err := s.profiles.byCDKeyHash(ctx, p.Game, p.Nick, p.KeyHash)
	var u storage.User
	if err == nil {
		u, err = s.store.GetUser(ctx, prof.User)
	}
	if err != nil {
		return Login{}, s.missing(attempt{p.From, p.proves}, refuseMissing(err))
	}
	now := time.Now()
	if s.guard.refuses(p.From, u.ID, now) {
		return Login{}, ErrThrottled
	}
	secret, err := s.secrets.cdKey(&key)
	switch {
	case err != nil:
		s.logNotKept(&u, err)
		return Login{}, err
	case !p.proves(secret):
		s.guard.failed(p.From, u.ID, now)
		return Login{}, ErrBadPassword
	case u.Ban.In(now):
		return Login{}, ErrBanned
	}
	s.guard.succeeded(p.From, u.ID)
	return LoginOf(&u, prof), nil
}

// logNotKept logs, once per account and hour, that a proof cannot be checked, if that
// is what err says.
func (s *SignIn) logNotKept(u *storage.User, err error) {
	if !errors.Is(err, ErrNotKept) && !errors.Is(err, ErrCDKeyNotKept) || !s.notKept.Take(u.ID, time.Now()) {
		return
	}
	remedy := "it is kept at the next sign-in on the account page, or by \"respawnd account passwd\"; CD keys when a game registers them again"
	if !s.secrets.keep {
		remedy = "set accounts.keep_passwords to true; then " + remedy
	}
	s.log.Warn().Uint32("user", uint32(u.ID)).Bool("accounts.keep_passwords", s.secrets.keep).Str("remedy", remedy).
		Msg("statistics refused: the password or CD key itself of an account is not kept")
}
