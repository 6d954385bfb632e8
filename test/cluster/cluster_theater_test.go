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
		join, err := x.Send(rig.Wait(t), "EGAM", "LID", "257", "GID", id, "PORT", "3001", "R-INT-IP", "127.0.0.1", "R-INT-PORT", "3001", "PTYPE", "P")
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
