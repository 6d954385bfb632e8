package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/peerchat"
)

// On the defaults one address, as a LAN party or a school has, may sign on 200
// clients, each of which sends 60 lines at once.
func TestChatOfOneAddress(t *testing.T) {
	t.Parallel()
	clients, lines := 200, 60
	if racetest.RaceDetector {
		clients = 40 // enough to find data races
	}
	c := startChild(t, t.TempDir())
	pairs := make([][2]*peerchat.Client, clients/2)
	var all sync.WaitGroup
	for i := range pairs {
		all.Go(func() {
			if err := talkInPairs(t, &c.running, i, lines, &pairs[i]); err != nil {
				t.Errorf("pair %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if got, want := metric(t, &c.running, openConnections("peerchat")), fmt.Sprint(clients); got != want {
		t.Errorf("%s connections are open, want %s", got, want)
	}
	for _, reason := range []string{"flood", "queue_full"} {
		if got := metric(t, &c.running, `respawnd_dropped_total{reason="`+reason+`",service="peerchat"}`); got != "0" {
			t.Errorf("%s connections ended because of %s, want 0", got, reason)
		}
	}
}

// talkInPairs signs two clients on, one of them enciphered, and lets each send lines
// at once, which the other has to hear in their order.
func talkInPairs(t *testing.T, d *running, i, lines int, pair *[2]*peerchat.Client) error {
	room := fmt.Sprintf("#pair-%d", i)
	for k := range pair {
		conn, err := netclient.DialTCP(wait(t), d.address["peerchat"].String())
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = conn.Close() })
		p := peerchat.NewClient(conn)
		if k == 0 {
			if err := p.Encrypt(wait(t), testGame, testSecret); err != nil {
				return err
			}
		}
		if err := p.SignOn(wait(t), fmt.Sprintf("Player-%d-%d", i, k)); err != nil {
			return err
		}
		if _, err := p.Join(wait(t), room, ""); err != nil {
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
			if l, err := p.AwaitCommand(wait(t), "PRIVMSG", room); err != nil {
				return fmt.Errorf("waiting for %q: %w", want, err)
			} else if !strings.HasSuffix(l.Param(-1), want) {
				return fmt.Errorf("heard %q, want %q", l, want)
			}
		}
	}
	return nil
}

// openConnections is the sample that counts the connections of a service.
func openConnections(service string) string { return `respawnd_connections{service="` + service + `"}` }
