package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// NewAccount holds the data of an account that is created.
type NewAccount struct {
	Partner    int    `json:"partner"`
	Namespace  int    `json:"namespace"` // of the unique nick
	Email      string `json:"email" flag:"email" doc:"e-mail to sign in with; nothing is sent to it"`
	Nick       string `json:"nick" flag:"nick" doc:"nick of the profile"`
	UniqueNick string `json:"uniquenick" flag:"uniquenick" doc:"unique nick of the profile; most games sign in with it"` // "" for none
	Password   string `json:"password" secret:"true"`
}

// ResetLink is a link with which the owner of an account sets another password.
type ResetLink struct {
	Link    string    `json:"link"` // without a public address of the pages only the path
	Expires time.Time `json:"expires"`
}

// AccountRef identifies an account by the first of ID, Email and UniqueNick that is
// set.
type AccountRef struct {
	ID         storage.UserID `query:"id"`
	Email      string         `query:"email"`
	Partner    int            `query:"partner"` // of Email
	UniqueNick string         `query:"uniquenick"`
	Namespace  int            `query:"namespace"` // of UniqueNick
}

// AccountQuery selects accounts.
type AccountQuery struct {
	After storage.UserID `query:"after"` // ids above that
	Limit int            `query:"limit"` // how many; 0 or too many: MaxAccountPage
	// Match is part of an e-mail, nick or unique nick; "" for all.
	Match string `query:"match" flag:"match" doc:"only those with this in their e-mail, nick or unique nick"`
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

// aboutAccount is about for a change of an account. It is named by its first
// nick, not by its e-mail: a deleted account's address should not live on here.
func aboutAccount(ctx context.Context, l *Local, id storage.UserID, detail string) context.Context {
	nick := ""
	if list, err := l.Store.ProfilesOf(ctx, id); err == nil && len(list) > 0 {
		nick = list[0].Nick
	}
	return aboutID(ctx, uint32(id), nick, detail)
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

// CreateAccount creates an account, or adds a profile to the one with that e-mail if the password is
// right.
var CreateAccount = New(Operation{
	Name: "account create", Route: "POST /accounts", What: "Create an account, or a further profile of one", About: noun.Accounts,
}, func(ctx context.Context, l *Local, a NewAccount) (p storage.Profile, err error) {
	err = l.withAccounts(ctx, func(s *accounts.Service) error {
		p, err = s.Users.Register(about(ctx, a.Nick, ""), accounts.Registration{
			Partner: a.Partner, Namespace: a.Namespace, Email: a.Email, Nick: a.Nick, UniqueNick: a.UniqueNick, Password: a.Password,
		})
		return err
	})
	return p, err
})

// ListAccounts returns a page of accounts in the order of ids, without their buddies and blocks.
var ListAccounts = New(Operation{
	Name: "account list", Route: "GET /accounts", What: "Show all accounts", About: noun.Accounts, AtMost: MaxAccountPage,
}, func(ctx context.Context, l *Local, q AccountQuery) (AccountPage, error) {
	if q.Limit <= 0 || q.Limit > MaxAccountPage {
		q.Limit = MaxAccountPage
	}
	page := AccountPage{Accounts: []accounts.Account{}} // never null as JSON
	for u, err := range l.Store.Users(ctx, q.After) {
		var a accounts.Account
		if err == nil {
			a, err = profiles(ctx, l, &u)
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
})

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
func profiles(ctx context.Context, l *Local, u *storage.User) (accounts.Account, error) {
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

// FindAccount returns one account with everything but secrets.
var FindAccount = New(Operation{
	Name: "account show", Route: "GET /account", What: "Show an account with its profiles", About: noun.Accounts,
}, func(ctx context.Context, l *Local, ref AccountRef) (accounts.Account, error) {
	u, err := userOf(ctx, l, ref)
	if err != nil {
		return accounts.Account{}, err
	}
	a, err := profiles(ctx, l, &u)
	if err != nil {
		return accounts.Account{}, err
	}
	for i := range a.Profiles {
		p := &a.Profiles[i]
		lists, err := l.Store.Lists(ctx, p.Profile.ID)
		if err != nil {
			return accounts.Account{}, err
		}
		p.Buddies, p.Blocks = lists.Buddies, lists.Blocks
	}
	return a, nil
})

// user returns the user that ref identifies.
func userOf(ctx context.Context, l *Local, ref AccountRef) (u storage.User, err error) {
	switch {
	case ref.ID != 0:
		u, err = l.Store.GetUser(ctx, ref.ID)
	case ref.Email != "":
		u, err = l.Store.UserByEmail(ctx, ref.Partner, ref.Email)
	default:
		err = l.withAccounts(ctx, func(s *accounts.Service) error {
			_, u, err = s.Profiles.ByUniqueNick(ctx, ref.Namespace, ref.UniqueNick)
			return err
		})
	}
	if err != nil {
		return u, fmt.Errorf("account: %w", err)
	}
	return u, nil
}

// AccountID names an account.
type AccountID struct {
	ID storage.UserID `path:"id" lookup:"EMAIL|UNIQUENICK|ID"`
}

// NewPassword is the next password of an account.
type NewPassword struct {
	ID       storage.UserID `json:"-" path:"id" lookup:"EMAIL|UNIQUENICK|ID"`
	Password string         `json:"password" secret:"true"`
}

// SetPassword changes a password. It ends sessions, tokens and tickets.
var SetPassword = New(Operation{
	Name: "account passwd", Route: "PUT /accounts/{id}/password", What: "Change the password of an account; its sessions end", Action: "account.password", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in NewPassword) (Done, error) {
	return Done{1}, l.withAccounts(ctx, func(s *accounts.Service) error {
		if err := s.Passwords.Change(aboutAccount(ctx, l, in.ID, ""), in.ID, in.Password); err != nil {
			return err
		}
		l.kick(ctx, in.ID, presence.ErrDisplaced)
		list, err := l.Store.ProfilesOf(ctx, in.ID)
		for _, p := range list {
			s.Grants.Revoke(p.ID)
		}
		return err
	})
})

// IssueReset returns a link with which the owner of an account sets another password, once; it ends
// the one before. ErrBadRequest: the page for it is off.
var IssueReset = New(Operation{
	Name: "account reset-link", Route: "POST /accounts/{id}/reset", What: "Make a link with which the owner sets another password, once, within 24 hours",
	Help: "Print a link with which the owner sets another password, once, within 24 hours", Action: "account.reset_link", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in AccountID) (out ResetLink, err error) {
	page := ""
	if l.ResetPage != nil {
		page = l.ResetPage()
	}
	if page == "" {
		return ResetLink{}, errNoResetPage
	}
	err = l.withAccounts(ctx, func(s *accounts.Service) error {
		r, err := s.Passwords.IssueReset(aboutAccount(ctx, l, in.ID, ""), in.ID)
		// A fragment: browsers send it to no server, so that no log holds it.
		out = ResetLink{Link: page + "#" + r.Code, Expires: r.Expires.UTC()}
		return err
	})
	if err != nil {
		return ResetLink{}, err
	}
	return out, nil
})

// NewAccountBan is a ban of an account, by default without an end.
type NewAccountBan struct {
	ID      storage.UserID `json:"-" path:"id" lookup:"EMAIL|UNIQUENICK|ID"`
	Expires time.Time      `json:"expires,omitzero" flag:"for" doc:"how long, such as 24h (default: for ever)"`
	Reason  string         `json:"reason,omitzero" flag:"reason" doc:"reason, shown in the list"`
	By      string         `json:"by,omitzero" default:"cli"`
	Added   time.Time      `json:"added,omitzero"` // is ignored
}

// BanAccount keeps an account out until the end of the ban, and ends its sessions.
var BanAccount = New(Operation{
	Name: "account ban", Route: "PUT /accounts/{id}/ban", What: "Ban an account; takes effect at once", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in NewAccountBan) (Done, error) {
	if err := checkBanEnd(time.Now(), in.Expires); err != nil {
		return Done{}, err
	}
	return Done{1}, l.withAccounts(ctx, func(s *accounts.Service) error {
		ctx := aboutAccount(ctx, l, in.ID, banDetail(in.Expires, in.Reason))
		err := s.Users.Ban(ctx, in.ID, in.Expires, in.Reason, in.By)
		if err == nil {
			l.kick(ctx, in.ID, presence.ErrBanned)
		}
		return err
	})
})

// UnbanAccount lifts the ban of an account. There may be none.
var UnbanAccount = New(Operation{
	Name: "account unban", Route: "DELETE /accounts/{id}/ban", What: "Lift the ban of an account", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in AccountID) (Done, error) {
	return Done{1}, l.withAccounts(ctx, func(s *accounts.Service) error { return s.Users.Unban(aboutAccount(ctx, l, in.ID, ""), in.ID) })
})

// DeleteAccount removes an account with its profiles, buddies and messages, and ends its sessions.
var DeleteAccount = New(Operation{
	Name: "account delete", Route: "DELETE /accounts/{id}", What: "Delete an account with all that is stored for its profiles; cannot be undone", About: noun.Accounts, Destroys: true,
}, func(ctx context.Context, l *Local, in AccountID) (Removed, error) {
	return Removed{1}, l.withAccounts(ctx, func(s *accounts.Service) error {
		err := s.Users.Delete(aboutAccount(ctx, l, in.ID, ""), in.ID)
		if err == nil {
			l.kick(ctx, in.ID, presence.ErrDeleted)
			l.sweepFiles(ctx)
		}
		return err
	})
})

// AccountExport is what an export holds.
type AccountExport struct {
	Secrets bool `query:"secrets" flag:"with-passwords" doc:"also write the MD5 of each password, with which a reader of the file can sign in"`
}

// ExportAccounts writes all accounts, one line of JSON each. With secrets the lines contain the
// password digests, with which anyone can log in to the accounts.
var ExportAccounts = NewStream(Operation{
	Name: "account export", Route: "GET /accounts/export", What: "Write all accounts, one line of JSON each",
	Help: "Write all accounts, one line of JSON each; - is standard output", About: noun.Accounts, Type: Lines,
}, func(ctx context.Context, l *Local, in AccountExport, w io.Writer) (leftOut int, err error) {
	s, err := l.accounts(ctx)
	if err != nil {
		return 0, err
	}
	if in.Secrets { // no change, but with the file one can log in to any account
		if err := addAudit(ctx, l, 0, "all accounts", "with secrets"); err != nil {
			return 0, err
		}
	}
	out := json.NewEncoder(w)
	for a, err := range s.Transfer.Export(ctx, in.Secrets) {
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
})

// AccountImport are accounts to be stored.
type AccountImport struct {
	Accounts []accounts.Account `json:"accounts" secret:"true"`
}

// ImportAccounts stores accounts and returns a result for each: a refused one does not stop the
// others. Buddies and blocks are imported by ImportBuddies, after all accounts.
var ImportAccounts = New(Operation{
	Name: "account import", Route: "POST /accounts/import", What: "Add the accounts of an export; those that are there already stay as they are", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in AccountImport) ([]Imported, error) {
	s, err := l.accounts(ctx)
	if err != nil {
		return nil, err
	}
	if err := addAudit(ctx, l, 0, accountsText(len(in.Accounts)), ""); err != nil {
		return nil, err
	}
	all := slices.Clone(in.Accounts)
	refused, err := s.Transfer.ImportAll(ctx, all)
	if err != nil {
		return nil, err
	}
	out := make([]Imported, len(all))
	lookups, ctx := errgroup.WithContext(ctx)
	lookups.SetLimit(lookupsAtOnce)
	for i, a := range all {
		if refused[i] != nil {
			lookups.Go(func() (err error) {
				out[i].Error = clean.Cut(refused[i].Error(), clean.MaxEcho)
				out[i].Profiles, err = s.Transfer.Present(ctx, a)
				return err
			})
			continue
		}
		out[i].User = a.ID
		for _, p := range a.Profiles {
			out[i].Profiles = append(out[i].Profiles, p.Profile.ID)
		}
	}
	return out, lookups.Wait()
})

// lookupsAtOnce is how many accounts that are there already an import looks up at a time.
const lookupsAtOnce = 8

// ImportBuddies stores the buddies, blocks, data of games, scores and records of imported accounts.
var ImportBuddies = New(Operation{
	Name: "account import buddies", Route: "POST /accounts/import/buddies", What: "Store the buddies, blocks, data of games, scores and records of imported accounts", Action: "account.import_buddies", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in AccountImport) (Done, error) {
	return Done{len(in.Accounts)}, l.withAccounts(ctx, func(s *accounts.Service) error {
		if err := addAudit(ctx, l, 0, accountsText(len(in.Accounts)), ""); err != nil {
			return err
		}
		for _, a := range in.Accounts {
			if err := s.Transfer.ImportBuddies(ctx, a); err != nil {
				return fmt.Errorf("buddies of %s: %w", a.Email, err)
			}
		}
		return nil
	})
})

// RotateAccountKey seals everything with a new key and returns the number of accounts.
var RotateAccountKey = New(Operation{
	Name: "account rotate-key", Route: "POST /accounts/rotate-key", What: "Seal all passwords with a new key", Action: "account.rotate_key", About: noun.Accounts, Slow: true,
}, func(ctx context.Context, l *Local, _ None) (done Done, err error) {
	err = l.withAccounts(ctx, func(s *accounts.Service) error {
		if err := addAudit(ctx, l, 0, "all accounts", ""); err != nil {
			return err
		}
		done.Done, err = s.RotateKey(ctx)
		return err
	})
	return done, err
})
