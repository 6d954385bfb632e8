package natneg

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const (
	carol = "203.0.113.3:7000"
	dave  = "203.0.113.4:8000"
)

// gameInits sends the inits of a client of version 2 and returns why the last
// one that was dropped was.
func (st *station) gameInits(cookie uint32, index byte, game, from string) (dropped drop) {
	for _, t := range []PortType{PortNN1, PortNN2} {
		if d := st.deliver(0, from, initOf(2, cookie, Init{PortType: t, Index: index, Game: []byte(game)})); d != notDropped {
			dropped = d
		}
	}
	return dropped
}

// told returns the partners that were sent to each client since the last call.
func (st *station) told() map[string][]string {
	told := make(map[string][]string)
	for _, s := range st.of(TypeConnect, "") {
		if c := s.connect(st.t); c.Finished == FinishedOK && !slices.Contains(told[s.to.String()], c.Remote.String()) {
			told[s.to.String()] = append(told[s.to.String()], c.Remote.String())
		}
	}
	for _, partners := range told {
		slices.Sort(partners)
	}
	return told
}

func (st *station) wantTold(want map[string][]string) {
	st.t.Helper()
	if got := st.told(); !maps.EqualFunc(got, want, slices.Equal) {
		st.t.Errorf("introduced %v, want %v", got, want)
	}
}

func TestCookieDecidesWhoMeets(t *testing.T) {
	tests := map[string][]string{
		"same game":           {"civ4", "civ4"},
		"same, other case":    {"civ4", "CIV4"},
		"two editions":        {"civ4", "civ4bts"},
		"one without a name":  {"civ4", ""},
		"names without order": {"gmtest", "othergame"},
	}
	for name, games := range tests {
		st := newStation(t, DefaultOptions(), "")
		st.gameInits(77, 0, games[0], alice)
		st.gameInits(77, 1, games[1], bob)
		t.Log(name)
		st.wantTold(map[string][]string{alice: {bob}, bob: {alice}})
	}
}

func TestPlayersGetReachableAddress(t *testing.T) {
	const here, near, far = "127.0.0.1:7000", "10.0.0.20:7001", "203.0.113.4:8000"
	opt := DefaultOptions()
	opt.Given = func(player, partner netip.Addr) netip.Addr {
		if !player.IsPrivate() && !player.IsLoopback() {
			return netip.MustParseAddr("203.0.113.5")
		}
		return partner
	}
	for name, tc := range map[string]struct {
		a, b string
		want map[string][]string
	}{
		"on this machine, outside": {here, far, map[string][]string{here: {far}, far: {"203.0.113.5:7000"}}},
		"near, outside":            {near, far, map[string][]string{near: {far}, far: {"203.0.113.5:7001"}}},
		"on this machine, near":    {here, near, map[string][]string{here: {near}, near: {here}}},
		"outside":                  {far, bob, map[string][]string{far: {bob}, bob: {far}}},
	} {
		st := newStation(t, opt, "")
		st.gameInits(77, 0, "civ4", tc.a)
		st.gameInits(77, 1, "civ4", tc.b)
		t.Log(name)
		st.wantTold(tc.want)
	}
}

// Two players behind one public address are given local addresses, which are no
// matter of the operator's.
func TestLocalAddressOfAPartnerIsGivenAsItIs(t *testing.T) {
	e := effects{given: func(_, partner netip.Addr) netip.Addr {
		t.Errorf("asked for %v", partner)
		return partner
	}}
	to := someSide("203.0.113.1", "192.168.1.5:6500", 3, 0, 5000, 5000, 5000)
	partner := someSide("203.0.113.1", "192.168.1.9:6501", 3, 0, 7000, 7000, 7000)
	if got := e.remote(&to, &partner, false).addrPort().String(); got != "192.168.1.9:6501" {
		t.Errorf("given %s, want the local address", got)
	}
}

func TestGameDecidesBetweenNegotiations(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.gameInits(77, 0, "civ4", alice)
	st.gameInits(77, 0, "fear", carol)
	if st.Open() != 2 {
		t.Fatalf("%d negotiations are open, want 2", st.Open())
	}
	st.gameInits(77, 1, "fear", dave)
	st.wantTold(map[string][]string{carol: {dave}, dave: {carol}})
	st.gameInits(77, 1, "civ4bts", bob)
	st.wantTold(map[string][]string{alice: {bob}, bob: {alice}})
}

func TestNegotiationsOfOneCookieAreBounded(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	for i := range maxSame + 1 {
		want := notDropped
		if i == maxSame {
			want = dropCookieFull
		}
		if got := st.gameInits(77, 0, fmt.Sprint("game", i), addr(i)); got != want {
			t.Errorf("game %d: dropped as %q, want %q", i, got, want)
		}
	}
}

// crowd has clients with the indexes from 0 on come and wait, and returns the
// partners that were sent to each. They confirm their connects, or do not.
func (st *station) crowd(clients int, confirm bool) map[string][]string {
	indexes := make(map[string]byte)
	for i := range clients {
		indexes[addr(i)] = byte(i)
		st.inits(77, byte(i), addr(i))
	}
	told := make(map[string][]string)
	for range 8 * time.Second / wheelStep {
		for _, s := range st.of(TypeConnect, "") {
			to, partner := s.to.String(), s.connect(st.t).Remote.String()
			if !slices.Contains(told[to], partner) {
				told[to] = append(told[to], partner)
			}
			if confirm {
				st.deliver(0, to, connectAckPacket(77, indexes[to]))
			}
		}
		st.pass(wheelStep)
	}
	return told
}

func TestEveryIndexMeetsEveryOther(t *testing.T) {
	tests := map[string]struct {
		clients int
		confirm bool
	}{
		"two":                     {2, true},
		"three":                   {3, true},
		"eight":                   {maxIndexes, true},
		"three without a receipt": {3, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "")
				told := st.crowd(tc.clients, tc.confirm)
				for i := range tc.clients {
					for k := range tc.clients {
						if got := slices.Contains(told[addr(i)], addr(k)); got != (i != k) {
							t.Errorf("client %d was told of client %d: got %v, want %v", i, k, got, i != k)
						}
					}
				}
			})
		})
	}
}

func TestThirdClientMeetsTwoThatHaveMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.inits(77, 0, alice)
		st.inits(77, 1, bob)
		st.deliver(0, alice, connectAckPacket(77, 0))
		st.deliver(0, bob, connectAckPacket(77, 1))
		st.post.Take()
		st.pass(3 * time.Second)
		st.inits(77, 2, carol)
		st.deliver(0, carol, connectAckPacket(77, 2))
		st.pass(time.Second)
		st.wantTold(map[string][]string{alice: {carol}, bob: {carol}, carol: {alice, bob}})
	})
}

func TestCrowdEndsWhenAllHaveReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.crowd(3, true)
		for i := range byte(3) {
			if st.Open() != 1 {
				t.Errorf("over before client %d reported", i)
			}
			st.deliver(0, addr(int(i)), reportPacket(77, i, 1))
		}
		if st.Open() != 0 {
			t.Error("still open when all have reported")
		}
	})
}

// A player behind a carrier's NAT with two public addresses.
const (
	carrierA = "203.0.113.7:5001"
	carrierB = "203.0.113.8:5002"
)

// knock is an init, and where it comes from.
type knock struct {
	from    string
	port    PortType
	local   string
	version byte   // 0: 3
	game    string // empty: gmtest
}

func (st *station) knock(index byte, k knock) drop {
	in := Init{PortType: k.port, Index: index, GamePort: true, Local: netip.MustParseAddrPort(k.local), Game: []byte("gmtest")}
	if k.game != "" {
		in.Game = []byte(k.game)
	}
	version := byte(3)
	if k.version != 0 {
		version = k.version
	}
	return st.deliver(0, k.from, initOf(version, 77, in))
}

func TestPlayerWithSeveralPublicAddresses(t *testing.T) {
	const local, noPort = "192.168.1.5:6500", "192.168.1.5:0"
	knocks := []knock{
		{carrierB, PortGame, noPort, 0, ""},
		{carrierA, PortNN1, noPort, 0, ""},
		{carrierB, PortNN2, local, 0, ""},
		{carrierA, PortNN3, local, 0, ""},
	}
	for i := range knocks { // in whatever order they come
		t.Run(fmt.Sprint("from ", i), func(t *testing.T) {
			st := newStation(t, DefaultOptions(), "")
			st.inits(77, 0, alice)
			for k := range knocks {
				st.knock(1, knocks[(i+k)%len(knocks)])
			}
			st.wantTold(map[string][]string{alice: {carrierB}, carrierA: {alice}})
			if got := st.deliver(0, carrierA, connectAckPacket(77, 1)); got != notDropped {
				t.Errorf("connect receipt: dropped as %q", got)
			}
		})
	}
}

// TestStrangerGetsNothingOfAPlace has a stranger with the right cookie send the inits
// that a player has not sent yet.
func TestStrangerGetsNothingOfAPlace(t *testing.T) {
	const local, noPort = "192.168.1.5:6500", "192.168.1.5:0"
	tests := map[string][]knock{
		"who knows the cookie alone":       {{mallory, PortGame, "0.0.0.0:0", 0, ""}, {mallory, PortNN2, "0.0.0.0:0", 0, ""}},
		"who knows the local address":      {{mallory, PortGame, noPort, 0, ""}, {mallory, PortNN2, noPort, 0, ""}},
		"who knows the local port":         {{mallory, PortGame, "0.0.0.0:6500", 0, ""}},
		"who guesses another local port":   {{mallory, PortGame, "192.168.1.5:6501", 0, ""}},
		"who guesses another address":      {{mallory, PortGame, "192.168.1.6:6500", 0, ""}},
		"of another version":               {{mallory, PortGame, local, 4, ""}},
		"of version 1":                     {{mallory, PortGame, local, 1, ""}},
		"of another game":                  {{mallory, PortGame, local, 0, "othergame"}},
		"who claims everything beforehand": {{mallory, PortGame, "0.0.0.0:0", 0, ""}, {mallory, PortNN1, "192.168.1.5:0", 0, ""}, {mallory, PortNN2, "192.168.1.5:1", 0, ""}, {mallory, PortNN3, "10.0.0.1:6500", 0, ""}},
	}
	for name, knocks := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "")
				st.inits(77, 0, alice)
				for _, port := range []PortType{PortNN1, PortNN3} {
					st.knock(1, knock{carrierA, port, local, 0, ""})
				}
				for _, k := range knocks {
					got := st.knock(1, k)
					if k.game == "" && k.version != 1 && got != dropOtherAddress {
						t.Errorf("%+v: dropped as %q, want %q", k, got, dropOtherAddress)
					}
				}
				st.pass(2 * time.Second)
				for _, p := range st.post.Take() {
					if p.to.String() == mallory && p.header(t).Type != TypeInitAck {
						t.Errorf("the stranger was sent %x", p.data)
					}
					if p.header(t).Type == TypeConnect {
						t.Errorf("%v was introduced to %v", p.to, p.connect(t).Remote)
					}
				}
				st.knock(1, knock{carrierA, PortGame, noPort, 0, ""})
				st.pass(time.Second)
				st.wantTold(map[string][]string{alice: {carrierA}, carrierA: {alice}})
			})
		})
	}
}

func TestConnectedPlayerTakesNoAddress(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.inits(77, 0, alice)
	for _, port := range []PortType{PortGame, PortNN1, PortNN2, PortNN3} {
		st.knock(1, knock{carrierA, port, "192.168.1.5:6500", 0, ""})
	}
	st.post.Take()
	if got := st.knock(1, knock{carrierB, PortNN2, "192.168.1.5:6500", 0, ""}); got != dropOtherAddress {
		t.Errorf("dropped as %q, want %q", got, dropOtherAddress)
	}
}

func TestOtherAddressReplacesNothing(t *testing.T) {
	const local = "192.168.1.5:6500"
	st := newStation(t, DefaultOptions(), "")
	for _, port := range []PortType{PortNN1, PortNN2} {
		st.knock(1, knock{carrierA, port, local, 0, ""})
	}
	for _, port := range []PortType{PortGame, PortNN1, PortNN2, PortNN3} {
		st.knock(1, knock{carrierB, port, local, 0, ""})
	}
	st.knock(1, knock{carrierA, PortGame, local, 0, ""}) // its own goes before the other's
	st.inits(77, 0, alice)
	st.wantTold(map[string][]string{alice: {carrierA}, carrierA: {alice}})
}

func TestAddressesOfOnePlayerAreBounded(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.knock(1, knock{carrierA, PortNN1, "192.168.1.5:0", 0, ""})
	for i := range 2 * maxRivals {
		st.knock(1, knock{addr(i), PortNN2, "192.168.1.5:6500", 0, ""})
	}
	if got := len(st.table.byCookie[77].rivals); got != maxRivals {
		t.Errorf("%d further addresses are remembered, want %d", got, maxRivals)
	}
}

// TestConnectsArePaidByAddress has an attacker forge one init of a
// victim, and send many from an address that agrees with it.
func TestConnectsArePaidByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const local = "192.168.1.5:6500"
		st := newStation(t, DefaultOptions(), "")
		st.knock(1, knock{carrierA, PortNN1, local, 0, ""})
		for range 50 {
			st.knock(1, knock{mallory, PortGame, local, 0, ""})
			st.knock(1, knock{mallory, PortNN2, local, 0, ""})
		}
		st.inits(77, 0, bob)
		st.pass(20 * time.Second)
		if got := len(st.of(TypeConnect, carrierA)); got > connectsPerPacket {
			t.Errorf("one packet brought the victim %d connects, want at most %d", got, connectsPerPacket)
		}
	})
}

// An address that waits to be one with a player may have become its partner.
func TestPartnerIsNoOtherAddressOfThePlayer(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.knock(1, knock{carrierA, PortNN1, "192.168.1.5:6500", 0, ""})
	st.knock(1, knock{alice, PortGame, "192.168.1.5:0", 0, ""})
	st.inits(77, 0, alice)
	for _, port := range []PortType{PortNN2, PortNN3} {
		st.knock(1, knock{"203.0.113.1:5001", port, "192.168.1.5:6500", 0, ""})
	}
	st.wantTold(map[string][]string{})
	st.knock(1, knock{carrierA, PortGame, "192.168.1.5:0", 0, ""})
	st.knock(1, knock{carrierA, PortNN2, "192.168.1.5:6500", 0, ""})
	st.knock(1, knock{carrierA, PortNN3, "192.168.1.5:6500", 0, ""})
	st.wantTold(map[string][]string{alice: {carrierA}, carrierA: {alice}})
}
