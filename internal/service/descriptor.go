package service

import (
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Descriptor describes a service to the daemon and to the others. The daemon knows
// no protocol: what it has to know about one stands here. All fields are optional.
type Descriptor struct {
	// Title says to players what the service is for. Empty: they have nothing to do
	// with it, and the pages leave it out.
	Title string
	// Stage is when the service is opened: lower first, equal ones in the order of
	// their sections.
	Stage Stage
	// Hosts are host names that clients of the service look up, beside those of
	// games. Lower case, without a final dot.
	Hosts []string
	// Shows reports that the service gives addresses of game servers to clients.
	Shows bool
	// Origins are those of the servers that the service lists. Verdicts on them are
	// noted under its name, also by others.
	Origins []master.Origin
	// Bans is the scope of bans that keep servers of its origins off the list. While
	// the service is on, it enforces them by itself. Zero: storage.ScopeLists, which
	// the daemon enforces.
	Bans storage.Scope
	// Decoder returns what reads the saved reports of servers of its origins; nil:
	// the list keeps no reports of them.
	Decoder func(*master.Registry) master.Decoder
	// Protocols are words for the protocols in which the service asks servers.
	Protocols []string
	// Steps are the steps of the self-test that test the service.
	Steps []Step

	// What follows depends on the settings.

	// Switch is the key that a service without a key listen is switched on with, for
	// messages. Empty: it is off.
	Switch string
	// Further are addresses of this machine, host:port, from which other services
	// may send too.
	Further []string
	// Expire is how long a server stays in the list without a report, where the
	// services say nothing else.
	Expire time.Duration
	// Sessions bounds the sessions of players.
	Sessions int
	// AskEvery is how often servers of its origins are asked what they play, although
	// they report by themselves. 0: never.
	AskEvery time.Duration
	// Audit is how many entries the audit log keeps.
	Audit int
	// Private reports that strangers must not learn who has an account.
	Private bool
	// Files returns the files of the service that a backup holds, by name there, for
	// a data folder.
	Files func(dataDir string) map[string]string
	// Check returns mistakes in files of the service, and in settings that show only on
	// this machine, for a data folder.
	Check func(dataDir string, when Moment) error
	// Guests is what guests of a LAN party use the service for.
	Guests Guests
}

// Stage is when a service is opened.
type Stage int

// The stages.
const (
	StageIntake Stage = iota // takes reports, answers games
	StageViews               // answers from what others have listed
	StagePages               // pages, the API of operators, names
	StageSearch              // finds game servers and asks them: after all that a port is configured for
)

// Moment is when something is checked.
type Moment int

// The moments.
const (
	AtStart   Moment = iota // mistakes for which the daemon does not start
	AtReload                // those that would change what runs for the worse, too
	OnCommand               // everything that an operator should see, too
)

// Guests is what guests of a LAN party use a service for.
type Guests struct {
	Invited  bool   // the settings are those of a LAN party
	Resolver bool   // their PCs ask the service for names
	Page     bool   // it has a page with the servers
	PageURL  string // of the page; empty: as the machine is reached
}
