package daemon

import (
	"cmp"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/cluster/natsbus"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Config is a complete, checked configuration: a pointer to a struct as
// configs.Keys expects it. It is not modified.
type Config interface {
	// Shared returns the settings that belong to no single service.
	Shared() Shared
}

// Shared holds the settings that belong to no single service.
type Shared struct {
	DataDir    string
	Trusted    []netip.Prefix       // limits per address do not apply to these
	Advertised []configs.Advertised // addresses under which game servers are listed
	Static     []configs.StaticServer
	Master     master.Config
	Accounts   accounts.Config
	Mail       mail.Config
	Storage    engine.Config
	Cluster    natsbus.Config
	Webhooks   []configs.Webhook
	GamesFile  string // of the operator; empty: none
	Domains    []string
	Focus      []string // games of this community
	GeoIPFile  string   // empty: none
}

// settings is a configuration as the daemon uses it. It is immutable; a reload
// makes a new one.
type settings struct {
	Shared
	config  Config
	entries []Entry
}

func newSettings(c Config) *settings {
	return &settings{Shared: c.Shared(), config: c, entries: List(c)}
}

// owner returns the service that lists servers of an origin, nil if there is
// none.
func (s *settings) owner(o *master.Origin) *Entry {
	i := slices.IndexFunc(s.entries, func(e Entry) bool { return slices.Contains(e.Origins, o) })
	if i < 0 {
		return nil
	}
	return &s.entries[i]
}

// origins returns those of the servers of all services, on or off.
func (s *settings) origins() (all master.Origins) {
	for i := range s.entries {
		all = append(all, s.entries[i].Origins...)
	}
	return all
}

// noting returns the name under which verdicts on servers of an origin are noted.
func (s *settings) noting(o *master.Origin) string {
	if e := s.owner(o); e != nil {
		return cmp.Or(o.Notes, e.Name)
	}
	return o.String()
}

// trusted reports whether limits per address do not apply to an address.
func (s *settings) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(s.Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// askEvery is service.GameServers.AskEvery.
func (s *settings) askEvery() map[*master.Origin]time.Duration {
	every := make(map[*master.Origin]time.Duration)
	for _, e := range s.entries {
		for _, o := range e.Origins {
			if e.On && e.AskEvery > 0 {
				every[o] = e.AskEvery
			}
		}
	}
	return every
}

// private is service.Players.Private.
func (s *settings) private() bool {
	return slices.ContainsFunc(s.entries, func(e Entry) bool { return e.Private })
}

// greatest returns the greatest value over all services.
func greatest[T int | time.Duration](s *settings, of func(*Entry) T) (most T) {
	for i := range s.entries {
		most = max(most, of(&s.entries[i]))
	}
	return most
}

// resetPage is operator.Local.ResetPage.
func (s *settings) resetPage() string {
	return cmp.Or(each(s, func(e *Entry) []string { return []string{e.ResetPage} })...)
}

// ResetPage returns the address of the page on which reset links are used under a
// configuration, see operator.Local.
func ResetPage(c Config) string { return newSettings(c).resetPage() }

// each returns the values of all enabled services.
func each[T any](s *settings, of func(*Entry) []T) (all []T) {
	for i := range s.entries {
		if s.entries[i].On {
			all = append(all, of(&s.entries[i])...)
		}
	}
	return all
}

// dialogue is dialogue.Recorder.Protocol.
func (s *settings) dialogue(service string) dialogue.Protocol {
	i := slices.IndexFunc(s.entries, func(e Entry) bool { return e.Name == service })
	if i < 0 {
		return dialogue.Protocol{}
	}
	return s.entries[i].Dialogue
}

// limits returns the limits of the list, without Exempt.
func (s *settings) limits() master.Limits {
	return master.Limits{
		Servers: s.Master.MaxServers, PerAddr: s.Master.MaxPerAddr, PerNet: s.Master.MaxPerNet,
		Expire: greatest(s, func(e *Entry) time.Duration { return e.Expire }), Mirror: s.Master.Mirror,
	}
}

// audit returns how many entries the audit log keeps.
func (s *settings) audit() int { return greatest(s, func(e *Entry) int { return e.Audit }) }

// names returns the host names that lead to the services.
func (s *settings) names(catalog *games.Catalog) (*games.Names, error) {
	return games.NewNames(s.Domains, catalog, s.served, each(s, func(e *Entry) []string { return e.Hosts })...)
}

func (s *settings) served(name games.Service) games.Served {
	for i := range s.entries { // pages ask for thousands of games, and an entry is large
		e := &s.entries[i]
		part, contains := e.Parts[name]
		switch {
		case !contains && e.Name != string(name):
			continue
		case e.On && (part || !contains):
			return games.Running
		default:
			return games.SwitchedOff
		}
	}
	return games.NotBuilt
}

// nouns returns those that exist while the enabled services run.
func (s *settings) nouns() noun.Set {
	set := noun.Set{}
	for _, n := range each(s, func(e *Entry) []noun.Noun { return e.Nouns }) {
		set[n] = true
	}
	return set
}

// Nouns returns those that exist under a configuration.
func Nouns(c Config) noun.Set { return newSettings(c).nouns() }

// docs is part.Catalogue.Docs.
func (s *settings) docs() map[string]bool {
	pages := make(map[string]bool)
	for _, e := range s.entries {
		for _, page := range e.Docs {
			pages[page] = pages[page] || e.On
		}
	}
	return pages
}

// registerer returns where the metrics of a shared part are registered: nil, nowhere, if it
// is about a noun that does not exist.
func (s *settings) registerer(n noun.Noun, all *prometheus.Registry) prometheus.Registerer {
	if !s.nouns().Has(n) {
		return nil
	}
	return all
}

// Served returns a function that returns whether games can use a service under
// a configuration.
func Served(c Config) func(games.Service) games.Served { return newSettings(c).served }

// Built is Served for a server of this version with all of its services on.
func Built(c Config) func(games.Service) games.Served {
	served := Served(c)
	return func(s games.Service) games.Served {
		if served(s) == games.NotBuilt {
			return games.NotBuilt
		}
		return games.Running
	}
}

// rules returns the rules that decide which address of a game server clients
// get.
func (s *settings) rules() (rules []advertise.Rule) {
	for _, a := range s.Advertised {
		rules = append(rules, advertise.Rule{From: a.From, As: a.As})
	}
	return rules
}

// static returns the servers of the configuration that are queried, as records
// of the store.
func (s *settings) static() []storage.AddedServer {
	list := make([]storage.AddedServer, 0, len(s.Static))
	for _, a := range s.Static {
		list = append(list, storage.AddedServer{Address: a.Address, Protocol: a.Protocol})
	}
	return list
}

// files returns the paths of the files of a backup by their names in it, the store
// aside.
func (s *settings) files() map[string]string {
	files := map[string]string{accounts.KeyName: s.Accounts.KeyPath(s.DataDir)}
	for _, e := range s.entries {
		if e.Files != nil {
			maps.Copy(files, e.Files(s.DataDir))
		}
	}
	return files
}

func (s *settings) storePath() string { return filepath.Join(s.DataDir, StoreName) }

// Files returns the paths of the files of a backup by their names in it, the store
// aside.
func Files(c Config) map[string]string { return newSettings(c).files() }

// FileBans reads the ban files of all services and returns the lines that cover an
// address, all of them if it is zero.
func FileBans(c Config, a netip.Addr) (list []operator.FileBan, err error) {
	s := newSettings(c)
	for _, e := range s.entries {
		if e.FileBans == nil || !e.On {
			continue
		}
		more, err := e.FileBans(s.DataDir, a)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// StaticServers returns the servers that a configuration names, as records of
// the store.
func StaticServers(c Config) []storage.AddedServer { return newSettings(c).static() }

// resolves reports whether a service answers for the host names.
func (s *settings) resolves() bool {
	return slices.ContainsFunc(s.entries, func(e Entry) bool { return e.On && e.Guests.Resolver })
}
