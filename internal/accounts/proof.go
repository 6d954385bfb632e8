package accounts

import (
	"context"
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Proof holds the credentials that a client sends to log in. The first of Token, Ticket,
// UniqueNick and User that is not empty counts. All texts must be as they were received:
// the proof was made with that spelling.
type Proof struct {
	Token      string // auth token
	Ticket     string // login ticket
	UniqueNick string
	User       string // nick@e-mail; the nick may have an @ in it

	Partner   int
	Namespace int

	ServerChallenge string // ours, of this connection
	ClientChallenge string
	Response        string // at least 32 hex digits; only they count

	// Digest takes the place of the challenges and the response where a protocol has
	// none: the md5hex of the password or, with a Token, the challenge that was issued
	// with it. A reader of it can log in.
	Digest string

	// Salt, if not empty, takes the place of the challenges: the response is the md5hex
	// of the md5hex of the password and the salt.
	Salt string

	// Profile is the profile that the client remembers, 0 if none. It is not
	// trusted; it only distinguishes a deleted profile from one that never
	// existed.
	Profile storage.ProfileID
	// From is the address of the client; failures are counted by it.
	From netip.Addr
}

// responseLen is the length of a response and of a proof.
const responseLen = 2 * md5.Size

// spaces stands between the parts of a response.
const spaces = "                                                "

// respond computes a response, or the proof with the challenges swapped:
//
//	md5hex(secret, 48 spaces, user, first, second, secret)
//
// where secret is the md5hex of the password.
func respond(secret, user, first, second string) string {
	var stack [512]byte
	b := append(stack[:0], secret...)
	b = append(b, spaces...)
	b = append(b, user...)
	b = append(b, first...)
	b = append(b, second...)
	b = append(b, secret...)
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// secretOf returns the secret of a password, as responses use it: its md5hex.
func secretOf(password string) string {
	sum := md5.Sum([]byte(password))
	return hex.EncodeToString(sum[:])
}

// proves reports whether the response was made with that secret and user, in
// constant time.
func (p *Proof) proves(secret, user string) bool {
	if p.Digest != "" {
		return equal(strings.ToLower(p.Digest), secret)
	}
	if p.Salt != "" {
		return equal(strings.ToLower(p.Response), secretOf(secret+p.Salt))
	}
	got := strings.ToLower(p.Response[:min(len(p.Response), responseLen)])
	return equal(got, respond(secret, user, p.ClientChallenge, p.ServerChallenge))
}

// equal compares two texts in constant time.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// attempt is a check of the response, made with that user.
func (p *Proof) attempt(user string) attempt {
	return attempt{p.From, func(secret string) bool { return p.proves(secret, user) }}
}

func (p *Proof) answer(secret, user string) string {
	return respond(secret, user, p.ServerChallenge, p.ClientChallenge)
}

// withPartner returns the user of a response for a partner code.
func withPartner(partner int, user string) string {
	if partner == 0 {
		return user
	}
	return strconv.Itoa(partner) + "@" + user
}

// CheckProof checks a login. Refusals: ErrMalformed, ErrThrottled, ErrBanned,
// ErrBadEmail, ErrBadProfile, ErrProfileDeleted, ErrBadUniqueNick,
// ErrBadPassword, ErrBadToken, ErrBadTicket, ErrExpiredTicket.
func (s *SignIn) CheckProof(ctx context.Context, p Proof) (Login, error) {
	changes := s.store.changes.Load()
	l, err := s.checkProof(ctx, &p)
	l.changes, l.mark = changes, s.loginMark(&l)
	if l.UniqueNick == "" {
		l.UniqueNick = l.Profile.UniqueNickIn(p.Namespace)
	}
	s.metrics.login(err)
	return l, err
}

func (s *SignIn) checkProof(ctx context.Context, p *Proof) (Login, error) {
	if s.guard.refuses(p.From, 0, time.Now()) {
		return Login{}, ErrThrottled
	}
	switch {
	case p.Token != "":
		return s.byToken(ctx, p)
	case p.Ticket != "":
		return s.byTicket(ctx, p)
	case p.UniqueNick != "":
		return s.byUniqueNick(ctx, p)
	case p.User != "":
		return s.byUser(ctx, p)
	}
	return Login{}, ErrMalformed
}

// byUniqueNick is the login with a unique nick and the password.
func (s *SignIn) byUniqueNick(ctx context.Context, p *Proof) (Login, error) {
	a, namespace := p.attempt(p.UniqueNick), p.Namespace
	prof, u, err := s.profiles.ByUniqueNick(ctx, namespace, p.UniqueNick)
	if errors.Is(err, storage.ErrNotFound) {
		prof, u, namespace, err = s.elsewhere(ctx, p)
	}
	if err == nil && u.Partner != p.Partner {
		err = ErrBadUniqueNick
	}
	if err != nil {
		return Login{}, s.missing(a, err)
	}
	l, err := s.byPassword(ctx, p, &u, prof, p.UniqueNick)
	if err == nil && namespace != p.Namespace {
		l.UniqueNick = prof.UniqueNickIn(namespace)
		s.log.Info().Uint32("profile", uint32(prof.ID)).Int("namespace", p.Namespace).Int("other", namespace).
			Msg("signed in with the unique nick of another namespace")
	}
	return l, err
}

// elsewhere returns the profile with the unique nick in a namespace other than the
// one of the login, its account, and that namespace, if exactly one has the nick and
// Options.NickFallback allows it. The error is ErrBadUniqueNick otherwise, as a
// NamespaceError if other namespaces have the nick.
func (s *SignIn) elsewhere(ctx context.Context, p *Proof) (prof storage.Profile, u storage.User, namespace int, err error) {
	if len(p.UniqueNick) > storage.MaxUniqueNick {
		return storage.Profile{}, storage.User{}, 0, ErrBadUniqueNick
	}
	similar, err := s.store.NamespacesOfUniqueNick(ctx, uniqueNickKey(p.UniqueNick))
	if err != nil {
		return storage.Profile{}, storage.User{}, 0, err
	}
	var others []int
	for _, other := range similar {
		at, of, err := s.profiles.ByUniqueNick(ctx, other, p.UniqueNick)
		switch {
		case errors.Is(err, storage.ErrNotFound): // only a similar nick
		case err != nil:
			return storage.Profile{}, storage.User{}, 0, err
		default:
			prof, u, others = at, of, append(others, other)
		}
	}
	switch {
	case len(others) == 0:
		return storage.Profile{}, storage.User{}, 0, ErrBadUniqueNick
	case len(others) > 1 || !s.fallback:
		return storage.Profile{}, storage.User{}, 0, &NamespaceError{p.Namespace, others}
	}
	return prof, u, others[0], nil
}

// byUser is the login with nick, e-mail and password.
func (s *SignIn) byUser(ctx context.Context, p *Proof) (Login, error) {
	nick, email, ok := SplitUser(p.User)
	if !ok {
		return Login{}, ErrMalformed
	}
	u, err := s.store.UserByEmail(ctx, p.Partner, email)
	if err != nil {
		return Login{}, s.missing(p.attempt(p.User), refuse(err, storage.ErrNotFound, ErrBadEmail))
	}
	prof, err := s.store.ProfileByNick(ctx, u.ID, nick)
	if errors.Is(err, storage.ErrNotFound) {
		err = ErrBadProfile
		if _, gone := s.store.GetProfile(ctx, p.Profile); errors.Is(gone, storage.ErrDeleted) {
			err = ErrProfileDeleted
		}
	}
	if err != nil {
		return Login{}, s.missing(p.attempt(p.User), err)
	}
	return s.byPassword(ctx, p, &u, prof, p.User)
}

// SplitUser splits nick@e-mail. The e-mail has exactly one @, the nick any
// number.
func SplitUser(user string) (nick, email string, ok bool) {
	host := strings.LastIndexByte(user, '@')
	if host < 0 {
		return "", "", false
	}
	i := strings.LastIndexByte(user[:host], '@')
	if i < 0 {
		return "", "", false
	}
	return user[:i], user[i+1:], true
}

// byPassword checks the response with the password of u.
func (s *SignIn) byPassword(ctx context.Context, p *Proof, u *storage.User, prof storage.Profile, name string) (Login, error) {
	user := withPartner(p.Partner, name)
	secret, err := s.check(ctx, p.attempt(user), u, s.secrets.digest)
	if err != nil {
		return Login{}, err
	}
	l := LoginOf(u, prof)
	l.Proof = p.answer(secret, user)
	return l, nil
}

// byToken is the login with an auth token. The response is made with the
// challenge that was issued with the token, and without the partner code.
func (s *SignIn) byToken(ctx context.Context, p *Proof) (Login, error) {
	if p.Digest != "" {
		p.Digest = secretOf(p.Digest)
	}
	return s.byGrant(ctx, s.grants.tokens, p.Token, p.From, func(g grant) (string, bool) {
		secret := secretOf(g.challenge)
		return p.answer(secret, p.Token), p.proves(secret, p.Token)
	}, badToken)
}

// byTicket is the login with a login ticket. Clients make the response with an
// empty password and check the proof as if nick and e-mail were empty; others
// take the ticket for password and user on both sides.
func (s *SignIn) byTicket(ctx context.Context, p *Proof) (Login, error) {
	return s.byGrant(ctx, s.grants.tickets, p.Ticket, p.From, func(grant) (string, bool) {
		if empty := secretOf(""); p.proves(empty, p.Ticket) {
			return p.answer(empty, withPartner(p.Partner, "@")), true
		}
		itself := secretOf(p.Ticket)
		return p.answer(itself, p.Ticket), p.proves(itself, p.Ticket)
	}, func(err error) error { return err })
}
