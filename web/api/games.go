package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/web/front"
)

// gameJSON is a game as /api/v1/games shows it. It has no other fields of the
// catalogue on purpose: those are for the operator, and some are secret.
type gameJSON struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	ID          int    `json:"id"`
	QueryPort   uint16 `json:"query_port"`
	Servers     int    `json:"servers"`
	Players     int    `json:"players"`
	Maintenance bool   `json:"maintenance"`
	// State is what is known of playing the game here: the best word of its editions. See is
	// the game of which this name is only another version, of which nothing is said.
	State    games.Word    `json:"state"`
	See      string        `json:"see"`
	Editions []editionJSON `json:"editions"`
	// Services says whether its services run here, Standing is the same under its old name;
	// Missing are those that it asks for and that do not run here.
	Services string          `json:"services"`
	Standing string          `json:"standing"`
	Missing  []games.Service `json:"missing"`
	Platform games.Platform  `json:"platform"` // of the title; empty: a computer
	Played   *playedJSON     `json:"played"`   // what players reported of it; nil: nothing
	// Elsewhere is what other daemons say of themselves, see played.Peer; nil: nothing.
	Elsewhere *elsewhereJSON `json:"played_elsewhere"`
	Picture   string         `json:"picture"` // path of it; empty: there is none
}

// playedJSON are the reports of players that count.
type playedJSON struct {
	Times        int    `json:"times"` // that it was played
	Last         string `json:"last"`  // day when it was
	Version      string `json:"version"`
	StoppedAfter string `json:"stopped_after"` // step after which it stopped in the last reports
}

// viewReported returns nil if there are no reports.
func viewReported(r games.Reported) *playedJSON {
	if r.Times == 0 && r.StoppedAt == "" {
		return nil
	}
	return &playedJSON{r.Times, r.Last, clean.Text(r.Version), r.StoppedAt}
}

// elsewhereJSON is how often a game was played at other daemons.
type elsewhereJSON struct {
	Times   int    `json:"times"`
	Last    string `json:"last"`
	Version string `json:"version"`
}

// viewElsewhere returns nil if it was not played there.
func viewElsewhere(t games.Tally) *elsewhereJSON {
	if t.Times == 0 {
		return nil
	}
	return &elsewhereJSON{t.Times, t.Last, clean.Text(t.Version)}
}

// editionJSON is what is known of some copies of a game.
type editionJSON struct {
	Copies   []string       `json:"copies"`
	Version  string         `json:"version"`
	State    games.Word     `json:"state"`
	Words    string         `json:"words"` // the state as text
	Way      string         `json:"way"`
	Patch    []games.Change `json:"patch"`
	HTTPS    bool           `json:"https"`
	Refuse   []string       `json:"refuse"`
	Evidence *evidenceJSON  `json:"evidence"` // nil: there is none
	Hint     string         `json:"hint"`
	Played   *playedJSON    `json:"played"` // nil: nothing was reported
	// Elsewhere is as in gameJSON.
	Elsewhere *elsewhereJSON `json:"played_elsewhere"`
}

type evidenceJSON struct {
	What   string `json:"what"`
	Source string `json:"source"`
	Date   string `json:"date"`
}

// Host is a name that clients of a game look up.
type Host struct {
	Name    string `json:"name"`
	Domain  string `json:"domain"`
	Service string `json:"service"`
	Served  bool   `json:"served"` // the service runs here
}

// gameDetails is a game as /api/v1/games/{name} shows it.
type gameDetails struct {
	gameJSON
	Hosts         []Host          `json:"hosts"`
	Needs         []games.Service `json:"needs"`
	Uses          []games.Service `json:"uses"`
	Namespace     int             `json:"namespace"` // of the unique nicks that its players sign in with
	LANPorts      []uint16        `json:"lan_ports"`
	Aliases       []string        `json:"aliases"`
	Shared        bool            `json:"shared_list"` // servers of the game and of its other names are in one list
	*LobbyMembers                 // nil: there are no rooms here
	Via           string          `json:"via"`
}

// LobbyMembers holds the rooms of a game, with the numbers of their members.
type LobbyMembers struct {
	Members int        `json:"title_members"` // of the title room in chat
	Rooms   []roomJSON `json:"rooms"`
}

type roomJSON struct {
	ID      uint32 `json:"id"`
	Name    string `json:"name"`
	Members int    `json:"members"` // of its chat room
}

// gamesQuestion is the question for the catalogue, gameQuestion that for a game.
type (
	gamesQuestion struct {
		active  bool
		state   games.Word
		all     bool   // in any state
		reports uint64 // see Reports
	}
	gameQuestion struct {
		name    string
		members uint64 // version of the counts of its chat rooms
		reports uint64 // see Reports
	}
)

// serveGames answers /api/v1/games.
func (s *API) serveGames(w http.ResponseWriter, r *http.Request, p Params) error {
	active, err := p.Flag("active")
	if err != nil {
		return err
	}
	state, all, err := p.State()
	if err != nil {
		return err
	}
	list := s.lister.now()
	q := gamesQuestion{active, state, all, s.Reports()}
	s.ReplyTagged(w, r, front.JSON, &list.Answers, q, func() []byte { return s.encodeGames(list, q) })
	return nil
}

// catalogue shows the games of the catalogue.
type catalogue struct {
	lister  *lister
	domains []string                         // see Options.Domains
	served  func(games.Service) games.Served // see Options.Served
	played  *played.Table                    // see Options.Played
	picture func(game string) string         // see Options.Picture
}

// Game returns a game of the catalogue by its name, if it concerns this site.
func (s *catalogue) Game(name string) (games.Game, bool) {
	g, ok := s.lister.catalog.Lookup(name)
	return g, ok && s.offers(s.lister.now(), &g)
}

// Games returns the games that concern this site: those that services here are for, and
// those of listed servers.
func (s *catalogue) Games(list *Snapshot) (offered []games.Game) {
	for g := range s.lister.catalog.Each() {
		if s.offers(list, g) {
			offered = append(offered, *g)
		}
	}
	return offered
}

func (s *catalogue) offers(list *Snapshot, g *games.Game) bool {
	servers, _ := list.Population(g.Name)
	return servers > 0 || g.Offered(s.served)
}

// encodeGames writes the catalogue, sorted by name.
func (s *catalogue) encodeGames(list *Snapshot, q gamesQuestion) []byte {
	out := []gameJSON{}
	for _, g := range s.Games(list) {
		if v := s.viewGame(list, g); (!q.active || v.Servers > 0) && (q.all || v.State == q.state) {
			out = append(out, v)
		}
	}
	return encodeJSON(out)
}

// Standing compares the needs of a game with the services that run here.
func (s *catalogue) Standing(g games.Game) games.Standing { return g.Standing(s.served) }

// Outlooks returns what is known of playing the editions of a game here.
func (s *catalogue) Outlooks(g games.Game) []games.Outlook { return g.Outlooks(s.served, s.reports(g)) }

// Says returns what is known of playing a game here, in sentences of a language.
func (s *catalogue) Says(l *lang.Language, g games.Game) (lines []string) {
	for _, line := range g.SaysIn(l, s.served, s.reports(g)) {
		lines = append(lines, clean.Text(line))
	}
	return lines
}

// Word returns what can be said of playing a game here.
func (s *catalogue) Word(g games.Game) games.Word { return g.Outlook(s.served, s.reports(g)).Word }

// reports returns what players reported of a game.
func (s *catalogue) reports(g games.Game) games.Reports {
	if s.played == nil {
		return nil
	}
	return s.played.Of(s.ReportedAs(g))
}

// ReportedAs returns the name under which reports on a game are kept: one for all its names.
func (s *catalogue) ReportedAs(g games.Game) string {
	base, _ := s.lister.catalog.Base(g.Name)
	return cmp.Or(base.Name, g.Name)
}

// Reports returns a number that changes with the reports of players.
func (s *catalogue) Reports() uint64 {
	if s.played == nil {
		return 0
	}
	return s.played.Serial()
}

// viewEditions returns the editions of a game; of one without them, none.
func viewEditions(list []games.Outlook) []editionJSON {
	out := []editionJSON{}
	for i := range list {
		o := &list[i]
		e := &o.Edition
		if len(e.Copies) == 0 {
			continue
		}
		v := editionJSON{
			Copies: e.Copies, Version: clean.Text(e.Version), State: o.Word, Words: clean.Text(o.String()), Way: e.Way,
			Played: viewReported(o.Reported), Elsewhere: viewElsewhere(o.Elsewhere), Patch: orEmpty(e.Patch), HTTPS: e.HTTPS, Refuse: orEmpty(e.Refuse), Hint: clean.Text(e.Hint),
		}
		if e.Evidence != "" {
			v.Evidence = &evidenceJSON{clean.Text(e.Evidence), clean.Text(e.Source), e.Date}
		}
		out = append(out, v)
	}
	return out
}

func (s *catalogue) viewGame(now *Snapshot, g games.Game) gameJSON {
	standing := s.Standing(g)
	missing := make([]games.Service, 0, len(standing.Missing))
	for _, m := range standing.Missing {
		missing = append(missing, m.Service)
	}
	servers, players := now.Population(g.Name)
	title := clean.Text(g.Title)
	if title == "" {
		title = g.Name
	}
	var reported games.Reported
	if reports := s.reports(g); reports != nil {
		reported = reports(nil)
	}
	picture := ""
	if s.picture != nil {
		picture = s.picture(g.Name)
	}
	return gameJSON{
		Picture: picture,
		Played:  viewReported(reported), Elsewhere: viewElsewhere(reported.Elsewhere),
		Name: g.Name, Title: title, ID: g.ID, QueryPort: g.QueryPort,
		Servers: servers, Players: players, Maintenance: g.Maintenance,
		State: s.Word(g), See: g.See, Editions: viewEditions(s.Outlooks(g)), Platform: g.Platform(),
		Services: standing.String(), Standing: standing.String(), Missing: missing,
	}
}

// serveGame answers /api/v1/games/{name}.
func (s *API) serveGame(w http.ResponseWriter, r *http.Request, _ Params) error {
	g, err := s.named(r)
	if err != nil {
		return err
	}
	list := s.lister.now()
	s.ReplyTagged(w, r, front.JSON, &list.Answers, gameQuestion{g.Name, s.lobby.of(g.Name).version, s.Reports()}, func() []byte {
		return encodeJSON(s.viewDetails(list, g))
	})
	return nil
}

func (s *API) viewDetails(list *Snapshot, g games.Game) gameDetails {
	base, _ := s.lister.catalog.Base(g.Name)
	v := gameDetails{
		gameJSON: s.viewGame(list, g), Hosts: s.Hosts(g), Namespace: g.UniqueNicks(), Via: g.Means(),
		Needs: orEmpty(g.Needs), Uses: orEmpty(g.Uses), LANPorts: orEmpty(g.LANPorts), Aliases: orEmpty(g.Aliases),
		Shared: base.SharedList,
	}
	if !s.opt.Nouns.Has(noun.Rooms) {
		return v
	}
	title, rooms, _, _ := s.Lobby(g)
	v.LobbyMembers = &LobbyMembers{title, []roomJSON{}}
	for _, r := range rooms {
		v.Rooms = append(v.Rooms, roomJSON{r.ID, clean.Text(r.Name), r.Members})
	}
	return v
}

// orEmpty returns a list that JSON shows as [] if there is nothing in it.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Hosts returns the names that clients of a game look up under every domain, and
// that may lead here.
func (s *catalogue) Hosts(g games.Game) []Host {
	out := []Host{}
	seen := make(map[string]bool)
	for _, domain := range g.DomainsBeside(s.domains) {
		names, err := g.HostNames(domain)
		if err != nil { // no name could be made of it, so no client looks it up
			continue
		}
		for _, n := range names {
			if !seen[n.Name] && n.LeadsHere(s.served) {
				seen[n.Name] = true
				out = append(out, Host{n.Name, domain, string(n.For), n.Served(s.served)})
			}
		}
	}
	return out
}

// encodeJSON writes a value that always has a JSON form.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the type is JSON, and nosniff; names stay readable
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}
