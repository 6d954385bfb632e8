package accounts

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/metric"
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
	s.Grants = &Grants{tokens: newGrantMemory(maxTokens), tickets: newGrantMemory(maxTickets), log: opt.Log}
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

// KeyName is the name of the key that seals passwords in the data folder and in a
// backup.
const KeyName = "account.key"

// KeyPath returns the path of the key that seals passwords: key_file, or KeyName in
// the data folder if that is empty.
func (c *Config) KeyPath(dataDir string) string {
	if c.KeyFile != "" {
		return c.KeyFile
	}
	return filepath.Join(dataDir, KeyName)
}

// Config is section accounts of the configuration. The comment of each field explains
// its key.
type Config struct {
	// File with the key that seals passwords, made at the first start if
	// missing. Without it the accounts in data_dir are unusable, so it is part
	// of every backup. Empty: account.key in data_dir.
	KeyFile string `key:"key_file" as:"text"` // as configured, may be empty: use Config.KeyPath
	// Keeps the passwords and CD keys themselves, sealed with the key file beside
	// their digests, true or false. Games sign in without it; gstats needs it,
	// because players prove themselves there with the password itself, and refuses
	// those whose password is not kept. It is kept at the next sign-in with the
	// password on a page, in the search service or by a command. With false,
	// passwords that were kept stay until they change.
	KeepPasswords bool `key:"keep_passwords" default:"true"`
	// Players sign in with a unique nick of another namespace, true or false: if
	// the namespace of the game does not have the nick, and exactly one other
	// namespace does. Games of one community then share accounts. Each such
	// sign-in is logged.
	NickFallback bool `key:"nick_fallback" default:"true"`
}

// metrics are the numbers of a service.
type metrics struct {
	logins     *prometheus.CounterVec // by result
	registered prometheus.Counter
	guarded    prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	in := metric.With(r)
	return &metrics{
		logins:     in.Counters("respawnd_accounts_logins_total", "Proofs and passwords that were checked.", "result"),
		registered: in.Counter("respawnd_accounts_registered_total", "Accounts that were created."),
		guarded:    in.Counter("respawnd_accounts_guarded_total", "Attempts of strangers that were refused because the password of the account is being guessed."),
	}
}

// login counts the result of a check.
func (m *metrics) login(err error) {
	refusal, refused := errors.AsType[Refusal](err)
	result := "error"
	switch {
	case err == nil:
		result = "ok"
	case refusal == ErrThrottled:
		result = "throttled"
	case refusal == ErrBanned:
		result = "banned"
	case refused:
		result = "refused"
	}
	m.logins.WithLabelValues(result).Inc()
}
