package lists

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/test/rig"
)

// askQstat runs qstat for the servers of a game and returns its output by address.
func askQstat(t *testing.T, d *rig.Running, game string) map[string]rig.Shown {
	t.Helper()
	return rig.AskQstat(t, "-gsm,"+game, d.Address["legacylist"])
}

// TestQstatShowsServersOfBothProtocols registers a server of each protocol;
// both answer the text queries of an old browser, as the servers of its time
// do.
func TestQstatShowsServersOfBothProtocols(t *testing.T) {
	rig.Qstat(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	master := d.Address["legacylist"].String()
	if got := askQstat(t, d, rig.TestGame); len(got) != 1 || got[master].Servers != 0 || got[master].Status != "online" {
		t.Errorf("before any server registered: %+v, want a master with 0 servers", got)
	}
	newer := rig.Register(t, d, "hostname", "Arena", "numplayers", "2", "maxplayers", "8", "hostport", "25000")
	newer.AnswerText(`\gamename\gmtest\gamever\2.00\location\1\hostname\Arena\hostport\25000\mapname\gmtmap1` +
		`\gametype\arena\numplayers\2\maxplayers\8\gamemode\openplaying`)
	older := rig.NewHost(t, d.Address["qr2"])
	older.AnswerText(
		`\gamename\gmtest\gamever\1.00\location\1\hostname\Flags\hostport\7777\mapname\harbour\gametype\ctf\numplayers\1\maxplayers\16`,
		`\gamemode\openplaying\player_0\Ann\frags_0\3\ping_0\40\team_0\0`,
	)
	older.TextBeat("")
	d.WaitFor("the registration", 0, rig.VerdictOn(older.Address(), "listed"))
	want := map[string]rig.Shown{
		newer.Address().String(): {Protocol: "gps", Status: "online", Name: "Arena", Map: "gmtmap1", NumPlayers: 2, MaxPlayers: 8},
		older.Address().String(): {Protocol: "gps", Status: "online", Name: "Flags", Map: "harbour", NumPlayers: 1, MaxPlayers: 16},
		master:                   {Protocol: "gsm", Status: "online", Servers: 2},
	}
	for a, s := range want {
		s.Address = a
		want[a] = s
	}
	if diff := cmp.Diff(want, askQstat(t, d, "GmTest")); diff != "" {
		t.Errorf("servers that qstat shows (-want +got):\n%s", diff)
	}
	d.Stop()
}

func TestQstatWithoutProofIsRefused(t *testing.T) {
	rig.Qstat(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("legacylist.strict_validate", "true"))
	rig.Register(t, d, "hostname", "Arena")
	if got := askQstat(t, d, rig.TestGame); len(got) != 1 || got[d.Address["legacylist"].String()].Servers != 0 {
		t.Errorf("qstat shows %+v, want no servers", got)
	}
	d.Stop()
}

func TestLegacyListInEveryEncryption(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	want := []netip.AddrPort{
		rig.Register(t, d, "hostname", "Arena", "numplayers", "2").Address(),
		rig.Register(t, d, "hostname", "Flags", "numplayers", "3").Address(),
	}
	rig.Register(t, d, "hostname", "Empty", "numplayers", "0")
	slices.SortFunc(want, netip.AddrPort.Compare)
	for enctype := range 3 {
		got, err := rig.LegacyList(t, d, legacylist.Request{
			Engine: rig.TestGame, Secret: rig.TestSecret, Enctype: enctype, Mode: legacylist.Compact, Game: rig.TestGame, Filter: "(numplayers > 0)",
		})
		slices.SortFunc(got, netip.AddrPort.Compare)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("enctype %d: %v, %v, want %v", enctype, got, err, want)
		}
	}
	d.Stop()
}
