package web

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
)

// from sends a request as if it came from an address to one of ours.
func (f *fixture) from(peer, local, target string, header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	r := httptest.NewRequestWithContext(f.T.Context(), http.MethodGet, target, nil)
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	if local != "" {
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(local))
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at)))
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	return w
}

func TestConnect(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Services = func() []Service {
			return []Service{{Name: "qr2", What: "Game servers report here", Port: "UDP 27900"}, {Name: "dns", What: "Names of the services", Port: "UDP 53"}}
		}
	})
	f.Put(webtest.Listed{Rules: []string{"hostname", "One", "numplayers", "7"}})
	home := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/").Body.String()
	webtest.WantParts(t, "home", home, "1 server with 7 players.", "One", `href="/connect"`)
	webtest.WantNoParts(t, "home", home, `href="/account"`, "Game servers report here")
	page := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect").Body.String()
	webtest.WantParts(t, "the page", page, "Game servers report here", "UDP 27900", "<code>192.168.1.5</code>",
		"set it as the DNS server", `<option value="gmtest">Test &lt;game&gt;</option>`, `action="/games"`)
}

// Disabled services are not offered: otherwise a private master for Zandronum would
// send its visitors to hosts files.
func TestPagesByServices(t *testing.T) {
	with := func(nouns noun.Set, list ...Service) *fixture {
		return newFixture(t, func(o *Options) { o.Nouns, o.Services = nouns, func() []Service { return list } })
	}
	only := func(list ...Service) *fixture { return with(noun.Set{}, list...) }
	named := noun.Set{noun.Names: true}
	f := only(Service{Name: "zanmaster", What: "Zandronum", Port: "UDP 15301", Connect: "enter `{address}:{port}` as the master server", Zandronum: true})
	home := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect").Body.String()
	webtest.WantParts(t, "connect to a Zandronum master", home, "masterhostname 192.168.1.5\nsv_updatemaster 1", "sv_enforcemasterbanlist 1",
		"192.168.1.5:15301</code> as the master server", "<code>-masterport 15301</code>")
	webtest.WantNoParts(t, "home of a Zandronum master", home, "hosts file", "signs players in", `<option value="gm`, "setmaster")
	webtest.WantNoParts(t, "page of a game that finds nothing here", f.Page("/games/gmtest"), "/etc/hosts", "hosts.txt")

	f = only(Service{Name: "zanmaster", What: "Zandronum", Port: "UDP 15300", Connect: "enter `{address}:{port}` as the master server", Zandronum: true})
	home = f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect").Body.String()
	webtest.WantParts(t, "home of a Zandronum master on its usual port", home, "masterhostname 192.168.1.5\n", "192.168.1.5:15300</code> as the master server")
	webtest.WantNoParts(t, "home of a Zandronum master on its usual port", home, "-masterport")

	f = only(Service{Name: "valvemaster", What: "Valve-style server lists", Port: "UDP 27010", Connect: "enter `setmaster add {address}:{port}`"})
	home = f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect").Body.String()
	webtest.WantParts(t, "home of a Valve-style master", home, "setmaster add 192.168.1.5:27010")
	webtest.WantNoParts(t, "home of a Valve-style master", home, "hosts file", "masterhostname")

	f = only(Service{Name: "q3master", What: "Quake 3 server lists", Port: "UDP 27951", Connect: "set `sv_master1 {address}:{port}` with `dedicated 2`"})
	home = f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect").Body.String()
	webtest.WantParts(t, "home of a Quake 3 master", home, "sv_master1 192.168.1.5:27951", "dedicated 2")
	webtest.WantNoParts(t, "home of a Quake 3 master", home, "hosts file", "setmaster")

	f = with(named, Service{Name: "utmaster", What: "Unreal Tournament server lists", Port: "TCP 28902", Connect: "set `MasterServerList=(Address=\"{address}\",Port={port})`"}, Service{Name: "idmaster", What: "Doom 3, Quake 4 and Prey server lists", Port: "UDP 27651", Connect: "set `net_master0 {address}:{port}`"})
	home = f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect").Body.String()
	webtest.WantParts(t, "home of masters of studios", home, "hosts file", "net_master0 192.168.1.5:27651", "MasterServerList=(Address=\"192.168.1.5\",Port=28902)")
	for _, name := range []string{"codmaster", "nwmaster"} {
		f = with(named, Service{Name: name, What: "Server lists", Port: "UDP 20510"})
		webtest.WantParts(t, "home of "+name, f.Page("/connect"), "hosts file", "<option")
		webtest.WantNoParts(t, "home of "+name, f.Page("/connect"), "net_master0", "MasterServerList")
	}

	f = with(named, Service{Name: "qr2", What: "Game servers report here", Port: "UDP 27900"}, Service{Name: "serverbrowse", What: "Server lists in games", Port: "TCP 28910"})
	home = f.Page("/connect")
	webtest.WantParts(t, "home without accounts", home, "hosts file", "<option")
	webtest.WantNoParts(t, "home without accounts", home, "masterhostname", "setmaster")
	webtest.WantNoParts(t, "home without accounts", f.Page("/"), "signs players in")
	webtest.WantParts(t, "page of a game", f.Page("/games/gmtest"), "/etc/hosts")
}

func TestHomeServers(t *testing.T) {
	f := newFixture(t)
	f.Fill(homeRows)
	page := f.Page("/")
	if got := len(cells(t, page)) - 1; got != homeRows {
		t.Errorf("%d servers: home shows %d", homeRows, got)
	}
	webtest.WantNoParts(t, "home", page, "All 25 servers")
	f.Put(webtest.Listed{Addr: "198.51.100.1:1"})
	webtest.WantParts(t, "home with one more", f.Page("/"), fmt.Sprintf("All %d servers", homeRows+1))
}

func TestHomeRedirects(t *testing.T) {
	f := newFixture(t)
	for target, want := range map[string]string{
		"/?game=gmtest":        "/servers?game=gmtest",
		"/?q=x&page=3":         "/servers?page=3&q=x",
		"/?sort=-name&open=1":  "/servers?open=1&sort=-name",
		"/games?name=gmtest":   "/games/gmtest",
		"/games?name=GMTEST":   "/games/gmtest",
		"/?q=//evil.example":   "/servers?q=%2F%2Fevil.example",
		"/?game=//evil&page=2": "/servers?page=2",
	} {
		w := f.Get(target)
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("GET %s: got %d to %q, want 303 to %q", target, w.Code, got, want)
		}
	}
	for _, target := range []string{"/?utm_source=x", "/?page=1", "/?game="} {
		if w := f.Get(target); w.Code != http.StatusOK {
			t.Errorf("GET %s: got %d, want the page", target, w.Code)
		}
	}
	if w := f.Get("/games?name=//evil.example"); w.Code != http.StatusNotFound || w.Header().Get("Location") != "" {
		t.Errorf("a game of no name: got %d to %q, want 404", w.Code, w.Header().Get("Location"))
	}
	for _, target := range []string{"//evil.example/%2f..", "/\\evil.example", "//evil.example/servers/../"} {
		if to := f.Get(target).Header().Get("Location"); strings.HasPrefix(to, "//") || strings.Contains(to, ":") || strings.HasPrefix(to, `/\`) {
			t.Errorf("GET %s leads to %q", target, to)
		}
	}
}

// oracle is a Prober with a fixed answer.
type oracle struct {
	status query.Status
	err    error
	wait   bool // until the question is given up
	asked  []netip.AddrPort
}

func (o *oracle) Status(ctx context.Context, public netip.AddrPort) (query.Status, error) {
	o.asked = append(o.asked, public)
	if o.wait {
		<-ctx.Done()
		return query.Status{}, ctx.Err()
	}
	return o.status, o.err
}

const serverPath = "/servers/qr2-192.0.2.1-6500"

func TestServerPageReport(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{
		Rules:   []string{"hostname", "One", "mapname", "deck", "gametype", "dm", "numplayers", "2", "maxplayers", "8", "hostport", "7777", "localip0", "192.168.7.7", "gamever", "1.1"},
		Players: [][]string{{"player_", "score_"}, {"Ann", "3"}, {"Ben", "4"}},
		Teams:   [][]string{{"team_t"}, {"Red"}},
		Change:  func(s *master.Server) { s.Country, s.NATNeg = "NZ", true },
	})
	page := f.Page(serverPath)
	webtest.WantParts(t, "the page", page, "<bdi>One</bdi>", "2 of 8", "192.0.2.1:6500", "7777", "deck", "New Zealand", "Ann", "Ben", "Red", "gamever", "1.1",
		"NAT negotiation", "last report", `href="/games/gmtest"`, `href="/api/v1/servers/qr2-192.0.2.1-6500"`, `<th scope="col"><bdi>player</bdi></th>`)
	webtest.WantNoParts(t, "the page", page, "192.168.7.7", "player_", "It did not answer just now")
}

func TestServerPageLive(t *testing.T) {
	o := &oracle{status: query.Status{
		Rules:   []query.Field{{Name: "hostname", Value: "Now"}, {Name: "numplayers", Value: "5"}, {Name: "localip0", Value: "10.9.9.9"}, {Name: "bot", Value: "yes"}},
		Players: query.Table{Columns: []string{"player"}, Rows: [][]string{{"Cid"}}},
	}}
	f := newFixture(t, func(opt *Options) { opt.Prober = o })
	f.Put(webtest.Listed{Rules: []string{"hostname", "Then", "numplayers", "2"}})
	page := f.Page(serverPath)
	webtest.WantParts(t, "the page", page, "its answer from just now", "Cid", "<dd>5</dd>", "bot")
	webtest.WantNoParts(t, "the page", page, "10.9.9.9")
	if len(o.asked) != 1 || o.asked[0] != addr("192.0.2.1:6500") {
		t.Errorf("asked %v, want the server once", o.asked)
	}
	f.Do(http.MethodHead, serverPath)
	f.Get("/servers/qr2-192.0.2.9-1")
	if len(o.asked) != 1 {
		t.Errorf("HEAD and the page of no server: asked %v, want none", o.asked[1:])
	}
}

func TestServerPageWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{wait: true}
		f := newFixture(t, func(opt *Options) { opt.Prober = o })
		f.Put(webtest.Listed{Rules: []string{"hostname", "Then"}})
		began := time.Now()
		webtest.WantParts(t, "the page", f.Page(serverPath), "It did not answer just now", "Then")
		if took := time.Since(began); took != liveWait {
			t.Errorf("the page took %v, want %v", took, liveWait)
		}
		o.wait, o.err = false, errors.New("too many questions")
		webtest.WantParts(t, "the page of a busy prober", f.Page(serverPath), "It did not answer just now", "Then")
		o.err = query.ErrUnknownProtocol
		webtest.WantNoParts(t, "the page of a server that is never asked", f.Page(serverPath), "It did not answer")
	})
}

func TestServerPageLimits(t *testing.T) {
	var st query.Status
	for i := range 3 * maxRuleRows {
		st.Rules = append(st.Rules, query.Field{Name: fmt.Sprint("rule", i), Value: strings.Repeat("x", 5000)})
	}
	columns := make([]string, 40)
	for i := range columns {
		columns[i] = fmt.Sprint("column", i)
	}
	st.Players.Columns = columns
	for range 2 * maxTableRows {
		st.Players.Rows = append(st.Players.Rows, make([]string, 40))
	}
	f := newFixture(t, func(opt *Options) { opt.Prober = &oracle{status: st} })
	f.Put(webtest.Listed{})
	page := f.Page(serverPath)
	webtest.WantParts(t, "the page", page, fmt.Sprintf("%d more rules are not shown", 2*maxRuleRows), fmt.Sprintf("%d more rows are not shown", maxTableRows), "column11")
	webtest.WantNoParts(t, "the page", page, "column12")
	if len(page) > 600<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestForeignTextOnPages(t *testing.T) {
	racetest.Skip(t, "draws each page with each text")
	book := verdicts.NewLog(newFixture(t).server.opt.Log, 0)
	var st query.Status
	o := &oracle{}
	f := newFixture(t, func(opt *Options) {
		opt.Verdicts, opt.Prober = book, o
		opt.Config.PublicURL = "https://example.org"
	})
	for i, text := range webtest.HostileTexts() {
		name := "k" + strings.ReplaceAll(text[:min(len(text), 100)], "\x00", "") // names end at a NUL already on the wire
		at := fmt.Sprintf("192.0.2.%d:6500", i+1)
		st.Rules = append(st.Rules, query.Field{Name: text, Value: text})
		st.Players.Columns = append(st.Players.Columns, text)
		f.Put(webtest.Listed{
			Addr: at, Rules: []string{"hostname", text, "mapname", text, "gametype", text, name, text},
			Players: [][]string{{"player_", name}, {text, text}}, Change: func(s *master.Server) { s.Country = text },
		})
		book.Note("qr2", addr(at), text, verdicts.UnknownGame)
	}
	st.Players.Rows = [][]string{st.Players.Columns}
	for i, text := range webtest.HostileTexts() {
		o.status = query.Status{}
		if i%2 == 1 {
			o.status = st
		}
		host := fmt.Sprintf("192.0.2.%d", i+1)
		for _, target := range []string{"/", "/servers", "/servers/qr2-" + host + "-6500", "/games/gmtest", "/players", "/why"} {
			page := f.from(host+":4000", "", target).Body.String()
			webtest.WantNoParts(t, "GET "+target+" with "+fmt.Sprintf("%q", text), page, "<script>", "<img src=x", "<b>", "javascript:", "onerror=\"", "\x1b")
			webtest.CheckNothingHidden(t, strings.ReplaceAll(page, "\n", ""))
			doc, err := nethtml.Parse(strings.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			for _, script := range webtest.Elements(doc, atom.Script) {
				if !strings.HasPrefix(webtest.Attribute(script, "src"), "/assets/") {
					t.Errorf("GET %s: a script from %q", target, webtest.Attribute(script, "src"))
				}
			}
			for _, e := range slices.Concat(webtest.Elements(doc, atom.Img), webtest.Elements(doc, atom.Button), webtest.Elements(doc, atom.Meta)) {
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Key, "on") || strings.ContainsAny(a.Key, "<>\"'=") {
						t.Errorf("GET %s: an attribute %q", target, a.Key)
					}
				}
			}
		}
	}
}

func TestGamePageHosts(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Domains = []string{"gamespy.com", "example.org"} })
	f.Put(webtest.Listed{Rules: []string{"hostname", "Of this game"}})
	page := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/games/GMTEST").Body.String()
	webtest.WantParts(t, "the page", page, "Of this game", "192.168.1.5 gmtest.master.gamespy.com", "192.168.1.5 gmtest.master.example.org",
		`href="/games/gmtest/hosts.txt"`)
	webtest.WantNoParts(t, "the page", page, "natneg1") // the game does not need it
	webtest.WantParts(t, "the page of a game whose needs are not known", f.from("192.168.1.9:4000", "192.168.1.5:8080", "/games/gmother").Body.String(),
		"192.168.1.5 gmother.natneg1.gamespy.com", "192.168.1.5 natneg1.gamespy.com")
	page = f.Page("/games/gmtest?ip=203.0.113.9")
	webtest.WantParts(t, "the page with an address", page, "203.0.113.9 gmtest.master.gamespy.com", `href="/games/gmtest/hosts.txt?ip=203.0.113.9"`)
	for _, ip := range []string{"nowhere", "2001:db8::1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "1.2.3.4%0d%0aX:y", "%3Cscript%3E", strings.Repeat("9", 5000)} {
		page := f.Page("/games/gmtest?ip=" + ip)
		webtest.WantParts(t, "the page with ip="+ip, page, "not an IPv4 address", `aria-invalid="true"`)
		webtest.WantNoParts(t, "the page with ip="+ip, page, "gmtest.master.gamespy.com\n", "<script>")
	}
	webtest.WantParts(t, "the page without a known address", f.Page("/games/gmtest"), "is not known here")
}

func TestHostsFile(t *testing.T) {
	f := newFixture(t)
	w := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/games/gmtest/hosts.txt")
	kind, args, err := mime.ParseMediaType(w.Header().Get("Content-Disposition"))
	if w.Code != http.StatusOK || err != nil || kind != "attachment" || args["filename"] != "hosts-gmtest.txt" {
		t.Errorf("got %d, Content-Disposition %q; want 200 and a file", w.Code, w.Header().Get("Content-Disposition"))
	}
	if got := w.Header().Get("Content-Type"); got != front.Text {
		t.Errorf("content type: got %q, want %q", got, front.Text)
	}
	body := w.Body.String()
	webtest.WantParts(t, "the file", body, "192.168.1.5 gmtest.master.gamespy.com\r\n", "# Test <game> through respawnd at 192.168.1.5\r\n")
	other := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/games/gmother/hosts.txt").Body.String()
	webtest.WantParts(t, "a name of a service that does not run", other, "# not redirected: peerchat.gamespy.com: no chat here\r\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\r\n"), "\r\n") {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "#") && (len(fields) != 2 || fields[0] != "192.168.1.5" && fields[0] != "0.0.0.0") {
			t.Errorf("line %q is neither a comment nor an address and a name", line)
		}
	}
	for _, path := range []string{"gmtest%0d%0aSet-Cookie:x=1", "gmtest%22;evil", "..%2f..%2fetc", "gm\u202etest"} {
		if w := f.Get("/games/" + path + "/hosts.txt?ip=192.0.2.1"); w.Code != http.StatusNotFound || w.Header().Get("Content-Disposition") != "" || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("GET of %q: got %d %v, want 404 without a file", path, w.Code, w.Header())
		}
	}
}

func TestPageEvents(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Config.PublicURL = "https://example.org/sub" })
	f.Put(webtest.Listed{})
	for target, want := range map[string]string{
		"/": "", "/servers": "", "/servers?game=gmtest": "?game=gmtest", serverPath: "?game=gmtest", "/games/gmother": "?game=gmother",
	} {
		page := f.Page(target)
		webtest.WantParts(t, target, page, `data-events="/sub/api/v1/events`+want+`"`, `<script src="/sub/assets/live.js?v=`, "data-live=")
		if w := f.Do(http.MethodHead, front.EventsPath+want); w.Code != http.StatusOK {
			t.Errorf("HEAD of the events of %s: got %d", target, w.Code)
		}
	}
	for _, target := range []string{"/games", "/why", "/nothing"} {
		webtest.WantNoParts(t, target, f.Get(target).Body.String(), "<script", "data-events")
	}
}

func TestGamesSearch(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Game: "gmother"})
	webtest.WantParts(t, "all games", f.Page("/games"), "Test &lt;game&gt;", "Other game", "gmquiet", "This site knows 3 games")
	page := f.Page("/games?q=OTHER")
	webtest.WantParts(t, "games with other", page, "Other game", `href="/games/gmother"`)
	webtest.WantNoParts(t, "games with other", page, "gmquiet")
	webtest.WantParts(t, "no game", f.Page("/games?q=zzz"), "No game has that")
}

func TestGamesStates(t *testing.T) {
	f := newFixture(t)
	page := f.Page("/games?state=blocked")
	webtest.WantParts(t, "games that cannot be played", page, "gmquiet", "cannot be played here")
	webtest.WantNoParts(t, "games that cannot be played", page, "Other game", "Test &lt;game&gt;")
	webtest.WantParts(t, "an unknown state", f.Page("/games?state=x"), "Other game", "gmquiet")
	webtest.WantParts(t, "a game whose services run", f.Page("/games/gmtest"), "discs, GOG, version 1.1: not reported yet: the services run here. Install it again.",
		"The game waits for <code>ads.example.org</code>", "Which services it asks is a guess.", "Known from: seen &lt;here&gt; (a README, 2026-03).", "Steam: played on another network: Steam, since 2014-05.", "1 room of the game", "<bdi>Lobby</bdi>")
	webtest.WantParts(t, "a game that lacks one", f.Page("/games/gmquiet"), "cannot be played here: needs chat.", "The game needs chat: this version does not have it.")
	webtest.WantNoParts(t, "a game without facts", f.Page("/games/gmother"), "its needs are not known", "should play")
	webtest.WantNoParts(t, "names of services that do not run", f.Page("/games/gmtest"), `<th scope="row">chat, TCP 6667</th>`)
}

// shareLists makes gmquiet another name of gmtest, and their lists one.
func (f *fixture) shareLists() {
	f.T.Helper()
	list := f.Catalog.All()
	for i := range list {
		if list[i].Name == "gmtest" {
			list[i].Aliases, list[i].SharedList = []string{"gmquiet"}, true
		}
	}
	if err := f.Catalog.Replace(list); err != nil {
		f.T.Fatal(err)
	}
	f.Registry.Share(f.Catalog.SharedLists())
}

func TestPagesOfSharedLists(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "Small", "numplayers", "1"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmquiet", Rules: []string{"hostname", "Great", "numplayers", "8"}})
	webtest.WantNoParts(t, "lists apart", f.Page("/games/gmtest"), "Great", "one list")
	f.shareLists()
	for _, path := range []string{"/games/gmtest", "/games/gmquiet"} {
		page := f.Page(path)
		webtest.WantParts(t, path, page, "2 servers, 9 players", "Another name of the game:", "Their servers are in one list.")
		if great, small := strings.Index(page, "Great"), strings.Index(page, "Small"); great < 0 || small < great {
			t.Errorf("%s: the server with most players is at %d, the other at %d", path, great, small)
		}
	}
	webtest.WantParts(t, "the list", f.Page("/servers?game=gmquiet"), "Great", "Small")
}

func TestGamesFocus(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Focus = []string{"GMquiet"} })
	page := f.Page("/games")
	webtest.WantParts(t, "games of this site", page, "gmquiet", "search to find others")
	webtest.WantNoParts(t, "games of this site", page, "Other game")
	webtest.WantParts(t, "a search", f.Page("/games?q=other"), "Other game")
}

func TestGamesPaging(t *testing.T) {
	f := newFixture(t)
	var list []games.Game
	for i := range gamesRows + 1 {
		list = append(list, games.Game{Name: fmt.Sprintf("game%03d", i)})
	}
	if err := f.Catalog.Replace(list); err != nil {
		t.Fatal(err)
	}
	first, second := f.Page("/games?q=game"), f.Page("/games?q=game&page=2")
	webtest.WantParts(t, "first page", first, "game000", "game099", "100 of 101", `href="/games?page=2&amp;q=game"`)
	webtest.WantNoParts(t, "first page", first, "game100", "Previous games")
	webtest.WantParts(t, "second page", second, "game100", "Previous games")
	webtest.WantNoParts(t, "second page", second, "game099", "More games")
}

func TestGameAddress(t *testing.T) {
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		if host != "servers.example.org" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr("2001:db8::5"), netip.MustParseAddr("203.0.113.5")}, nil
	}
	tests := map[string]struct {
		public      string
		configured  string
		peer, local string
		want        string
	}{
		"the one that was reached":       {"", "", "192.168.1.9:1", "192.168.1.5:8080", "192.168.1.5"},
		"mapped":                         {"", "", "192.168.1.9:1", "[::ffff:192.168.1.5]:8080", "192.168.1.5"},
		"loopback for loopback":          {"", "", "127.0.0.1:1", "127.0.0.1:8080", "127.0.0.1"},
		"loopback for others":            {"", "", "192.0.2.1:1", "127.0.0.1:8080", ""},
		"IPv6":                           {"", "", "[2001:db8::1]:1", "[2001:db8::5]:8080", ""},
		"public URL with an address":     {"http://198.51.100.5:8080", "", "192.168.1.9:1", "192.168.1.5:8080", "198.51.100.5"},
		"public URL with a name":         {"https://servers.example.org", "", "192.168.1.9:1", "192.168.1.5:8080", "203.0.113.5"},
		"public URL of an unknown name":  {"https://other.example.org", "", "192.168.1.9:1", "192.168.1.5:8080", ""},
		"configured goes before":         {"http://198.51.100.5", "198.51.100.7", "192.168.1.9:1", "192.168.1.5:8080", "198.51.100.7"},
		"public URL with an IPv6 number": {"http://[2001:db8::5]:8080", "", "192.168.1.9:1", "192.168.1.5:8080", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) {
				o.Config.PublicURL, o.Lookup = tc.public, lookup
				if tc.configured != "" {
					o.Config.GameAddress = netip.MustParseAddr(tc.configured)
				}
			})
			page := f.from(tc.peer, tc.local, "/games/gmtest").Body.String()
			if got := strings.Contains(page, tc.want+" gmtest.master.gamespy.com"); got != (tc.want != "") {
				t.Errorf("lines for %q: %v", tc.want, got)
			}
			if strings.Contains(page, "is not known here") != (tc.want == "") {
				t.Errorf("the page says that no address is known: %v", tc.want != "")
			}
		})
	}
}

func TestGameAddressLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f := newFixture(t, func(o *Options) {
			o.Config.PublicURL = "https://servers.example.org"
			o.Lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
				asked++
				<-ctx.Done() // a resolver that is down
				return nil, ctx.Err()
			}
		})
		for range 5 {
			f.Get("/connect")
		}
		if asked != 1 {
			t.Errorf("five pages: asked %d times, want once", asked)
		}
		time.Sleep(lookupFor)
		if f.Get("/connect"); asked != 2 {
			t.Errorf("after %v: asked %d times, want twice", lookupFor, asked)
		}
	})
}

// The reachability of a server is no advice for players to which it is listed
// under an address that they cannot reach.
func TestWhyAdvice(t *testing.T) {
	book := verdicts.NewLog(newFixture(t).server.opt.Log, 0)
	f := newFixture(t, func(o *Options) { o.Verdicts = book })
	for _, v := range []verdicts.Verdict{verdicts.Listed, verdicts.OnlyHere, verdicts.PerhapsReachable} {
		book.Note("qr2", addr("127.0.0.1:6500"), "gmtest", v)
	}
	webtest.WantParts(t, "the page", f.from("127.0.0.1:4000", "", "/why").Body.String(), "probably direct</h3>", "<details open>", "sets net.advertise_as", "Playing the game here: ")
	book.Note("qr2", addr("127.0.0.1:6500"), "gmtest", verdicts.Left)
	webtest.WantNoParts(t, "the page after it left", f.from("127.0.0.1:4000", "", "/why").Body.String(), "<details open>", "sets net.advertise_as")
}

func TestWhyAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := verdicts.NewLog(newFixture(t).server.opt.Log, 0)
		f := newFixture(t, func(o *Options) {
			o.Verdicts = book
			o.Banned = func(_ *lang.Language, a netip.Addr) []string {
				if a == netip.MustParseAddr("198.51.100.9") {
					return []string{"server lists for good"}
				}
				return nil
			}
			o.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
		})
		f.Put(webtest.Listed{Addr: "192.0.2.1:6500", Rules: []string{"hostname", "Mine"}})
		f.Put(webtest.Listed{Addr: "192.0.2.2:6500", Rules: []string{"hostname", "Of another"}})
		book.Note("qr2", addr("192.0.2.1:6500"), "gmtest", verdicts.ChallengeSent)
		time.Sleep(30 * time.Second)
		book.Note("qr2", addr("192.0.2.1:6500"), "gmtest", verdicts.NoAnswer)
		book.Note("zanmaster", addr("192.0.2.1:10666"), "zandronum", verdicts.Banned)
		book.Note("qr2", addr("192.0.2.2:6500"), "secretgame", verdicts.UnknownGame)
		time.Sleep(10 * time.Second)

		own := f.from("192.0.2.1:4000", "", "/why")
		if got := own.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control %q, want no-store", got)
		}
		webtest.WantParts(t, "the page", own.Body.String(), "Mine", "heartbeat from 192.0.2.1:6500 for game <bdi>gmtest</bdi>",
			"a challenge was sent, and no answer arrived: the challenge or its answer is lost", "What to do:", "(10 s ago)",
			"registration from 192.0.2.1:10666")
		webtest.WantNoParts(t, "the page", own.Body.String(), "challenge sent", "Before that")
		tests := map[string]*httptest.ResponseRecorder{
			"with parameters":          f.from("192.0.2.1:4000", "", "/why?ip=192.0.2.2&addr=192.0.2.2&address=192.0.2.2"),
			"with a forged header":     f.from("192.0.2.1:4000", "", "/why", "X-Forwarded-For", "192.0.2.2", "X-Real-IP", "192.0.2.2", "Forwarded", "for=192.0.2.2"),
			"through a trusted proxy":  f.from("10.0.0.1:4000", "", "/why", "X-Forwarded-For", "192.0.2.2, 192.0.2.1"),
			"through a proxy in front": f.from("[::ffff:192.0.2.1]:4000", "", "/why"),
		}
		for name, w := range tests {
			webtest.WantParts(t, "the page "+name, w.Body.String(), "192.0.2.1:6500", "Mine")
			webtest.WantNoParts(t, "the page "+name, w.Body.String(), "192.0.2.2", "Of another", "secretgame")
		}
		webtest.WantParts(t, "the page of a stranger", f.from("203.0.113.1:1", "", "/why").Body.String(), "signing in, friends, messages", "is known to have reported to this site", "No server at your address")
		webtest.WantParts(t, "the page over IPv6", f.from("[2001:db8::1]:1", "", "/why").Body.String(), "These games use IPv4 only")
		webtest.WantParts(t, "the page of a banned address", f.from("198.51.100.9:1", "", "/why").Body.String(), "banned from server lists for good")
		webtest.WantParts(t, "the page through a proxy that is not trusted",
			f.from("127.0.0.1:1", "", "/why", "X-Forwarded-For", "192.0.2.1").Body.String(), "web.trusted_proxies")
	})
}

// After 38 minutes without an answer the page shows the fault, since when and how
// often, even while another challenge is open, and does not advise to wait.
func TestWhyFailingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := verdicts.NewLog(newFixture(t).server.opt.Log, 0)
		f := newFixture(t, func(o *Options) { o.Verdicts = book })
		peer := addr("192.0.2.1:6500")
		book.Note("qr2", peer, "gmtest", verdicts.Listed)
		time.Sleep(time.Minute)
		book.Note("qr2", peer, "gmtest", verdicts.Expired)
		time.Sleep(time.Minute)
		for range 38 {
			book.Note("qr2", peer, "gmtest", verdicts.Heard)
			book.Note("qr2", peer, "gmtest", verdicts.ChallengeSent)
			time.Sleep(30 * time.Second)
			book.Note("qr2", peer, "gmtest", verdicts.NoAnswer)
			time.Sleep(30 * time.Second)
		}
		book.Note("qr2", peer, "gmtest", verdicts.Heard)
		book.Note("qr2", peer, "gmtest", verdicts.ChallengeSent)
		time.Sleep(time.Second)
		page := f.from("192.0.2.1:4000", "", "/why").Body.String()
		webtest.WantParts(t, "the page", page, "no answer</h3>", "<p>Since 00:02:30 (37 min ago), 38 times, the last at 00:39:30 (31 s ago): heartbeat from",
			"Forward the port in the router", "Before that", "00:01:00: <bdi>gmtest</bdi>: expired", "00:00:00: <bdi>gmtest</bdi>: listed")
		webtest.WantNoParts(t, "the page", page, "Wait", "challenge sent", "heard")

		time.Sleep(24 * time.Hour)
		webtest.WantParts(t, "the page a day later", f.from("192.0.2.1:4000", "", "/why").Body.String(),
			"<p>Since 2000-01-01 00:02:30 (24 h ago), 39 times, the last at 2000-01-01 00:40:00")
	})
}

func TestWhyVerdicts(t *testing.T) {
	book := verdicts.NewLog(newFixture(t).server.opt.Log, 0)
	f := newFixture(t, func(o *Options) { o.Verdicts = book })
	told := 0
	for v := verdicts.Verdict(0); v.String() != "unknown"; v++ {
		host := fmt.Sprintf("192.0.2.%d", v+1)
		e := verdicts.Entry{Service: "qr2", Addr: addr(host + ":6500"), Game: "gmtest", Verdict: v}
		book.Note(e.Service, e.Addr, e.Game, e.Verdict)
		x := e.Explain()
		page := webtest.Content(webtest.Parse(t, f.from(host+":4000", "", "/why").Body.String()))
		webtest.WantParts(t, "the page about "+v.String(), page, v.String(), x.Cause, x.Advice)
		told++
	}
	if told < 12 {
		t.Errorf("%d verdicts, want at least 12", told)
	}
}

func TestReached(t *testing.T) {
	for _, tt := range []struct {
		reached  master.Reached
		natneg   bool
		restored bool
		want     string
	}{
		{master.ReachedDirect, true, false, "direct"},
		{master.ReachedPerhaps, true, false, "with help"},
		{master.ReachedPerhaps, false, false, "probably direct"},
		{master.ReachedNegotiated, true, false, "with help"},
		{master.ReachedNo, true, false, "with help"},
		{master.ReachedNo, false, false, "not reached"},
		{master.ReachedUnknown, false, false, "not confirmed"},
		{master.ReachedDirect, true, true, "no report yet"},
	} {
		s := &master.Server{NATNeg: tt.natneg, Restored: tt.restored, Findings: master.Findings{Reached: tt.reached}}
		if got := reached(nil, s, true); got.Word != tt.want || got.Text == "" {
			t.Errorf("%v, negotiation %t, restored %t: got %+v, want %q", tt.reached, tt.natneg, tt.restored, got, tt.want)
		}
	}
	if got := reached(nil, &master.Server{NATNeg: true, Findings: master.Findings{Relayed: true}}, true); got.Word != "relayed" || !got.Good {
		t.Errorf("a relayed server: %+v", got)
	}
	for _, s := range []*master.Server{{NATNeg: true}, {Findings: master.Findings{Reached: master.ReachedNo}}} {
		if got := reached(nil, s, false); strings.Contains(got.Text, "negotiation") || got.Good {
			t.Errorf("without negotiation here: %+v", got)
		}
	}
}

func TestPagesAreAccessible(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{
		Rules: []string{"hostname", "One"}, Players: [][]string{{"player_"}, {"Ann"}}, Teams: [][]string{{"team_t"}, {"Red"}},
	})
	f.sample(time.Now())
	for _, target := range []string{"/", "/servers", "/servers?q=x", serverPath, "/connect", "/charts", "/games", "/games/gmtest", "/games/gmtest?ip=x", "/why", "/nothing"} {
		t.Run(target, func(t *testing.T) { webtest.CheckFit(t, f.Get(target).Body.String()) })
	}
}

// TestEmptyMirror: visitors are not asked to start a server where none can report.
func TestEmptyMirror(t *testing.T) {
	f := newFixture(t)
	webtest.WantParts(t, "the first page", f.Page("/"), "No server is listed at the moment. Start one")
	made := time.Now()
	f.server.site.SetMirror(func() time.Time { return made })
	page := f.Page("/")
	webtest.WantParts(t, "that of a mirror", page, "This is a mirror", "No server is listed at the moment.")
	webtest.WantNoParts(t, "that of a mirror", page, "Start one")
}
