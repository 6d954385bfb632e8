package auth

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

const (
	// Namespace is the one of the methods.
	Namespace = "http://gamespy.net/AuthService/"
	// Path is where they are.
	Path = "/AuthService/AuthService.asmx"

	// Life is how long a certificate is valid.
	Life = 48 * time.Hour

	maxBody = 64 << 10
)

// Store is the part of the store that the backend reads.
type Store interface {
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
}

// Options are the parts of a Backend. Key, Accounts and Store are required.
type Options struct {
	part.Self
	part.Peers

	Key      *Key
	Identity bool // the mode identity, else keypair
	Accounts *accounts.Service
	Store    Store
	// Registrations is how many accounts one address may make per minute; 0: no
	// bound.
	Registrations int
	Consoles      bool // whether tickets of the PS3 are accepted, whose signature is not checked
}

// Backend executes the methods of the sign-in. All methods may be called
// concurrently.
type Backend struct {
	opt           Options
	metrics       *metrics
	faults        netserve.Trouble
	registrations atomic.Pointer[netserve.Limiter] // never nil
	consoles      atomic.Bool
	registered    func(netip.Addr) // counts a registration on the other nodes
}

// New returns a backend. It panics if the registerer has other metrics of the same
// names.
func New(opt Options) *Backend {
	r := &Backend{opt: opt, metrics: newMetrics(opt.Registerer)}
	r.SetRegistrations(opt.Registrations)
	r.SetConsoles(opt.Consoles)
	r.registered = opt.Accounts.ShareQuota("webservices", func(from netip.Addr) { r.registrations.Load().Allow(from, time.Now()) })
	return r
}

// SetRegistrations changes Options.Registrations. Every address starts with a full
// quota.
func (r *Backend) SetRegistrations(perMinute int) {
	r.registrations.Store(netserve.PerMinute(perMinute, netserve.LimiterOptions{}))
}

// SetConsoles changes Options.Consoles.
func (r *Backend) SetConsoles(accept bool) { r.consoles.Store(accept) }

// MayRegister reports whether an address may make one more account, and counts it.
func (r *Backend) MayRegister(from netip.Addr) bool {
	if r.opt.Trusted.Has(from) {
		return true
	}
	if !r.registrations.Load().Allow(from, time.Now()) {
		return false
	}
	r.registered(from)
	return true
}

// Services returns the methods of the backend.
func (r *Backend) Services() []soap.Service {
	methods := map[string]soap.Handler{
		"CreateUserAccount": r.createAccount, "LoginPs3Cert": r.byConsole, "LoginPs3CertWithGameId": r.byConsole,
	}
	for name, prove := range map[string]func(*soap.Element, *proof) error{
		"LoginProfile": r.byProfile, "LoginUniqueNick": r.byUniqueNick, "LoginRemoteAuth": byToken,
	} {
		h := func(ctx context.Context, q *soap.Request) []byte { return r.login(ctx, q, prove) }
		methods[name], methods[name+"WithGameId"] = h, h
	}
	return []soap.Service{{
		Name: "auth", Hosts: []string{"{g}.auth.pubsvs.{d}", soap.APIHost}, Path: Path, Namespace: Namespace, Methods: methods, MaxBody: maxBody,
		Fault: func(method string) []byte { return reply(method, codeServer, nil, nil) },
	}}
}

type proof struct {
	accounts.Proof
	unreadable bool // the password could not be decrypted; Digest is that of no password
	publicKey  bool // the client uses the public exponent of its certificate as the private one
}

// publicKeyMethod is the method after which clients use the public exponent as the private
// one, see the package.
const publicKeyMethod = "LoginProfileWithGameId"

// errUnreadable is accounts.ErrBadPassword for a password that could not be decrypted.
// Clients get the same reply, operators another verdict.
var errUnreadable = fmt.Errorf("it cannot be decrypted: %w", accounts.ErrBadPassword)

// login executes a method that signs in: prove adds the fields of the method to the proof.
func (r *Backend) login(ctx context.Context, q *soap.Request, prove func(*soap.Element, *proof) error) []byte {
	p, err := newProof(q)
	if err == nil {
		err = prove(q.Body, &p)
	}
	if err != nil {
		return r.answer(q, nil, nil, err)
	}
	return r.check(ctx, q, p)
}

// check checks a proof and replies with a certificate.
func (r *Backend) check(ctx context.Context, q *soap.Request, p proof) []byte {
	l, err := r.opt.Accounts.SignIn.CheckProof(ctx, p.Proof)
	if p.unreadable && errors.Is(err, accounts.ErrBadPassword) {
		err = errUnreadable
	}
	if err != nil {
		return r.answer(q, nil, nil, err)
	}
	c, private, err := r.issue(&p, &l, time.Now())
	return r.answer(q, c, private, err)
}

func newProof(q *soap.Request) (p proof, err error) {
	p.From, p.publicKey = q.From.Addr(), q.Method == publicKeyMethod
	for _, n := range []struct {
		name string
		to   *int
	}{{"partnercode", &p.Partner}, {"namespaceid", &p.Namespace}} {
		v, ok := q.Body.Int(n.name)
		if ok && v >= 0 && v <= storage.MaxAccountID {
			*n.to = int(v)
		} else if q.Body.Child(n.name) != nil {
			return p, accounts.ErrMalformed
		}
	}
	return p, nil
}

// byProfile is LoginProfile.
func (r *Backend) byProfile(e *soap.Element, p *proof) error {
	p.User = e.Text("profilenick") + "@" + e.Text("email")
	return r.password(e, p)
}

// byUniqueNick is LoginUniqueNick.
func (r *Backend) byUniqueNick(e *soap.Element, p *proof) error {
	if p.UniqueNick = e.Text("uniquenick"); p.UniqueNick == "" {
		return accounts.ErrBadUniqueNick
	}
	return r.password(e, p)
}

// byToken is LoginRemoteAuth.
func byToken(e *soap.Element, p *proof) error {
	p.Token, p.Digest = e.Text("authtoken"), e.Text("challenge")
	if p.Token == "" || p.Digest == "" {
		return accounts.ErrBadToken
	}
	return nil
}

// password adds the password of a request to a proof. One that cannot be read
// becomes a wrong one.
func (r *Backend) password(e *soap.Element, p *proof) error {
	block, ok := decodeValue(e.Child("password").Text("Value"))
	if !ok {
		return accounts.ErrMalformed
	}
	text, ok := r.open(block)
	sum := md5.Sum(text)
	if !ok {
		_, _ = rand.Read(sum[:]) // never fails
		p.unreadable = true
	}
	p.Digest = hex.EncodeToString(sum[:])
	return nil
}

func (r *Backend) open(block []byte) (password []byte, ok bool) {
	if r.opt.Identity {
		return unpad(block)
	}
	return r.opt.Key.decrypt(block)
}

// issue returns a certificate for a login, and its private exponent.
func (r *Backend) issue(p *proof, l *accounts.Login, now time.Time) (c *certificate, private []byte, err error) {
	peer := r.opt.Key.peer()
	c = &certificate{
		length: certificateLength, version: 1, partner: uint32(p.Partner), namespace: uint32(p.Namespace),
		user: uint32(l.User), profile: uint32(l.Profile.ID), expires: uint32(min(now.Add(Life).Unix(), math.MaxInt32)),
		profileNick: fit(l.Profile.Nick, maxProfileNick), uniqueNick: fit(l.UniqueNick, maxUniqueNick),
		modulus: peer.modulus, exponent: exponentBytes,
	}
	var id [idSize]byte
	_, _ = rand.Read(id[:]) // never fails
	var address []byte
	if p.publicKey {
		c.exponent, address = exponentOne, r.opt.Key.addressOf(id[:], p.From)
	}
	c.seal(r.opt.Key, id[:], l.Passwords, address)
	return c, peer.exponentOf(id[:], c.exponent), c.sign(r.opt.Key, r.opt.Identity)
}

// fit returns a nick as it comes back in requests: valid UTF-8 of at most n bytes.
func fit(nick string, n int) string {
	nick = clean.UTF8(nick)
	if len(nick) <= n {
		return nick
	}
	return strings.ToValidUTF8(nick[:n], "")
}

// identityError is an error of Verify about the request.
type identityError string

// Error implements error.
func (e identityError) Error() string { return string(e) }

// Is reports that the error is soap.ErrIdentity.
func (identityError) Is(target error) bool { return target == soap.ErrIdentity }

// Errors of Verify. They match soap.ErrIdentity.
const (
	ErrCertificate = identityError("the certificate is not one of this server")
	ErrExpired     = identityError("the certificate is expired")
	ErrEnded       = identityError("the certificate has ended: the password of the account was changed")
	ErrProof       = identityError("the proof does not belong to the certificate")
)

// Verify returns the profile of a certificate that a client sent with a proof from an address.
// Refusals: ErrCertificate, ErrExpired, ErrEnded, ErrProof, accounts.ErrBanned, and
// accounts.ErrProfileDeleted if the profile is gone.
func (r *Backend) Verify(ctx context.Context, e *soap.Element, proof string, from netip.Addr) (storage.ProfileID, error) {
	c, ok := readCertificate(e)
	k := r.opt.Key
	if !ok || !c.isOurs(k) || !c.isSigned(k, r.opt.Identity) {
		return 0, ErrCertificate
	}
	now := time.Now()
	if now.Unix() >= int64(c.expires) {
		return 0, ErrExpired
	}
	if !c.isProof(k, proof, from) {
		return 0, ErrProof
	}
	p, err := r.opt.Store.GetProfile(ctx, storage.ProfileID(c.profile))
	if err == nil && uint32(p.User) != c.user {
		return 0, ErrCertificate
	}
	var u storage.User
	if err == nil {
		u, err = r.opt.Store.GetUser(ctx, p.User)
	}
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrDeleted):
		return 0, accounts.ErrProfileDeleted
	case err != nil:
		return 0, fmt.Errorf("profile %d: %w", c.profile, err)
	case u.Ban.In(now):
		return 0, accounts.ErrBanned
	case u.Passwords != c.passwords():
		return 0, ErrEnded
	}
	return p.ID, nil
}

// createAccount is CreateUserAccount. It replies like a sign-in.
func (r *Backend) createAccount(ctx context.Context, q *soap.Request) []byte {
	p, err := newProof(q)
	if err != nil {
		return r.answer(q, nil, nil, err)
	}
	e := q.Body
	block, ok := decodeValue(e.Child("password").Text("Value"))
	if !ok {
		return r.answer(q, nil, nil, accounts.ErrMalformed)
	}
	if !r.MayRegister(p.From) {
		return r.answer(q, nil, nil, accounts.ErrThrottled)
	}
	password, ok := r.open(block)
	if !ok {
		return r.answer(q, nil, nil, errUnreadable)
	}
	made, err := r.opt.Accounts.Users.Register(ctx, accounts.Registration{
		Partner: p.Partner, Namespace: p.Namespace, Email: e.Text("email"), Nick: e.Text("profilenick"), UniqueNick: e.Text("uniquenick"),
		Password: string(password), From: p.From,
	})
	if err != nil {
		return r.answer(q, nil, nil, err)
	}
	r.note(q, verdicts.AccountMade, "")
	sum := md5.Sum(password)
	p.User, p.Digest = made.Nick+"@"+e.Text("email"), hex.EncodeToString(sum[:])
	return r.check(ctx, q, p)
}
