package games

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/racetest"
)

func newCatalog(t *testing.T, layers ...[]Game) *Catalog {
	t.Helper()
	c, err := NewCatalog(layers...)
	if err != nil {
		t.Fatalf("NewCatalog: %v", err)
	}
	return c
}

// layered returns the catalogue's merge of one game in two layers.
func layered(t *testing.T, below, above Game) Game {
	t.Helper()
	below.Name, above.Name = "x", "x"
	g, ok := newCatalog(t, []Game{below}, []Game{above}).Lookup("x")
	if !ok {
		t.Fatal("Lookup(x): not found")
	}
	return g
}

func TestOverrideChangesStatedFields(t *testing.T) {
	full := Game{
		Title: "Full", Secrets: []string{"first1", "second"}, ID: 7, QueryPort: 7777, BackendFlags: 0x80,
		DisabledServices: Gone, Maintenance: true, Rooms: []Room{{ID: 1, Name: "Lobby"}},
		Policy: Policy{StrictAvailability: On, NoSecure: On},
	}
	tests := map[string]struct {
		above Game
		want  func(*Game)
	}{
		"nothing":                 {Game{}, func(*Game) {}},
		"title":                   {Game{Title: "New"}, func(g *Game) { g.Title = "New" }},
		"port":                    {Game{QueryPort: 1}, func(g *Game) { g.QueryPort = 1 }},
		"secrets replace":         {Game{Secrets: []string{"third3"}}, func(g *Game) { g.Secrets = []string{"third3"} }},
		"id":                      {Game{ID: 8}, func(g *Game) { g.ID = 8 }},
		"flags":                   {Game{BackendFlags: 1}, func(g *Game) { g.BackendFlags = 1 }},
		"disabled":                {Game{DisabledServices: 2}, func(g *Game) { g.DisabledServices = 2 }},
		"rooms replace":           {Game{Rooms: []Room{{ID: 2, Name: "B"}}}, func(g *Game) { g.Rooms = []Room{{ID: 2, Name: "B"}} }},
		"one switch":              {Game{Policy: Policy{NoSecure: Off}}, func(g *Game) { g.Policy.NoSecure = Off }},
		"second login":            {Game{Policy: Policy{SecondLogin: KickUser}}, func(g *Game) { g.Policy.SecondLogin = KickUser }},
		"a switch of presence":    {Game{Policy: Policy{AutoAccept: On}}, func(g *Game) { g.Policy.AutoAccept = On }},
		"another switch":          {Game{Policy: Policy{StrictLegacyValidate: On}}, func(g *Game) { g.Policy.StrictLegacyValidate = On }},
		"secrets given as none":   {Game{Given: FieldsOf("secrets")}, func(g *Game) { g.Secrets = nil }},
		"id given as 0":           {Game{Given: FieldsOf("id")}, func(g *Game) { g.ID = 0 }},
		"flags given as 0":        {Game{Given: FieldsOf("backend_flags")}, func(g *Game) { g.BackendFlags = 0 }},
		"disabled given as 0":     {Game{Given: FieldsOf("disabled_services")}, func(g *Game) { g.DisabledServices = 0 }},
		"maintenance given as no": {Game{Given: FieldsOf("maintenance")}, func(g *Game) { g.Maintenance = false }},
		"rooms given as none":     {Game{Given: FieldsOf("rooms")}, func(g *Game) { g.Rooms = nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := full
			want.unshare()
			want.Name = "x"
			tc.want(&want)
			if diff := cmp.Diff(want, layered(t, full, tc.above)); diff != "" {
				t.Errorf("the override gives (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThreeLayersAndTheirSource(t *testing.T) {
	c := newCatalog(t,
		[]Game{{Name: "x", Title: "X", QueryPort: 1, Source: Source{Origin: FromEmbedded}}, {Name: "y", Source: Source{Origin: FromEmbedded}}},
		[]Game{{Name: "x", QueryPort: 2, Secrets: []string{"secret"}, Source: Source{Origin: FromFile, File: "my.yaml", Line: 3}}},
		[]Game{{Name: "x", QueryPort: 3, Source: Source{Origin: FromStore}}, {Name: "z", Source: Source{Origin: FromStore}}},
	)
	want := []Game{
		{Name: "x", Title: "X", QueryPort: 3, Secrets: []string{"secret"}, Source: Source{Origin: FromStore}},
		{Name: "y", QueryPort: DefaultQueryPort, Source: Source{Origin: FromEmbedded}},
		{Name: "z", QueryPort: DefaultQueryPort, Source: Source{Origin: FromStore}},
	}
	if diff := cmp.Diff(want, c.All()); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
	if c.Len() != 3 {
		t.Errorf("Len() = %d, want 3", c.Len())
	}
}

func TestStatedZeroSurvivesTheLayerBetween(t *testing.T) {
	c := newCatalog(t,
		[]Game{{Name: "x", BackendFlags: 0x80}},
		[]Game{{Name: "x", Given: FieldsOf("backend_flags")}},
		[]Game{{Name: "x", QueryPort: 9}},
	)
	if g, _ := c.Lookup("x"); g.BackendFlags != 0 || g.Given != 0 {
		t.Errorf("Lookup(x): flags %#x, Given %b; want 0, 0", g.BackendFlags, g.Given)
	}
}

func TestLookupIgnoresCase(t *testing.T) {
	long := strings.Repeat("n", MaxNameLen)
	c := newCatalog(t, []Game{{Name: "GmTest"}, {Name: long}})
	for name, want := range map[string]bool{
		"gmtest": true, "GMTEST": true, "gMtEsT": true, long: true, strings.ToUpper(long): true,
		"": false, "gmtes": false, "gmtest ": false, "gmtest\x00": false, long + "n": false, strings.Repeat("x", 1<<16): false,
	} {
		if _, ok := c.Lookup(name); ok != want {
			t.Errorf("Lookup(%.40q) found %v, want %v", name, ok, want)
		}
		if _, ok := c.LookupBytes([]byte(name)); ok != want {
			t.Errorf("LookupBytes(%.40q) found %v, want %v", name, ok, want)
		}
	}
}

func TestZeroCatalogIsEmpty(t *testing.T) {
	var c Catalog
	if _, ok := c.Lookup("gmtest"); ok {
		t.Error("Lookup found a game")
	}
	if _, _, ok := c.Room(1); ok {
		t.Error("Room found a room")
	}
	if c.All() != nil || c.Len() != 0 {
		t.Errorf("All() = %v, Len() = %d", c.All(), c.Len())
	}
}

func TestRoomsAreFoundById(t *testing.T) {
	c := newCatalog(t, []Game{
		{Name: "x", Rooms: []Room{{ID: 5, Name: "Five"}, {ID: 6, Name: "Six", MaxWaiting: 9, Fields: []Field{{"b", "1"}, {"a", "2"}}}}},
		{Name: "y", Rooms: []Room{{ID: 7, Name: "Seven"}}},
	})
	room, game, ok := c.Room(6)
	if want := (Room{ID: 6, Name: "Six", MaxWaiting: 9, Fields: []Field{{"b", "1"}, {"a", "2"}}}); !ok || game.Name != "x" || !cmp.Equal(room, want) {
		t.Errorf("Room(6) = %+v of %q, %v; want %+v of x", room, game.Name, ok, want)
	}
	if _, _, ok := c.Room(8); ok {
		t.Error("Room(8) found a room")
	}
}

func TestReplaceKeepsTheContentAfterErrors(t *testing.T) {
	c := newCatalog(t, []Game{{Name: "old"}})
	at := func(line int) Source { return Source{Origin: FromFile, File: "my.yaml", Line: line} }
	err := c.Replace(
		[]Game{{Name: "a", Rooms: []Room{{ID: 1, Name: "R"}}, Source: at(2)}, {Name: "b", Secrets: []string{"no"}, Source: at(3)}},
		[]Game{
			{Name: "c", Rooms: []Room{{ID: 1, Name: "R"}}, Source: at(4)},
			{Name: "d", Source: at(5)},
			{Name: "D", Source: at(6)},
			{Name: "not good", Source: at(7)},
		},
	)
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("Replace: %v, want an *InvalidError", err)
	}
	for _, want := range []string{
		`my.yaml:3: game "b": secret 1 has 2 characters`,
		`my.yaml:4: game "c": room 1: the id belongs to a room of game "a" in my.yaml:2`,
		`my.yaml:6: game "d": already in my.yaml:5`,
		`my.yaml:7: game "not good": name must be`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if invalid.Total != 4 {
		t.Errorf("%d problems, want 4:\n%v", invalid.Total, err)
	}
	if _, ok := c.Lookup("old"); !ok || c.Len() != 1 {
		t.Errorf("the old content is gone: %v", c.All())
	}
}

func TestOverriddenRoomFreesItsID(t *testing.T) {
	c := newCatalog(t,
		[]Game{{Name: "a", Rooms: []Room{{ID: 1, Name: "R"}}}},
		[]Game{{Name: "a", Given: FieldsOf("rooms")}, {Name: "b", Rooms: []Room{{ID: 1, Name: "S"}}}},
	)
	if _, g, ok := c.Room(1); !ok || g.Name != "b" {
		t.Errorf("Room(1) is of %q, %v; want b", g.Name, ok)
	}
}

func TestReplaceCopiesTheLayers(t *testing.T) {
	layer := []Game{{Name: "x", Secrets: []string{"secret"}, Rooms: []Room{{ID: 1, Name: "R", Fields: []Field{{"k", "v"}}}}}}
	c := newCatalog(t, layer)
	layer[0].Secrets[0] = "change"
	layer[0].Rooms[0].Fields[0].Value = "w"
	layer[0].Rooms[0].Name = "S"
	g, _ := c.Lookup("x")
	if g.Secret() != "secret" || g.Rooms[0].Name != "R" || g.Rooms[0].Fields[0].Value != "v" {
		t.Errorf("the catalogue changed with the caller's slice: %+v", g)
	}
	c.All()[0].Name = "gone"
	if c.All()[0].Name != "x" {
		t.Error("the catalogue changed with the result of All")
	}
}

func TestReplaceRefusesTooManyRecords(t *testing.T) {
	racetest.Skip(t, "reads a file of the largest size")
	layer := make([]Game, MaxRecords+1)
	for i := range layer {
		layer[i].Name = "g" + strconv.Itoa(i)
	}
	var c Catalog
	if err := c.Replace(layer); !errors.Is(err, ErrTooManyRecords) {
		t.Errorf("Replace with %d records: %v, want ErrTooManyRecords", len(layer), err)
	}
	if err := c.Replace(layer[:MaxRecords]); err != nil {
		t.Errorf("Replace with %d records: %v", MaxRecords, err)
	}
}

// TestReadersSeeOneStateWhileItIsReplaced has readers that check that all games
// they see in one All come from the same Replace.
func TestReadersSeeOneStateWhileItIsReplaced(t *testing.T) {
	const rounds = 200
	state := func(n int) []Game {
		return []Game{{Name: "a", ID: n, Secrets: []string{"secret"}}, {Name: "b", ID: n, Rooms: []Room{{ID: 1, Name: "R"}}}}
	}
	c := newCatalog(t, state(1))
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for n := range rounds {
				if err := c.Replace(state(n + 1)); err != nil {
					t.Errorf("Replace: %v", err)
				}
				if err := c.Replace([]Game{{Name: "!"}}); err == nil {
					t.Error("Replace took a bad record")
				}
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if all := c.All(); len(all) != 2 || all[0].ID != all[1].ID {
					t.Errorf("All() mixes two states: %+v", all)
					return
				}
				if g, ok := c.Lookup("A"); !ok || g.Secret() != "secret" {
					t.Errorf("Lookup(A) = %+v, %v", g, ok)
					return
				}
				if r, g, ok := c.Room(1); !ok || r.Name != "R" || g.Name != "b" {
					t.Errorf("Room(1) = %+v of %q, %v", r, g.Name, ok)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

func benchCatalog(b *testing.B) *Catalog {
	layer := make([]Game, 5000)
	for i := range layer {
		layer[i] = Game{Name: "game" + strconv.Itoa(i), Secrets: []string{"secret"}}
	}
	c, err := NewCatalog(layer)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func TestLookupDoesNotAllocate(t *testing.T) {
	c := newCatalog(t, []Game{{Name: "battlefield2"}})
	for _, name := range []string{"battlefield2", "BattleField2", "unknowngame"} {
		packet := []byte(name)
		if n := testing.AllocsPerRun(100, func() { c.Lookup(name); c.LookupBytes(packet) }); n != 0 {
			t.Errorf("Lookup(%q) allocates %v times", name, n)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	c := benchCatalog(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Lookup("game1942"); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkLookupBytes(b *testing.B) {
	c := benchCatalog(b)
	name := []byte("Game1942")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.LookupBytes(name); !ok {
			b.Fatal("not found")
		}
	}
}
