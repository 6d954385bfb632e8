package lists

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

func TestStaticProtocols(t *testing.T) {
	var words []string
	for _, p := range probe.Protocols() {
		words = append(words, p.String())
	}
	if diff := cmp.Diff(words, configs.StaticProtocols()); diff != "" {
		t.Errorf("protocols, -prober +configuration:\n%s", diff)
	}
}

func TestStaticServersAppearWithTheirPlayers(t *testing.T) {
	t.Parallel()
	var static []string
	addresses := make(map[string]string) // by protocol
	for _, p := range configs.StaticProtocols() {
		s := probetest.Listen(t, probetest.Arena(rig.TestGame).Speaks(p))
		addresses[p] = s.Address().String()
		static = append(static, p+" "+addresses[p])
	}
	// One more is named by the name of its host.
	s := probetest.Listen(t, probetest.Arena("cstrike").Speaks("a2s"))
	byName := strings.Replace(s.Address().String(), "127.0.0.1", "localhost", 1)
	d := rig.Start(t, t.TempDir(), rig.Variable("servers.static", strings.Join(append(static, "a2s "+byName), ",")))
	for p, address := range addresses {
		r := rig.Appears(t, d, address)
		game := rig.TestGame
		switch p { // these say which game they speak for by their protocol
		case "zandronum", "nwn":
			game = p
		case "idtech4":
			game = "doom3"
		case "quake2", "quakeworld":
			game = p
		case "unreal2":
			game = "ut2004"
		}
		if r.Origin != "static" || r.Game != game || r.Name != "Arena of gmtest" || r.Map != "de_dust" || r.Players != 2 {
			t.Errorf("%s: listed as %+v", p, r)
		}
		var players [][2]string
		for _, one := range r.PlayerList {
			players = append(players, [2]string{one["player_"], one["score_"]})
		}
		want := [][2]string{{"Ann", "14"}, {"Bob the second", "-2"}}
		switch p {
		case "idtech4": // it tells no scores
			want[0][1], want[1][1] = "", ""
		case "nwn": // it tells no names
			want = nil
		}
		if diff := cmp.Diff(want, players); diff != "" {
			t.Errorf("%s: players (-want +got):\n%s", p, diff)
		}
	}
	r := rig.Appears(t, d, s.Address().String())
	if r.Game != "cstrike" || r.Rules["sv_gravity"] != "800" {
		t.Errorf("the one that was named by its host is listed as %+v", r)
	}
	// Games ask for those that they can query as for any other.
	if got := rig.List(t, d, "numplayers = 2 and mapname = 'de_dust'", `\hostname`); got[addresses["gs1"]] == nil || got[addresses["a2s"]] != nil {
		t.Errorf("browsers of %s see %v", rig.TestGame, got)
	}
	if out := d.Cli("server", "list", "--game", "cstrike"); !strings.Contains(out, s.Address().String()) || !strings.Contains(out, "2/16") {
		t.Errorf("server list:\n%s", out)
	}
	d.Stop()
}

func TestServersAreAddedRemovedAndHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	d.Cli("server", "add", "a2s", one)
	d.Cli("server", "add", "a2s", two, "--game", "MyMod")
	rig.Appears(t, d, one)
	if r := rig.Appears(t, d, two); r.Game != "mymod" {
		t.Errorf("listed under %q, want the game that was given", r.Game)
	}
	h := rig.Register(t, d, "hostname", "Reporter")
	own := h.Address().String()
	rig.Appears(t, d, own)

	// Hidden ones are in no list; servers that report do not notice it.
	d.Cli("server", "hide", own, "--reason", "fake players")
	d.Cli("server", "hide", one)
	if all := rig.AllRecords(t, d); len(all) != 1 || all[two].Game != "mymod" {
		t.Errorf("the JSON shows %v, want one server", all)
	}
	rig.WantListed(t, d)
	h.MustHeartbeat("hostname\x00Reporter\x00numplayers\x003\x00\x00")
	out := d.Cli("server", "list")
	if strings.Count(out, "hidden by an operator") != 2 || !strings.Contains(out, own) {
		t.Errorf("server list:\n%s", out)
	}
	out = d.Cli("server", "list", "--kept")
	for _, want := range []string{own, one, two, "fake players", "mymod", "a2s"} {
		if !strings.Contains(out, want) {
			t.Errorf("server list --kept lacks %q:\n%s", want, out)
		}
	}
	d.Cli("server", "unhide", own)
	rig.WantListed(t, d, h)
	d.Cli("server", "unhide", one)
	rig.Appears(t, d, one)

	// The command shows which of them answer, and why others are not in the
	// list.
	silent := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), h.Address().Port()).String()
	d.Cli("server", "add", "a2s", silent)
	rig.Eventually(t, "what came of the silent server", func() bool {
		out := d.Cli("server", "list", "--kept")
		return strings.Contains(rig.LineWith(out, one), " yes ") && strings.Contains(rig.LineWith(out, silent), " no ") && strings.Contains(rig.LineWith(out, silent), "no answer to A2S queries")
	})
	for address, reason := range map[string]string{
		d.Address["qr2"].String(): "never asked: it is one of this daemon's own", "192.0.2.1:53": "from 1024", "game.example:53": "from 1024",
		"255.255.255.255:27015": "of a machine", "224.0.0.1:27015": "of a machine", "0.0.0.0:27015": "of a machine",
	} {
		rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"server", "add", "a2s", address}, reason)
	}

	// Removed ones leave at once; servers that report come back.
	d.Cli("server", "remove", one)
	if _, ok := rig.AllRecords(t, d)[one]; ok {
		t.Error("a removed server is listed")
	}
	if out := d.Cli("server", "remove", own); !strings.Contains(out, "comes back") {
		t.Errorf("server remove of one that reports:\n%s", out)
	}
	rig.WantListed(t, d)
	for name, tc := range map[string]struct {
		code  int
		args  []string
		parts []string
	}{
		"not watched":      {commands.ExitFailure, []string{"remove", one}, []string{one, "not found"}},
		"not hidden":       {commands.ExitFailure, []string{"unhide", one}, []string{one, "not found"}},
		"bad protocol":     {commands.ExitFailure, []string{"add", "quake9", one}, []string{"quake9", "known:"}},
		"low port":         {commands.ExitFailure, []string{"add", "a2s", "192.0.2.1:53"}, []string{"192.0.2.1:53", "1024"}},
		"broadcast":        {commands.ExitFailure, []string{"add", "a2s", "255.255.255.255:27015"}, []string{"bad host"}},
		"no port":          {commands.ExitFailure, []string{"add", "a2s", "192.0.2.1"}, []string{"host:port"}},
		"bad game":         {commands.ExitFailure, []string{"add", "a2s", one, "--game", "../etc"}, []string{"../etc"}},
		"hide a name":      {commands.ExitUsage, []string{"hide", "localhost:27015"}, []string{"localhost:27015"}},
		"without protocol": {commands.ExitUsage, []string{"add", one}, []string{"arg"}},
	} {
		t.Run(name, func(t *testing.T) {
			rig.Refused(t, tc.code, d.CliEnv(), append([]string{"server"}, tc.args...), tc.parts...)
		})
	}

	// Banned ones have a verdict, listed before or not.
	never := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.10"), h.Address().Port())
	d.Cli("ban", "add", "127.0.0.0/8", "--scope", "lists")
	wantReason(t, d, netip.MustParseAddrPort(two), "probe", verdicts.Banned)
	d.Cli("server", "add", "a2s", never.String())
	d.WaitFor("the verdict on a server that was never listed", 0, rig.VerdictOn(never, "banned"))
	rig.WantIn(t, d.Cli("doctor", "127.0.0.10"), never.String(), "the address is banned, so the server is neither asked nor listed", "a ban of 127.0.0.0/8 covers it")
	if out := d.Cli("server", "list", "--kept"); strings.Count(out, " banned") != 3 || strings.Contains(out, " yes ") {
		t.Errorf("server list --kept does not say that three servers are banned:\n%s", out)
	}
	d.Stop()
}

func TestAddedAndHiddenServersSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	c := rig.StartChild(t, dir)
	for _, args := range [][]string{{"add", "a2s", one}, {"add", "a2s", two}, {"hide", two}} {
		c.Cli(append([]string{"server"}, args...)...)
	}
	c.Kill()

	// Without a daemon, the stored servers can be listed and changed.
	env := rig.TestEnv(dir)
	if out := rig.Cli(t, env, "server", "list", "--kept"); strings.Count(out, one) != 1 || strings.Count(out, two) != 2 {
		t.Errorf("server list --kept without a daemon:\n%s", out)
	}
	three := probetest.Listen(t, talk).Address().String()
	rig.Cli(t, env, "server", "add", "a2s", three)
	rig.Cli(t, env, "server", "hide", three)
	rig.Cli(t, env, "server", "unhide", three)
	rig.Refused(t, commands.ExitFailure, env, []string{"server", "list"}, "not running")

	d := rig.Start(t, dir)
	for _, address := range []string{one, three} {
		if r := rig.Appears(t, d, address); r.Origin != "static" {
			t.Errorf("%s is listed as %+v", address, r)
		}
	}
	if _, ok := rig.AllRecords(t, d)[two]; ok {
		t.Error("the hidden server is shown after a restart")
	}
	rig.Eventually(t, "the hidden one in the operator's list", func() bool { return strings.Contains(d.Cli("server", "list"), two) })
	d.Stop()

	// They are listed again at once, from the saved list, whatever their game.
	d = rig.Start(t, dir)
	for _, line := range []string{one, three} {
		if _, ok := rig.AllRecords(t, d)[line]; !ok {
			t.Errorf("%s is not listed right after a restart", line)
		}
	}
	if _, ok := rig.AllRecords(t, d)[two]; ok {
		t.Error("the hidden server is restored for everybody")
	}
	d.Stop()
}

func TestServerOfTheConfigurationIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := probetest.Listen(t, probetest.Arena("cstrike").Speaks("a2s")).Address().String()
	d := rig.Start(t, t.TempDir(), rig.Variable("servers.static", "a2s "+s))
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"server", "remove", s}, "servers.static")
	if out := d.Cli("server", "list", "--kept"); !strings.Contains(out, s) {
		t.Errorf("server list --kept:\n%s", out)
	}
	d.Stop()
}

func TestStaticServersAreChecked(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"a2s": "host:port", "quake9 192.0.2.1:27015": "not one of", "a2s 192.0.2.1": "host:port", "a2s 192.0.2.1:80": "1024",
		"a2s 224.0.0.1:27015": "bad host", "a2s [::1]:27015": "bad host", "a2s exa_mple:27015": "bad host", "a2s 999.1.1.1:27015": "bad host",
	} {
		rig.Refused(t, commands.ExitFailure, []string{rig.Variable("servers.static", text)}, []string{"check"}, "servers.static", text, part)
	}
}

func TestHiddenZandronumServers(t *testing.T) {
	t.Parallel()
	d := rig.StartZan(t, t.TempDir(), rig.NoWindow)
	one, two := rig.NewZanHost(t, d, rig.Home, nil), rig.NewZanHost(t, d, rig.Home, nil)
	one.MustRegister()
	two.MustRegister()
	launcher := rig.NewZanPeer(t, d, rig.Home, nil)
	rig.WantZanList(t, launcher, one, two)
	d.Cli("server", "hide", one.Address().String())
	rig.WantZanList(t, launcher, two)
	one.MustAnnounce() // not answered
	two.MustAnnounce()
	rig.WantZanList(t, launcher, two)
	d.Cli("server", "unhide", one.Address().String())
	rig.WantZanList(t, launcher, one, two)
	d.Stop()
}
