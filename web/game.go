package web

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

// gamesView is the data of the catalogue template.
type gamesView struct {
	page.Frame
	Query  string
	State  games.Word // empty: any
	States []games.Word
	Games  []gameView
	Found  int // games that match; Games may be some of them
	Known  int
	Focus  bool   // Games are those of this community
	More   string // link to the next page
	Fewer  string // link to the page before
}

// gamesRows is the number of games on one page.
const gamesRows = 100

// gamesURL returns the link to a page of the catalogue.
func (s *Server) gamesURL(v *gamesView, number int) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": v.Query, "state": string(v.State)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if number > 1 {
		q.Set("page", strconv.Itoa(number))
	}
	return s.site.Base() + "/games?" + q.Encode()
}

// serveGames answers /games.
func (s *Server) serveGames(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if name := q.Get("name"); name != "" {
		s.chooseGame(w, r, name)
		return
	}
	p := parsePageParams(r.URL.RawQuery)
	state, _, err := api.Params{"state": q.Get("state")}.State()
	if err != nil {
		state = ""
	}
	list := s.api.Snapshot()
	asked := gamesQuestion{p.query, state, p.page}
	s.replyPage(w, r, list, asked, func(l *lang.Language) []byte { return s.gamesPage(l, list, asked) })
}

// gamesQuestion is the question for a page of the catalogue.
type gamesQuestion struct {
	query string
	state games.Word
	page  int
}

// gamesPage writes a page of the catalogue.
func (s *Server) gamesPage(l *lang.Language, list *api.Snapshot, q gamesQuestion) []byte {
	v := gamesView{Frame: s.site.Frame(l, l.T("Games"), page.Games), Query: q.query, State: q.state, States: games.AllWords()}
	v.Focus = len(s.opt.Focus) > 0 && v.Query == "" && v.State == ""
	all := s.matchingGames(list, &v)
	v.Found = len(all)
	first := min((q.page-1)*gamesRows, len(all))
	last := min(first+gamesRows, len(all))
	v.Games = all[first:last]
	if last < len(all) {
		v.More = s.gamesURL(&v, q.page+1)
	}
	if q.page > 1 {
		v.Fewer = s.gamesURL(&v, q.page-1)
	}
	return templates.Render("games", v)
}

// matchingGames returns the games that match a search, the best match first, without one those
// with players first. It sets the number of all games.
func (s *Server) matchingGames(list *api.Snapshot, v *gamesView) (out []gameView) {
	all := s.api.Games(list)
	v.Known = len(all)
	for _, g := range games.Search(all, v.Query) {
		servers, players := list.Population(g.Name)
		title := s.api.Title(g.Name)
		word := s.api.Word(g)
		switch {
		case v.Focus && !s.focused(g.Name) && servers == 0:
			continue
		case v.State != "" && (word != v.State || g.See != ""):
			continue
		}
		words := v.Lang.T(word.String())
		if word == games.NotKnown {
			words = "" // nearly all games
		}
		out = append(out, gameView{
			Name: g.Name, Title: clean.Line(title, maxGameText), Servers: servers, Players: players,
			Link: s.gameURL(g.Name), Standing: words, Focus: s.focused(g.Name), Picture: s.pictureURL(g.Name),
		})
	}
	if v.Query != "" {
		return out
	}
	slices.SortStableFunc(out, func(a, b gameView) int {
		return cmp.Or(boolOrder(a.Focus, b.Focus), b.Players-a.Players, b.Servers-a.Servers, compareTexts(a.Title, b.Title))
	})
	return out
}

// focused reports whether a game is one of this community.
func (s *Server) focused(name string) bool {
	return slices.ContainsFunc(s.opt.Focus, func(f string) bool { return ascii.EqualFold(f, name) })
}

// boolOrder puts true before false.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// gamePage is the data of a game's template.
type gamePage struct {
	page.Frame
	Name             string
	Picture          string // address; empty: it has none
	Maintenance      bool
	LacksSecret      bool
	Servers, Players int
	Table            rowTable
	More             string // link to the whole list
	Zandronum        bool
	Running          running

	Address    string   // that the names are to resolve to; empty if unknown
	BadAddress bool     // the visitor gave one that cannot be
	Given      bool     // the visitor gave it
	Hosts      string   // lines for a hosts file; empty without an address
	Links      kitLinks // if there are any
	Names      []namesView

	Report   *reportView // nil: the visitor cannot report how the game works
	Editions []editionView
	See      *nameView // the game of which this one is only another version
	Platform string    // what holds for all titles of the console; empty: a computer
	Missing  []missingView
	Via      string   // further steps for players
	Settings []string // lines of settings files; none without an address
	Chat     bool     // there is chat, and the game has a lobby
	Waiting  int      // members of the title room in chat
	Rooms    []roomView
	Boards   []boardView
	Matches  []matchView
	Records  []recordsView
	Charts   []template.HTML
	Others   []nameView // other names of the same game, the game itself first
	Shared   bool       // servers of all of these are in one list
}

// chatService is the service of games that pages name where games need it.
const chatService games.Service = "peerchat"

// roomView is a group room of a game.
type roomView struct {
	Name    string
	Members int
}

// nameView is a name of a game with a page of its own.
type nameView struct{ Name, Title, Link string }

// otherNames returns the names of the game g but its own.
func (s *Server) otherNames(g, base games.Game) (out []nameView) {
	for _, name := range append([]string{base.Name}, base.Aliases...) {
		if _, known := s.api.Game(name); known && name != g.Name {
			out = append(out, nameView{name, clean.Line(s.api.Title(name), maxGameText), s.gameURL(name)})
		}
	}
	return out
}

// editionView is what is known of playing some copies of a game here.
type editionView struct {
	Copies, Words          string
	Bad                    bool // they cannot be played here
	Evidence, Date, Source string
	Refuse                 template.HTML // names that must have no address
	HTTPS                  bool
	Guess                  bool // which services it asks is not known for sure
	Hint                   string
}

// editionsOf returns what is known of the editions of a game.
func editionsOf(l *lang.Language, list []games.Outlook) (out []editionView) {
	for i := range list {
		o := &list[i]
		e := &o.Edition
		v := editionView{
			Copies: clean.Line(e.NameIn(l), maxGameText), Words: clean.Text(o.In(l)), Bad: slices.Contains([]games.Word{games.Elsewhere, games.TurnedOff, games.Blocked}, o.Word),
			Evidence: clean.Text(e.Evidence), Date: clean.Text(e.Date), Source: clean.Text(e.Source), Refuse: codes(e.Refuse), HTTPS: e.HTTPS, Guess: e.Basis == "guess", Hint: clean.Text(e.Hint),
		}
		if o.Word != games.NotKnown || len(list) > 1 || o.Elsewhere.Times > 0 {
			out = append(out, v)
		}
	}
	return out
}

// codes enumerates texts as code.
func codes(texts []string) template.HTML {
	var b []byte
	for i, text := range texts {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(appendText(append(b, "<code>"...), text), "</code>"...)
	}
	return markup(b)
}

// missingView is a service that the game needs and that does not run here.
type missingView struct {
	What   string // in words
	Needed bool
	Why    string
}

// missingOf returns the services that a game needs and that do not run here.
func missingOf(l *lang.Language, standing games.Standing) (out []missingView) {
	for _, m := range standing.Missing {
		why := l.T("this version does not have it")
		if m.Built {
			why = l.T("it is switched off here")
		}
		out = append(out, missingView{l.T(m.Service.Words()), m.Needed, why})
	}
	return out
}

// namesView are the names that clients of a game resolve for one service.
type namesView struct {
	Service string
	Names   []string
}

// serveGame answers /games/{name}.
func (s *Server) serveGame(w http.ResponseWriter, r *http.Request) {
	g, ok := s.api.Game(r.PathValue("name"))
	if !ok {
		s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
		return
	}
	given := strings.TrimSpace(r.URL.Query().Get("ip"))
	a, ok := s.hostsAddress(r, given)
	q := gamePageQuestion{name: g.Name, given: given != "", bad: !ok, off: g.Maintenance, keyless: g.LacksSecret(), asker: s.api.Asker(r)}
	q.near = front.IsNear(s.Visitor(r))
	_, _, q.members, _ = s.api.Lobby(g)
	q.reports, q.reported = s.api.Reports(), reportName(r.URL.Query())
	if ok {
		q.address = a
	}
	list := s.api.Snapshot()
	s.replyPage(w, r, list, q, func(l *lang.Language) []byte {
		return s.gamePage(context.WithoutCancel(r.Context()), l, list, q) // other visitors share it
	})
}

// gamePageQuestion is the question for the page of a game.
type gamePageQuestion struct {
	name         string
	address      netip.Addr // for the hosts file; zero if unknown
	near         bool       // the visitor is of a private network
	given, bad   bool       // the visitor gave an address; it cannot be one
	reports      uint64     // version of the reports of players
	reported     string     // what became of the visitor's; one of reportResults
	off, keyless bool       // for maintenance; see games.Game.LacksSecret
	asker        advertise.Asker
	members      uint64 // version of the counts of its chat rooms
}

// gamePage writes the page.
func (s *Server) gamePage(ctx context.Context, l *lang.Language, list *api.Snapshot, q gamePageQuestion) []byte {
	rows := choosePage(list, pageParams{game: q.name})
	servers, players := list.Population(q.name)
	v := gamePage{
		Frame: s.site.LiveFrame(l, clean.Line(s.api.Title(q.name), maxGameText), page.Games, q.name),
		Name:  q.name, Picture: s.pictureURL(q.name), Maintenance: q.off, LacksSecret: q.keyless, Servers: servers, Players: players,
		Table: s.table(l, rows[:min(len(rows), PageRows)], list.Begun, q.asker, false, "", unsorted), Zandronum: q.name == zandronum.Game,
		Running:    s.running(l, ""),
		BadAddress: q.bad, Given: q.given,
	}
	if g, ok := s.opt.Games.Lookup(q.name); ok {
		v.Names, v.Missing, v.Platform = s.namesOf(g), missingOf(l, s.api.Standing(g)), l.T(g.Platform().Sentence())
		if v.Editions = editionsOf(l, s.api.Outlooks(g)); g.See != "" {
			v.See = &nameView{g.See, clean.Line(s.api.Title(g.See), maxGameText), s.gameURL(g.See)}
		}
		v.Report = s.reportOn(l, g, q.reported)
		base, _ := s.opt.Games.Base(g.Name)
		v.Via, v.Others, v.Shared = clean.Text(l.T(g.Means())), s.otherNames(g, base), base.SharedList
		v.Boards = s.boards(ctx, l, g)
		v.Matches = s.matches(ctx, l, g)
		v.Records = s.records(ctx, l, g)
		v.Charts = s.gameCharts(l, g.Name)
		var rooms []api.RoomView
		v.Waiting, rooms, _, v.Chat = s.api.Lobby(g)
		v.Chat = v.Chat && (len(rooms) > 0 || v.Waiting > 0 || slices.Contains(g.Needs, chatService) || slices.Contains(g.Uses, chatService))
		for _, r := range rooms {
			v.Rooms = append(v.Rooms, roomView{clean.Line(r.Name, maxGameText), r.Members})
		}
	}
	if len(rows) > PageRows {
		v.More = s.listURL(pageParams{game: q.name}, 1)
	}
	if q.address.IsValid() {
		v.Address = q.address.String()
		v.Hosts = string(s.hostsFile(q.name, q.address))
		if g, ok := s.opt.Games.Lookup(q.name); ok {
			for _, line := range g.SettingsFor(q.address) {
				v.Settings = append(v.Settings, clean.Text(line))
			}
		}
		v.Links = s.kitLinks(q)
	}
	v.Table.Caption = l.T("Servers of this game, most players first")
	v.Preview = s.site.Preview(s.gameURL(q.name), v.Title+": "+populationText(l, servers, players)+".").With(v.Picture)
	return templates.Render("game", v)
}

// hostsAddress returns the address for the lines of a hosts file: the one that
// the visitor gave, else that of this daemon, which is zero if it is not known.
// ok is false if the visitor entered an invalid one.
func (s *Server) hostsAddress(r *http.Request, given string) (a netip.Addr, ok bool) {
	if given == "" {
		return s.gameAddress(r), true
	}
	a, err := netip.ParseAddr(given)
	return a.Unmap(), err == nil && usableForGames(a.Unmap())
}

// hostsFile returns lines for a hosts file, nothing if there can be none.
func (s *Server) hostsFile(game string, a netip.Addr) []byte {
	g, ok := s.opt.Games.Lookup(game)
	if !ok {
		return nil // it was removed a moment ago
	}
	var b bytes.Buffer
	if err := games.WriteHosts(&b, g, a, s.opt.Domains, s.redirected); err != nil {
		s.Log().Error().Err(err).Str("game", game).Msg("no lines for a hosts file")
		return nil
	}
	return b.Bytes()
}

// namesOf returns the names that a game looks up for services that run here, by
// service.
func (s *Server) namesOf(game games.Game) []namesView {
	var out []namesView
	for _, h := range s.api.Hosts(game) {
		if !h.Served {
			continue
		}
		i := slices.IndexFunc(out, func(v namesView) bool { return v.Service == h.Service })
		if i < 0 {
			i = len(out)
			out = append(out, namesView{Service: h.Service})
		}
		out[i].Names = append(out[i].Names, h.Name)
	}
	return out
}
