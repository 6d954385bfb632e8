package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// AccountOperator manages accounts. A value that the rules of accounts refuse is
// ErrBadRequest, an unknown account storage.ErrNotFound. Passwords are never
// returned.
type AccountOperator interface {
	// CreateAccount creates an account, or adds a profile to the one with that
	// e-mail if the password is right.
	CreateAccount(ctx context.Context, a NewAccount) (storage.Profile, error)
	// ListAccounts returns a page of accounts in the order of ids, without
	// their buddies and blocks.
	ListAccounts(ctx context.Context, q AccountQuery) (AccountPage, error)
	// FindAccount returns one account with everything but secrets.
	FindAccount(ctx context.Context, ref AccountRef) (accounts.Account, error)

	// SetPassword changes a password. It ends sessions, tokens and tickets.
	SetPassword(ctx context.Context, id storage.UserID, password string) error
	// IssueReset returns a link with which the owner of an account sets another
	// password, once; it ends the one before. ErrBadRequest: the page for it is
	// off.
	IssueReset(ctx context.Context, id storage.UserID) (ResetLink, error)
	// BanAccount keeps an account out until b.Expires and ends its sessions.
	// b.Added is ignored.
	BanAccount(ctx context.Context, id storage.UserID, b storage.AccountBan) error
	UnbanAccount(ctx context.Context, id storage.UserID) error
	// DeleteAccount removes an account with its profiles, buddies and messages,
	// and ends its sessions.
	DeleteAccount(ctx context.Context, id storage.UserID) error

	// ExportAccounts writes all accounts, one line of JSON each, and returns
	// the number of unreadable ones, which are left out. With secrets the lines
	// contain the password digests, with which anyone can log in to the
	// accounts.
	ExportAccounts(ctx context.Context, w io.Writer, secrets bool) (leftOut int, err error)
	// ImportAccounts stores accounts and returns a result for each: a refused
	// one does not stop the others. Buddies and blocks are imported by
	// ImportBuddies, after all accounts.
	ImportAccounts(ctx context.Context, list []accounts.Account) ([]Imported, error)
	ImportBuddies(ctx context.Context, list []accounts.Account) error

	// RotateAccountKey seals everything with a new key and returns the number
	// of accounts.
	RotateAccountKey(ctx context.Context) (n int, err error)
}

// NewAccount holds the data of an account that is created.
type NewAccount struct {
	Partner    int    `json:"partner"`
	Namespace  int    `json:"namespace"` // of the unique nick
	Email      string `json:"email"`
	Nick       string `json:"nick"`
	UniqueNick string `json:"uniquenick"` // "" for none
	Password   string `json:"password"`
}

// ResetLink is a link with which the owner of an account sets another password.
type ResetLink struct {
	Link    string    `json:"link"` // without a public address of the pages only the path
	Expires time.Time `json:"expires"`
}

// AccountRef identifies an account by the first of ID, Email and UniqueNick that is
// set.
type AccountRef struct {
	ID         storage.UserID
	Email      string
	Partner    int // of Email
	UniqueNick string
	Namespace  int // of UniqueNick
}

// AccountQuery selects accounts.
type AccountQuery struct {
	After storage.UserID // ids above that
	Limit int            // how many; 0 or too many: MaxAccountPage
	Match string         // part of an e-mail, nick or unique nick; "" for all
}

// MaxAccountPage is the maximum number of accounts that ListAccounts returns.
const MaxAccountPage = 500

// AccountPage is a part of the list of accounts.
type AccountPage struct {
	Accounts []accounts.Account `json:"accounts"`
	Next     storage.UserID     `json:"next,omitzero"`     // After for the next page; 0: there is none
	LeftOut  int                `json:"left_out,omitzero"` // accounts that could not be read
}

// Imported is the result of importing one account.
type Imported struct {
	User     storage.UserID      `json:"user,omitzero"`
	Profiles []storage.ProfileID `json:"profiles,omitempty"` // in the order of the import; with an Error: of the same account, which was there before
	Error    string              `json:"error,omitzero"`     // "": it is stored
}

// errNoResetPage is returned where a reset link would lead nowhere.
var errNoResetPage = fmt.Errorf("%w: the pages for players are off, where the link is used: web.listen, web.accounts", ErrBadRequest)

// errNoAccounts is returned where Local has no OpenAccounts.
var errNoAccounts = errors.New("accounts are not served here")

// accounts returns the rules of accounts.
func (l *Local) accounts(ctx context.Context) (*accounts.Service, error) {
	if l.OpenAccounts == nil {
		return nil, errNoAccounts
	}
	return l.OpenAccounts(ctx)
}

// withAccounts runs f with the rules of accounts.
func (l *Local) withAccounts(ctx context.Context, f func(*accounts.Service) error) error {
	s, err := l.accounts(ctx)
	if err != nil {
		return err
	}
	return refused(f(s))
}

// refused returns a refusal by the rules of accounts as ErrBadRequest.
func refused(err error) error {
	if _, ok := errors.AsType[accounts.Refusal](err); ok {
		return fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return err
}

// notedAccount is noted for a change of an account. It is named by its first
// nick, not by its e-mail: a deleted account's address should not live on here.
func (l *Local) notedAccount(ctx context.Context, action string, id storage.UserID, detail string) context.Context {
	nick := ""
	if list, err := l.Store.ProfilesOf(ctx, id); err == nil && len(list) > 0 {
		nick = list[0].Nick
	}
	return notedID(ctx, action, uint32(id), nick, detail)
}

func accountsText(n int) string {
	if n == 1 {
		return "1 account"
	}
	return fmt.Sprintf("%d accounts", n)
}

// kick ends the sessions of an account.
func (l *Local) kick(ctx context.Context, id storage.UserID, reason error) {
	if l.Sessions != nil {
		l.Sessions.KickUser(ctx, id, reason)
	}
}

// CreateAccount implements AccountOperator.
func (l *Local) CreateAccount(ctx context.Context, a NewAccount) (p storage.Profile, err error) {
	err = l.withAccounts(ctx, func(s *accounts.Service) error {
		p, err = s.Users.Register(noted(ctx, actAccountCreate, a.Nick, ""), accounts.Registration{
			Partner: a.Partner, Namespace: a.Namespace, Email: a.Email, Nick: a.Nick, UniqueNick: a.UniqueNick, Password: a.Password,
		})
		return err
	})
	return p, err
}

// ListAccounts implements AccountOperator.
func (l *Local) ListAccounts(ctx context.Context, q AccountQuery) (AccountPage, error) {
	if q.Limit <= 0 || q.Limit > MaxAccountPage {
		q.Limit = MaxAccountPage
	}
	page := AccountPage{Accounts: []accounts.Account{}} // never null as JSON
	for u, err := range l.Store.Users(ctx, q.After) {
		var a accounts.Account
		if err == nil {
			a, err = l.profiles(ctx, &u)
		}
		switch {
		case errors.Is(err, storage.ErrDamaged):
			page.LeftOut++
		case err != nil:
			return AccountPage{}, err
		case matches(&a, q.Match):
			page.Accounts = append(page.Accounts, a)
		}
		if len(page.Accounts) == q.Limit {
			page.Next = u.ID
			break
		}
	}
	return page, nil
}

// matches reports whether text is part of a name of an account.
func matches(a *accounts.Account, text string) bool {
	text = storage.Fold(text)
	has := func(s string) bool { return strings.Contains(storage.Fold(s), text) }
	if has(a.Email) {
		return true
	}
	for i := range a.Profiles {
		p := &a.Profiles[i].Profile
		if has(p.Nick) {
			return true
		}
		for _, n := range p.UniqueNicks {
			if has(n.Nick) {
				return true
			}
		}
	}
	return false
}

// profiles returns an account with its profiles and without secrets.
func (l *Local) profiles(ctx context.Context, u *storage.User) (accounts.Account, error) {
	a := accounts.Account{ID: u.ID, Partner: u.Partner, Email: u.Email, Kept: len(u.Password) > 0, Ban: u.Ban, Created: u.Created}
	list, err := l.Store.ProfilesOf(ctx, u.ID)
	if err != nil {
		return a, fmt.Errorf("profiles of account %d: %w", u.ID, err)
	}
	for _, p := range list {
		for i := range p.CDKeys {
			k := &p.CDKeys[i]
			k.Digest, k.Hash, k.Sealed = "", "", nil // of no use outside
		}
		a.Profiles = append(a.Profiles, accounts.AccountProfile{Profile: p})
	}
	return a, nil
}

// FindAccount implements AccountOperator.
func (l *Local) FindAccount(ctx context.Context, ref AccountRef) (accounts.Account, error) {
	u, err := l.user(ctx, ref)
	if err != nil {
		return accounts.Account{}, err
	}
	a, err := l.profiles(ctx, &u)
	if err != nil {
		return accounts.Account{}, err
	}
	for i := range a.Profiles {
		p := &a.Profiles[i]
		for id, err := range l.Store.BuddiesOf(ctx, p.Profile.ID) {
			if err != nil {
				return accounts.Account{}, err
			}
			p.Buddies = append(p.Buddies, id)
		}
		for id, err := range l.Store.BlocksOf(ctx, p.Profile.ID) {
			if err != nil {
				return accounts.Account{}, err
			}
			p.Blocks = append(p.Blocks, id)
		}
	}
	return a, nil
}

// user returns the user that ref identifies.
func (l *Local) user(ctx context.Context, ref AccountRef) (u storage.User, err error) {
	switch {
	case ref.ID != 0:
		u, err = l.Store.GetUser(ctx, ref.ID)
	case ref.Email != "":
		u, err = l.Store.UserByEmail(ctx, ref.Partner, ref.Email)
	default:
		err = l.withAccounts(ctx, func(s *accounts.Service) error {
			p, err := s.Profiles.ByUniqueNick(ctx, ref.Namespace, ref.UniqueNick)
			if err == nil {
				u, err = l.Store.GetUser(ctx, p.User)
			}
			return err
		})
	}
	if err != nil {
		return u, fmt.Errorf("account: %w", err)
	}
	return u, nil
}

// SetPassword implements AccountOperator.
func (l *Local) SetPassword(ctx context.Context, id storage.UserID, password string) error {
	return l.withAccounts(ctx, func(s *accounts.Service) error {
		if err := s.Passwords.Change(l.notedAccount(ctx, actAccountPassword, id, ""), id, password); err != nil {
			return err
		}
		l.kick(ctx, id, presence.ErrDisplaced)
		list, err := l.Store.ProfilesOf(ctx, id)
		for _, p := range list {
			s.Grants.Revoke(p.ID)
		}
		return err
	})
}

// IssueReset implements AccountOperator.
func (l *Local) IssueReset(ctx context.Context, id storage.UserID) (out ResetLink, err error) {
	page := ""
	if l.ResetPage != nil {
		page = l.ResetPage()
	}
	if page == "" {
		return ResetLink{}, errNoResetPage
	}
	err = l.withAccounts(ctx, func(s *accounts.Service) error {
		r, err := s.Passwords.IssueReset(l.notedAccount(ctx, actAccountReset, id, ""), id)
		// A fragment: browsers send it to no server, so that no log holds it.
		out = ResetLink{Link: page + "#" + r.Code, Expires: r.Expires.UTC()}
		return err
	})
	if err != nil {
		return ResetLink{}, err
	}
	return out, nil
}

// BanAccount implements AccountOperator.
func (l *Local) BanAccount(ctx context.Context, id storage.UserID, b storage.AccountBan) error {
	if err := checkBanEnd(time.Now(), b.Expires); err != nil {
		return err
	}
	return l.withAccounts(ctx, func(s *accounts.Service) error {
		ctx := l.notedAccount(ctx, actAccountBan, id, banDetail(b.Expires, b.Reason))
		err := s.Users.Ban(ctx, id, b.Expires, b.Reason, b.By)
		if err == nil {
			l.kick(ctx, id, presence.ErrBanned)
		}
		return err
	})
}

// UnbanAccount implements AccountOperator.
func (l *Local) UnbanAccount(ctx context.Context, id storage.UserID) error {
	return l.withAccounts(ctx, func(s *accounts.Service) error {
		return s.Users.Unban(l.notedAccount(ctx, actAccountUnban, id, ""), id)
	})
}

// DeleteAccount implements AccountOperator.
func (l *Local) DeleteAccount(ctx context.Context, id storage.UserID) error {
	return l.withAccounts(ctx, func(s *accounts.Service) error {
		err := s.Users.Delete(l.notedAccount(ctx, actAccountDelete, id, ""), id)
		if err == nil {
			l.kick(ctx, id, presence.ErrDeleted)
			l.sweepFiles(ctx)
		}
		return err
	})
}

// ExportAccounts implements AccountOperator.
func (l *Local) ExportAccounts(ctx context.Context, w io.Writer, secrets bool) (leftOut int, err error) {
	s, err := l.accounts(ctx)
	if err != nil {
		return 0, err
	}
	if secrets { // no change, but with the file one can log in to any account
		if _, err := l.Store.AddAudit(ctx, entry(ctx, actAccountExport, "all accounts", "with secrets")); err != nil {
			return 0, err
		}
	}
	out := json.NewEncoder(w)
	for a, err := range s.Transfer.Export(ctx, secrets) {
		switch {
		case err == nil:
			if err := out.Encode(a); err != nil { //nolint:gosec // its password is empty unless secrets were requested
				return leftOut, err
			}
		case errors.Is(err, storage.ErrDamaged), errors.Is(err, seal.ErrUnsealable):
			leftOut++
		default:
			return leftOut, err
		}
	}
	return leftOut, nil
}

// ImportAccounts implements AccountOperator.
func (l *Local) ImportAccounts(ctx context.Context, list []accounts.Account) ([]Imported, error) {
	s, err := l.accounts(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := l.Store.AddAudit(ctx, entry(ctx, actAccountImport, accountsText(len(list)), "")); err != nil {
		return nil, err
	}
	out := make([]Imported, 0, len(list))
	for _, a := range list {
		stored, err := s.Transfer.Import(ctx, a)
		if err != nil && !aboutOne(err) {
			return nil, err
		}
		if err != nil {
			present, lookup := s.Transfer.Present(ctx, a)
			if lookup != nil {
				return nil, lookup
			}
			out = append(out, Imported{Error: clean.Cut(err.Error(), clean.MaxEcho), Profiles: present})
			continue
		}
		done := Imported{User: stored.ID}
		for _, p := range stored.Profiles {
			done.Profiles = append(done.Profiles, p.Profile.ID)
		}
		out = append(out, done)
	}
	return out, nil
}

// aboutOne reports whether an error of an import concerns only that account.
func aboutOne(err error) bool {
	_, refusal := errors.AsType[accounts.Refusal](err)
	return refusal || errors.Is(err, storage.ErrTaken) || errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrFull)
}

// ImportBuddies implements AccountOperator.
func (l *Local) ImportBuddies(ctx context.Context, list []accounts.Account) error {
	return l.withAccounts(ctx, func(s *accounts.Service) error {
		if _, err := l.Store.AddAudit(ctx, entry(ctx, actBuddyImport, accountsText(len(list)), "")); err != nil {
			return err
		}
		for _, a := range list {
			if err := s.Transfer.ImportBuddies(ctx, a); err != nil {
				return fmt.Errorf("buddies of %s: %w", a.Email, err)
			}
		}
		return nil
	})
}

// RotateAccountKey implements AccountOperator.
func (l *Local) RotateAccountKey(ctx context.Context) (n int, err error) {
	err = l.withAccounts(ctx, func(s *accounts.Service) error {
		if _, err := l.Store.AddAudit(ctx, entry(ctx, actAccountKey, "all accounts", "")); err != nil {
			return err
		}
		n, err = s.RotateKey(ctx)
		return err
	})
	return n, err
}
