package api

import (
	"cmp"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/web/front"
)

// The lists of 333networks at fixed paths, which its pages, its bots and browsers read:
// /json/GAME and /json/GAME/ADDRESS. Mistakes are answered with 200, as there.
const (
	allGames    = "all"
	networkPage = 50 // servers of a page
	networkMost = 1000
	networkText = 90 // bytes of a text to search for
	networkName = 20 // of a game
)

// networks answers requests in the form of 333networks.
type networks struct{ *API }

// networkList is a page of a list. It is comparable: equal ones ask for the same answer.
type networkList struct {
	game, sort        string // game empty: all
	descending        bool
	page, per         int
	text, name        string // in names, in lower case
	kind, area, place string // type, map, country; empty: any
	peopled, demo     bool
	asker             advertise.Asker
}

// networkServer is a server in a list. An entry has these members and no others.
type networkServer struct {
	ID         uint64 `json:"id"`
	IP         string `json:"ip"`
	HostPort   uint16 `json:"hostport"`
	HostName   string `json:"hostname"`
	GameName   string `json:"gamename"`
	Country    string `json:"country"`
	Players    int    `json:"numplayers"`
	MaxPlayers int    `json:"maxplayers"`
	MapTitle   string `json:"maptitle"`
	MapName    string `json:"mapname"`
	GameType   string `json:"gametype"`
	Added      int64  `json:"dt_added"`
	Label      string `json:"label"`
	Updated    int64  `json:"dt_updated"`
}

// networkCount follows a list. Total is of all pages, Players of this one.
type networkCount struct {
	Total   int `json:"total"`
	Players int `json:"players"`
}

// networkError is an answer in place of one.
type networkError struct {
	Error   int      `json:"error"`
	In      string   `json:"in"`
	Options []string `json:"options,omitempty"`
	IP      string   `json:"ip,omitempty"`
	Port    string   `json:"port,omitempty"`
}

// marked writes the two signs that 333networks masks in texts.
var marked = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// hostPort returns the port that players connect to, 0 if it is not known.
func (r *reading) hostPort(at netip.AddrPort) uint16 {
	if r.GamePort == 0 && isGamePort(r.QueryProtocol()) {
		return at.Port()
	}
	return r.GamePort
}

func (q *networkList) entry(r *Row) networkServer {
	at := q.asker.Given(r.Public)
	title, _ := r.Rules.Get("maptitle")
	return networkServer{
		ID: r.Rank & addressRank, IP: at.Addr().String(), HostPort: r.hostPort(at), HostName: marked.Replace(r.Name), GameName: r.Game,
		Country: r.Country, Players: r.Count, MaxPlayers: r.MaxPlayers, MapTitle: marked.Replace(clean.Text(title)), MapName: marked.Replace(r.Map),
		GameType: clean.Text(r.Type), Added: r.First.Unix(), Label: r.Title, Updated: r.Last.Unix(),
	}
}

// parse reads the parameters of a list. The result names those that are wrong.
func (q *networkList) parse(game string, values url.Values) (wrong []string) {
	check := func(name string, ok bool) {
		if !ok {
			wrong = append(wrong, name)
		}
	}
	number := func(name string, none, most int) int {
		n, err := strconv.Atoi(cmp.Or(values.Get(name), strconv.Itoa(none)))
		check(name, err == nil && n > 0 && n <= most)
		return n
	}
	text := func(name string) string {
		t := strings.ToLower(values.Get(name))
		check(name, len(t) <= networkText)
		return t
	}
	if q.game = strings.ToLower(game); q.game == allGames {
		q.game = ""
	}
	q.sort = cmp.Or(values.Get("s"), "gamename")
	check("s", slices.Contains([]string{"hostname", "gamename", "country", "added", "gametype", "numplayers", "mapname"}, q.sort))
	q.descending = values.Get("o") == "d"
	q.page, q.per = number("p", 1, 1_000_000), number("r", networkPage, networkMost)
	q.text, q.name, q.area, q.place = text("q"), text("hostname"), text("mapname"), text("country")
	q.kind = cmp.Or(text("gametype"), text("g"))
	q.peopled, q.demo = strings.Contains(values.Get("a"), "popserv"), strings.Contains(values.Get("a"), "utdemo")
	return wrong
}

func (q *networkList) passes(r *Row) bool {
	if r.hostPort(r.Public) == 0 || q.peopled && r.Count == 0 {
		return false
	}
	if version, _ := r.Rules.Get("gamever"); q.demo && version != "348" {
		return false
	}
	return strings.Contains(r.LowerName, q.text) && strings.Contains(r.LowerName, q.name) && strings.Contains(r.LowerMap, q.area) &&
		strings.Contains(strings.ToLower(r.Type), q.kind) && (q.place == "" || strings.EqualFold(r.Country, q.place))
}

// compare orders two servers. Those that are equal keep the order of the list.
func (q *networkList) compare(a, b *Row) (n int) {
	switch q.sort {
	case "hostname":
		n = strings.Compare(a.LowerName, b.LowerName)
	case "gamename":
		n = strings.Compare(a.Game, b.Game)
	case "country":
		n = strings.Compare(a.Country, b.Country)
	case "added":
		n = a.First.Compare(b.First)
	case "gametype":
		n = strings.Compare(a.Type, b.Type)
	case "numplayers":
		n = cmp.Compare(a.Count, b.Count)
	case "mapname":
		n = strings.Compare(a.LowerMap, b.LowerMap)
	}
	if q.descending {
		return -n
	}
	return n
}

func (q *networkList) encode(list *Snapshot) []byte {
	var rows []*Row
	for _, r := range list.Choose(q.game, "", ByGame) {
		if q.passes(r) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, q.compare)
	count := networkCount{Total: len(rows)}
	from := min((q.page-1)*q.per, len(rows))
	page := make([]networkServer, 0, min(q.per, len(rows)))
	for _, r := range rows[from:min(from+q.per, len(rows))] {
		page = append(page, q.entry(r))
		count.Players += r.Count
	}
	return encodeJSON([2]any{page, count})
}

// list answers /json/GAME.
func (s networks) list(w http.ResponseWriter, r *http.Request) {
	var q networkList
	values, err := url.ParseQuery(r.URL.RawQuery)
	game := r.PathValue("game")
	switch wrong := q.parse(game, values); {
	case len(game) > networkName || !games.ValidName(strings.ToLower(game)):
		s.sendJSON(w, r, networkError{Error: 1, In: "url_format"})
		return
	case err != nil || len(wrong) > 0:
		s.sendJSON(w, r, networkError{Error: 1, In: "options", Options: wrong})
		return
	}
	q.asker = s.Asker(r)
	l := s.lister.of(q.asker)
	list := l.now()
	if !front.NotModified(w, r, l.etag(l.gameSerial(list, q.game), list.titles, q)) {
		s.Reply(w, r, front.JSON, &list.Answers, q, func() []byte { return q.encode(list) })
	}
}

// server answers /json/GAME/ADDRESS: all that is known of the server to which players connect
// there.
func (s networks) server(w http.ResponseWriter, r *http.Request) {
	game, text := strings.ToLower(r.PathValue("game")), r.PathValue("server")
	at, err := netip.ParseAddrPort(text)
	if err != nil || at.Port() == 0 {
		s.sendJSON(w, r, networkError{Error: 1, In: "url_format"})
		return
	}
	q := networkList{game: game, asker: s.Asker(r)}
	list := s.lister.of(q.asker).now()
	for _, row := range list.Choose(game, "", ByGame) {
		given := q.asker.Given(row.Public)
		if given.Addr().Unmap() == at.Addr().Unmap() && row.hostPort(given) == at.Port() {
			s.sendJSON(w, r, q.whole(row))
			return
		}
	}
	s.sendJSON(w, r, networkError{Error: 1, In: "not_in_db", IP: at.Addr().String(), Port: strconv.Itoa(int(at.Port()))})
}

// whole returns a server with its rules and players.
func (q *networkList) whole(r *Row) map[string]any {
	out := make(map[string]any)
	for name, value := range r.Rules.All() {
		if !IsPrivateRule(name) {
			out[strings.ToLower(clean.Text(name))] = marked.Replace(clean.Text(value))
		}
	}
	e := q.entry(r)
	names := r.Players.Names()
	for i := range r.Players.Rows() {
		player := map[string]any{"sid": e.ID, "name": "", "frags": "0"}
		for c := range names.Len() {
			name := strings.TrimSuffix(clean.Text(names.Name(c)), "_")
			switch c {
			case r.nameSlot:
				name = "name"
			case r.scoreSlot:
				name = "frags"
			}
			player[name] = marked.Replace(clean.Text(r.Players.Value(i, c)))
		}
		out["player_"+strconv.Itoa(i)] = player
	}
	maps.Copy(out, map[string]any{
		"id": e.ID, "sid": e.ID, "ip": e.IP, "hostport": e.HostPort, "queryport": q.asker.Given(r.Public).Port(), "hostname": e.HostName,
		"gamename": e.GameName, "country": e.Country, "numplayers": e.Players, "maxplayers": e.MaxPlayers, "maptitle": e.MapTitle,
		"mapname": e.MapName, "gametype": e.GameType, "label": e.Label, "dt_added": e.Added, "dt_updated": e.Updated, "dt_serverinfo": e.Updated,
	})
	return out
}
