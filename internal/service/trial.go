package service

import (
	"context"
	"errors"
	"time"
)

// StepTimeout bounds every wait of a step of the self-test. A busy machine may take
// seconds for an account, whose password is hashed slowly.
const StepTimeout = 5 * time.Second

// Errors of steps that look for the game server of the self-test.
var (
	ErrNotRegistered = errors.New("the test server is not registered")
	ErrNotInList     = errors.New("the test server is not in the list")
)

// Step is one step of the self-test: a client that uses a running service and
// checks its answers.
type Step struct {
	// Name is printed with the result, such as "serverbrowse list".
	Name string
	// Needs names the services, as in their keys, that must be on, or keys of further
	// listeners. The step is skipped if one is off.
	Needs []string
	// Server reports that the step needs Trial.Server: it is skipped if no service registers it.
	Server bool
	// Order sorts the steps of all services: lower first, equal ones as the services
	// start.
	Order StepOrder
	// Lasting reports that the step changes something for a while, such as
	// accounts: a quick self-test skips it.
	Lasting bool
	// Run returns nil if the service works as it should. It waits at most
	// StepTimeout for each answer.
	Run func(context.Context, *Trial) error
}

// StepOrder is when a step runs.
type StepOrder int

// The order of steps.
const (
	OrderRegister StepOrder = iota // registers Trial.Server
	OrderLists                     // looks for it in a list
	OrderPages                     // looks for it in pages, asks the daemon
	OrderAlone                     // needs no server
	OrderPlayers                   // signs players in
	OrderMessages                  // sends Trial.Server a message
)

// Trial is one run of the self-test, as its steps see it. The steps run one after
// the other and share it.
type Trial struct {
	// Game is the name of a game that is in every catalogue, Secret its key.
	Game, Secret string
	// Name is the host name of the game server that the self-test plays. No other
	// server has it.
	Name string
	// Domain is a domain under which games look for their services.
	Domain string
	// DataDir is the data folder of the daemon.
	DataDir string
	// Address returns the address, host:port, of a service as seen from this
	// machine, or of the listener of a key, such as "webservices.tls_listen". It is
	// empty for one that is off.
	Address func(service string) string
	// Accounts opens the accounts of the daemon.
	Accounts func(context.Context) (TrialAccounts, error)
	// Registers reports that a step reports Server.
	Registers bool
	// Server is the game server that a step has reported; nil until then. The
	// self-test closes it at the end.
	Server TrialServer
	// Remark adds to the result of a step that passes.
	Remark func(string)
}

// TrialServer is a game server that the self-test plays.
type TrialServer interface {
	// Port returns the UDP port of the server.
	Port() uint16
	// AwaitMessage waits until a message of a player arrives, and confirms it.
	AwaitMessage(context.Context) error
	// Close removes the server from the list and closes its socket.
	Close() error
}

// TrialAccounts lets a step manage accounts, and the data of their players, without the protocols.
type TrialAccounts interface {
	// Exists reports whether there is an account with an e-mail address. A step
	// calls it before it creates one: if it fails, Delete would too.
	Exists(ctx context.Context, email string) (bool, error)
	// Delete removes the account with an e-mail address, and all of its profiles.
	Delete(ctx context.Context, email string) error
	// DeleteMatch removes the match of a session that was reported for a game.
	// storage.ErrNotFound: there is none.
	DeleteMatch(ctx context.Context, game, session string) error
}
