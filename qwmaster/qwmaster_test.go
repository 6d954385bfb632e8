package qwmaster

import (
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/q2master"
)

// Programs that relay games are in QuakeWorld's list and have a name of their own; HexenWorld has a list
// of its own.
func TestGames(t *testing.T) {
	d := Dialect()
	for version, want := range map[string][2]string{"MVDSV 0.36": {"quakeworld", "quakeworld"}, "QTV 1.14": {"qtv", "quakeworld"}, "qwfwd 1.2": {"qwfwd", "quakeworld"}} {
		b := quake2.World.AppendStatus(nil, []byte(`\hostname\x\*version\`+version+"\n"))
		s, ok, err := quake2.World.ParseStatus(b)
		if game := d.Game(&s, 27500); !ok || err != nil || game != want[0] || d.ListOf(game) != want[1] {
			t.Errorf("%s: game %s in list %s, %v, %v", version, game, d.ListOf(game), ok, err)
		}
	}
	if d.ListOf("hexenworld") != "hexenworld" || len(d.Further) != 1 || d.Further[0] != (q2master.Place{Port: 26900, Form: quake2.Hexen, Game: "hexenworld"}) {
		t.Errorf("HexenWorld: list %s, ports %v", d.ListOf("hexenworld"), d.Further)
	}
}

// At the port of qr2 messages of QuakeWorld are taken, and none of others.
func TestTakes(t *testing.T) {
	world, two := Dialect(), q2master.Two(nil)
	const mark = "\xff\xff\xff\xff"
	for text, want := range map[string][2]bool{
		"a\n1\n0\n": {true, false}, "k\x00": {true, false}, "C\n": {true, false}, "c\n\x00": {true, false},
		"query": {false, true}, mark + "heartbeat\n\\a\\b": {false, true}, mark + "ping": {false, true}, mark + "getservers": {false, true},
		mark + "heartbeat QuakeArena-1\n": {}, mark + "getservers 68 full": {}, mark + "infoResponse\n\\a\\b": {}, mark + "print\n\\a\\b": {}, mark + "n\\a\\b": {},
		`\heartbeat\6500\gamename\x`: {}, "\x03abcd": {}, "\xfe\xfd\x09": {}, "; check": {}, "": {},
	} {
		if got := [2]bool{world.Takes([]byte(text)), two.Takes([]byte(text))}; got != want {
			t.Errorf("%q is taken by QuakeWorld's and Quake 2's: %v, want %v", text, got, want)
		}
	}
}

// The settings are those of the section, and the game is QuakeWorld.
func TestOptions(t *testing.T) {
	var c Config
	configs.Defaults(&c)
	c.MaxPerAddr, c.ListBurst = 7, 3
	if o := c.options(); o.Listen != ":27000" || o.Game != "quakeworld" || o.MaxPerAddr != 7 || o.ListBurst != 3 {
		t.Errorf("options %+v", o)
	}
}
