package storage

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"time"
)

// Indexes of accounts in a TakenError.
const (
	IndexUserID     = "user.id"            // IndexUserID is the index of user ids.
	IndexUserEmail  = "user.email"         // IndexUserEmail is the index of e-mails, one for each partner code.
	IndexProfileID  = "profile.id"         // IndexProfileID is the index of profile ids.
	IndexNick       = "profile.nick"       // IndexNick is the index of nicks, one for each user.
	IndexUniqueNick = "profile.uniquenick" // IndexUniqueNick is the index of unique nicks, one for each namespace.
	IndexCDKey      = "profile.cdkey"      // IndexCDKey is the index of CD keys, one for each game.
)

// Limits of a User.
const (
	MaxAccountID = math.MaxInt32 // MaxAccountID is the highest id of a user or profile: clients read ids as signed numbers.
	MaxEmail     = 50            // MaxEmail is the longest e-mail in bytes.
	MaxSealed    = 256           // MaxSealed is the longest sealed value in bytes.
	MaxHomes     = 8             // MaxHomes is the highest number of addresses that are kept of one user.
	MaxProfiles  = 32            // MaxProfiles is the highest number of profiles of one user.
	ResetDigest  = 32            // ResetDigest is the length of the digest of a reset link in bytes.
)

// UserID identifies a user. It is never 0 once stored and never reused.
type UserID uint32

// User is one account, with its credentials.
type User struct {
	ID      UserID `json:"id"`
	Partner int    `json:"partner,omitzero"` // partner code; accounts of different partners are independent
	Email   string `json:"email"`            // as entered; unique under its partner without regard to case

	// Secret and Password are opaque to the store: the caller seals them.
	Secret   []byte `json:"secret,omitempty"`   // sealed digest of the password
	Password []byte `json:"password,omitempty"` // sealed password itself, nil unless it is kept

	// Reset is the link with which the owner may set another password.
	Reset ResetLink `json:"reset,omitzero"`
	// Passwords counts the changes of the password: grants of an earlier number have ended.
	Passwords uint32 `json:"passwords,omitzero"`

	// Homes stand for addresses from which the user signed in, the oldest first.
	Homes []uint64 `json:"homes,omitempty"`

	Ban     AccountBan `json:"ban,omitzero"`
	Created time.Time  `json:"created,omitzero"`
	Rev     Rev        `json:"rev"`
}

// AccountBan is a ban of a user. The zero value means not banned.
type AccountBan struct {
	Added   time.Time `json:"added,omitzero"`   // zero: not banned
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Reason  string    `json:"reason,omitzero"`  // at most MaxBanReason bytes
	By      string    `json:"by,omitzero"`      // at most MaxBanBy bytes
}

// In reports whether the ban is in force at now. It expires at the instant
// Expires.
func (b AccountBan) In(now time.Time) bool {
	return !b.Added.IsZero() && (b.Expires.IsZero() || now.Before(b.Expires))
}

// ResetLink is a link with which the owner of an account sets another password,
// once. The zero value means that there is none. The link itself is not kept.
type ResetLink struct {
	Digest  []byte    `json:"digest,omitempty"` // of the secret in the link
	Expires time.Time `json:"expires,omitzero"`
}

// In reports whether the link is there and can be used at now. It expires at the
// instant Expires.
func (r *ResetLink) In(now time.Time) bool { return len(r.Digest) > 0 && now.Before(r.Expires) }

// Check returns an error, which matches ErrInvalid, if u exceeds a limit.
func (u *User) Check() error {
	switch n := len(u.Reset.Digest); {
	case u.ID > MaxAccountID:
		return invalid("user id is over %d", MaxAccountID)
	case u.Email == "":
		return invalid("e-mail is empty")
	case len(u.Secret) > MaxSealed || len(u.Password) > MaxSealed:
		return invalid("sealed value is longer than %d bytes", MaxSealed)
	case n != 0 && n != ResetDigest || n == 0 && !u.Reset.Expires.IsZero():
		return invalid("reset link without a digest of %d bytes", ResetDigest)
	case len(u.Homes) > MaxHomes:
		return invalid("more than %d homes", MaxHomes)
	}
	return cmp.Or(checkNumber("partner code", u.Partner), checkWord("e-mail", u.Email, MaxEmail),
		checkText("ban reason", u.Ban.Reason, MaxBanReason), checkText("ban author", u.Ban.By, MaxBanBy))
}

// Canonical returns u as it is stored: checked, with times in UTC, sharing no
// memory with u. The error matches ErrInvalid.
func (u User) Canonical() (User, error) {
	if err := u.Check(); err != nil {
		return User{}, err
	}
	u.Secret, u.Password = slices.Clone(u.Secret), slices.Clone(u.Password)
	u.Homes = slices.Clone(u.Homes)
	u.Reset.Digest = slices.Clone(u.Reset.Digest)
	u.Reset.Expires = u.Reset.Expires.Round(0).UTC()
	u.Created = u.Created.Round(0).UTC()
	u.Ban.Added, u.Ban.Expires = u.Ban.Added.Round(0).UTC(), u.Ban.Expires.Round(0).UTC()
	return u, nil
}

// NewUser is a user with its profiles, at least one and at most MaxProfiles.
type NewUser struct {
	User     User
	Profiles []Profile
	Err      error // why it was not stored; see Accounts.ImportUsers
}

// Accounts keeps users and their profiles. Ids are never reused; the error for
// a deleted one is ErrDeleted.
type Accounts interface {
	// CreateUser stores a user with its first profile and returns both with
	// their ids and revisions. The User of first is ignored. An id of 0 is
	// replaced by a new one; any other is for imports and is kept. The error is
	// ErrTaken if the id or one of the unique keys exists.
	CreateUser(ctx context.Context, u User, first Profile) (User, Profile, error)

	// ImportUsers is CreateUser for users with several profiles each, in their order and in one
	// step. It fills in the ids and revisions of those that it stores, and sets Err of the others:
	// ErrTaken also if two have the same unique key, ErrInvalid or ErrFull. Any other error is
	// returned; nothing is stored then.
	ImportUsers(ctx context.Context, list []NewUser) error

	// GetUser returns the user or ErrNotFound.
	GetUser(ctx context.Context, id UserID) (User, error)

	// UserByEmail returns the user of that partner code with that e-mail, in
	// any case of letters, or ErrNotFound.
	UserByEmail(ctx context.Context, partner int, email string) (User, error)

	// UpdateUser stores u if u.Rev is current and returns it with its new Rev.
	// The error is ErrConflict if it is not current, ErrNotFound if there is no
	// such user, ErrTaken if the new e-mail is taken.
	UpdateUser(ctx context.Context, u User) (User, error)

	// DeleteUser removes the user and its profiles as DeleteProfile does, or
	// returns ErrNotFound.
	DeleteUser(ctx context.Context, id UserID) error

	// Users yields the users with an id above after in the order of ids.
	Users(ctx context.Context, after UserID) iter.Seq2[User, error]

	// CountUsers returns how many users there are, without reading them.
	CountUsers(ctx context.Context) (int, error)

	// CreateProfile stores another profile of p.User and returns it with its id
	// and revision. The error is ErrNotFound if there is no such user, ErrFull
	// if it has MaxProfiles. Ids and unique keys are as in CreateUser.
	CreateProfile(ctx context.Context, p Profile) (Profile, error)

	// GetProfile returns the profile or ErrNotFound.
	GetProfile(ctx context.Context, id ProfileID) (Profile, error)

	// ProfilesOf returns the profiles of a user in the order of their nicks,
	// none if there is no such user.
	ProfilesOf(ctx context.Context, user UserID) ([]Profile, error)

	// ProfileByNick returns the user's profile with that nick, in any case of
	// letters, or ErrNotFound.
	ProfileByNick(ctx context.Context, user UserID, nick string) (Profile, error)

	// ProfileByUniqueNick returns the profile that has a unique nick with that
	// key in the namespace, and its user, or ErrNotFound. The key is not folded
	// here.
	ProfileByUniqueNick(ctx context.Context, namespace int, key string) (Profile, User, error)

	// NamespacesOfUniqueNick returns the namespaces in which profiles have a
	// unique nick with that key, in ascending order; only the lowest
	// MaxNickNamespaces namespaces of the store are searched. The key is not
	// folded here.
	NamespacesOfUniqueNick(ctx context.Context, key string) ([]int, error)

	// ProfileByCDKey returns the profile to which the CD key with that Digest or
	// Hash is registered, or ErrNotFound.
	ProfileByCDKey(ctx context.Context, game, digest string) (Profile, error)

	// FindProfiles yields the profiles whose value in the index is that value,
	// in any case of letters, in the order of ids. An empty value finds none.
	FindProfiles(ctx context.Context, by ProfileIndex, value string) iter.Seq2[Profile, error]

	// UpdateProfile stores p if p.Rev is current and returns it with its new
	// Rev. The error is ErrConflict if it is not current, ErrNotFound if there
	// is no such profile, ErrTaken if a unique key is taken. A profile never
	// changes its user.
	UpdateProfile(ctx context.Context, p Profile) (Profile, error)

	// DeleteProfile removes the profile with its unique keys, its buddies and
	// its entries in other buddy lists, its blocks and those against it,
	// requests from and to it, and its messages. The error is ErrNotFound if
	// there is none, ErrLast if its user has no other.
	DeleteProfile(ctx context.Context, id ProfileID) error
}
