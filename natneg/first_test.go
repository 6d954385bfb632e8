package natneg_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// open is no NAT, in the place of a natnegtest.Kind.
const open = natnegtest.Symmetric + 1

// routers are the kinds of routers of players.
var routers = []natnegtest.Kind{open, natnegtest.FullCone, natnegtest.Restricted, natnegtest.PortRestricted, natnegtest.Symmetric}

// shortKind names a kind in a table.
func shortKind(k natnegtest.Kind) string {
	return [...]string{"full cone", "restricted", "port restr.", "symmetric", "open"}[k]
}

// home is the network of a player, and the player's local address.
type home struct {
	net   natnegtest.Net
	local string
}

// home returns the network of a player at 203.0.113.n.
func (c *city) home(n byte, kind natnegtest.Kind, sticky bool) home {
	if kind == open {
		return home{c.net, fmt.Sprint("203.0.113.", n)}
	}
	nat := c.nat(n, kind)
	nat.Port, nat.Sticky = natnegtest.Scattered(), sticky
	return home{nat, fmt.Sprintf("192.168.%d.5", n)}
}

// attempt has the players of two homes negotiate. It returns whether both connected, and
// whether through the relay.
func (c *city) attempt(ctx context.Context, cookie uint32, version byte, game bool, homes [2]home) (met, relayed bool) {
	var players []*natnegtest.Player
	for i, h := range homes {
		p := c.player(h.net, h.local, byte(i), game)
		p.Cookie, p.Version = cookie, version
		players = append(players, p)
	}
	before := len(c.relay.opened)
	got := c.meet(ctx, 300*time.Millisecond, players...)
	return got[0].End == natnegtest.Connected && got[1].End == natnegtest.Connected, len(c.relay.opened) > before
}

// Players of every pair of routers meet at the first attempt, also on a server with one address, with
// clients of both generations. Those who were relayed for want of knowledge meet directly the
// next time if they can.
func TestFirstMeeting(t *testing.T) {
	for _, version := range []byte{3, 4} {
		for _, game := range []bool{true, false} {
			for name, w := range map[string]world{
				"plain":                   {},
				"sticky":                  {sticky: true},
				"sticky, client far away": {sticky: true, far: 10},
				"sticky, host far away":   {sticky: true, far: 20},
				"three addresses":         {addresses: 3},
			} {
				t.Run(fmt.Sprintf("version %d, game socket %v, %s", version, game, name), func(t *testing.T) {
					firstMeetings(t, version, game, w)
				})
			}
		}
	}
}

// world is how the players of TestFirstMeeting are connected.
type world struct {
	addresses int  // of the server, if there are more than one
	sticky    bool // see natnegtest.NAT
	far       byte // of 203.0.113.n: farther from the server than the players are from each other
}

// detour is natnegtest.Memory.Detour.
func (w world) detour(from, to netip.Addr) time.Duration {
	player, server := from.As4(), to.As4()
	if player[0] != 203 {
		player, server = server, player
	}
	if player[3] == w.far && server[0] != 203 {
		return 60 * time.Millisecond
	}
	return 0
}

// The setting decides who is relayed at the first meeting.
func TestRelayFirst(t *testing.T) {
	for first, want := range map[service.First]struct{ joined, relayed int }{
		service.FirstNever: {22, 0}, service.FirstUnknown: {25, 4}, service.FirstAlways: {25, 25},
	} {
		joined, relayed := 0, 0
		for _, client := range routers {
			for _, host := range routers {
				inCity(t, 1, func(_ *testing.T, ctx context.Context, c *city) {
					c.relay.first = first
					met, by := c.attempt(ctx, 1000, 4, true, [2]home{c.home(10, client, false), c.home(20, host, false)})
					joined, relayed = joined+count(met), relayed+count(by)
				})
			}
		}
		if joined != want.joined || relayed != want.relayed {
			t.Errorf("%s: pairs joined: %d of 25, %d of them relayed; want %d, %d", first, joined, relayed, want.joined, want.relayed)
		}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func firstMeetings(t *testing.T, version byte, game bool, w world) {
	var table strings.Builder
	var joined, relayed [2]int // at the first and the second attempt
	for _, client := range routers {
		fmt.Fprintf(&table, "\n%-11s", shortKind(client))
		for _, host := range routers {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				c := newCity(t, ctx, max(1, w.addresses))
				homes := [2]home{c.home(10, client, w.sticky), c.home(20, host, w.sticky)}
				c.net.Detour = w.detour
				for i := range joined {
					met, by := c.attempt(ctx, 1000+uint32(i), version, game, homes)
					word := map[bool]string{false: "direct", true: "relay"}[by]
					if !met {
						word = "FAILED"
					}
					joined[i], relayed[i] = joined[i]+count(met), relayed[i]+count(by)
					fmt.Fprintf(&table, "  %-6s", word)
					time.Sleep(time.Minute)
				}
				fmt.Fprint(&table, " ")
				stop()
				synctest.Wait()
			})
		}
	}
	pairs := len(routers) * len(routers)
	t.Logf("first and second meeting, by the routers of client and host:%s", &table)
	for i, when := range []string{"first", "second"} {
		t.Logf("%s meeting: pairs joined: %d of %d, %d of them relayed", when, joined[i], pairs, relayed[i])
		ratetest.Report(t, "NAT pairs joined at the "+when+" meeting", joined[i], pairs)
	}
}
