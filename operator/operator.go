package operator

import (
	"context"
	"errors"
	"io"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Errors that callers decide by. Storage's errors pass through unchanged.
var (
	// ErrNotRunning reports that only a running daemon has the answer.
	ErrNotRunning = errors.New("the daemon is not running")
	// ErrUnauthorized reports a wrong or missing token.
	ErrUnauthorized = errors.New("the admin token was not accepted")
	// ErrNoChat reports that the daemon serves no chat.
	ErrNoChat = errors.New("chat is off")
	// ErrBadRequest reports an invalid argument, which its text names.
	ErrBadRequest = errors.New("refused")
)

// Operator is the set of operations of an operator. Its methods may be called
// concurrently.
type Operator interface {
	Status(ctx context.Context) (Status, error)

	Bans(ctx context.Context) ([]storage.Ban, error)
	// FileBans returns the bans in the files of services that cover an address, all
	// of them if addr is zero. They are not among Bans.
	FileBans(ctx context.Context, addr netip.Addr) ([]FileBan, error)
	// AddBan puts a ban in force at once.
	AddBan(ctx context.Context, b storage.Ban) error
	// RemoveBan lifts the bans of a prefix and returns how many there were.
	RemoveBan(ctx context.Context, p netip.Prefix, scope storage.Scope) (int, error)

	// Games returns the catalogue with everything in force.
	Games(ctx context.Context) ([]games.Game, error)
	// PutGames stores the operator's own records, each in place of an earlier
	// one of the same game.
	PutGames(ctx context.Context, list []games.Game) error
	// DeleteGame removes the operator's own record; a built-in one stays.
	DeleteGame(ctx context.Context, name string) error
	// OwnGame returns the operator's own record of a game.
	OwnGame(ctx context.Context, name string) (games.Game, error)
	// SetMaintenance makes a game answer "down for now", or available again.
	// The rest of the operator's record does not change.
	SetMaintenance(ctx context.Context, name string, on bool) error

	Rooms(ctx context.Context, game string) ([]storage.Room, error)
	// PutRoom stores a room and returns it with its id. ErrBadRequest: the game is
	// unknown or has rooms.MaxStored already, or the catalogue has the id.
	PutRoom(ctx context.Context, r storage.Room) (storage.Room, error)
	DeleteRoom(ctx context.Context, id uint32) error

	// Servers returns the live list, and the servers that proved themselves but
	// are hidden.
	Servers(ctx context.Context, game string) ([]Listed, error)
	// Verdicts returns the last decisions of the services about an address, or
	// about the most recent addresses if addr is zero.
	Verdicts(ctx context.Context, addr netip.Addr) ([]Verdict, error)

	// Masters returns the other masters that are read, in the order of the
	// configuration.
	Masters(ctx context.Context) ([]OtherMaster, error)

	// Meetings returns how players who negotiated on this node reached each other.
	Meetings(ctx context.Context) (Meetings, error)
	// Relayed returns the pairs of players that this node relays, the oldest first.
	Relayed(ctx context.Context) ([]RelayedPair, error)

	// SignedIn returns a page of the signed-in players.
	SignedIn(ctx context.Context, q SessionQuery) (SessionPage, error)
	// Kick ends the sessions of a profile and returns how many there were.
	Kick(ctx context.Context, id storage.ProfileID) (int, error)
	// Waiting counts the messages that wait for players.
	Waiting(ctx context.Context) (Waiting, error)

	// AuditLog returns a page of the changes that operators made.
	AuditLog(ctx context.Context, q AuditQuery) (AuditPage, error)

	// Backup writes everything that a new machine needs to continue.
	Backup(ctx context.Context, w io.Writer) error

	AccountOperator
	ServerOperator
	ChatOperator
	CDKeyOperator
	FileOperator
	StatsOperator
	NewsOperator
	MatchOperator
	SakeOperator
}
