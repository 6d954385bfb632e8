package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/web/webtest"
)

// model is a server as encoding/json writes it.
type model struct {
	ID        string            `json:"id"`
	Game      string            `json:"game"`
	Title     string            `json:"title"`
	Origin    string            `json:"origin"`
	Via       string            `json:"via,omitempty"`
	Vouched   *bool             `json:"vouched,omitempty"`
	Query     string            `json:"query,omitempty"`
	Name      string            `json:"name"`
	Address   string            `json:"address"`
	Host      string            `json:"host"`
	Port      uint16            `json:"port"`
	GamePort  uint16            `json:"game_port,omitempty"`
	Map       string            `json:"map"`
	Type      string            `json:"type"`
	Players   int               `json:"players"`
	Max       int               `json:"max_players"`
	Password  bool              `json:"password"`
	Country   string            `json:"country"`
	Region    string            `json:"region"`
	Reachable bool              `json:"reachable"`
	Reached   string            `json:"reached"`
	Joinable  string            `json:"joinable"`
	NATNeg    bool              `json:"nat_negotiation"`
	First     string            `json:"first_seen"`
	Last      string            `json:"last_seen"`
	Rules     json.RawMessage   `json:"rules"`
	List      []json.RawMessage `json:"player_list,omitempty"`
	Teams     []json.RawMessage `json:"team_list,omitempty"`
}

// marshal is json.Marshal without escapes for HTML.
func marshal(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatalf("Encode(%v): %v", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// ordered writes names and values in their order.
func ordered(t testing.TB, pairs iter.Seq2[string, string]) json.RawMessage {
	t.Helper()
	var members [][]byte
	seen := make(map[string]bool)
	for name, value := range pairs {
		if name = clean.Text(name); name == "" || seen[name] || IsPrivateRule(name) {
			continue
		}
		seen[name] = true
		members = append(members, slices.Concat(marshal(t, name), []byte(":"), marshal(t, clean.Text(value))))
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))
}

func objects(t testing.TB, table master.Table) (list []json.RawMessage) {
	t.Helper()
	for i := range table.Rows() {
		list = append(list, ordered(t, func(yield func(string, string) bool) {
			for k := range table.Columns() {
				if !yield(table.Names().Name(k), table.Value(i, k)) {
					return
				}
			}
		}))
	}
	return list
}

// modelOf is the API's full description of a server.
func modelOf(t testing.TB, h master.Record, title string) model {
	t.Helper()
	rule := func(name string) string {
		v, _ := h.Rules.Get(name)
		return v
	}
	m := model{
		ID: h.ID(), Game: clean.Text(h.Game), Title: clean.Text(title), Origin: h.Origin.String(), Name: clean.Text(rule("hostname")),
		Address: h.Public.String(), Host: h.Public.Addr().String(), Port: h.Public.Port(), GamePort: parsePort(rule("hostport")),
		Map: clean.Text(rule("mapname")), Type: clean.Text(rule("gametype")), Players: h.Population(), Password: master.IsYes(rule("password")),
		Country: clean.Text(h.Country), Region: clean.Text(h.Region), Reachable: h.Direct(), Reached: h.Findings.Reached.String(), Joinable: h.Joinable().String(), NATNeg: h.NATNeg,
		First: h.First.UTC().Format(time.RFC3339), Last: h.LastSeen.UTC().Format(time.RFC3339),
		Rules: ordered(t, h.Rules.All()), List: objects(t, h.Players), Teams: objects(t, h.Teams),
	}
	if m.Via, m.Query = h.Told, h.QueryProtocol(); h.Origin == master.Federated {
		m.Vouched = &h.Vouched
	}
	m.Max, _ = master.ParsePopulation(rule("maxplayers"))
	return m
}

func FuzzAppendServer(f *testing.F) {
	for i, s := range webtest.HostileTexts() {
		f.Add(s, "dm", "7777", "rule"+s, i)
	}
	fix := newFixture(f)
	f.Fuzz(func(t *testing.T, name, area, number, rule string, players int) {
		fix.T = t
		if len(name)+len(area)+len(number)+len(rule) > 8<<10 {
			t.Skip("no report is that long")
		}
		known := []string{"hostname", "mapname", "gametype", "hostport", "maxplayers", "numplayers", "password", "localip0", "player_", rule}
		if fix.Registry.Names(known).Len() != len(known) {
			t.Skip("the rule would be dropped or take the place of another")
		}
		fix.Put(webtest.Listed{
			Rules: []string{
				"hostname", name, "mapname", area, "gametype", rule, "hostport", number, "maxplayers", number, "numplayers", fmt.Sprint(players),
				"password", number, "localip0", area, rule, name,
			},
			Players: [][]string{{"player_", rule}, {name, area}, {area, name}},
			Change:  func(s *master.Server) { s.Country, s.Region = area, number },
		})
		h := fix.Registry.All()[0]
		m := modelOf(t, h, "Test <game>")
		full := marshal(t, m)
		m.List, m.Teams = nil, nil
		brief := marshal(t, m)
		var list *Snapshot
		for round := range 4 { // read, read again, with its text, from its text
			list = fix.api.lister.build(list)
			e := newEncoder(nil, list)
			e.appendServer(list.Rows[0], false)
			if !bytes.Equal(e.buf, brief) {
				t.Fatalf("round %d: got\n%s\nwant\n%s", round, e.buf, brief)
			}
			e.buf = nil
			e.appendServer(list.Rows[0], true)
			if want := bytes.TrimSuffix(full, []byte("}")); !bytes.HasPrefix(e.buf, want) { // an empty list is left out of the model
				t.Fatalf("round %d: got\n%s\nwant\n%s", round, e.buf, want)
			}
		}
	})
}

// Whatever happened to the list, a snapshot that reuses rows of the last one gives the
// same answers as one made from nothing.
func TestSnapshotFromLast(t *testing.T) {
	racetest.Skip(t, "compares many lists")
	f := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		f.Registry = master.NewRegistry(master.Limits{})
		l := newLister(f.Registry, f.Catalog)
		var last *Snapshot
		titles := map[string]int{}
		address := rapid.Custom(func(rt *rapid.T) string {
			host := rapid.IntRange(1, 8).Draw(rt, "host")
			return rapid.SampledFrom([]string{fmt.Sprintf("192.0.2.%d:6500", host), fmt.Sprintf("[2001:db8::%d]:6500", host)}).Draw(rt, "address")
		})
		game := rapid.SampledFrom([]string{"gmtest", "gmother", "gmquiet"})
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				s := f.Record(webtest.Listed{
					Addr: address.Draw(rt, "addr"), Game: game.Draw(rt, "game"),
					Rules: []string{
						"hostname", rapid.SampledFrom(webtest.HostileTexts()).Draw(rt, "name"), "numplayers", fmt.Sprint(rapid.IntRange(-1, 3).Draw(rt, "players")),
						rapid.SampledFrom([]string{"mapname", "password", "other"}).Draw(rt, "rule"), rapid.SampledFrom([]string{"1", "Deck", "deck"}).Draw(rt, "value"),
					},
				})
				if err := f.Registry.Put(s); err != nil {
					rt.Fatalf("Put: %v", err)
				}
			},
			"hear": func(rt *rapid.T) {
				at := addr(address.Draw(rt, "addr"))
				f.Registry.Touch(master.Key{Source: at, Instance: 0xCAFEF00D}, qr2.Origin, time.Now().Add(time.Hour))
			},
			"probe": func(rt *rapid.T) {
				at := addr(address.Draw(rt, "addr"))
				f.Registry.Report(master.Key{Source: at, Instance: 0xCAFEF00D}, master.Findings{Reached: rapid.SampledFrom([]master.Reached{master.ReachedUnknown, master.ReachedPerhaps, master.ReachedDirect}).Draw(rt, "reached")})
			},
			"remove": func(rt *rapid.T) {
				f.Registry.Remove(master.Key{Source: addr(address.Draw(rt, "addr")), Instance: 0xCAFEF00D})
			},
			"hide":   func(rt *rapid.T) { f.Registry.Hide(addr(address.Draw(rt, "addr"))) },
			"unhide": func(rt *rapid.T) { f.Registry.Unhide(addr(address.Draw(rt, "addr"))) },
			"rename game": func(rt *rapid.T) {
				titles[game.Draw(rt, "game")]++
				var list []games.Game
				for name, n := range titles {
					list = append(list, games.Game{Name: name, Title: fmt.Sprintf("%s, title %d", name, n), Secrets: []string{webtest.SecretOne}})
				}
				if err := f.Catalog.Replace(list); err != nil {
					rt.Fatalf("Replace: %v", err)
				}
			},
			"": func(rt *rapid.T) {
				last = l.build(last)
				sameSnapshots(rt, last, l.build(nil))
			},
		})
	})
}

func sameSnapshots(rt *rapid.T, got, want *Snapshot) {
	rt.Helper()
	if got.titles != want.titles || got.Players != want.Players || !slices.Equal(got.Games, want.Games) {
		rt.Errorf("got %d players, games %v, want %d, %v", got.Players, got.Games, want.Players, want.Games)
	}
	whole := listParams{limit: MaxLimit, full: true}
	if g, w := encodeList(got, whole, maxAnswer), encodeList(want, whole, maxAnswer); !bytes.Equal(g, w) {
		rt.Errorf("got\n%s\nwant\n%s", g, w)
	}
	same := func(a, b *Row) bool {
		return a.Server == b.Server && a.Title == b.Title && a.Rank == b.Rank && a.LowerName == b.LowerName && a.LowerMap == b.LowerMap
	}
	for o := range Order(len(orderNames())) {
		if !slices.EqualFunc(got.inOrder(o), want.inOrder(o), same) {
			rt.Errorf("by %s: the order is another", orderNames()[o])
		}
	}
}

func TestKeptTexts(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "short"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Rules: []string{"hostname", strings.Repeat("x", maxText)}})
	var list *Snapshot
	kept := func(before int64) string {
		list = f.api.lister.build(list)
		list.texts.Add(before)
		encodeList(list, listParams{limit: MaxLimit}, maxAnswer)
		var out []string
		for _, r := range list.Rows {
			if r.text.Load() != nil {
				out = append(out, r.Public.String())
			}
		}
		return strings.Join(out, " ")
	}
	for i, step := range []struct {
		before int64
		want   string
	}{{0, ""}, {maxTexts, ""}, {maxTexts - 1, "192.0.2.1:1"}, {maxTexts, "192.0.2.1:1"}} {
		if got := kept(step.before); got != step.want {
			t.Errorf("answer %d, with %d other texts: kept those of %q, want %q", i, step.before, got, step.want)
		}
	}
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "changed"}})
	if got := kept(0); got != "" {
		t.Errorf("after a change: kept the texts of %q, want none", got)
	}
	if n := list.texts.Load(); n != 0 {
		t.Errorf("after a change: %d texts are counted, want 0", n)
	}
}
