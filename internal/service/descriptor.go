package service

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Descriptor describes a service to the daemon and to other services. The
// daemon knows a protocol only through its Descriptor. All fields are optional.
type Descriptor struct {
	// Title describes the service to players. If empty, the service does not
	// concern them, and the pages leave it out.
	Title string
	// Nouns are those that exist while the service is on: their pages, routes, metrics and
	// texts do only then.
	Nouns []noun.Noun
	// Docs are the pages of the documentation about the service, such as "protocols/qr2". A
	// page that no service names is about noun.GameSpy.
	Docs []string
	// Stage is when the service is opened: lower first, equal ones in the order of
	// their sections.
	Stage Stage
	// Hosts are host names that clients of the service look up, in addition to
	// those of games. Lower case, without a final dot.
	Hosts []string
	// Shows reports that the service sends addresses of game servers to
	// clients.
	Shows bool
	// Origins are those of the servers that the service lists. Verdicts on them
	// are noted under its name, even by other services.
	Origins []*master.Origin
	// Optional reports that Open may leave the service out, see ErrLeftOut.
	Optional bool
	// Bans is the scope of bans that keep servers of its origins off the list;
	// the service enforces it itself while it is on. Zero: storage.ScopeLists,
	// which the daemon enforces.
	Bans storage.Scope
	// Decoder returns a decoder for the saved reports of servers of its
	// origins; nil: the list saves no reports of them.
	Decoder func(*master.Registry) master.Decoder
	// Protocols are the names of the protocols in which the service queries
	// servers.
	Protocols []string
	// Needs names the services without which this one is off.
	Needs []string
	// Steps are the steps of the self-test that test the service, Plays those of the trial game.
	Steps []Step
	Plays []Play
	// Takes are the verdicts on packets that arrive at another service and belong to this one.
	Takes []verdicts.Verdict
	// Connect tells players and operators of game servers how to set this master, where they are given no
	// names to look up: a text with {address}, {port} and code between backquotes. Empty: nothing.
	Connect string

	// Dialogue is what a recording must know of its messages; without it only their lengths are
	// recorded.
	Dialogue dialogue.Protocol

	// The fields below depend on the settings.

	// Parts are services of their own for games that this one contains, and whether
	// each is on while this one is.
	Parts map[games.Service]bool

	// Switch is the key that enables a service without a key "listen", for
	// messages. Empty: the service is off.
	Switch string
	// Further are addresses of this machine, host:port, from which other
	// services may also send.
	Further []string
	// Expire is how long a server stays in the list without a report, unless
	// its service sets another time.
	Expire time.Duration
	// Sockets are how many sockets the service may open beside its own, by the key of
	// the limit. Those of connections, under max_conns, are known without it.
	Sockets map[string]int
	// Sessions bounds the sessions of players.
	Sessions int
	// AskEvery is the interval at which servers of its origins are queried
	// although they report by themselves. 0: never.
	AskEvery time.Duration
	// Audit is the number of entries that the audit log keeps.
	Audit int
	// Private reports that strangers must not learn which accounts exist.
	Private bool
	// FileBans reads the lines of the service's ban files that cover an address, all of
	// them if it is zero; nil: it has no such files. See Callbacks for one that runs.
	FileBans func(dataDir string, a netip.Addr) ([]operator.FileBan, error)
	// Files returns the files of the service that a backup holds, by name there, for
	// a data folder.
	Files func(dataDir string) map[string]string
	// SharedKeys are those of Files that must be the same on all nodes that use a
	// database, with the keys of the configuration that name them.
	SharedKeys map[string]string
	// Check returns the mistakes in the service's files and settings that can
	// only be found on this machine, for a data folder.
	Check func(dataDir string, when Moment) error
	// ResetPage is the address of the page on which players use reset links, only
	// its path if the public address is not known.
	ResetPage string
	// Guests describes the use of the service by guests of a LAN party.
	Guests Guests
}

// Stage is when a service is opened.
type Stage int

// The stages.
const (
	StageIntake Stage = iota // takes reports, answers games
	StageViews               // answers from the list
	StagePages               // pages, the API of operators, names
	StageSearch              // finds and queries game servers: after all services with a configured port
)

// Moment is when something is checked.
type Moment int

// The moments.
const (
	AtStart   Moment = iota // mistakes that prevent a start
	AtReload                // also mistakes that would harm the running daemon
	OnCommand               // also everything else that an operator should see
)

// Guests describes the use of a service by guests of a LAN party.
type Guests struct {
	Invited  bool   // the settings are those of a LAN party
	Resolver bool   // the service resolves names for their PCs
	Page     bool   // it has a page with the servers
	PageURL  string // of the page; empty: the address of the machine
}
