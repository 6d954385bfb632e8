package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// DefaultPublicMask is the set of fields of a new profile that others see: all
// but the birthday (8) and the e-mail (32).
const DefaultPublicMask = ^uint32(8 | 32)

// Users makes, bans and deletes accounts.
type Users struct {
	store    *editor
	secrets  *secrets
	guard    *guard
	signIn   *SignIn
	profiles *Profiles
	grants   *Grants
	metrics  *metrics
	log      zerolog.Logger
}

// Registration is a player's request for an account, or for another profile of
// an existing account.
type Registration struct {
	Partner    int
	Namespace  int // 0: no unique nick, whatever UniqueNick says
	Email      string
	Nick       string
	UniqueNick string // "" for none
	Password   string
	From       netip.Addr // failures are counted by it
}

// Register creates an account, or a profile in the account with that e-mail if
// the password is right. Refusals: ErrBadNick, ErrNickTaken with the profile in
// a NickTakenError, ErrBadEmail, ErrBadPassword, ErrUniqueNickIllegal,
// ErrUniqueNickReserved, ErrUniqueNickTaken, ErrTooMany, ErrThrottled, ErrBanned.
func (s *Users) Register(ctx context.Context, r Registration) (storage.Profile, error) {
	p, err := r.profile()
	if err != nil {
		return storage.Profile{}, err
	}
	for range maxTries {
		p, done, err := s.tryRegister(ctx, &r, p)
		if done || err != nil {
			return p, err
		}
	}
	return storage.Profile{}, storage.ErrConflict
}

// profile applies the rules and returns the profile to store.
func (r *Registration) profile() (storage.Profile, error) {
	if err := checkEmail(r.Email); err != nil {
		return storage.Profile{}, err
	}
	if err := checkPassword(r.Password); err != nil {
		return storage.Profile{}, err
	}
	if r.Partner < 0 || r.Partner > storage.MaxAccountID || r.Namespace < 0 || r.Namespace > storage.MaxAccountID {
		return storage.Profile{}, ErrMalformed
	}
	return newProfile(r.Namespace, r.Nick, r.UniqueNick)
}

// newProfile returns a profile with a nick, and with a unique nick if neither that nor the
// namespace is missing.
func newProfile(namespace int, nick, unique string) (storage.Profile, error) {
	if err := checkNick(nick); err != nil {
		return storage.Profile{}, err
	}
	p := storage.Profile{Nick: nick, PublicMask: DefaultPublicMask, Created: time.Now()}
	if unique != "" && namespace != 0 {
		if err := checkUniqueNick(namespace, unique); err != nil {
			return storage.Profile{}, err
		}
		p.UniqueNicks = []storage.UniqueNick{uniqueNick(namespace, unique)}
	}
	return p, nil
}

// tryRegister creates the account or the profile. If done is false and there is
// no error, another caller created or deleted the account meanwhile.
func (s *Users) tryRegister(ctx context.Context, r *Registration, p storage.Profile,
) (created storage.Profile, done bool, err error) {
	meanwhile := ErrEmailTaken
	_, err = s.store.UserByEmail(ctx, r.Partner, r.Email)
	switch {
	case err == nil:
		meanwhile = ErrBadEmail
		created, err = s.addProfile(ctx, r, p)
	case errors.Is(err, storage.ErrNotFound):
		created, err = s.createUser(ctx, r, p)
	}
	if errors.Is(err, meanwhile) {
		return storage.Profile{}, false, nil
	}
	return created, err == nil, err
}

// createUser stores a new account with its first profile.
func (s *Users) createUser(ctx context.Context, r *Registration, p storage.Profile) (storage.Profile, error) {
	defer s.secrets.Hold()()
	u := storage.User{Partner: r.Partner, Email: r.Email, Created: p.Created}
	s.secrets.setPassword(&u, r.Password)
	return s.create(ctx, u, p, "")
}

// addProfile stores a profile in an existing account.
func (s *Users) addProfile(ctx context.Context, r *Registration, p storage.Profile) (storage.Profile, error) {
	u, err := s.signIn.checkPassword(ctx, Credentials{r.Partner, r.Email, r.Password, r.From})
	if err != nil {
		return storage.Profile{}, err
	}
	p.User = u.ID
	return s.profiles.create(ctx, p)
}

// create stores a new account with its first profile. console is empty for a player of
// a computer.
func (s *Users) create(ctx context.Context, u storage.User, p storage.Profile, console string) (storage.Profile, error) {
	u, p, err := s.store.CreateUser(ctx, u, p)
	if err != nil {
		return storage.Profile{}, refuseTaken(err)
	}
	s.metrics.registered.Inc()
	line := s.log.Info().Uint32("user", uint32(u.ID)).Uint32("profile", uint32(p.ID)).Int("partner", u.Partner)
	if console != "" {
		line = line.Str("console", console)
	}
	line.Msg("account created")
	return p, nil
}

// Delete deletes an account and all data that belongs to it.
func (s *Users) Delete(ctx context.Context, id storage.UserID) error {
	profiles, err := s.store.ProfilesOf(ctx, id)
	if err != nil {
		return err
	}
	if err := s.store.changed(s.store.DeleteUser(ctx, id)); err != nil {
		return fmt.Errorf("delete user %d: %w", id, err)
	}
	for _, p := range profiles {
		s.grants.Revoke(p.ID)
	}
	s.log.Info().Uint32("user", uint32(id)).Msg("account deleted")
	return nil
}

// Ban keeps an account out until expires, or for good if that is zero. Its
// sessions continue until they are kicked.
func (s *Users) Ban(ctx context.Context, id storage.UserID, expires time.Time, reason, by string) error {
	err := s.store.editUser(ctx, id, func(u *storage.User) error {
		u.Ban = storage.AccountBan{Added: time.Now(), Expires: expires, Reason: reason, By: by}
		return nil
	})
	if err == nil {
		line := s.log.Info().Uint32("user", uint32(id))
		if !expires.IsZero() {
			line = line.Time("expires", expires)
		}
		line.Msg("account banned")
	}
	return err
}

// Unban lifts the ban of an account. It is not an error if there is none.
func (s *Users) Unban(ctx context.Context, id storage.UserID) error {
	err := s.store.editUser(ctx, id, func(u *storage.User) error {
		if u.Ban == (storage.AccountBan{}) {
			return errUnchanged
		}
		u.Ban = storage.AccountBan{}
		return nil
	})
	if err == nil {
		s.log.Info().Uint32("user", uint32(id)).Msg("account no longer banned")
	}
	return err
}
