package accounts

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/storage"
)

// checkedUsers is the number of users that CheckKeyFile reads.
const checkedUsers = 1000

// UserReader is the part of a store that CheckKeyFile needs.
type UserReader interface {
	Users(ctx context.Context, after storage.UserID) iter.Seq2[storage.User, error]
}

// CheckKeyFile returns an error if the accounts of a store cannot be used with
// a key file: the file is missing although there are accounts, is not a key
// file, or opens none of the first accounts. The errors match ErrNoKey,
// seal.ErrKeyFile, seal.ErrKeyExposed or seal.ErrUnsealable.
func CheckKeyFile(ctx context.Context, store UserReader, path string) error {
	keys, err := seal.Read(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	looked, opened := 0, 0
	for u, err := range store.Users(ctx, 0) {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			continue
		case err != nil:
			return err
		case missing:
			return ErrNoKey
		case len(u.Secret) == 0:
			continue
		}
		if _, err := keys.Open(u.Secret, bound(kindDigest, &u)); err == nil {
			opened++
		}
		if looked++; looked == checkedUsers {
			break
		}
	}
	if looked > 0 && opened == 0 {
		return seal.ErrUnsealable
	}
	return nil
}
