package relay

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/service"
)

// duo returns two players, each at an address of its own.
func duo(n int, proved bool) (players [2]service.RelayPlayer) {
	for i := range players {
		players[i] = player(fmt.Sprintf("127.%d.%d.%d", 1+i, n>>8, n&255))
		players[i].Proved = proved
	}
	return players
}

// use has both players of the newest pair come.
func (s *Server) use(t testing.TB, at [2]netip.AddrPort) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.pairs {
		for i := range p.legs {
			if p.legs[i].at == at[i] {
				p.legs[i].player.Store(&at[i])
			}
		}
	}
}

// A sender of forged packets opens pairs without end. They take a quarter of the places, and
// none from players who receive at their addresses.
func TestForgedPairsDoNotFillTheRelay(t *testing.T) {
	o, reg := defaults(func(o *Options) { o.MaxPairs = 20; o.Ports = "22000-22999"; o.Trusted = netip.Addr.IsLoopback })
	s, _ := serve(t, o)
	for i := range 200 {
		if _, err := s.Open("", duo(i, false)); err != nil && !errors.Is(err, errUnproved) {
			t.Fatalf("forged pair %d: %v", i, err)
		}
	}
	if got := s.open(); got != 5 {
		t.Errorf("%d pairs after 200 forged ones, want 5", got)
	}
	for i := range 20 {
		at, err := s.Open("", duo(1000+i, true))
		if err != nil {
			t.Fatalf("genuine pair %d: %v", i, err)
		}
		s.use(t, at)
	}
	if _, err := s.Open("", duo(2000, true)); !errors.Is(err, errFull) {
		t.Errorf("one pair more than there is room for: %v, want %v", err, errFull)
	}
	if got := value(t, reg, "respawnd_relay_ended_total", "gave_way"); got != 5 {
		t.Errorf("%v pairs gave way, want the 5 forged ones", got)
	}
}

func TestPairsThatGiveWay(t *testing.T) {
	const none = -1
	type earlier struct {
		proved, used bool
		age          time.Duration
	}
	old := time.Minute
	for name, tc := range map[string]struct {
		earlier []earlier
		proved  bool
		want    int // the pair that gives way
	}{
		"unused, to a proved one":              {[]earlier{{false, true, old}, {false, false, 0}, {true, true, old}}, true, 1},
		"the oldest unused":                    {[]earlier{{false, false, old}, {false, false, 2 * old}, {true, true, old}}, true, 1},
		"one in use, to a proved one":          {[]earlier{{true, true, old}, {false, true, old}, {true, true, old}}, true, 1},
		"a proved one out of use":              {[]earlier{{true, true, old}, {false, true, old}, {true, false, old}}, true, 2},
		"a proved one that is new, does not":   {[]earlier{{true, true, old}, {true, false, joinGrace - 1}, {true, true, old}}, true, none},
		"unused, to an unproved one":           {[]earlier{{false, true, old}, {false, false, unprovedGrace}, {false, true, old}}, false, 1},
		"to an unproved one, not at once":      {[]earlier{{false, true, old}, {false, false, unprovedGrace - 1}, {false, true, old}}, false, none},
		"to an unproved one, none in use":      {[]earlier{{false, true, old}, {false, true, old}, {false, true, old}}, false, none},
		"to an unproved one, no proved ones":   {[]earlier{{true, false, old}, {true, false, old}, {true, true, old}}, false, none},
		"all of them in use by proved players": {[]earlier{{true, true, old}, {true, true, old}, {true, true, old}}, true, none},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := defaults(nil)
			s := newServer(t, o)
			var all []*pair
			for _, e := range tc.earlier {
				p := pairOf(t, o)
				p.proved, p.opened = e.proved, time.Hour-e.age
				if e.used {
					for i := range p.legs {
						p.legs[i].player.Store(new(netip.AddrPort))
					}
				}
				s.pairs[p] = struct{}{}
				all = append(all, p)
			}
			got := none
			victim := s.weakest(func(*pair) bool { return true }, tc.proved, time.Hour)
			for i, p := range all {
				if p == victim {
					got = i
				}
			}
			clear(s.pairs)
			if got != tc.want {
				t.Errorf("pair %d gives way, want %d", got, tc.want)
			}
		})
	}
}

// Forged pairs with the address of a player do not count against it.
func TestForgedPairsOfAnAddress(t *testing.T) {
	public := netip.MustParseAddr("198.51.100.1")
	o, _ := defaults(func(o *Options) {
		o.MaxPerAddr, o.MaxPerNet, o.Ports = 2, 3, "23000-23999"
		o.Given = func(netip.Addr, netip.Addr) netip.Addr { return public }
	})
	s, _ := serve(t, o)
	open := func(proved bool, other int) error {
		players := [2]service.RelayPlayer{player("203.0.113.1"), player(fmt.Sprintf("192.0.%d.1", other))}
		players[0].Proved, players[1].Proved = proved, proved
		_, err := s.Open("", players)
		return err
	}
	for i := range 2 {
		if err := open(false, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(false, 2); !errors.Is(err, errPerAddr) {
		t.Errorf("a third forged pair: %v, want %v", err, errPerAddr)
	}
	for i := range 2 {
		if err := open(true, 10+i); err != nil {
			t.Errorf("genuine pair %d: %v", i, err)
		}
	}
	if err := open(true, 12); !errors.Is(err, errPerAddr) {
		t.Errorf("a third genuine pair: %v, want %v", err, errPerAddr)
	}
	if got := s.open(); got != 2 {
		t.Errorf("%d pairs, want the two genuine ones", got)
	}
}
