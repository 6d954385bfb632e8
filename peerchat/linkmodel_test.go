package peerchat

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
)

// TestNodesAtRandom: whatever players do while nodes die, come back, lose each other and lose messages,
// all nodes know the same afterwards.
func TestNodesAtRandom(t *testing.T) {
	racetest.Skip(t, "one goroutine of a node runs at a time")
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playAtRandom(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

// player is a client of a node that reads all the time.
type player struct {
	*client
	node string
}

func playAtRandom(t *testing.T, r *rand.Rand) {
	names := []string{"a", "b", "c"}
	n := startNodes(t, names...)
	n.net.SetSilence(3 * time.Second)
	n.net.SetDelay(5 * time.Millisecond)
	var players []*player
	for i := range 60 {
		node := names[r.IntN(len(names))]
		f := n.of[node]
		switch r.IntN(30) {
		case 0:
			if f != nil && len(n.of) > 1 {
				n.net.Kill(node)
				f.stop()
				delete(n.of, node)
			}
		case 1, 2:
			if f == nil {
				n.start(node)
			}
		case 3:
			n.net.Cut(node, names[r.IntN(len(names))])
		case 4:
			n.net.Heal()
			n.net.Lose(nil)
		case 9:
			lost := rand.New(rand.NewPCG(uint64(i), 2))
			n.net.Lose(func(_, _, _ string) bool { return lost.IntN(3) == 0 })
		case 5, 6, 7, 8:
			if f == nil {
				break
			}
			c := f.connect()
			go func() {
				for {
					if _, err := c.tryLine(); err != nil {
						return
					}
				}
			}()
			_ = c.trySend(fmt.Sprintf("USER u 127.0.0.1 x :R\r\nNICK p%d\r\n", i%40))
			players = append(players, &player{c, node})
		default:
			if len(players) == 0 {
				break
			}
			room := fmt.Sprintf("#room%d", r.IntN(5))
			line := []string{
				"JOIN " + room, "JOIN " + room, "JOIN #room0,#room1,#room2", "PART " + room + " :x", "PRIVMSG " + room + " :x", "TOPIC " + room + fmt.Sprintf(" :t%d", i),
				fmt.Sprintf("MODE %s +v p%d", room, r.IntN(40)), "MODE " + room + " +n-t", fmt.Sprintf("KICK %s p%d", room, r.IntN(40)),
				fmt.Sprintf("NICK q%d", r.IntN(9)), "SETKEY :\\k\\" + fmt.Sprint(i), `SETCHANKEY ` + room + ` :\b_k\` + fmt.Sprint(i), "QUIT :x",
			}[r.IntN(13)]
			_ = players[r.IntN(len(players))].trySend(line + "\r\n")
		}
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
	}
	n.net.Heal()
	n.net.Lose(nil)
	time.Sleep(time.Minute)
	n.same()
	for _, p := range players {
		_ = p.conn.Close()
	}
	time.Sleep(10 * time.Second)
	n.same()
	for node, f := range n.of {
		if h := f.server.hall; len(h.nicks)+len(h.channels)+len(h.links.users)+len(h.links.beaten) > 0 {
			t.Errorf("node %s: left are %s", node, f.dump())
		}
	}
}
