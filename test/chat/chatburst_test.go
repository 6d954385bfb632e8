package chat

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/test/rig"
)

// On the defaults one address, as a LAN party or a school has, may sign on 200
// clients, each of which sends 60 lines at once.
func TestChatOfOneAddress(t *testing.T) {
	t.Parallel()
	clients, lines := 200, 60
	if racetest.RaceDetector {
		clients = 40 // enough to find data races
	}
	c := rig.StartChild(t, t.TempDir())
	pairs := make([][2]*peerchat.Client, clients/2)
	var all sync.WaitGroup
	for i := range pairs {
		all.Go(func() {
			if err := talkInPairs(t, &c.Running, i, lines, &pairs[i]); err != nil {
				t.Errorf("pair %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if got, want := rig.Metric(t, &c.Running, rig.OpenConnections("peerchat")), fmt.Sprint(clients); got != want {
		t.Errorf("%s connections are open, want %s", got, want)
	}
	for _, reason := range []string{"flood", "queue_full"} {
		if got := rig.Metric(t, &c.Running, `respawnd_dropped_total{reason="`+reason+`",service="peerchat"}`); got != "0" {
			t.Errorf("%s connections ended because of %s, want 0", got, reason)
		}
	}
}

// talkInPairs signs two clients on, one of them enciphered, and lets each send lines
// at once, which the other has to hear in their order.
func talkInPairs(t *testing.T, d *rig.Running, i, lines int, pair *[2]*peerchat.Client) error {
	room := fmt.Sprintf("#pair-%d", i)
	for k := range pair {
		conn, err := netclient.DialTCP(rig.Wait(t), d.Address["peerchat"].String())
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = conn.Close() })
		p := peerchat.NewClient(conn)
		if k == 0 {
			if err := p.Encrypt(rig.Wait(t), rig.TestGame, rig.TestSecret); err != nil {
				return err
			}
		}
		if err := p.SignOn(rig.Wait(t), fmt.Sprintf("Player-%d-%d", i, k)); err != nil {
			return err
		}
		if _, err := p.Join(rig.Wait(t), room, ""); err != nil {
			return err
		}
		pair[k] = p
	}
	for k, p := range pair {
		for n := range lines {
			if err := p.Say(room, fmt.Sprintf("line %d of %d", n, k)); err != nil {
				return err
			}
		}
	}
	for k, p := range pair {
		for n := range lines {
			want := fmt.Sprintf("line %d of %d", n, 1-k)
			if l, err := p.AwaitCommand(rig.Wait(t), "PRIVMSG", room); err != nil {
				return fmt.Errorf("waiting for %q: %w", want, err)
			} else if !strings.HasSuffix(l.Param(-1), want) {
				return fmt.Errorf("heard %q, want %q", l, want)
			}
		}
	}
	return nil
}
