package games

import (
	"cmp"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/lang"
)

// Service is the name of a service that games ask for, as in the keys of the
// configuration where this program has it.
type Service string

// Kind is a service that records may name.
type Kind struct {
	Name  Service
	Words string // its name for players, as in "all but NAME run"
	Via   string // further steps for players beside DNS; empty: none
	// Names reports that games which name the service register with it by their Quake3 names.
	Names bool
	// Query is the protocol in which their servers answer queries; with Names alone.
	Query string
}

// kinds are those that records may name: those of GameSpy, some that are not part of this program, and
// those that packages declare.
var kinds = []Kind{
	{Name: serverReports, Words: "server registration"},
	{Name: "serverbrowse", Words: "server lists"},
	{Name: "legacylist", Words: "old server lists"},
	{Name: "gpcm", Words: "sign-in"},
	{Name: "gpsp", Words: "account search"},
	{Name: "natneg", Words: "NAT negotiation"},
	{Name: "cdkey", Words: "CD key checks"},
	{Name: "gstats", Words: "statistics"},
	{Name: "peerchat", Words: "chat"},
	{Name: "webservices", Words: "web services"},
	{Name: "mangler", Words: "EA's NAT helper"},
	{Name: "quickmatch", Words: "quick matches"},
	{
		Name: "fesl", Words: "EA's sign-in",
		Via: "The game signs in at EA's own service (FESL) and accepts no certificate but EA's. It needs a client program that makes it speak plain text, or, where the operator has set fesl.ssl3, a copy that accepts any certificate.",
	},
	{Name: "maplist", Words: "its official map list"},
	{
		Name: "nas", Words: "Nintendo's sign-in",
		Via: "Set the DNS server of the console. Games that insist on a certificate of the maker of the console also need a patch that makes them ask over http.",
	},
	{Name: "race", Words: "race service of Nintendo"},
}

// serverReports is the service to which servers of GameSpy's games report.
const serverReports Service = "qr2"

// Declare lets records name a service. A master server declares itself so: it initialises a variable
// of its package. Catalogues are made later. Declare panics if there is such a service.
func Declare(k Kind) Kind {
	if k.Name.known() {
		panic("games: " + string(k.Name) + " is declared twice")
	}
	kinds = append(kinds, k)
	return k
}

// known reports whether a record may name the service.
func (s Service) known() bool { return s.kind().Name != "" }

// kind returns the zero Kind for a service that records cannot name.
func (s Service) kind() Kind {
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == s }); i >= 0 {
		return kinds[i]
	}
	return Kind{}
}

// Words returns the name of the service for players.
func (s Service) Words() string { return cmp.Or(s.kind().Words, string(s)) }

// Means returns the steps that a player of the game must take beside DNS: Via, or else those of the
// services that the game needs. Empty: nothing.
func (f Facts) Means() string {
	if f.Via != "" {
		return f.Via
	}
	for _, s := range f.Needs {
		if via := s.kind().Via; via != "" {
			return via
		}
	}
	return ""
}

// serviceList returns the names of all services.
func serviceList() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Served is whether a service can be used here.
type Served uint8

// The states of a service.
const (
	NotBuilt    Served = iota // this version does not have it
	SwitchedOff               // it has no address to listen on
	Running
)

// State is whether the services of a game run here. It says nothing of copies of the game;
// Outlook does.
type State string

// The states. Unknown is the one of a game whose record does not state its
// needs.
const (
	Unknown State = "unknown"
	All     State = "all"     // those that it needs and uses run
	Partly  State = "partly"  // something that it uses is missing
	Lacking State = "lacking" // something that it needs is missing
)

// Missing is a service that a game needs and that cannot be used here.
type Missing struct {
	Service Service
	Needed  bool // it cannot be played without
	Built   bool // the service is switched off; false: this version does not have it
}

// Standing describes whether the services of a game run here.
type Standing struct {
	State   State
	Missing []Missing // needed services come first
}

// lists are the services by which GameSpy listed servers, for games with a secret alone.
var lists = []Service{serverReports, "serverbrowse", "legacylist"}

// LacksSecret reports whether servers of the game cannot be listed because it has no secret here. One
// that needs another master, and none of lists, needs no secret.
func (g Game) LacksSecret() bool {
	known := len(g.Needs) > 0 && !slices.ContainsFunc(g.Needs, func(s Service) bool { return slices.Contains(lists, s) })
	return !g.Usable() && !known && !g.Policy.NoSecure.Or(false)
}

// Offered reports whether the game concerns a site with these services: one that it needs
// runs, or one that all games report to or ask for lists while none that it needs is off.
func (f Facts) Offered(served func(Service) Served) bool {
	in := func(state Served) func(Service) bool { return func(s Service) bool { return served(s) == state } }
	return slices.ContainsFunc(f.Needs, in(Running)) ||
		!slices.ContainsFunc(f.Needs, in(SwitchedOff)) && slices.ContainsFunc(lists, in(Running))
}

// Standing compares the needs of the game with the services that run here.
// served is called once for each service.
func (f Facts) Standing(served func(Service) Served) Standing {
	if len(f.Needs) == 0 {
		return Standing{State: Unknown}
	}
	s := Standing{State: All}
	for _, needed := range []bool{true, false} {
		list, missing := f.Uses, Partly
		if needed {
			list, missing = f.Needs, Lacking
		}
		for _, name := range list {
			state := served(name)
			if state == Running {
				continue
			}
			s.Missing = append(s.Missing, Missing{Service: name, Needed: needed, Built: state == SwitchedOff})
			if s.State == All {
				s.State = missing
			}
		}
	}
	return s
}

// String returns the standing as text: "all run", "all but statistics run", "chat is missing",
// "chat is switched off", "not known".
func (s Standing) String() string {
	needed := func(built bool) []string {
		return s.words(func(m Missing) bool { return m.Needed && m.Built == built })
	}
	switch s.State {
	case All:
		return "all run"
	case Partly:
		return "all but " + join(s.words(func(Missing) bool { return true })) + " run"
	case Lacking:
		if absent := needed(false); len(absent) > 0 {
			return join(absent) + verbOf(absent) + " missing in this version"
		}
		return join(needed(true)) + verbOf(needed(true)) + " switched off"
	default:
		return "not known"
	}
}

// verbOf returns the verb that follows the words.
func verbOf(words []string) string {
	if len(words) > 1 || strings.HasSuffix(words[0], "s") {
		return " are"
	}
	return " is"
}

// words returns the names for players of the missing services that pick
// accepts.
func (s Standing) words(pick func(Missing) bool) (out []string) {
	for _, m := range s.Missing {
		if pick(m) && !slices.Contains(out, m.Service.Words()) {
			out = append(out, m.Service.Words())
		}
	}
	return out
}

// join returns the words as an enumeration.
func join(words []string) string { return joinIn(nil, words) }

func joinIn(l *lang.Language, words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return l.T("%1 and %2", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
