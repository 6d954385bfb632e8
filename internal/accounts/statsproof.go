package accounts

import (
	"context"
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
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
	sum := md5.Sum([]byte(secret + p.Challenge))
	return subtle.ConstantTimeCompare([]byte(strings.ToLower(p.Response)), []byte(hex.EncodeToString(sum[:]))) == 1
}

// CheckStatsProof checks a proof for the statistics service. Login.Proof and
// Login.UniqueNick are empty. Refusals: ErrMalformed, ErrThrottled, ErrBanned,
// ErrBadProfile, ErrProfileDeleted, ErrBadPassword, ErrNotKept, ErrCDKeyNotKept,
// ErrBadToken.
func (s *Service) CheckStatsProof(ctx context.Context, p StatsProof) (Login, error) {
	l, err := s.checkStatsProof(ctx, &p)
	l.mark = s.loginMark(&l)
	s.metrics.login(err)
	return l, err
}

func (s *Service) checkStatsProof(ctx context.Context, p *StatsProof) (Login, error) {
	if s.failures.refuses(p.From, 0, time.Now()) {
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
func (s *Service) statsByToken(ctx context.Context, p *StatsProof) (Login, error) {
	g, err := s.tokens.find(p.Token, time.Now())
	switch {
	case missingGrant(err):
		return Login{}, s.unknownStats(p, ErrBadToken)
	case err != nil:
		return Login{}, err
	}
	if !p.proves(g.challenge) {
		s.failures.failed(p.From, 0, time.Now())
		return Login{}, ErrBadPassword
	}
	return s.byGrant(ctx, &Proof{From: p.From}, s.tokens, p.Token, g, "", ErrBadToken)
}

// statsByPassword is the proof with the password of a profile.
func (s *Service) statsByPassword(ctx context.Context, p *StatsProof) (Login, error) {
	prof, err := s.store.GetProfile(ctx, p.Profile)
	if err != nil {
		return Login{}, s.missingStats(p, refuseMissing(err))
	}
	u, err := s.store.GetUser(ctx, prof.User)
	if err != nil {
		return Login{}, s.missingStats(p, refuseMissing(err))
	}
	now := time.Now()
	if !s.admits(p.From, &u, now) {
		return Login{}, ErrThrottled
	}
	password, err := s.password(&u)
	switch {
	case errors.Is(err, ErrNotKept):
		s.logNotKept(&u, now)
		return Login{}, err
	case err != nil:
		return Login{}, err
	case !p.proves(password):
		s.wrong(p.From, u.ID, now)
		return Login{}, ErrBadPassword
	case u.Ban.In(now):
		return Login{}, ErrBanned
	}
	s.right(ctx, p.From, &u)
	return LoginOf(&u, prof), nil
}

// statsByCDKey is the proof with a registered CD key. Failures do not count as wrong
// passwords of the account, and a success does not make the address one of its own.
func (s *Service) statsByCDKey(ctx context.Context, p *StatsProof) (Login, error) {
	prof, key, err := s.byCDKeyHash(ctx, p.Game, p.Nick, p.KeyHash)
	if err != nil {
		return Login{}, s.missingStats(p, err)
	}
	u, err := s.store.GetUser(ctx, prof.User)
	if err != nil {
		return Login{}, s.missingStats(p, refuseMissing(err))
	}
	now := time.Now()
	if s.failures.refuses(p.From, u.ID, now) {
		return Login{}, ErrThrottled
	}
	secret, err := s.openCDKey(&key)
	switch {
	case errors.Is(err, ErrCDKeyNotKept):
		s.logNotKept(&u, now)
		return Login{}, err
	case err != nil:
		return Login{}, err
	case !p.proves(secret):
		s.failures.failed(p.From, u.ID, now)
		return Login{}, ErrBadPassword
	case u.Ban.In(now):
		return Login{}, ErrBanned
	}
	s.failures.succeeded(p.From, u.ID)
	return LoginOf(&u, prof), nil
}

// missingStats counts a refusal as a failure with a player that does not exist. Other
// errors are returned unchanged.
func (s *Service) missingStats(p *StatsProof, err error) error {
	if refusal, refused := errors.AsType[Refusal](err); refused {
		return s.unknownStats(p, refusal)
	}
	return err
}

// unknownStats counts a failure with a player that does not exist. It takes about as
// long as a wrong password.
func (s *Service) unknownStats(p *StatsProof, reason Refusal) error {
	s.failures.failed(p.From, 0, time.Now())
	_ = p.proves(NewSignature())
	return reason
}

// logNotKept logs, once per account and hour, that a proof cannot be checked.
func (s *Service) logNotKept(u *storage.User, now time.Time) {
	if !s.notKept.Take(u.ID, now) {
		return
	}
	remedy := "it is kept at the next sign-in on the account page, or by \"respawnd account passwd\"; CD keys when a game registers them again"
	if !s.opt.KeepPasswords {
		remedy = "set accounts.keep_passwords to true; then " + remedy
	}
	s.log.Warn().Uint32("user", uint32(u.ID)).Bool("accounts.keep_passwords", s.opt.KeepPasswords).Str("remedy", remedy).
		Msg("statistics refused: the password or CD key itself of an account is not kept")
}
