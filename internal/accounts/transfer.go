package accounts

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/storage"
)

// Transfer exports and imports accounts.
type Transfer struct {
	store   *editor
	secrets *secrets
}

// Account is an account as it is exported and imported: all its data but CD
// keys, open requests, messages and the contents of files.
type Account struct {
	ID       storage.UserID     `json:"id,omitzero"` // 0: a new one
	Partner  int                `json:"partner,omitzero"`
	Email    string             `json:"email"`
	MD5      string             `json:"password_md5,omitzero"`  // hex; as good as the password itself
	Password string             `json:"password,omitzero"`      // instead of MD5
	Kept     bool               `json:"password_kept,omitzero"` // whether the password itself is kept; not imported, not exported
	Ban      storage.AccountBan `json:"ban,omitzero"`
	Created  time.Time          `json:"created,omitzero"`
	Profiles []AccountProfile   `json:"profiles"`
}

// AccountProfile is one profile of an Account.
type AccountProfile struct {
	Profile storage.Profile     `json:"profile"`
	Buddies []storage.ProfileID `json:"buddies,omitempty"`
	Blocks  []storage.ProfileID `json:"blocks,omitempty"`

	GameData []storage.StatBlock `json:"game_data,omitempty"` // data of games; without the id of the profile
	Scores   []storage.Score     `json:"scores,omitempty"`    // likewise

	Records []storage.OwnedSakeRecord `json:"records,omitempty"` // in tables of games; without the id of the profile

	// Files are the descriptions of uploaded files, and Matches the matches that games reported of
	// the player, without the reports themselves. Both are exported only: contents and matches
	// are in backups.
	Files   []storage.File  `json:"files,omitempty"`
	Matches []storage.Match `json:"matches,omitempty"`
}

// Export yields all accounts in the order of ids, with the password digests
// only if secrets is true: anyone who reads those can log in as any player. An
// account that cannot be read is an item with an error, the rest follows; any
// error that does not match storage.ErrDamaged or seal.ErrUnsealable is the last
// item.
func (s *Transfer) Export(ctx context.Context, secrets bool) iter.Seq2[Account, error] {
	return func(yield func(Account, error) bool) {
		for u, err := range s.store.Users(ctx, 0) {
			var a Account
			if err == nil {
				a, err = s.export(ctx, &u, secrets)
			}
			if errors.Is(err, storage.ErrNotFound) {
				continue // deleted meanwhile
			}
			goesOn := err == nil || errors.Is(err, storage.ErrDamaged) || errors.Is(err, seal.ErrUnsealable)
			if !yield(a, err) || !goesOn {
				return
			}
		}
	}
}

func (s *Transfer) export(ctx context.Context, u *storage.User, secrets bool) (Account, error) {
	a := Account{ID: u.ID, Partner: u.Partner, Email: u.Email, Ban: u.Ban, Created: u.Created}
	if secrets {
		var err error
		if a.MD5, err = s.secrets.digest(u); err != nil {
			return Account{}, err
		}
	}
	profiles, err := s.store.ProfilesOf(ctx, u.ID)
	if err != nil {
		return Account{}, err
	}
	for _, p := range profiles {
		out, err := s.exportProfile(ctx, p)
		if err != nil {
			return Account{}, err
		}
		a.Profiles = append(a.Profiles, out)
	}
	return a, nil
}

func (s *Transfer) exportProfile(ctx context.Context, p storage.Profile) (out AccountProfile, err error) {
	var errs [6]error
	var lists storage.Lists
	lists, errs[0] = s.store.Lists(ctx, p.ID)
	out.Buddies, out.Blocks = lists.Buddies, lists.Blocks
	out.GameData, errs[1] = collect(s.store.StatBlocks(ctx, p.ID), func(b *storage.StatBlock) { b.Profile = 0 })
	out.Scores, errs[2] = collect(s.store.ScoresOf(ctx, p.ID), func(score *storage.Score) { score.Profile = 0 })
	out.Records, errs[3] = collect(s.store.SakeOf(ctx, p.ID), func(rec *storage.OwnedSakeRecord) { rec.Owner = 0 })
	out.Files, errs[4] = collect(s.store.FilesOf(ctx, p.ID), nil)
	out.Matches, errs[5] = collect(s.store.MatchesOf(ctx, p.ID), func(m *storage.Match) {
		m.Versions = nil
		for i := range m.Sides {
			m.Sides[i].Conns = nil
		}
	})
	p.CDKeys = nil // digests of another key file are worth nothing
	out.Profile = p
	return out, errors.Join(errs[:]...)
}

// collect returns all records of a sequence, edited, or its first error.
func collect[R any](seq iter.Seq2[R, error], edit func(*R)) (all []R, err error) {
	for r, err := range seq {
		if err != nil {
			return nil, err
		}
		if edit != nil {
			edit(&r)
		}
		all = append(all, r)
	}
	return all, nil
}

// Import stores one account as ImportAll does, and returns it with its ids.
func (s *Transfer) Import(ctx context.Context, a Account) (Account, error) {
	list := []Account{a}
	refused, err := s.ImportAll(ctx, list)
	if err == nil {
		err = refused[0]
	}
	if err != nil {
		return Account{}, err
	}
	return list[0], nil
}

// ImportAll stores accounts in one step, each whole or not at all, and fills in their ids;
// ids that they have are kept. It does not change existing accounts: refused has an error
// for each that is not stored, ErrEmailTaken or one that matches storage.ErrTaken for an id.
// Nicks that break our rules are accepted, because other servers had other rules. Buddies,
// blocks, data of games, scores and records are left to ImportBuddies. An account without
// password can get one later. After an error nothing is stored.
func (s *Transfer) ImportAll(ctx context.Context, list []Account) (refused []error, err error) {
	defer s.secrets.Hold()()
	refused = make([]error, len(list))
	var users []storage.NewUser
	var of []int // the account of each
	for i := range list {
		n, err := s.newUser(&list[i])
		if refused[i] = err; err == nil {
			users, of = append(users, n), append(of, i)
		}
	}
	if err := s.store.ImportUsers(ctx, users); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	for i, n := range users {
		a := &list[of[i]]
		if n.Err != nil {
			refused[of[i]] = fmt.Errorf("import: %w", refuseTaken(n.Err))
			continue
		}
		a.ID, a.MD5, a.Password = n.User.ID, "", ""
		for j := range n.Profiles {
			a.Profiles[j].Profile = n.Profiles[j]
		}
	}
	return refused, nil
}

// newUser checks an account and returns its user with the sealed password.
func (s *Transfer) newUser(a *Account) (storage.NewUser, error) {
	if len(a.Profiles) == 0 || len(a.Profiles) > storage.MaxProfiles {
		return storage.NewUser{}, ErrBadProfile
	}
	u, err := importUser(a)
	if err == nil {
		err = s.importPassword(&u, a)
	}
	n := storage.NewUser{User: u}
	for i := range a.Profiles {
		n.Profiles = append(n.Profiles, a.Profiles[i].Profile)
	}
	return n, err
}

// importUser checks an account and returns its user, without the password. It
// replaces the profiles of a by those to be stored.
func importUser(a *Account) (storage.User, error) {
	if err := checkEmail(a.Email); err != nil {
		return storage.User{}, err
	}
	profiles := make([]AccountProfile, len(a.Profiles))
	copy(profiles, a.Profiles)
	for i := range profiles {
		p := &profiles[i].Profile
		p.CDKeys, p.Rev = nil, 0
		nicks := make([]storage.UniqueNick, 0, len(p.UniqueNicks))
		for _, n := range p.UniqueNicks {
			nicks = append(nicks, uniqueNick(n.Namespace, n.Nick))
		}
		p.UniqueNicks = nicks
	}
	a.Profiles = profiles
	return storage.User{ID: a.ID, Partner: a.Partner, Email: a.Email, Ban: a.Ban, Created: a.Created}, nil
}

func (s *Transfer) importPassword(u *storage.User, a *Account) error {
	switch {
	case a.Password != "":
		if err := checkPassword(a.Password); err != nil {
			return err
		}
		s.secrets.setPassword(u, a.Password)
	case a.MD5 != "":
		sum, err := hex.DecodeString(a.MD5)
		if err != nil || len(sum) != md5.Size {
			return ErrBadPassword
		}
		s.secrets.setDigest(u, sum)
	}
	return nil
}

// ImportBuddies adds the buddies and blocks of an account that Import has
// stored, or that Present has found, and the data, scores and records that games keep
// for its profiles. Buddies need the accounts of all of them. A profile that already
// has buddies or blocks keeps those, one that has data or scores keeps those.
// Records are added under their ids; one whose id is in use in its table is skipped,
// so that an import can be repeated. Profiles that do not exist are skipped.
func (s *Transfer) ImportBuddies(ctx context.Context, a Account) error {
	for _, p := range a.Profiles {
		if len(p.Buddies)+len(p.Blocks) > 0 {
			err := s.store.ImportRelations(ctx, p.Profile.ID, p.Buddies, p.Blocks)
			if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrTaken) {
				return err
			}
		}
		if err := s.importStats(ctx, p); err != nil {
			return err
		}
		if err := s.importRecords(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// importStats stores the statistics of a profile.
func (s *Transfer) importStats(ctx context.Context, p AccountProfile) error {
	if len(p.GameData)+len(p.Scores) == 0 {
		return nil
	}
	id, blocks, scores := p.Profile.ID, slices.Clone(p.GameData), slices.Clone(p.Scores)
	for i := range blocks {
		blocks[i].Profile = id
	}
	for i := range scores {
		scores[i].Profile = id
	}
	err := s.store.ImportStats(ctx, id, blocks, scores)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrTaken) {
		return nil
	}
	return err
}

// importRecords stores the records of a profile in tables of games.
func (s *Transfer) importRecords(ctx context.Context, p AccountProfile) error {
	for _, rec := range p.Records {
		rec.Owner = p.Profile.ID
		err := s.store.ImportSakeRecord(ctx, rec)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return nil
		case err != nil && !errors.Is(err, storage.ErrTaken):
			return err
		}
	}
	return nil
}

// Present returns the ids of the profiles of a stored account that matches a:
// the same e-mail and the same nicks, under the ids that a names. An import
// that was interrupted uses it to find the accounts that it has stored; an empty result means
// that the account does not exist or is another one.
func (s *Transfer) Present(ctx context.Context, a Account) ([]storage.ProfileID, error) {
	u, err := s.store.UserByEmail(ctx, a.Partner, a.Email)
	if errors.Is(err, storage.ErrNotFound) || err == nil && a.ID != 0 && a.ID != u.ID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var present []storage.ProfileID
	for i := range a.Profiles {
		p := &a.Profiles[i].Profile
		found, err := s.store.ProfileByNick(ctx, u.ID, p.Nick)
		if errors.Is(err, storage.ErrNotFound) || err == nil && p.ID != 0 && p.ID != found.ID {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		present = append(present, found.ID)
	}
	return present, nil
}
