package web

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

// gamesView is what the template of the catalogue shows.
type gamesView struct {
	page.Frame
	Query string
	Games []gameView
	Known int
}

// serveGames answers /games.
func (s *Server) serveGames(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if name := q.Get("name"); name != "" {
		s.chooseGame(w, r, name)
		return
	}
	p := parsePageParams(r.URL.RawQuery)
	list := s.api.Snapshot()
	v := gamesView{Frame: s.site.Frame("Games", page.Games), Query: p.query}
	for _, g := range s.opt.Games.All() {
		v.Known++
		listed := list.Game(g.Name)
		title := s.api.Title(g.Name)
		if !strings.Contains(strings.ToLower(title), p.query) && !strings.Contains(g.Name, p.query) {
			continue
		}
		v.Games = append(v.Games, gameView{
			Name: g.Name, Title: clean.Line(title, maxGameText), Servers: listed.Servers(), Players: listed.Players,
			Link: s.gameURL(g.Name),
		})
	}
	slices.SortStableFunc(v.Games, func(a, b gameView) int {
		return cmp.Or(b.Players-a.Players, b.Servers-a.Servers, compareTexts(a.Title, b.Title))
	})
	s.show(w, r, "games", v)
}

// gamePage is what the template of a game shows.
type gamePage struct {
	page.Frame
	Name             string
	Maintenance      bool
	Usable           bool
	Servers, Players int
	Table            rowTable
	More             string // link to the whole list
	Zandronum        bool
	Running          running

	Address    string // that the names are to resolve to; empty if unknown
	BadAddress bool   // the visitor gave one that cannot be
	Given      bool   // the visitor gave it
	Hosts      string // lines for a hosts file; empty without an address
	Download   string // link to them
	Names      []namesView
}

// namesView are the names that clients of a game resolve for one service.
type namesView struct {
	Service string
	Names   []string
}

// serveGame answers /games/{name}.
func (s *Server) serveGame(w http.ResponseWriter, r *http.Request) {
	g, ok := s.opt.Games.Lookup(r.PathValue("name"))
	if !ok {
		s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
		return
	}
	given := strings.TrimSpace(r.URL.Query().Get("ip"))
	a, ok := s.hostsAddress(r, given)
	q := gamePageQuestion{name: g.Name, given: given != "", bad: !ok, off: g.Maintenance, usable: g.Usable(), asker: s.api.Asker(r)}
	if ok {
		q.address = a
	}
	list := s.api.Snapshot()
	s.replyPage(w, r, list, q, func() []byte { return s.gamePage(list, q) })
}

// gamePageQuestion is the question for the page of a game.
type gamePageQuestion struct {
	name        string
	address     netip.Addr // for the hosts file; zero if unknown
	given, bad  bool       // the visitor gave an address; it cannot be one
	off, usable bool
	asker       advertise.Asker
}

// gamePage writes the page.
func (s *Server) gamePage(list *api.Snapshot, q gamePageQuestion) []byte {
	rows := choosePage(list, pageParams{game: q.name})
	listed := list.Game(q.name)
	v := gamePage{
		Frame: s.site.LiveFrame(clean.Line(s.api.Title(q.name), maxGameText), page.Games, q.name),
		Name:  q.name, Maintenance: q.off, Usable: q.usable, Servers: listed.Servers(), Players: listed.Players,
		Table: s.table(rows[:min(len(rows), PageRows)], list.Begun, q.asker, false, unsorted), Zandronum: q.name == zandronum.Game,
		Running:    runningOf(s.services()),
		BadAddress: q.bad, Given: q.given, Names: s.namesOf(q.name),
	}
	if len(rows) > PageRows {
		v.More = s.listURL(pageParams{game: q.name}, 1)
	}
	if q.address.IsValid() {
		v.Address = q.address.String()
		v.Hosts = string(s.hostsFile(q.name, q.address))
		v.Download = s.gameURL(q.name) + "/hosts.txt"
		if q.given {
			v.Download += "?ip=" + v.Address
		}
	}
	return s.render("game", v)
}

// hostsAddress returns the address for the lines of a hosts file: the one that
// the visitor gave, else that of this daemon, which is zero if it is not known.
// ok is false if the visitor gave one that cannot be.
func (s *Server) hostsAddress(r *http.Request, given string) (a netip.Addr, ok bool) {
	if given == "" {
		return s.gameAddress(r), true
	}
	a, err := netip.ParseAddr(given)
	return a.Unmap(), err == nil && usableForGames(a.Unmap())
}

// hostsFile returns lines for a hosts file, nothing if there can be none.
func (s *Server) hostsFile(game string, a netip.Addr) []byte {
	var b bytes.Buffer
	if err := games.WriteHosts(&b, game, a, s.opt.Domains); err != nil {
		s.Log().Error().Err(err).Str("game", game).Msg("no lines for a hosts file")
		return nil
	}
	return b.Bytes()
}

// namesOf returns the names that a game looks up, by service.
func (s *Server) namesOf(game string) []namesView {
	var out []namesView
	for _, h := range s.api.Hosts(game) {
		i := slices.IndexFunc(out, func(v namesView) bool { return v.Service == h.Service })
		if i < 0 {
			i = len(out)
			out = append(out, namesView{Service: h.Service})
		}
		out[i].Names = append(out[i].Names, h.Name)
	}
	return out
}

// serveHosts answers /games/{name}/hosts.txt: the lines as a file.
func (s *Server) serveHosts(w http.ResponseWriter, r *http.Request) {
	g, known := s.opt.Games.Lookup(r.PathValue("name"))
	if !known {
		s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
		return
	}
	a, ok := s.hostsAddress(r, strings.TrimSpace(r.URL.Query().Get("ip")))
	if !ok || !a.IsValid() {
		s.Drop(front.DropParam)
		s.Fail(w, r, http.StatusBadRequest, "ip must be an IPv4 address of a host, such as 192.168.1.5")
		return
	}
	head := "# " + clean.Line(s.api.Title(g.Name), maxGameText) + " through respawnd at " + a.String() + "\n" +
		"# Add these lines to /etc/hosts, on Windows to C:\\Windows\\System32\\drivers\\etc\\hosts\n"
	// Windows' editor of that time and its resolver take both ends of lines.
	body := strings.ReplaceAll(head+string(s.hostsFile(g.Name, a)), "\n", "\r\n")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "hosts-" + g.Name + ".txt"}))
	s.Send(w, r, front.Text, front.NewAnswer([]byte(body)))
}
