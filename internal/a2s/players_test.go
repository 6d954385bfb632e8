package a2s

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// documentedPlayers are the examples of the documentation. That of The Ship
// states 19 players and lists 6; the documentation does not say that its
// second part for each player comes behind all players.
var documentedPlayers = map[string]struct {
	app  App
	want Players
}{
	"players": {AppCSSource, Players{Count: 2, List: []Player{
		{Index: 1, Name: "[D]---->T.N.W<----", Score: 14, Seconds: math.Float32frombits(0x440097B4)},
		{Index: 2, Name: "Killer !!!", Score: 5, Seconds: math.Float32frombits(0x43D92469)},
	}}},
	"players_ship": {AppTheShip, Players{Count: 19, Ship: true, List: []Player{
		{Index: 0, Name: "Shipmate1", Seconds: -1, Money: 2500},
		{Index: 1, Name: "Shipmate2", Seconds: -1, Money: 2500},
		{Index: 2, Name: "Shipmate3", Seconds: -1, Money: 2500},
		{Index: 3, Name: "Shipmate4", Seconds: -1, Money: 2500},
		{Index: 4, Name: "Shipmate5", Seconds: -1, Money: 2500},
		{Index: 7, Name: "(1)LandLubber", Seconds: math.Float32frombits(0x45688ED3), Money: 2500},
	}}},
}

func TestPlayersAsDocumented(t *testing.T) {
	for name, tc := range documentedPlayers {
		got, err := ParsePlayers(bodyOf(t, name, KindPlayers), tc.app)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
		if packet := AppendPlayers(nil, tc.want); !bytes.Equal(packet, packetOf(t, name)) {
			t.Errorf("AppendPlayers(%s) = %x, want %x", name, packet, packetOf(t, name))
		}
	}
}

func TestConnectingPlayersAreNotListed(t *testing.T) {
	for app, ship := range map[App]bool{AppCSSource: false, AppTheShip: true, 0: false} {
		want := Players{Count: 255, Ship: ship, List: []Player{{Name: "a", Score: -5, Seconds: 1}, {Index: 1, Seconds: 2}}}
		if ship {
			want.List[1].Deaths, want.List[0].Money = 3, -7
		}
		got, err := ParsePlayers(AppendPlayers(nil, want)[headerSize+1:], app)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("app %d: error %v (-want +got):\n%s", app, err, diff)
		}
	}
	for _, body := range []string{"\x00", "\x20", "\x00left over"} {
		got, err := ParsePlayers([]byte(body), AppTheShip)
		if diff := cmp.Diff(Players{Count: body[0]}, got); diff != "" || err != nil {
			t.Errorf("ParsePlayers(%q): error %v (-want +got):\n%s", body, err, diff)
		}
	}
}

func TestPlayersCutAnywhere(t *testing.T) {
	if _, err := ParsePlayers(nil, 0); !errors.Is(err, ErrMalformed) {
		t.Errorf("no count: %v, want ErrMalformed", err)
	}
	tc := documentedPlayers["players"]
	body := bodyOf(t, "players", KindPlayers)
	ends := map[int]int{1: 0} // of players
	for i := range tc.want.List {
		ends[len(AppendPlayers(nil, Players{List: tc.want.List[:i+1]}))-headerSize-1] = i + 1
	}
	listed := 0
	for n := 1; n < len(body); n++ {
		whole, isEnd := ends[n]
		if isEnd {
			listed = whole
		}
		want := Players{Count: 2, List: tc.want.List[:listed], Truncated: !isEnd}
		got, err := ParsePlayers(body[:n:n], tc.app)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("cut at %d: error %v (-want +got):\n%s", n, err, diff)
		}
	}
}

// The start of the deaths is unknown in a truncated message, so only the part
// before them is compared.
func TestPlayersOfTheShipCutAnywhere(t *testing.T) {
	all := documentedPlayers["players_ship"].want.List
	body := bodyOf(t, "players_ship", KindPlayers)
	for n := 1; n < len(body); n++ {
		got, err := ParsePlayers(body[:n:n], AppTheShip)
		if err != nil || len(got.List) > 19 {
			t.Fatalf("cut at %d: %d players, error %v", n, len(got.List), err)
		}
		for i := range min(len(got.List), len(all)) {
			if got.List[i].Name != all[i].Name || got.List[i].Seconds != all[i].Seconds {
				t.Errorf("cut at %d: player %d is %+v", n, i, got.List[i])
			}
		}
	}
}

func TestTimesThatAreNoNumbersBecomeZero(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		body := appendText([]byte{1, 0}, "x")
		body = appendUint32(appendUint32(body, 0), math.Float32bits(float32(f)))
		p, err := ParsePlayers(body, 0)
		if err != nil || len(p.List) != 1 || p.List[0].Seconds != 0 {
			t.Errorf("%v: %+v, %v", f, p, err)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Errorf("%v: %v", f, err)
		}
		p.List[0].Seconds = float32(f)
		if got := AppendPlayers(nil, p); !bytes.HasSuffix(got, []byte{0, 0, 0, 0}) {
			t.Errorf("%v is sent as %x", f, got[len(got)-4:])
		}
	}
}

func TestServersThatHideTheirPlayers(t *testing.T) {
	hidden := Players{Count: 1, List: []Player{{Name: "Max Players", Score: 10, Seconds: 3600}}}
	for name, tc := range map[string]struct {
		players Players
		app     App
		want    bool
	}{
		"the game":        {hidden, AppCSGO, true},
		"any game":        {hidden, 0, true},
		"another game":    {hidden, AppCSSource, false},
		"a second player": {Players{Count: 2, List: append(hidden.List, Player{Name: "Ann"})}, AppCSGO, false},
		"a player":        {Players{Count: 1, List: []Player{{Name: "Ann"}}}, AppCSGO, false},
		"no player":       {Players{}, AppCSGO, false},
		"more counted":    {Players{Count: 2, List: hidden.List}, AppCSGO, false},
	} {
		got, err := ParsePlayers(AppendPlayers(nil, tc.players)[headerSize+1:], tc.app)
		want := tc.players
		want.Withheld = tc.want
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestAsManyPlayersAsAByteCounts(t *testing.T) {
	want := Players{Count: MaxPlayers}
	for i := range MaxPlayers {
		want.List = append(want.List, Player{Index: uint8(i), Name: fmt.Sprint("p", i), Score: int32(-i)})
	}
	got, err := ParsePlayers(append(AppendPlayers(nil, want), "more"...)[headerSize+1:], 0)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func BenchmarkParsePlayers(b *testing.B) {
	p := Players{Count: 32}
	for i := range 32 {
		p.List = append(p.List, Player{Index: uint8(i), Name: "A Player's Name", Score: 10, Seconds: 1000})
	}
	body := AppendPlayers(nil, p)[headerSize+1:]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePlayers(body, AppCSSource); err != nil {
			b.Fatal(err)
		}
	}
}
