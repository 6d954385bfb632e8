package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// MaxCDKey is the longest CD key in bytes.
const MaxCDKey = 64

// RegisterCDKey registers a CD key of a game to a profile. The same key again
// is not an error. Only letters and digits count. Refusals: ErrBadCDKey,
// ErrCDKeySet, ErrCDKeyTaken, ErrTooMany, ErrProfileDeleted, ErrBadProfile.
func (s *Profiles) RegisterCDKey(ctx context.Context, id storage.ProfileID, game, cdKey string) error {
	plain := strip(cdKey)
	if plain == "" || len(cdKey) > MaxCDKey || game == "" || len(game) > storage.MaxGameName {
		return ErrBadCDKey
	}
	record, err := s.secrets.cdKeyRecord(storage.Fold(game), plain, cdKey)
	if err == nil {
		_, err = s.store.editProfile(ctx, id, func(p *storage.Profile) error { return addCDKey(p, record) })
	}
	if err != nil {
		if _, refused := errors.AsType[Refusal](err); refused {
			return err
		}
		return fmt.Errorf("register CD key: %w", err)
	}
	return nil
}

// cdKeyRecord returns the record of a CD key: plain is its letters and digits, spelt
// the key as the client sent it.
func (s *secrets) cdKeyRecord(game, plain, spelt string) (record storage.CDKey, err error) {
	record = storage.CDKey{
		Game: game, Digest: s.cdKeyDigest("cd key", game, plain), Hash: s.cdKeyHash(game, secretOf(spelt)), Added: time.Now(),
	}
	if s.keep {
		record.Sealed, err = s.SealFor(profileKeys, []byte(spelt), cdKeyBound(&record))
	}
	return record, err
}

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

// ByCDKeyHash returns the profile with a nick or unique nick, in any case of
// letters, in the account to which a CD key of a game is registered. hash is the md5hex
// of the key as the client spelt it when it registered the key. Refusals:
// ErrBadProfile.
func (s *Profiles) ByCDKeyHash(ctx context.Context, game, nick, hash string) (storage.Profile, error) {
	p, _, err := s.byCDKeyHash(ctx, game, nick, hash)
	return p, err
}

// byCDKeyHash is ByCDKeyHash that also returns the CD key.
func (s *Profiles) byCDKeyHash(ctx context.Context, game, nick, hash string) (storage.Profile, storage.CDKey, error) {
	game = storage.Fold(game)
	if len(hash) != responseLen || game == "" || len(game) > storage.MaxGameName {
		return storage.Profile{}, storage.CDKey{}, ErrBadProfile
	}
	digest := s.secrets.cdKeyHash(game, hash)
	owner, err := s.store.ProfileByCDKey(ctx, game, digest)
	if err != nil {
		return storage.Profile{}, storage.CDKey{}, refuse(err, storage.ErrNotFound, ErrBadProfile)
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
	return p, key, refuse(err, storage.ErrNotFound, ErrBadProfile)
}

func isNamed(p *storage.Profile, nick string) bool {
	nick = storage.Fold(nick)
	return storage.Fold(p.Nick) == nick || slices.ContainsFunc(p.UniqueNicks, func(n storage.UniqueNick) bool { return storage.Fold(n.Nick) == nick })
}
