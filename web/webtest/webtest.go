// Package webtest holds the shared parts of the tests of package web and of the packages below it:
// a list that a test fills, requests to a handler, and clients of a server. It is not for programs.
package webtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// Secrets of games that no answer may have in it.
const (
	SecretOne = "sEcr3T1"
	SecretTwo = "sEcr3T2"
)

// Fixture is a list that the test fills, and a handler with its server, which the
// test sets.
type Fixture struct {
	T        testing.TB
	Registry *master.Registry
	Catalog  *games.Catalog
	Gauges   *prometheus.Registry
	Metrics  *netserve.Metrics // of service web, in Gauges

	Handler http.Handler
	Serve   func(context.Context, net.Listener) error
}

// Served are the services of a Fixture: all but chat.
func Served(s games.Service) games.Served {
	if s == "peerchat" {
		return games.NotBuilt
	}
	return games.Running
}

// Nouns are those of a Fixture: all but noun.Chat and noun.Relays.
func Nouns() noun.Set {
	return noun.Set{noun.Accounts: true, noun.Files: true, noun.GameSpy: true, noun.Meetings: true, noun.Names: true, noun.News: true, noun.Rooms: true, noun.Stats: true}
}

// boards are those of gmtest.
func boards() []games.Board {
	return []games.Board{
		{Name: "kills", Title: "Most <kills>", Key: "kills", How: games.BoardSum}, {Name: "best", Key: "score", How: games.BoardMax},
	}
}

// tables are those of gmtest; empty has no records.
func tables() []games.Table {
	fields := []games.TableField{{Name: "title", Type: "ascii"}, {Name: "score", Type: "int"}, {Name: "level", Type: "binary"}}
	return []games.Table{{Name: "Levels", Fields: fields, Public: true}, {Name: "notes", Fields: fields}, {Name: "empty", Public: true}}
}

// New returns a Fixture with three games and an empty list. reasons are those of
// Metrics.
func New(t testing.TB, reasons ...string) *Fixture {
	t.Helper()
	catalog, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Title: "Test <game>", Secrets: []string{SecretOne}, ID: 7, QueryPort: 25000, Facts: games.Facts{Needs: []games.Service{"qr2"}, Editions: editions()}, Rooms: []games.Room{{ID: 7, Name: "Lobby"}}, Boards: boards(), Tables: tables()},
		{Name: "gmother", Title: "Other game", Secrets: []string{SecretTwo}, Maintenance: true, Facts: games.Facts{Colours: "quake"}},
		{Name: "gmquiet", Secrets: []string{SecretOne, SecretTwo}, Facts: games.Facts{Needs: []games.Service{"peerchat"}}},
	})
	if err != nil {
		t.Fatalf("NewCatalog: %v", err)
	}
	gauges := prometheus.NewRegistry()
	return &Fixture{
		T: t, Catalog: catalog, Gauges: gauges, Metrics: netserve.NewMetrics(gauges, "web", reasons...),
		Registry: master.NewRegistry(master.Limits{PerAddr: 1 << 20, PerNet: 1 << 20}),
	}
}

// Listed describes a server in a test.
type Listed struct {
	Addr    string // default 192.0.2.1:6500
	Game    string // default gmtest
	Rules   []string
	Players [][]string // the first row has the names
	Teams   [][]string
	Change  func(*master.Server)
}

// Record returns the record of a server without listing it.
func (f *Fixture) Record(l Listed) master.Server {
	f.T.Helper()
	if l.Addr == "" {
		l.Addr = "192.0.2.1:6500"
	}
	if l.Game == "" {
		l.Game = "gmtest"
	}
	at := netip.MustParseAddrPort(l.Addr)
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: at, Instance: 0xCAFEF00D}, Public: at, Game: l.Game, Seen: time.Now()}
	var rep master.Report
	var names []string
	for i := 0; i < len(l.Rules); i += 2 {
		names = append(names, l.Rules[i])
		rep.Rule([]byte(l.Rules[i+1]))
	}
	rep.SetRules(f.Registry.Names(names))
	table := func(rows [][]string, add func([]byte), set func(*master.Names, int)) {
		if len(rows) == 0 {
			return
		}
		for _, row := range rows[1:] {
			for _, v := range row {
				add([]byte(v))
			}
		}
		set(f.Registry.Names(rows[0]), len(rows)-1)
	}
	table(l.Players, rep.Player, rep.SetPlayers)
	table(l.Teams, rep.Team, rep.SetTeams)
	if err := rep.Into(&s); err != nil {
		f.T.Fatalf("Into: %v", err)
	}
	if l.Change != nil {
		l.Change(&s)
	}
	return s
}

// Put lists a server.
func (f *Fixture) Put(l Listed) master.Key {
	f.T.Helper()
	s := f.Record(l)
	if err := f.Registry.Put(s); err != nil {
		f.T.Fatalf("Put(%s): %v", s.Public, err)
	}
	return s.Key
}

// Fill lists n servers with one rule.
func (f *Fixture) Fill(n int) {
	f.T.Helper()
	for i := range n {
		f.Put(Listed{Addr: fmt.Sprintf("10.0.%d.%d:6500", i>>8, i&255), Rules: []string{"hostname", "server " + fmt.Sprint(i)}})
	}
}

// Do sends a request to the handler. header are names and values.
func (f *Fixture) Do(method, target string, header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	r := httptest.NewRequestWithContext(f.T.Context(), method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	return w
}

// Get sends a GET to the handler.
func (f *Fixture) Get(target string, header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	return f.Do(http.MethodGet, target, header...)
}

// Page returns the body of a page and checks that it is one.
func (f *Fixture) Page(target string) string {
	f.T.Helper()
	w := f.Get(target)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		f.T.Fatalf("GET %s: got %d %s, want 200 %s", target, w.Code, w.Header().Get("Content-Type"), "text/html; charset=utf-8")
	}
	return w.Body.String()
}

// ServerJSON is one server as a tool reads it.
type ServerJSON struct {
	ID         string              `json:"id"`
	Game       string              `json:"game"`
	Title      string              `json:"title"`
	Origin     string              `json:"origin"`
	Via        string              `json:"via"`
	Vouched    *bool               `json:"vouched"`
	Query      string              `json:"query"`
	Name       string              `json:"name"`
	Address    string              `json:"address"`
	Host       string              `json:"host"`
	Port       int                 `json:"port"`
	Join       *string             `json:"join"`
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
	Joinable   string              `json:"joinable"`
	NATNeg     bool                `json:"nat_negotiation"`
	First      string              `json:"first_seen"`
	Last       string              `json:"last_seen"`
	Rules      map[string]string   `json:"rules"`
	PlayerList []map[string]string `json:"player_list"`
	TeamList   []map[string]string `json:"team_list"`
}

// ListJSON is a list as a tool reads it.
type ListJSON struct {
	Master  string       `json:"master"`
	Count   int          `json:"count"`
	Total   int          `json:"total"`
	Servers []ServerJSON `json:"servers"`
	Next    string       `json:"next"`
}

// Decode reads a body strictly: no unknown keys, nothing behind it.
func Decode[T any](t testing.TB, body io.Reader) (v T) {
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

// List asks for a list and checks that it is one.
func (f *Fixture) List(target string) ListJSON {
	f.T.Helper()
	w := f.Get(target)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
		f.T.Fatalf("GET %s: got %d %s %s, want 200 %s", target, w.Code, w.Header().Get("Content-Type"), w.Body, "application/json; charset=utf-8")
	}
	l := Decode[ListJSON](f.T, w.Body)
	if l.Count != len(l.Servers) {
		f.T.Errorf("GET %s: count %d, but %d servers", target, l.Count, len(l.Servers))
	}
	return l
}

// Addresses returns the addresses of a list, with blanks between them.
func Addresses(l ListJSON) string {
	var out []string
	for _, s := range l.Servers {
		out = append(out, s.Address)
	}
	return strings.Join(out, " ")
}

// ErrorText reads {"error": "..."}.
func ErrorText(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("content type of an error: got %q, want %q", got, "application/json; charset=utf-8")
	}
	return Decode[struct{ Error string }](t, w.Body).Error
}

// Count returns the value of a counter; label names and values follow its name.
// One that does not exist is 0.
func (f *Fixture) Count(name string, labels ...string) float64 {
	f.T.Helper()
	families, err := f.Gauges.Gather()
	if err != nil {
		f.T.Fatalf("Gather: %v", err)
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

// FillReal lists n servers with reports like those of real servers.
func (f *Fixture) FillReal(n int) {
	f.T.Helper()
	for i := range n {
		f.PutReal(i, 0)
	}
}

// PutReal lists one of them, or replaces its record: round is part of its report.
func (f *Fixture) PutReal(i, round int) {
	f.T.Helper()
	f.Put(Listed{
		Addr: fmt.Sprintf("10.%d.%d.%d:6500", i>>16, i>>8&255, i&255), Game: []string{"gmtest", "gmother", "gmquiet"}[i%3],
		Rules: []string{
			"localip0", "192.168.1.5", "localport", "6500", "natneg", "1", "gamename", "gmtest", "hostname", fmt.Sprintf("Server number %d \xa9", i),
			"gamever", "1.42", "hostport", "7777", "mapname", "DM-Deck16", "gametype", "deathmatch", "gamemode", "openplaying",
			"numplayers", fmt.Sprint((i + round) % 17), "maxplayers", "16", "password", "0", "timelimit", "20", "fraglimit", "30", "teamplay", "0",
			"dedicated", "1", "balance", "True", "adminname", "The admin", "adminemail", "admin@example.org",
		},
		Players: [][]string{{"player_", "score_", "ping_"}, {"Alpha", "12", "40"}, {"Beta", "3", "88"}},
	})
}

// Ask sends a request from an address.
func (f *Fixture) Ask(from, target string, header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	r := httptest.NewRequestWithContext(f.T.Context(), http.MethodGet, target, nil)
	r.RemoteAddr = from
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	return w
}

// Advertised returns the addresses of a machine on 10.0.0.5/24 whose servers are
// advertised as 203.0.113.5.
func Advertised(list *master.Registry) *advertise.Table {
	t := advertise.New(list)
	t.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.5")}})
	t.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	return t
}

// Visitors are the addresses that a server on 127.0.0.1 of that machine has for
// each visitor.
func Visitors() map[string]string {
	return map[string]string{"127.0.0.1": "127.0.0.1", "::1": "127.0.0.1", "10.0.0.9": "10.0.0.5", "203.0.113.9": "203.0.113.5"}
}

// editions are those of gmtest: one of which something is known, and one that moved.
func editions() []games.Edition {
	return []games.Edition{
		{
			Copies: []string{"retail", "gog"}, Version: "1.1", Way: "dns", HTTPS: true, Basis: "guess", Refuse: []string{"ads.example.org"}, Hint: "Install it again.",
			Evidence: "seen <here>", Source: "a README", Date: "2026-03",
		},
		{Copies: []string{"steam"}, Elsewhere: "Steam", Since: "2014-05"},
	}
}
