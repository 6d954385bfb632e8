package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
)

// Store is the part of a storage engine that the service needs.
type Store interface {
	storage.Accounts
	storage.Buddies

	// The methods of storage.Stats for exports and imports.
	StatBlocks(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.StatBlock, error]
	ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error]
	ImportStats(ctx context.Context, id storage.ProfileID, blocks []storage.StatBlock, scores []storage.Score) error

	// The methods of storage.Sake for exports and imports.
	SakeOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.OwnedSakeRecord, error]
	ImportSakeRecord(ctx context.Context, r storage.OwnedSakeRecord) error

	// Methods of storage.Files and storage.Matches for exports.
	FilesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.File, error]
	MatchesOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Match, error]
}

// editor edits the users and profiles of a store.
type editor struct {
	Store
	changes atomic.Uint64 // of users and deletions of profiles, see SignIn.Recheck

	log     zerolog.Logger
	trouble netserve.Trouble // of the log
}

// maxTries is how often a change is tried again because another caller changed
// the same record.
const maxTries = 16

// editUser reads a user, edits it and stores it. The edit runs again if another
// caller was faster; it may return errUnchanged. The caller holds the key if the
// edit seals.
func (r *editor) editUser(ctx context.Context, id storage.UserID, edit func(*storage.User) error) error {
	for range maxTries {
		u, err := r.GetUser(ctx, id)
		if err != nil {
			return err
		}
		if err := edit(&u); err != nil {
			return unlessUnchanged(err)
		}
		_, err = r.UpdateUser(ctx, u)
		if err = r.changed(err); !errors.Is(err, storage.ErrConflict) {
			return refuseTaken(err)
		}
	}
	return fmt.Errorf("user %d: %w", id, storage.ErrConflict)
}

// remember is editUser after a sign-in. An error is only logged: the player is signed
// in without it.
func (r *editor) remember(ctx context.Context, what string, id storage.UserID, edit func(*storage.User) error) {
	err := r.editUser(storage.WithoutAudit(ctx), id, edit)
	if err == nil || ctx.Err() != nil {
		return
	}
	r.trouble.Line(r.log.Error()).Err(err).Uint32("user", uint32(id)).Msg("the " + what + " of a sign-in was not stored")
}

// editProfile is editUser for a profile, and returns it as it was stored.
func (r *editor) editProfile(ctx context.Context, id storage.ProfileID, edit func(*storage.Profile) error,
) (storage.Profile, error) {
	for range maxTries {
		p, err := r.GetProfile(ctx, id)
		if err != nil {
			return storage.Profile{}, refuseMissing(err)
		}
		if err := edit(&p); err != nil {
			return p, unlessUnchanged(err)
		}
		p, err = r.UpdateProfile(ctx, p)
		if !errors.Is(err, storage.ErrConflict) {
			return p, refuseTaken(err)
		}
	}
	return storage.Profile{}, fmt.Errorf("profile %d: %w", id, storage.ErrConflict)
}

// changed counts a change of accounts after the store made it, and returns its error.
// The sessions of the account are ended after that.
func (r *editor) changed(err error) error {
	if err == nil {
		r.changes.Add(1)
	}
	return err
}

// profile returns a profile and its account, or a refusal.
func (r *editor) profile(ctx context.Context, id storage.ProfileID) (p storage.Profile, u storage.User, err error) {
	if p, err = r.GetProfile(ctx, id); err == nil {
		u, err = r.GetUser(ctx, p.User)
	}
	return p, u, refuseMissing(err)
}

// errUnchanged ends an edit that has nothing to change.
var errUnchanged = errors.New("nothing changed")

func unlessUnchanged(err error) error {
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// refuseMissing turns the error of a missing profile into a refusal.
func refuseMissing(err error) error {
	if errors.Is(err, storage.ErrDeleted) {
		return ErrProfileDeleted
	}
	return refuse(err, storage.ErrNotFound, ErrBadProfile)
}

// refuse returns a refusal in place of an error that matches why.
func refuse(err, why error, refusal Refusal) error {
	if errors.Is(err, why) {
		return refusal
	}
	return err
}

// refuseTaken turns the error of a taken unique key into a refusal.
func refuseTaken(err error) error {
	taken, ok := errors.AsType[*storage.TakenError](err)
	if !ok {
		return err
	}
	switch taken.Index {
	case storage.IndexUserEmail:
		return ErrEmailTaken
	case storage.IndexNick:
		return ErrNickTaken
	case storage.IndexUniqueNick:
		return ErrUniqueNickTaken
	case storage.IndexCDKey:
		return ErrCDKeyTaken
	}
	return err
}
