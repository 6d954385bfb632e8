package accounts

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// Profiles finds profiles, and changes their names and values.
type Profiles struct {
	store   *editor
	secrets *secrets
	grants  *Grants
	log     zerolog.Logger
}

// ByUniqueNick returns the profile with that unique nick in any case of
// letters, and its account. A nick that differs in special characters does not match, although
// the two could not both exist. The error matches storage.ErrNotFound if there
// is none.
func (s *Profiles) ByUniqueNick(ctx context.Context, namespace int, nick string) (storage.Profile, storage.User, error) {
	if namespace <= 0 || namespace > storage.MaxAccountID || nick == "" || len(nick) > storage.MaxUniqueNick {
		return storage.Profile{}, storage.User{}, storage.ErrNotFound
	}
	p, u, err := s.store.ProfileByUniqueNick(ctx, namespace, uniqueNickKey(nick))
	if err == nil && storage.Fold(p.UniqueNickIn(namespace)) != storage.Fold(nick) {
		return storage.Profile{}, storage.User{}, storage.ErrNotFound
	}
	return p, u, err
}

// Update edits a profile and returns it as it was stored. edit gets the
// current profile and may change all but ids, unique nicks and CD keys; it may
// run again if another caller was faster. Texts are cleaned, see Clean.
// Refusals: ErrBadNick, ErrNickTaken, ErrBadField, ErrProfileDeleted,
// ErrBadProfile, and the errors of edit.
func (s *Profiles) Update(ctx context.Context, id storage.ProfileID, edit func(*storage.Profile) error,
) (storage.Profile, error) {
	p, err := s.store.editProfile(ctx, id, func(p *storage.Profile) error {
		was := *p
		if err := edit(p); err != nil {
			return err
		}
		p.ID, p.User, p.Rev, p.Created = was.ID, was.User, was.Rev, was.Created
		p.UniqueNicks, p.CDKeys = was.UniqueNicks, was.CDKeys
		for _, text := range []*string{&p.Nick, &p.FirstName, &p.LastName, &p.Homepage, &p.Zip, &p.Country, &p.Place, &p.AIM} {
			*text = Clean(*text)
		}
		return checkProfile(p)
	})
	if err != nil {
		return storage.Profile{}, err
	}
	return p, nil
}

// RegisterNick gives a profile its unique nick in a namespace, replacing the
// one that it has there. Refusals: ErrBadNamespace, ErrUniqueNickIllegal,
// ErrUniqueNickReserved, ErrUniqueNickTaken, ErrTooMany, ErrProfileDeleted,
// ErrBadProfile.
func (s *Profiles) RegisterNick(ctx context.Context, id storage.ProfileID, namespace int, nick string,
) (storage.Profile, error) {
	if err := checkUniqueNick(namespace, nick); err != nil {
		return storage.Profile{}, err
	}
	return s.store.editProfile(ctx, id, func(p *storage.Profile) error {
		record := uniqueNick(namespace, nick)
		for i := range p.UniqueNicks {
			if p.UniqueNicks[i].Namespace == namespace {
				p.UniqueNicks[i] = record
				return nil
			}
		}
		if len(p.UniqueNicks) >= storage.MaxUniqueNicks {
			return ErrTooMany
		}
		p.UniqueNicks = append(p.UniqueNicks, record)
		return nil
	})
}

// CheckUniqueNick returns nil if a player could register that unique nick now.
// Refusals: ErrBadNamespace, ErrUniqueNickIllegal, ErrUniqueNickReserved,
// ErrUniqueNickTaken.
func (s *Profiles) CheckUniqueNick(ctx context.Context, namespace int, nick string) error {
	if err := checkUniqueNick(namespace, nick); err != nil {
		return err
	}
	_, _, err := s.store.ProfileByUniqueNick(ctx, namespace, uniqueNickKey(nick))
	if err == nil {
		return ErrUniqueNickTaken
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// New adds a profile to an account. Refusals: ErrBadNick, ErrNickTaken
// with the profile in a NickTakenError, ErrTooMany.
func (s *Profiles) New(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error) {
	return s.NewUnique(ctx, user, 0, nick)
}

// NewUnique is New for a profile whose nick is also its unique nick in a namespace, unless that is 0. Further
// refusals: ErrUniqueNickIllegal, ErrUniqueNickReserved, ErrUniqueNickTaken.
func (s *Profiles) NewUnique(ctx context.Context, user storage.UserID, namespace int, nick string) (storage.Profile, error) {
	p, err := newProfile(namespace, nick, nick)
	if err != nil {
		return storage.Profile{}, err
	}
	p.User = user
	return s.create(ctx, p)
}

// Replace renames the profile of an account that has the old nick.
// Refusals: ErrBadNick, ErrNoOldNick, ErrNickTaken.
func (s *Profiles) Replace(ctx context.Context, user storage.UserID, oldNick, nick string) (storage.Profile, error) {
	if err := checkNick(nick); err != nil {
		return storage.Profile{}, err
	}
	p, err := s.store.ProfileByNick(ctx, user, oldNick)
	if err != nil {
		return storage.Profile{}, refuse(err, storage.ErrNotFound, ErrNoOldNick)
	}
	p, err = s.store.editProfile(ctx, p.ID, func(p *storage.Profile) error {
		p.Nick = nick
		return nil
	})
	return p, s.nameTaken(ctx, user, nick, err)
}

// Delete deletes a profile and all data that belongs to it. Refusals:
// ErrLastProfile, ErrProfileDeleted, ErrBadProfile.
func (s *Profiles) Delete(ctx context.Context, id storage.ProfileID) error {
	err := s.store.changed(s.store.DeleteProfile(ctx, id))
	if err != nil {
		return refuseMissing(refuse(err, storage.ErrLast, ErrLastProfile))
	}
	s.grants.Revoke(id)
	s.log.Info().Uint32("profile", uint32(id)).Msg("profile deleted")
	return nil
}

// create stores a further profile.
func (s *Profiles) create(ctx context.Context, p storage.Profile) (storage.Profile, error) {
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
func (s *Profiles) nameTaken(ctx context.Context, user storage.UserID, nick string, err error) error {
	if !errors.Is(err, ErrNickTaken) {
		return err
	}
	p, find := s.store.ProfileByNick(ctx, user, nick)
	if find != nil {
		return err
	}
	return &NickTakenError{Profile: p.ID}
}

// Share makes the service one of several that have the same store: tokens and tickets
// are those of all nodes, and so are failed logins and quotas. It is called before the
// services begin, and cancel after they have ended.
func (s *Service) Share(grants storage.Grants, bus cluster.Bus) (cancel func()) {
	s.SignIn.shared, s.bus = true, bus
	s.Grants.tokens = &sharedGrants{store: grants, kind: storage.GrantToken}
	s.Grants.tickets = &sharedGrants{store: grants, kind: storage.GrantTicket}
	s.guard.nodes = cluster.NewNotes[failure](bus, "accounts.failures")
	s.cancels = append(s.cancels, s.guard.nodes.Listen(func(f failure) {
		if f.From.IsValid() {
			f.From = source(f.From)
		}
		if f.valid() {
			s.guard.count(f, time.Now())
		}
	}))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, cancel := range s.cancels {
			cancel()
		}
		s.cancels = nil
	}
}

// ShareQuota applies a quota for addresses to all nodes of a cluster together.
// name is the service's. count is called with the addresses that other nodes allowed
// something, and must not block. The service calls spent for those that it allows
// something itself; spent never waits, and does nothing on a node that is alone. s may be nil.
func (s *Service) ShareQuota(name string, count func(netip.Addr)) (spent func(netip.Addr)) {
	if s == nil {
		return func(netip.Addr) {}
	}
	nodes := cluster.NewNotes[netip.Addr](s.bus, "accounts.quota."+name) // without one of them an address has more
	cancel := nodes.Listen(func(from netip.Addr) {
		if from.IsValid() {
			count(from)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels = append(s.cancels, cancel)
	return func(from netip.Addr) {
		if from.IsValid() {
			nodes.Tell(from)
		}
	}
}
