package accounts

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// ProfileByUniqueNick returns the profile with that unique nick in any case of
// letters. A nick that differs in special characters does not match, although
// the two could not both exist. The error matches storage.ErrNotFound if there
// is none.
func (s *Service) ProfileByUniqueNick(ctx context.Context, namespace int, nick string) (storage.Profile, error) {
	if namespace <= 0 || namespace > storage.MaxAccountID || nick == "" || len(nick) > storage.MaxUniqueNick {
		return storage.Profile{}, storage.ErrNotFound
	}
	p, err := s.store.ProfileByUniqueNick(ctx, namespace, uniqueNickKey(nick))
	if err == nil && storage.Fold(p.UniqueNickIn(namespace)) != storage.Fold(nick) {
		return storage.Profile{}, storage.ErrNotFound
	}
	return p, err
}

// UpdateProfile edits a profile and returns it as it was stored. edit gets the
// current profile and may change all but ids, unique nicks and CD keys; it may
// run again if another caller was faster. Texts are cleaned, see Clean.
// Refusals: ErrBadNick, ErrNickTaken, ErrBadField, ErrProfileDeleted,
// ErrBadProfile, and the errors of edit.
func (s *Service) UpdateProfile(ctx context.Context, id storage.ProfileID, edit func(*storage.Profile) error,
) (storage.Profile, error) {
	p, err := s.editProfile(ctx, id, func(p *storage.Profile) error {
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
func (s *Service) RegisterNick(ctx context.Context, id storage.ProfileID, namespace int, nick string,
) (storage.Profile, error) {
	if err := checkUniqueNick(namespace, nick); err != nil {
		return storage.Profile{}, err
	}
	return s.editProfile(ctx, id, func(p *storage.Profile) error {
		record := s.uniqueNick(namespace, nick)
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
func (s *Service) CheckUniqueNick(ctx context.Context, namespace int, nick string) error {
	if err := checkUniqueNick(namespace, nick); err != nil {
		return err
	}
	_, err := s.store.ProfileByUniqueNick(ctx, namespace, uniqueNickKey(nick))
	switch {
	case err == nil:
		return ErrUniqueNickTaken
	case errors.Is(err, storage.ErrNotFound):
		return nil
	}
	return err
}

// maxSuggestTries bounds the look-ups of one call of Suggest.
const maxSuggestTries = 24

// Suggest returns up to n free unique nicks similar to wish, wish itself first
// if it is free. There may be none.
func (s *Service) Suggest(ctx context.Context, namespace int, wish string, n int) ([]string, error) {
	var found []string
	if namespace <= 0 || n <= 0 {
		return nil, nil
	}
	tries := 0
	for candidate := range s.candidates(namespace, wish) {
		if tries++; tries > maxSuggestTries || len(found) >= n {
			break
		}
		err := s.CheckUniqueNick(ctx, namespace, candidate)
		if err == nil {
			found = append(found, candidate)
			continue
		}
		if _, refused := errors.AsType[Refusal](err); !refused {
			return nil, err
		}
	}
	return found, nil
}

// candidates yields the wish, the wish without forbidden characters, and that
// followed by numbers.
func (s *Service) candidates(namespace int, wish string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(wish) {
			return
		}
		base := legalPart(namespace, wish)
		if base != wish && !yield(base) {
			return
		}
		year := time.Now().Year()
		for i := 1; i < maxSuggestTries; i++ {
			suffix := strconv.Itoa(i)
			if i == 3 {
				suffix = strconv.Itoa(year)
			}
			if !yield(base[:min(len(base), storage.MaxUniqueNick-len(suffix))] + suffix) {
				return
			}
		}
	}
}

// legalPart returns the characters of a wish that the rules of a namespace
// allow, with a prefix if it could not begin with them.
func legalPart(namespace int, wish string) string {
	legal := make([]byte, 0, len(wish))
	for i := range len(wish) {
		if allows(namespace, wish[i]) {
			legal = append(legal, wish[i])
		}
	}
	base := strings.TrimLeft(string(legal), "@+#:")
	if base == "" {
		base = "Player"
	}
	if isDigit(base[0]) {
		base = "x" + base
	}
	return base[:min(len(base), storage.MaxUniqueNick)]
}

// NewProfile adds a profile to an account. Refusals: ErrBadNick, ErrNickTaken
// with the profile in a NickTakenError, ErrTooMany.
func (s *Service) NewProfile(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error) {
	if err := checkNick(nick); err != nil {
		return storage.Profile{}, err
	}
	return s.createProfile(ctx, storage.Profile{
		User: user, Nick: nick, PublicMask: DefaultPublicMask, Created: time.Now(),
	})
}

// ReplaceProfile renames the profile of an account that has the old nick.
// Refusals: ErrBadNick, ErrNoOldNick, ErrNickTaken.
func (s *Service) ReplaceProfile(ctx context.Context, user storage.UserID, oldNick, nick string) (storage.Profile, error) {
	if err := checkNick(nick); err != nil {
		return storage.Profile{}, err
	}
	p, err := s.store.ProfileByNick(ctx, user, oldNick)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Profile{}, ErrNoOldNick
	}
	if err != nil {
		return storage.Profile{}, err
	}
	p, err = s.editProfile(ctx, p.ID, func(p *storage.Profile) error {
		p.Nick = nick
		return nil
	})
	return p, s.nameTaken(ctx, user, nick, err)
}

// DeleteProfile deletes a profile and all data that belongs to it. Refusals:
// ErrLastProfile, ErrProfileDeleted, ErrBadProfile.
func (s *Service) DeleteProfile(ctx context.Context, id storage.ProfileID) error {
	err := s.changed(s.store.DeleteProfile(ctx, id))
	if errors.Is(err, storage.ErrLast) {
		return ErrLastProfile
	}
	if err != nil {
		return refuseMissing(err)
	}
	s.RevokeGrants(id)
	s.log.Info().Uint32("profile", uint32(id)).Msg("profile deleted")
	return nil
}
