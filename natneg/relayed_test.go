package natneg_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// cityRelay is a relay on a Memory network, as package relay is one.
type cityRelay struct {
	net *natnegtest.Memory

	mu     sync.Mutex // guards the fields below
	off    bool       // for all games
	full   bool
	first  service.First
	opened []netip.AddrPort // the players' addresses
	proved bool             // the latest players were
}

var errFull = errors.New("full")

func (r *cityRelay) On(string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.off
}

func (r *cityRelay) First() service.First {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

func (r *cityRelay) Open(_ string, players [2]service.RelayPlayer) (at [2]netip.AddrPort, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return at, errFull
	}
	var mu sync.Mutex
	var socks [2]natnegtest.Socket
	var from [2]netip.AddrPort
	for i := range at {
		socks[i], err = r.net.Open(netip.AddrPortFrom(netip.MustParseAddr("198.51.100.9"), 0), func(data []byte, at netip.AddrPort) {
			mu.Lock()
			defer mu.Unlock()
			if !from[i].IsValid() && slices.Contains(players[i].Seen, at.Addr()) {
				from[i] = at
				players[i].Came(at)
			}
			if from[i] == at && from[1-i].IsValid() {
				socks[1-i].Send(data, from[1-i])
			}
		})
		if err != nil {
			return at, err
		}
		at[i] = socks[i].Addr()
		if players[i].Proved {
			socks[i].Send(players[i].Knock, players[i].At)
		}
	}
	r.opened = append(r.opened, at[0], at[1])
	r.proved = players[0].Proved && players[1].Proved
	return at, nil
}

func (r *cityRelay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// ends returns how the players of results ended.
func ends(results []natnegtest.Result) (list []natnegtest.End) {
	for _, r := range results {
		list = append(list, r.End)
	}
	return list
}

// Pairs that cannot connect are relayed when they try again, or at once if their
// routers show that they cannot.
func TestPlayersWhoCannotMeetAreRelayed(t *testing.T) {
	const (
		port = natnegtest.PortRestricted
		symm = natnegtest.Symmetric

		met, failed = natnegtest.Connected, natnegtest.PingTimeout
	)
	for name, tc := range map[string]struct {
		client, host natnegtest.Kind
		addresses    int
		version      byte
		pause        time.Duration // between the end of an attempt and the next
		want         []natnegtest.End
		relayed      int // pairs in all attempts
	}{
		"symmetric twice, one address":        {symm, symm, 1, 4, 0, []natnegtest.End{failed, met, met}, 2},
		"symmetric twice, three addresses":    {symm, symm, 3, 4, 0, []natnegtest.End{met, met}, 2},
		"port restricted, symmetric":          {port, symm, 3, 4, 10 * time.Minute, []natnegtest.End{met, met}, 2},
		"the same, one address":               {port, symm, 1, 4, 10 * time.Minute, []natnegtest.End{failed, met}, 1},
		"an hour later":                       {port, symm, 1, 4, time.Hour + time.Minute, []natnegtest.End{failed, failed}, 0},
		"without reports":                     {port, symm, 1, 2, 10 * time.Second, []natnegtest.End{failed, met}, 1},
		"without reports, after two minutes":  {port, symm, 1, 2, 2 * time.Minute, []natnegtest.End{failed, failed}, 0},
		"port restricted both, meet directly": {port, port, 1, 4, 0, []natnegtest.End{met, met, met}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inCity(t, tc.addresses, func(t *testing.T, ctx context.Context, c *city) {
				c.relay.first = service.FirstNever
				nats := []*natnegtest.NAT{c.nat(10, tc.client), c.nat(20, tc.host)}
				for _, n := range nats {
					n.Port = natnegtest.Scattered()
				}
				for i, want := range tc.want {
					players := []*natnegtest.Player{c.player(nats[0], "192.168.1.5", 0, true), c.player(nats[1], "10.0.0.7", 1, true)}
					for _, p := range players {
						p.Cookie += uint32(i)
						p.Version = tc.version
						if tc.version == 2 {
							p.Servers[2] = p.Servers[0]
						}
					}
					got := c.meet(ctx, 0, players...)
					if e := ends(got); e[0] != want || e[1] != want {
						t.Errorf("attempt %d: got %v, want both %v", i, e, want)
					}
					if i+1 < len(tc.want) {
						time.Sleep(tc.pause)
					}
				}
				if got := len(c.relay.opened) / 2; got != tc.relayed {
					t.Errorf("%d pairs relayed, want %d", got, tc.relayed)
				}
				if tc.version < 3 {
					return
				}
				ways := make(map[meeting.Way]int)
				for _, n := range c.meetings.Counts() {
					ways[n.Way] += int(n.Number)
				}
				if ways[meeting.Relayed] != tc.relayed {
					t.Errorf("ways %v, want %d relayed", ways, tc.relayed)
				}
			})
		})
	}
}

// Without room for a pair, or for a game that is not relayed, players are sent to each
// other as before.
func TestPlayersAreIntroducedWithoutTheRelay(t *testing.T) {
	for name, change := range map[string]func(*cityRelay){
		"full": func(r *cityRelay) { r.full = true },
		"off":  func(r *cityRelay) { r.off = true },
	} {
		t.Run(name, func(t *testing.T) {
			inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
				c.relay.set(func() { change(c.relay) })
				nats := []*natnegtest.NAT{c.nat(10, natnegtest.Symmetric), c.nat(20, natnegtest.Symmetric)}
				for _, n := range nats {
					n.Port = natnegtest.Scattered()
				}
				got := c.meet(ctx, 0, c.player(nats[0], "192.168.1.5", 0, false), c.player(nats[1], "10.0.0.7", 1, false))
				for i, r := range got {
					if r.End != natnegtest.PingTimeout || r.Told.Addr() != nats[1-i].Public {
						t.Errorf("player %d: %v, sent to %v, want a ping timeout at %v", i, r.End, r.Told, nats[1-i].Public)
					}
				}
			})
		})
	}
}

// A neighbour in the same household without a failed attempt is not relayed.
func TestNeighbourOfAFailedPlayerIsNotRelayed(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		c.relay.first = service.FirstNever
		client, host := c.nat(10, natnegtest.PortRestricted), c.nat(20, natnegtest.Symmetric)
		host.Port = natnegtest.Scattered()
		c.meet(ctx, 0, c.player(client, "192.168.1.5", 0, true), c.player(host, "10.0.0.7", 1, true))
		for i, local := range []string{"192.168.1.6", "192.168.1.5"} {
			a, b := c.player(client, local, 0, true), c.player(host, "10.0.0.7", 1, true)
			a.Cookie, b.Cookie = 100+uint32(i), 100+uint32(i)
			c.meet(ctx, 0, a, b)
			if got := len(c.relay.opened) / 2; got != i {
				t.Errorf("%d pairs relayed after %s joined, want %d", got, local, i)
			}
		}
	})
}

// The relay learns which players receive at their addresses.
func TestProvedPlayers(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
			nats := []*natnegtest.NAT{c.nat(10, natnegtest.Symmetric), c.nat(20, natnegtest.Symmetric)}
			for _, n := range nats {
				n.Port = natnegtest.Scattered()
			}
			players := []*natnegtest.Player{c.player(nats[0], "192.168.1.5", 0, true), c.player(nats[1], "10.0.0.7", 1, true)}
			for _, p := range players {
				p.Deaf = deaf
			}
			if got := ends(c.meet(ctx, 0, players...)); got[0] != natnegtest.Connected || got[1] != natnegtest.Connected {
				t.Errorf("deaf %v: got %v, want both connected", deaf, got)
			}
			if c.relay.proved != !deaf {
				t.Errorf("deaf %v: the players are proved: %v", deaf, c.relay.proved)
			}
		})
	}
}

// A failure counts for the kinds of routers that it was with: other players of the same two
// addresses are not relayed.
func TestFailureCountsForItsRouters(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		c.relay.first = service.FirstNever
		for i, tc := range []struct {
			kind         natnegtest.Kind
			met, relayed bool
		}{{natnegtest.Symmetric, false, false}, {natnegtest.FullCone, true, false}, {natnegtest.Symmetric, true, true}} {
			nats := [2]*natnegtest.NAT{c.nat(10, tc.kind), c.nat(20, tc.kind)}
			homes := [2]home{{nats[0], "192.168.1.5"}, {nats[1], "10.0.0.7"}}
			if met, relayed := c.attempt(ctx, uint32(2000+i), 4, true, homes); met != tc.met || relayed != tc.relayed {
				t.Errorf("attempt %d, %v: met %v, relayed %v; want %v, %v", i, tc.kind, met, relayed, tc.met, tc.relayed)
			}
			for _, n := range nats {
				n.Close()
			}
		}
	})
}
