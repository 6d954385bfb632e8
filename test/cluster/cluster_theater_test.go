package cluster

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/theater"
)

// asksToJoin sends the request to be let into a game, and returns its number.
func asksToJoin(t *testing.T, x *theater.Client, id string) (tid string, err error) {
	t.Helper()
	return x.Send(rig.Wait(t), "EGAM", "LID", "257", "GID", id, "PORT", "3001", "R-INT-IP", "127.0.0.1", "R-INT-PORT", "3001", "PTYPE", "P")
}

// found waits until the only game in the list of a client is another one than before, and returns its number.
func found(t *testing.T, x *theater.Client, before string) (id string) {
	t.Helper()
	rig.Eventually(t, "a game in the list", func() bool {
		list, err := x.List(rig.Wait(t))
		if rig.Must(t, err); len(list) == 1 {
			id = list[0].Get("GID")
		}
		return id != "" && id != before
	})
	return id
}

// Players of Mercenaries 2 find and join each other's games whatever node they are connected to. When the node
// of a host is gone, so is the game.
func TestClusterTheater(t *testing.T) {
	t.Parallel()
	nodes := startQuietNodes(t, []string{"fesl", "theater", "web"}, []string{"a", "b", "c"})
	_, host := rig.TheaterPlayer(t, nodes[0].Running, "Mattias")
	search, guest := rig.TheaterPlayer(t, nodes[1].Running, "Jennifer")
	_, other := rig.TheaterPlayer(t, nodes[2].Running, "Chris")
	id, err := host.Host(rig.Wait(t), "Mattias", 3000, 3, "B-U-Mission", "oil")
	rig.Must(t, err)
	for name, x := range map[string]*theater.Client{"b": guest, "c": other} {
		rig.Eventually(t, "the game is in the list of node "+name, func() bool {
			list, err := x.List(rig.Wait(t), "FILTER-ATTR-U-Mission", "oil")
			return err == nil && len(list) == 1 && list[0].Get("GID") == id && list[0].Get("HN") == "Mattias"
		})
	}
	_, err = search.Ask(rig.Wait(t), "pnow", "Start")
	rig.Must(t, err)
	for h, found, err := search.Next(rig.Wait(t)); ; h, found, err = search.Next(rig.Wait(t)) {
		rig.Must(t, err)
		if h.Service != "pnow" {
			continue
		}
		if found.Get("props.{games}.0.gid") != id {
			t.Errorf("the search at node b found %v", found)
		}
		break
	}
	for _, x := range []*theater.Client{guest, other} {
		join, err := asksToJoin(t, x, id)
		rig.Must(t, err)
		asked, err := host.Admit(rig.Wait(t), id)
		rig.Must(t, err)
		let, err := x.Await(rig.Wait(t), "EGEG", join)
		rig.Must(t, err)
		if let.Get("TICKET") != asked.Get("TICKET") || let.Get("I") != "127.0.0.1" || let.Get("P") != "3000" {
			t.Errorf("the host is asked %v, and the guest is sent %v", asked, let)
		}
		rig.Must(t, host.Enters(rig.Wait(t), id, asked.Get("PID")))
	}
	rig.Eventually(t, "all players are on the page of node c", func() bool {
		_, page := rig.Get(t, nodes[2].Running, "web", http.MethodGet, "/api/v1/servers?game=mercs2&full=1", "")
		return !slices.ContainsFunc([]string{`"Mattias"`, `"Jennifer"`, `"Chris"`, `"players":3,`}, func(part string) bool { return !strings.Contains(page, part) })
	})
	nodes[0].Stop()
	rig.Eventually(t, "the game is gone", func() bool {
		list, err := guest.List(rig.Wait(t))
		return err == nil && len(list) == 0
	})
	if _, err := other.Ask(rig.Wait(t), "EGAM", "GID", id, "PORT", "3001"); !errors.Is(err, theater.Error("ngam")) {
		t.Errorf("a player who joins a game of a node that is gone: %v", err)
	}
	nodes[1].Stop()
	nodes[2].Stop()
}

// The node of a host is killed while a player of another node waits to be let in. That player gets an error; the host
// returns at a third node with the same account, and the player joins the new game there.
func TestClusterTheaterAfterKill(t *testing.T) {
	t.Parallel()
	c := rig.StartCluster(t, 3)
	a, b := c.Nodes[0], c.Nodes[1]
	_, host := rig.TheaterPlayer(t, &a.Running, "Mattias")
	_, guest := rig.TheaterPlayer(t, &b.Running, "Jennifer")
	_, err := host.Host(rig.Wait(t), "Mattias", 3000, 2)
	rig.Must(t, err)
	id := found(t, guest, "")
	join, err := asksToJoin(t, guest, id)
	rig.Must(t, err)
	_, err = host.Await(rig.Wait(t), "EGRQ", "")
	rig.Must(t, err)
	_, err = guest.Await(rig.Wait(t), "EGAM", join)
	rig.Must(t, err)
	a.Kill()
	if got, err := guest.Await(rig.Wait(t), "EGAM", join); !errors.Is(err, theater.Error("ngam")) {
		t.Errorf("a player who waits for a game of a node that was killed: %v, %v", got, err)
	}
	again := rig.FESLGame(t, &c.Nodes[2].Running, "mercs2-pc")
	host = rig.EntersTheater(t, again, "Mattias")
	_, err = host.Host(rig.Wait(t), "Mattias", 3000, 2)
	rig.Must(t, err)
	id = found(t, guest, id)
	join, err = asksToJoin(t, guest, id)
	rig.Must(t, err)
	_, err = host.Admit(rig.Wait(t), id)
	rig.Must(t, err)
	_, err = guest.Await(rig.Wait(t), "EGEG", join)
	rig.Must(t, err)
}
