package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// DefaultPublicMask is the set of fields of a new profile that others see: all
// but the birthday (8) and the e-mail (32).
const DefaultPublicMask = ^uint32(8 | 32)

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
func (s *Service) Register(ctx context.Context, r Registration) (storage.Profile, error) {
	p, err := s.newProfile(&r)
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

// newProfile applies the rules and returns the profile to store.
func (s *Service) newProfile(r *Registration) (storage.Profile, error) {
	if err := checkEmail(r.Email); err != nil {
		return storage.Profile{}, err
	}
	if err := checkPassword(r.Password); err != nil {
		return storage.Profile{}, err
	}
	if r.Partner < 0 || r.Partner > storage.MaxAccountID || r.Namespace < 0 || r.Namespace > storage.MaxAccountID {
		return storage.Profile{}, ErrMalformed
	}
	p := storage.Profile{Nick: r.Nick, PublicMask: DefaultPublicMask, Created: time.Now()}
	if err := checkNick(r.Nick); err != nil {
		return storage.Profile{}, err
	}
	if r.UniqueNick != "" && r.Namespace != 0 {
		if err := checkUniqueNick(r.Namespace, r.UniqueNick); err != nil {
			return storage.Profile{}, err
		}
		p.UniqueNicks = []storage.UniqueNick{s.uniqueNick(r.Namespace, r.UniqueNick)}
	}
	return p, nil
}

// uniqueNick returns the record of a unique nick.
func (s *Service) uniqueNick(namespace int, nick string) storage.UniqueNick {
	return storage.UniqueNick{Namespace: namespace, Nick: nick, Key: uniqueNickKey(nick)}
}

// tryRegister creates the account or the profile. If done is false and there is
// no error, another caller created or deleted the account meanwhile.
func (s *Service) tryRegister(ctx context.Context, r *Registration, p storage.Profile,
) (created storage.Profile, done bool, err error) {
	_, err = s.store.UserByEmail(ctx, r.Partner, r.Email)
	switch {
	case err == nil:
		return s.addProfile(ctx, r, p)
	case !errors.Is(err, storage.ErrNotFound):
		return storage.Profile{}, false, err
	}
	created, err = s.createUser(ctx, r, p)
	if errors.Is(err, ErrEmailTaken) {
		return storage.Profile{}, false, nil
	}
	return created, err == nil, err
}

// createUser stores a new account with its first profile.
func (s *Service) createUser(ctx context.Context, r *Registration, p storage.Profile) (storage.Profile, error) {
	s.sealing.RLock()
	defer s.sealing.RUnlock()
	u := storage.User{Partner: r.Partner, Email: r.Email, Created: p.Created}
	s.setPassword(&u, r.Password)
	u, p, err := s.store.CreateUser(ctx, u, p)
	if err != nil {
		return storage.Profile{}, refuseTaken(err)
	}
	s.metrics.registered.Inc()
	s.log.Info().Uint32("user", uint32(u.ID)).Uint32("profile", uint32(p.ID)).Int("partner", u.Partner).Msg("account created")
	return p, nil
}

// addProfile stores a profile in an existing account.
func (s *Service) addProfile(ctx context.Context, r *Registration, p storage.Profile,
) (created storage.Profile, done bool, err error) {
	u, err := s.checkPassword(ctx, Credentials{r.Partner, r.Email, r.Password, r.From})
	if errors.Is(err, ErrBadEmail) { // deleted meanwhile
		return storage.Profile{}, false, nil
	}
	if err != nil {
		return storage.Profile{}, false, err
	}
	p.User = u.ID
	created, err = s.createProfile(ctx, p)
	return created, err == nil, err
}

// createProfile stores a further profile.
func (s *Service) createProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	created, err := s.store.CreateProfile(ctx, p)
	if err == nil {
		s.log.Info().Uint32("user", uint32(p.User)).Uint32("profile", uint32(created.ID)).Msg("profile created")
		return created, nil
	}
	if errors.Is(err, storage.ErrFull) {
		return storage.Profile{}, ErrTooMany
	}
	return storage.Profile{}, s.nameTaken(ctx, p.User, p.Nick, refuseTaken(err))
}

// nameTaken adds to ErrNickTaken the profile that has the nick.
func (s *Service) nameTaken(ctx context.Context, user storage.UserID, nick string, err error) error {
	if !errors.Is(err, ErrNickTaken) {
		return err
	}
	p, find := s.store.ProfileByNick(ctx, user, nick)
	if find != nil {
		return err
	}
	return &NickTakenError{Profile: p.ID}
}

// DeleteUser deletes an account and all data that belongs to it.
func (s *Service) DeleteUser(ctx context.Context, id storage.UserID) error {
	profiles, err := s.store.ProfilesOf(ctx, id)
	if err != nil {
		return err
	}
	if err := s.changed(s.store.DeleteUser(ctx, id)); err != nil {
		return fmt.Errorf("delete user %d: %w", id, err)
	}
	for _, p := range profiles {
		s.RevokeGrants(p.ID)
	}
	s.log.Info().Uint32("user", uint32(id)).Msg("account deleted")
	return nil
}

// Ban keeps an account out until expires, or for good if that is zero. Its
// sessions continue until they are kicked.
func (s *Service) Ban(ctx context.Context, id storage.UserID, expires time.Time, reason, by string) error {
	err := s.editUser(ctx, id, func(u *storage.User) error {
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
func (s *Service) Unban(ctx context.Context, id storage.UserID) error {
	err := s.editUser(ctx, id, func(u *storage.User) error {
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
