package rooms

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

var game = games.Game{Name: "gmtest", Rooms: []games.Room{
	{ID: 2157, Name: "Lobby 1", MaxWaiting: 50, Fields: []games.Field{{Key: "roomtype", Value: "casual"}}},
	{ID: 2158, Name: "Lobby 2"},
}}

// put lists a server that names a room.
func put(t *testing.T, reg *master.Registry, public, groupid, players string) netip.AddrPort {
	t.Helper()
	a := netip.MustParseAddrPort(public)
	s := master.Server{Origin: master.Static, Key: master.Key{Source: a}, Game: game.Name, Public: a, Seen: time.Now()}
	var report master.Report
	report.SetRules(reg.Names([]string{"groupid", "numplayers"}))
	report.Rule([]byte(groupid))
	report.Rule([]byte(players))
	if err := report.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := reg.Put(s); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOf(t *testing.T) {
	reg := master.NewRegistry(master.Limits{})
	for i, groupid := range []string{"2157", "2157", "2158", "0", "x", "", "9999"} {
		put(t, reg, fmt.Sprintf("192.0.2.%d:6500", i+1), groupid, "3")
	}
	put(t, reg, "192.0.2.20:6500", "2158", "many")
	reg.Hide(put(t, reg, "192.0.2.21:6500", "2157", "30"))
	more := func(name string) []games.Room {
		return []games.Room{{ID: 9, Name: "Room of " + name}, {ID: 2158, Name: "twice"}, {ID: 0}, {ID: unlistable}}
	}
	want := []Room{
		{Room: game.Rooms[0], Servers: 2, Players: 6, Waiting: 1},
		{Room: game.Rooms[1], Servers: 2, Players: 3},
		{Room: games.Room{ID: 9, Name: "Room of gmtest"}, Waiting: 4},
	}
	waiting := func(id uint32) int { return map[uint32]int{9: 4, 2157: 1}[id] }
	if d := cmp.Diff(want, Sources{reg, more, waiting}.Of(game)); d != "" {
		t.Errorf("rooms (-want +got):\n%s", d)
	}
	if got := (Sources{List: reg}).Of(games.Game{Name: "gmtest"}); got != nil {
		t.Errorf("rooms of a game without any: %+v", got)
	}
}

func TestOfBound(t *testing.T) {
	more := func(string) []games.Room {
		rooms := make([]games.Room, 2*Max)
		for i := range rooms {
			rooms[i].ID = uint32(i)
		}
		return rooms
	}
	if got := len(Sources{List: master.NewRegistry(master.Limits{}), More: more}.Of(game)); got != Max {
		t.Errorf("%d rooms, want %d", got, Max)
	}
}

func TestValue(t *testing.T) {
	r := Room{Room: game.Rooms[0], Servers: 2, Players: 3, Waiting: 4}
	for name, want := range map[string]string{
		"groupid": "2157", "HostName": "Lobby 1", "numwaiting": "4", "maxwaiting": "50", "numservers": "2", "numplayers": "3",
		"roomType": "casual", "nosuch": "",
	} {
		if got := r.Value(name); got != want {
			t.Errorf("Value(%s) = %q, want %q", name, got, want)
		}
	}
	foreign := Room{Room: games.Room{Fields: []games.Field{{Key: "\xf6", Value: "1"}, {Key: "\xe4", Value: "2"}}}}
	if got := foreign.Value("\xe4"); got != "2" {
		t.Errorf("Value of a name in another code page = %q, want 2", got)
	}
	if got := (&Room{}).Value("maxwaiting"); got != "100" {
		t.Errorf("a room of unknown size holds %q, want 100", got)
	}
}
