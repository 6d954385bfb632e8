package accounts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
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

// Options change a Service. Only KeyFile must be given.
type Options struct {
	// KeyFile is the path of the sealing key. It lies outside the store.
	KeyFile string
	// KeepPasswords also keeps passwords and CD keys themselves, sealed, because
	// CheckStatsProof needs them. It applies to those that arrive from then on;
	// stored ones stay until they change.
	KeepPasswords bool
	// NickFallback lets a player sign in with a unique nick of another
	// namespace, if the namespace of the sign-in does not have the nick and
	// exactly one other does.
	NickFallback bool
	Registerer   prometheus.Registerer
	Log          zerolog.Logger
}

// Service applies the rules of accounts to a store. All methods may be called
// from any number of goroutines. Their errors are a Refusal, to be sent to the
// client, or a fault, to be logged; neither holds anything secret.
type Service struct {
	store     Store
	opt       Options
	failures  *failures
	guessing  netserve.Trouble // of the log; so are homeless and unsealed
	homeless  netserve.Trouble
	unsealed  netserve.Trouble
	ungranted netserve.Trouble
	notKept   *netserve.Buckets[storage.UserID] // log lines about passwords that are not kept
	tokens    grantTable
	tickets   grantTable
	shared    bool        // other nodes change accounts too
	bus       cluster.Bus // of those; nil: there are none
	metrics   *metrics
	log       zerolog.Logger

	keys atomic.Pointer[keyring] // never nil

	markKey  [32]byte     // for PasswordMark; new at every start
	markSeed maphash.Seed // for SamePassword

	changes atomic.Uint64 // of users and deletions of profiles, see Recheck

	// sealing is held for reading from sealing something until it is stored,
	// and for writing while the active key changes: records stored later were sealed with the new
	// one.
	sealing sync.RWMutex
	quotas  sync.Mutex // guards cancels
	cancels []func()   // of ShareQuota

	// rotating is held while the key file may change.
	rotating sync.Mutex
}

// Open returns the service. It reads the key file, or creates it if the store
// has no accounts yet. The errors match ErrNoKey, ErrKeyFile or ErrKeyExposed
// if the key file is the reason.
func Open(ctx context.Context, store Store, opt Options) (*Service, error) {
	keys, err := readKeys(opt.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		keys, err = createKeys(ctx, store, opt.KeyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	s := &Service{
		store: store, opt: opt, log: opt.Log,
		failures: newFailures(),
		notKept:  netserve.NewBuckets[storage.UserID](1, time.Hour, failureSlots),
		tokens:   newGrants(maxTokens),
		tickets:  newGrants(maxTickets),
		metrics:  newMetrics(opt.Registerer),
	}
	s.keys.Store(keys)
	_, _ = rand.Read(s.markKey[:]) // never fails
	s.markSeed = maphash.MakeSeed()
	return s, nil
}

// createKeys makes the key file of a store without accounts.
func createKeys(ctx context.Context, store Store, path string) (*keyring, error) {
	for _, err := range store.Users(ctx, 0) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, ErrNoKey)
	}
	keys, err := firstKeys()
	if err != nil {
		return nil, err
	}
	if err := keys.write(path, true); err != nil {
		return nil, err
	}
	return keys, nil
}

// maxTries is how often a change is tried again because another caller changed
// the same record.
const maxTries = 16

// editUser reads a user, edits it and stores it. The edit runs again if another
// caller was faster; it may return errUnchanged. The caller holds sealing for
// reading if the edit seals.
func (s *Service) editUser(ctx context.Context, id storage.UserID, edit func(*storage.User) error) error {
	for range maxTries {
		u, err := s.store.GetUser(ctx, id)
		if err != nil {
			return err
		}
		if err := edit(&u); err != nil {
			return unlessUnchanged(err)
		}
		_, err = s.store.UpdateUser(ctx, u)
		err = s.changed(err)
		if !errors.Is(err, storage.ErrConflict) {
			return refuseTaken(err)
		}
	}
	return fmt.Errorf("user %d: %w", id, storage.ErrConflict)
}

// editProfile is editUser for a profile, and returns it as it was stored.
func (s *Service) editProfile(ctx context.Context, id storage.ProfileID, edit func(*storage.Profile) error,
) (storage.Profile, error) {
	for range maxTries {
		p, err := s.store.GetProfile(ctx, id)
		if err != nil {
			return storage.Profile{}, refuseMissing(err)
		}
		if err := edit(&p); err != nil {
			return p, unlessUnchanged(err)
		}
		p, err = s.store.UpdateProfile(ctx, p)
		if !errors.Is(err, storage.ErrConflict) {
			return p, refuseTaken(err)
		}
	}
	return storage.Profile{}, fmt.Errorf("profile %d: %w", id, storage.ErrConflict)
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
	switch {
	case errors.Is(err, storage.ErrDeleted):
		return ErrProfileDeleted
	case errors.Is(err, storage.ErrNotFound):
		return ErrBadProfile
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
