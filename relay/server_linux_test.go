package relay

import (
	"testing"
	"time"
)

// The relays of two daemons do not feed each other either: with players forged to be
// ports of the other daemon, each relay drops the other's datagrams.
func TestRelaysDoNotFeedEachOther(t *testing.T) {
	var servers [2]*Server
	var pairs [2]*pair
	o, _ := defaults(nil)
	other, reg := defaults(nil)
	for i, o := range []Options{o, other} {
		servers[i], _ = serve(t, o)
		if _, err := servers[i].Open("", neighbours); err != nil {
			t.Fatal(err)
		}
		for p := range servers[i].pairs {
			pairs[i] = p
		}
	}
	c := dial(t, pairs[0].legs[0].at)
	c.send("I am here")
	for !servers[0].Pairs()[0].Client.Come {
		time.Sleep(time.Millisecond)
	}
	pairs[0].legs[1].player.Store(&pairs[1].legs[1].at)
	for i := range pairs[1].legs {
		pairs[1].legs[i].player.Store(&pairs[0].legs[i].at)
	}
	c.send("round and round")
	for value(t, reg, "respawnd_dropped_total", "forwarded") == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := value(t, reg, "respawnd_packets_sent_total"); n != 0 {
		t.Errorf("the other relay sent %v packets, want none", n)
	}
}
