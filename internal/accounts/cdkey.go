package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// MaxCDKey is the longest CD key in bytes.
const MaxCDKey = 64

// RegisterCDKey registers a CD key of a game to a profile. The same key again
// is not an error. Only letters and digits count. Refusals: ErrBadCDKey,
// ErrCDKeySet, ErrCDKeyTaken, ErrTooMany, ErrProfileDeleted, ErrBadProfile.
func (s *Service) RegisterCDKey(ctx context.Context, id storage.ProfileID, game, cdKey string) error {
	plain := strip(cdKey)
	if plain == "" || len(cdKey) > MaxCDKey || game == "" || len(game) > storage.MaxGameName {
		return ErrBadCDKey
	}
	record, err := s.cdKeyRecord(storage.Fold(game), plain, cdKey)
	if err == nil {
		_, err = s.editProfile(ctx, id, func(p *storage.Profile) error { return addCDKey(p, record) })
	}
	if err != nil {
		if _, refused := errors.AsType[Refusal](err); refused {
			return err
		}
		return fmt.Errorf("register CD key: %w", err)
	}
	return nil
}

// profileKeys is the purpose of the cipher of CD keys of profiles.
const profileKeys = "respawnd profile keys"

// cdKeyRecord returns the record of a CD key: plain is its letters and digits, spelt
// the key as the client sent it.
func (s *Service) cdKeyRecord(game, plain, spelt string) (storage.CDKey, error) {
	keys := s.keys.Load()
	record := storage.CDKey{
		Game: game, Digest: keys.digest(game, plain), Hash: keys.hashDigest(game, secretOf(spelt)), Added: time.Now(),
	}
	var err error
	if s.opt.KeepPasswords {
		record.Sealed, err = keys.sealDerived(profileKeys, []byte(spelt), cdKeyBound(&record))
	}
	return record, err
}

// cdKeyBound returns the additional authenticated data of a CD key of a profile.
func cdKeyBound(k *storage.CDKey) []byte { return []byte(k.Game + "\x00" + k.Digest) }

// addCDKey adds a CD key to a profile. For a key that it has already, it adds the missing parts.
func addCDKey(p *storage.Profile, record storage.CDKey) error {
	for i := range p.CDKeys {
		k := &p.CDKeys[i]
		switch {
		case k.Game != record.Game:
		case k.Digest != record.Digest:
			return ErrCDKeySet
		case k.Hash == "" || k.Hash == record.Hash && len(k.Sealed) == 0 && len(record.Sealed) > 0:
			k.Hash, k.Sealed = record.Hash, record.Sealed
			return nil
		default:
			return errUnchanged
		}
	}
	if len(p.CDKeys) >= storage.MaxCDKeys {
		return ErrTooMany
	}
	p.CDKeys = append(p.CDKeys, record)
	return nil
}

// ProfileByCDKeyHash returns the profile with a nick or unique nick, in any case of
// letters, in the account to which a CD key of a game is registered. hash is the md5hex
// of the key as the client spelt it when it registered the key. Refusals:
// ErrBadProfile.
func (s *Service) ProfileByCDKeyHash(ctx context.Context, game, nick, hash string) (storage.Profile, error) {
	p, _, err := s.byCDKeyHash(ctx, game, nick, hash)
	return p, err
}

// byCDKeyHash is ProfileByCDKeyHash that also returns the CD key.
func (s *Service) byCDKeyHash(ctx context.Context, game, nick, hash string) (storage.Profile, storage.CDKey, error) {
	game = storage.Fold(game)
	if len(hash) != responseLen || game == "" || len(game) > storage.MaxGameName {
		return storage.Profile{}, storage.CDKey{}, ErrBadProfile
	}
	digest := s.keys.Load().hashDigest(game, hash)
	owner, err := s.store.ProfileByCDKey(ctx, game, digest)
	if errors.Is(err, storage.ErrNotFound) {
		err = ErrBadProfile
	}
	if err != nil {
		return storage.Profile{}, storage.CDKey{}, err
	}
	var key storage.CDKey
	for _, k := range owner.CDKeys {
		if k.Game == game && k.Hash == digest {
			key = k
		}
	}
	if isNamed(&owner, nick) {
		return owner, key, nil
	}
	p, err := s.store.ProfileByNick(ctx, owner.User, nick)
	if errors.Is(err, storage.ErrNotFound) {
		err = ErrBadProfile
	}
	return p, key, err
}

// isNamed reports whether nick is the nick or a unique nick of a profile.
func isNamed(p *storage.Profile, nick string) bool {
	nick = storage.Fold(nick)
	if storage.Fold(p.Nick) == nick {
		return true
	}
	for _, n := range p.UniqueNicks {
		if storage.Fold(n.Nick) == nick {
			return true
		}
	}
	return false
}

// openCDKey returns a CD key of a profile, or ErrCDKeyNotKept.
func (s *Service) openCDKey(k *storage.CDKey) (string, error) {
	if len(k.Sealed) == 0 {
		return "", ErrCDKeyNotKept
	}
	key, err := s.keys.Load().openDerived(profileKeys, k.Sealed, cdKeyBound(k))
	if err != nil {
		return "", fmt.Errorf("CD key: %w", err)
	}
	return key, nil
}
