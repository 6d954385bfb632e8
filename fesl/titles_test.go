package fesl

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// closed are the ports of games that the defaults leave closed: other programs often have them.
var closed = []uint16{18080, 18081}

// TestDefaultPorts checks that the ports of all games are open by default but those, each once.
func TestDefaultPorts(t *testing.T) {
	c := defaults()
	all := append([]string{c.Listen}, c.ExtraListen...)
	for _, g := range titles {
		open := slices.Contains(all, ":"+strconv.Itoa(int(g.port)))
		if g.port != 0 && open == slices.Contains(closed, g.port) {
			t.Errorf("%s: port %d, open by default: %v", g.client, g.port, open)
		}
	}
	slices.Sort(all)
	if len(all) != len(slices.Compact(slices.Clone(all))) {
		t.Errorf("a port is open twice: %s", strings.Join(all, " "))
	}
	if got := clientsAt(18800); !slices.Equal(got, []string{"bfbc-ps3"}) {
		t.Errorf("at port 18800: %q", got)
	}
}

func TestTitleOf(t *testing.T) {
	for client, want := range map[string]title{
		"CNCRA3-pc":       {client: "cncra3-pc", game: "redalert3pc", subDomain: "CNCRA3"},
		"bfme2":           {client: "bfme2", game: "lotrbme2r", subDomain: "bfme2"},
		"bfbc2-pc-server": {client: "bfbc2-pc-server", game: "bfbc2", subDomain: "BFBC2"},
		"other-pc":        {client: "other-pc", subDomain: "OTHER"},
		"":                {},
	} {
		if got := titleOf(client); got.client != want.client || got.game != want.game || got.subDomain != want.subDomain {
			t.Errorf("titleOf(%q) = %+v, want %+v", client, got, want)
		}
	}
}
