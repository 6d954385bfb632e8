package accounts

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
)

// ErrNoKey means that the key file is missing although accounts were sealed with it.
var ErrNoKey = errors.New("the sealing key is missing, the accounts cannot be opened without it; \"respawnd restore\" brings back that of a backup")

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

// Service applies the rules of accounts to a store. Each part is one subject; a caller
// takes those that it uses. All methods may be called from any number of goroutines.
// Their errors are a Refusal, to be sent to the client, or a fault, to be logged;
// neither holds anything secret.
type Service struct {
	SignIn    *SignIn
	Profiles  *Profiles
	Users     *Users
	Passwords *Passwords
	Grants    *Grants
	Transfer  *Transfer
	Keys      *seal.Keys

	store   *editor
	secrets *secrets
	guard   *guard
	log     zerolog.Logger
	bus     cluster.Bus // to the other nodes; nil: there are none

	mu      sync.Mutex // guards cancels
	cancels []func()   // of ShareQuota
}

// Open returns the service. It reads the key file, or creates it if the store has no
// accounts yet. The errors match ErrNoKey, seal.ErrKeyFile or seal.ErrKeyExposed if the
// key file is the reason.
func Open(ctx context.Context, store Store, opt Options) (*Service, error) {
	keys, err := seal.Read(opt.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		keys, err = createKeys(ctx, store, opt.KeyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	return newService(store, keys, opt), nil
}

// createKeys makes the key file of a store without accounts.
func createKeys(ctx context.Context, store Store, path string) (*seal.Keys, error) {
	for _, err := range store.Users(ctx, 0) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, ErrNoKey)
	}
	return seal.Create(path)
}

// newService puts the parts together.
func newService(store Store, keys *seal.Keys, opt Options) *Service {
	s := &Service{Keys: keys, log: opt.Log}
	numbers := newMetrics(opt.Registerer)
	s.store = &editor{Store: store, log: opt.Log}
	s.secrets = &secrets{Keys: keys, keep: opt.KeepPasswords, markSeed: maphash.MakeSeed()}
	s.guard = &guard{failures: newFailures(), store: s.store, keys: keys, guarded: numbers.guarded, log: opt.Log}
	s.Grants = newGrants(opt.Log)
	s.Profiles = &Profiles{store: s.store, secrets: s.secrets, grants: s.Grants, log: opt.Log}
	s.SignIn = &SignIn{
		store: s.store, secrets: s.secrets, guard: s.guard, profiles: s.Profiles, grants: s.Grants, metrics: numbers, log: opt.Log,
		fallback: opt.NickFallback, notKept: netserve.NewBuckets[storage.UserID](1, time.Hour, failureSlots),
	}
	s.Users = &Users{
		store: s.store, secrets: s.secrets, guard: s.guard, signIn: s.SignIn, profiles: s.Profiles, grants: s.Grants, metrics: numbers, log: opt.Log,
	}
	s.Passwords = &Passwords{store: s.store, secrets: s.secrets, guard: s.guard, log: opt.Log}
	s.Transfer = &Transfer{store: s.store, secrets: s.secrets}
	return s
}
