package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// Secrets that no answer may have in it.
const (
	secretOne = "sEcr3T1"
	secretTwo = "sEcr3T2"
)

// fixture is a service over a list that the test fills.
type fixture struct {
	t        testing.TB
	registry *master.Registry
	catalog  *games.Catalog
	gauges   *prometheus.Registry
	server   *Server
}

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	catalog, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Title: "Test <game>", Secrets: []string{secretOne}, ID: 7, QueryPort: 25000},
		{Name: "gmother", Title: "Other game", Secrets: []string{secretTwo}, Maintenance: true},
		{Name: "gmquiet", Secrets: []string{secretOne, secretTwo}},
	})
	if err != nil {
		t.Fatalf("NewCatalog: %v", err)
	}
	f := &fixture{
		t: t, catalog: catalog, gauges: prometheus.NewRegistry(),
		registry: master.NewRegistry(master.Limits{PerAddr: 1 << 20, PerNet: 1 << 20}),
	}
	opt := Options{
		Registry: f.registry, Games: f.catalog, Version: "1.2.3", Log: zerolog.Nop(),
		Metrics: netserve.NewMetrics(f.gauges, "web", DropReasons()...), Registerer: f.gauges,
	}
	for _, c := range change {
		c(&opt)
	}
	f.server = New(opt)
	return f
}

// listed describes a server in a test.
type listed struct {
	addr    string // default 192.0.2.1:6500
	game    string // default gmtest
	rules   []string
	players [][]string // the first row has the names
	teams   [][]string
	change  func(*master.Server)
}

func (f *fixture) record(l listed) master.Server {
	f.t.Helper()
	if l.addr == "" {
		l.addr = "192.0.2.1:6500"
	}
	if l.game == "" {
		l.game = "gmtest"
	}
	at := netip.MustParseAddrPort(l.addr)
	s := master.Server{Key: master.Key{Source: at, Instance: 0xCAFEF00D}, Public: at, Game: l.game, Seen: time.Now()}
	var rep master.Report
	var names []string
	for i := 0; i < len(l.rules); i += 2 {
		names = append(names, l.rules[i])
		rep.Rule([]byte(l.rules[i+1]))
	}
	rep.SetRules(f.registry.Names(names))
	table := func(rows [][]string, add func([]byte), set func(*master.Names, int)) {
		if len(rows) == 0 {
			return
		}
		for _, row := range rows[1:] {
			for _, v := range row {
				add([]byte(v))
			}
		}
		set(f.registry.Names(rows[0]), len(rows)-1)
	}
	table(l.players, rep.Player, rep.SetPlayers)
	table(l.teams, rep.Team, rep.SetTeams)
	if err := rep.Into(&s); err != nil {
		f.t.Fatalf("Into: %v", err)
	}
	if l.change != nil {
		l.change(&s)
	}
	return s
}

func (f *fixture) put(l listed) master.Key {
	f.t.Helper()
	s := f.record(l)
	if err := f.registry.Put(s); err != nil {
		f.t.Fatalf("Put(%s): %v", s.Public, err)
	}
	return s.Key
}

// fill lists n servers with one rule.
func (f *fixture) fill(n int) {
	f.t.Helper()
	for i := range n {
		f.put(listed{addr: fmt.Sprintf("10.0.%d.%d:6500", i>>8, i&255), rules: []string{"hostname", "server " + fmt.Sprint(i)}})
	}
}

// do sends a request to the handler. header are names and values.
func (f *fixture) do(method, target string, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(w, r)
	return w
}

func (f *fixture) get(target string, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	return f.do(http.MethodGet, target, header...)
}

// page returns the body of a page and checks that it is one.
func (f *fixture) page(target string) string {
	f.t.Helper()
	w := f.get(target)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != htmlType {
		f.t.Fatalf("GET %s: got %d %s, want 200 %s", target, w.Code, w.Header().Get("Content-Type"), htmlType)
	}
	return w.Body.String()
}

// serverJSON is one server as a tool reads it.
type serverJSON struct {
	ID         string              `json:"id"`
	Game       string              `json:"game"`
	Title      string              `json:"title"`
	Origin     string              `json:"origin"`
	Name       string              `json:"name"`
	Address    string              `json:"address"`
	Host       string              `json:"host"`
	Port       int                 `json:"port"`
	GamePort   *int                `json:"game_port"`
	Map        string              `json:"map"`
	Type       string              `json:"type"`
	Players    int                 `json:"players"`
	MaxPlayers int                 `json:"max_players"`
	Password   bool                `json:"password"`
	Country    string              `json:"country"`
	Region     string              `json:"region"`
	Reachable  bool                `json:"reachable"`
	Reached    string              `json:"reached"`
	NATNeg     bool                `json:"nat_negotiation"`
	First      string              `json:"first_seen"`
	Last       string              `json:"last_seen"`
	Rules      map[string]string   `json:"rules"`
	PlayerList []map[string]string `json:"player_list"`
	TeamList   []map[string]string `json:"team_list"`
}

type listJSON struct {
	Count   int          `json:"count"`
	Total   int          `json:"total"`
	Servers []serverJSON `json:"servers"`
	Next    string       `json:"next"`
}

// decode reads a body strictly: no unknown keys, nothing behind it.
func decode[T any](t testing.TB, body io.Reader) (v T) {
	t.Helper()
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decoding the answer: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("the answer has something behind its value (%v)", err)
	}
	return v
}

// list asks for a list and checks that it is one.
func (f *fixture) list(target string) listJSON {
	f.t.Helper()
	w := f.get(target)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != jsonType {
		f.t.Fatalf("GET %s: got %d %s %s, want 200 %s", target, w.Code, w.Header().Get("Content-Type"), w.Body, jsonType)
	}
	l := decode[listJSON](f.t, w.Body)
	if l.Count != len(l.Servers) {
		f.t.Errorf("GET %s: count %d, but %d servers", target, l.Count, len(l.Servers))
	}
	return l
}

func addresses(l listJSON) string {
	var out []string
	for _, s := range l.Servers {
		out = append(out, s.Address)
	}
	return strings.Join(out, " ")
}

// errorText reads {"error": "..."}.
func errorText(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != jsonType {
		t.Errorf("content type of an error: got %q, want %q", got, jsonType)
	}
	return decode[struct{ Error string }](t, w.Body).Error
}

func addr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// count returns the value of a counter; label names and values follow its name.
// One that does not exist is 0.
func (f *fixture) count(name string, labels ...string) float64 {
	f.t.Helper()
	families, err := f.gauges.Gather()
	if err != nil {
		f.t.Fatalf("Gather: %v", err)
	}
	want := make(map[string]string)
	for i := 0; i < len(labels); i += 2 {
		want[labels[i]] = labels[i+1]
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			have := make(map[string]string)
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			if maps.Equal(have, want) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
