package accounts

import (
	"context"
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
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

// Login is a successful login.
type Login struct {
	User       storage.UserID
	Email      string
	Profile    storage.Profile
	UniqueNick string // in the namespace of the login, "" if there is none
	Proof      string // our answer: 32 hex digits
	Passwords  uint32 // of the account, see storage.User

	sealed  []byte // the digest of the password
	partner int    // of the account; sealed opens with it
	mark    uint64 // of the password; 0: not known
	changes uint64 // of accounts before the proof was checked
}

// LoginOf returns the login of a profile of an account, without UniqueNick and Proof.
func LoginOf(u *storage.User, p storage.Profile) Login {
	return Login{User: u.ID, Email: u.Email, Profile: p, Passwords: u.Passwords, sealed: u.Secret, partner: u.Partner}
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

// secretOf returns the secret of a password, as responses use it.
func secretOf(password string) string {
	sum := md5.Sum([]byte(password))
	return hex.EncodeToString(sum[:])
}

// proves reports whether the response was made with that secret and user, in
// constant time.
func (p *Proof) proves(secret, user string) bool {
	if p.Digest != "" {
		return subtle.ConstantTimeCompare([]byte(strings.ToLower(p.Digest)), []byte(secret)) == 1
	}
	if p.Salt != "" {
		sum := md5.Sum([]byte(secret + p.Salt))
		return subtle.ConstantTimeCompare([]byte(strings.ToLower(p.Response)), []byte(hex.EncodeToString(sum[:]))) == 1
	}
	want := respond(secret, user, p.ClientChallenge, p.ServerChallenge)
	got := strings.ToLower(p.Response[:min(len(p.Response), responseLen)])
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// answer returns our proof.
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
func (s *Service) CheckProof(ctx context.Context, p Proof) (Login, error) {
	changes := s.changes.Load()
	l, err := s.checkProof(ctx, &p)
	l.changes, l.mark = changes, s.loginMark(&l)
	s.metrics.login(err)
	return l, err
}

func (s *Service) checkProof(ctx context.Context, p *Proof) (Login, error) {
	if s.failures.refuses(p.From, 0, time.Now()) {
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
func (s *Service) byUniqueNick(ctx context.Context, p *Proof) (Login, error) {
	namespace := p.Namespace
	prof, err := s.ProfileByUniqueNick(ctx, namespace, p.UniqueNick)
	if errors.Is(err, storage.ErrNotFound) {
		prof, namespace, err = s.elsewhere(ctx, p)
	}
	if refusal, refused := errors.AsType[Refusal](err); refused {
		_ = s.unknown(p, p.UniqueNick, refusal)
	}
	if err != nil {
		return Login{}, err
	}
	u, err := s.store.GetUser(ctx, prof.User)
	if errors.Is(err, storage.ErrNotFound) || err == nil && u.Partner != p.Partner {
		return Login{}, s.unknown(p, p.UniqueNick, ErrBadUniqueNick)
	}
	if err != nil {
		return Login{}, err
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
// one of the login, and that namespace, if exactly one has the nick and
// Options.NickFallback allows it. The error is ErrBadUniqueNick otherwise, as a
// NamespaceError if other namespaces have the nick.
func (s *Service) elsewhere(ctx context.Context, p *Proof) (prof storage.Profile, namespace int, err error) {
	if len(p.UniqueNick) > storage.MaxUniqueNick {
		return storage.Profile{}, 0, ErrBadUniqueNick
	}
	similar, err := s.store.NamespacesOfUniqueNick(ctx, uniqueNickKey(p.UniqueNick))
	if err != nil {
		return storage.Profile{}, 0, err
	}
	var others []int
	for _, other := range similar {
		at, err := s.ProfileByUniqueNick(ctx, other, p.UniqueNick)
		switch {
		case errors.Is(err, storage.ErrNotFound): // only a similar nick
		case err != nil:
			return storage.Profile{}, 0, err
		default:
			prof, others = at, append(others, other)
		}
	}
	switch {
	case len(others) == 0:
		return storage.Profile{}, 0, ErrBadUniqueNick
	case len(others) > 1 || !s.opt.NickFallback:
		return storage.Profile{}, 0, &NamespaceError{p.Namespace, others}
	}
	return prof, others[0], nil
}

// byUser is the login with nick, e-mail and password.
func (s *Service) byUser(ctx context.Context, p *Proof) (Login, error) {
	nick, email, ok := SplitUser(p.User)
	if !ok {
		return Login{}, ErrMalformed
	}
	u, err := s.store.UserByEmail(ctx, p.Partner, email)
	if errors.Is(err, storage.ErrNotFound) {
		return Login{}, s.unknown(p, p.User, ErrBadEmail)
	}
	if err != nil {
		return Login{}, err
	}
	prof, err := s.store.ProfileByNick(ctx, u.ID, nick)
	if errors.Is(err, storage.ErrNotFound) {
		reason := ErrBadProfile
		if _, err := s.store.GetProfile(ctx, p.Profile); errors.Is(err, storage.ErrDeleted) {
			reason = ErrProfileDeleted
		}
		return Login{}, s.unknown(p, p.User, reason)
	}
	if err != nil {
		return Login{}, err
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

// unknown counts a failure with an account that does not exist. It takes about
// as long as a wrong password.
func (s *Service) unknown(p *Proof, user string, reason Refusal) error {
	s.failures.failed(p.From, 0, time.Now())
	_ = p.proves(NewSignature(), user)
	return reason
}

// byPassword checks the response with the password of u.
func (s *Service) byPassword(ctx context.Context, p *Proof, u *storage.User, prof storage.Profile, name string) (Login, error) {
	now := time.Now()
	if !s.admits(p.From, u, now) {
		return Login{}, ErrThrottled
	}
	secret, err := s.secret(u)
	if err != nil {
		return Login{}, err
	}
	user := withPartner(p.Partner, name)
	if secret == "" || !p.proves(secret, user) {
		s.wrong(p.From, u.ID, now)
		return Login{}, ErrBadPassword
	}
	if u.Ban.In(now) {
		return Login{}, ErrBanned
	}
	s.right(ctx, p.From, u)
	return newLogin(p, u, prof, p.answer(secret, user)), nil
}

func newLogin(p *Proof, u *storage.User, prof storage.Profile, proof string) Login {
	l := LoginOf(u, prof)
	l.UniqueNick, l.Proof = prof.UniqueNickIn(p.Namespace), proof
	return l
}

// secret returns the md5hex of the user's password, "" if it has none.
func (s *Service) secret(u *storage.User) (string, error) {
	if len(u.Secret) == 0 {
		return "", nil
	}
	sum, err := s.keys.Load().open(kindDigest, u, u.Secret)
	if err != nil {
		return "", fmt.Errorf("password of user %d: %w", u.ID, err)
	}
	return hex.EncodeToString(sum), nil
}

// byToken is the login with an auth token. The response is made with the
// challenge that was issued with the token, and without the partner code.
func (s *Service) byToken(ctx context.Context, p *Proof) (Login, error) {
	g, err := s.tokens.find(p.Token, time.Now())
	switch {
	case missingGrant(err):
		s.failures.failed(p.From, 0, time.Now())
		return Login{}, ErrBadToken
	case err != nil:
		return Login{}, err
	}
	secret := secretOf(g.challenge)
	if p.Digest != "" {
		p.Digest = secretOf(p.Digest)
	}
	if !p.proves(secret, p.Token) {
		s.failures.failed(p.From, 0, time.Now())
		return Login{}, ErrBadPassword
	}
	return s.byGrant(ctx, p, s.tokens, p.Token, g, p.answer(secret, p.Token), ErrBadToken)
}

// byTicket is the login with a login ticket. Clients make the response with an
// empty password and check the proof as if nick and e-mail were empty; others
// take the ticket for password and user on both sides.
func (s *Service) byTicket(ctx context.Context, p *Proof) (Login, error) {
	g, err := s.tickets.find(p.Ticket, time.Now())
	if missingGrant(err) {
		s.failures.failed(p.From, 0, time.Now())
	}
	if err != nil {
		return Login{}, refuseTicket(err)
	}
	empty, itself := secretOf(""), secretOf(p.Ticket)
	var proof string
	switch {
	case p.proves(empty, p.Ticket):
		proof = p.answer(empty, withPartner(p.Partner, "@"))
	case p.proves(itself, p.Ticket):
		proof = p.answer(itself, p.Ticket)
	default:
		s.failures.failed(p.From, 0, time.Now())
		return Login{}, ErrBadPassword
	}
	return s.byGrant(ctx, p, s.tickets, p.Ticket, g, proof, ErrBadTicket)
}

// byGrant logs the holder of a token or ticket in. gone is the refusal if it
// was used up meanwhile.
func (s *Service) byGrant(ctx context.Context, p *Proof, from grantTable, value string, g grant, proof string, gone Refusal,
) (Login, error) {
	prof, err := s.store.GetProfile(ctx, g.profile)
	if err != nil {
		return Login{}, refuseMissing(err)
	}
	u, err := s.store.GetUser(ctx, prof.User)
	if err != nil {
		return Login{}, refuseMissing(err)
	}
	if u.Ban.In(time.Now()) {
		return Login{}, ErrBanned
	}
	switch err := from.use(value); {
	case missingGrant(err):
		return Login{}, gone
	case err != nil:
		return Login{}, err
	}
	s.right(ctx, p.From, &u)
	return newLogin(p, &u, prof, proof), nil
}
