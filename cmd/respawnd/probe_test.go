package main

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/probe/probetest"
)

// allRecords returns the servers of the public JSON by address.
func allRecords(t testing.TB, d *running) map[string]zanRecord {
	t.Helper()
	code, body := get(t, d, "web", http.MethodGet, "/api/v1/servers?full=1", "")
	var answer struct{ Servers []zanRecord }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("GET /api/v1/servers: status %d, %v:\n%.500s", code, err, body)
	}
	records := make(map[string]zanRecord)
	for _, r := range answer.Servers {
		records[r.Address] = r
	}
	return records
}

// appears waits until the public JSON has a server.
func appears(t testing.TB, d *running, address string) zanRecord {
	t.Helper()
	eventually(t, address+" in the list", func() bool { _, ok := allRecords(t, d)[address]; return ok })
	return allRecords(t, d)[address]
}

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
		s := probetest.Listen(t, probetest.Arena(testGame).Speaks(p))
		addresses[p] = s.Address().String()
		static = append(static, p+" "+addresses[p])
	}
	// One more is named by the name of its host.
	s := probetest.Listen(t, probetest.Arena("cstrike").Speaks("a2s"))
	byName := strings.Replace(s.Address().String(), "127.0.0.1", "localhost", 1)
	d := start(t, t.TempDir(), variable("servers.static", strings.Join(append(static, "a2s "+byName), ",")))
	for p, address := range addresses {
		r := appears(t, d, address)
		game := testGame
		switch p { // these say which game they speak for by their protocol
		case "zandronum", "nwn":
			game = p
		case "idtech4":
			game = "doom3"
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
	r := appears(t, d, s.Address().String())
	if r.Game != "cstrike" || r.Rules["sv_gravity"] != "800" {
		t.Errorf("the one that was named by its host is listed as %+v", r)
	}
	// Games ask for those that they can query as for any other.
	if got := list(t, d, "numplayers = 2 and mapname = 'de_dust'", `\hostname`); got[addresses["gs1"]] == nil || got[addresses["a2s"]] != nil {
		t.Errorf("browsers of %s see %v", testGame, got)
	}
	if out := d.cli("server", "list", "--game", "cstrike"); !strings.Contains(out, s.Address().String()) || !strings.Contains(out, "2/16") {
		t.Errorf("server list:\n%s", out)
	}
	d.stop()
}

func TestServersAreAddedRemovedAndHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	d.cli("server", "add", "a2s", one)
	d.cli("server", "add", "a2s", two, "--game", "MyMod")
	appears(t, d, one)
	if r := appears(t, d, two); r.Game != "mymod" {
		t.Errorf("listed under %q, want the game that was given", r.Game)
	}
	h := register(t, d, "hostname", "Reporter")
	own := h.address().String()
	appears(t, d, own)

	// Hidden ones are in no list; servers that report do not notice it.
	d.cli("server", "hide", own, "--reason", "fake players")
	d.cli("server", "hide", one)
	if all := allRecords(t, d); len(all) != 1 || all[two].Game != "mymod" {
		t.Errorf("the JSON shows %v, want one server", all)
	}
	wantListed(t, d)
	h.heartbeat("hostname\x00Reporter\x00numplayers\x003\x00\x00")
	out := d.cli("server", "list")
	if strings.Count(out, "hidden by an operator") != 2 || !strings.Contains(out, own) {
		t.Errorf("server list:\n%s", out)
	}
	out = d.cli("server", "list", "--kept")
	for _, want := range []string{own, one, two, "fake players", "mymod", "a2s"} {
		if !strings.Contains(out, want) {
			t.Errorf("server list --kept lacks %q:\n%s", want, out)
		}
	}
	d.cli("server", "unhide", own)
	wantListed(t, d, h)
	d.cli("server", "unhide", one)
	appears(t, d, one)

	// The command shows which of them answer, and why others are not in the
	// list.
	silent := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), h.address().Port()).String()
	d.cli("server", "add", "a2s", silent)
	eventually(t, "what came of the silent server", func() bool {
		out := d.cli("server", "list", "--kept")
		return strings.Contains(lineWith(out, one), " yes ") && strings.Contains(lineWith(out, silent), " no ") && strings.Contains(lineWith(out, silent), "no answer to A2S queries")
	})
	for address, reason := range map[string]string{
		d.address["qr2"].String(): "never asked: it is one of this daemon's own", "192.0.2.1:53": "from 1024", "game.example:53": "from 1024",
		"255.255.255.255:27015": "of a machine", "224.0.0.1:27015": "of a machine", "0.0.0.0:27015": "of a machine",
	} {
		refused(t, exitFailure, d.cliEnv(), []string{"server", "add", "a2s", address}, reason)
	}

	// Removed ones leave at once; servers that report come back.
	d.cli("server", "remove", one)
	if _, ok := allRecords(t, d)[one]; ok {
		t.Error("a removed server is listed")
	}
	if out := d.cli("server", "remove", own); !strings.Contains(out, "comes back") {
		t.Errorf("server remove of one that reports:\n%s", out)
	}
	wantListed(t, d)
	for name, tc := range map[string]struct {
		code  int
		args  []string
		parts []string
	}{
		"not watched":      {exitFailure, []string{"remove", one}, []string{one, "not found"}},
		"not hidden":       {exitFailure, []string{"unhide", one}, []string{one, "not found"}},
		"bad protocol":     {exitFailure, []string{"add", "quake9", one}, []string{"quake9", "known:"}},
		"low port":         {exitFailure, []string{"add", "a2s", "192.0.2.1:53"}, []string{"192.0.2.1:53", "1024"}},
		"broadcast":        {exitFailure, []string{"add", "a2s", "255.255.255.255:27015"}, []string{"bad host"}},
		"no port":          {exitFailure, []string{"add", "a2s", "192.0.2.1"}, []string{"host:port"}},
		"bad game":         {exitFailure, []string{"add", "a2s", one, "--game", "../etc"}, []string{"../etc"}},
		"hide a name":      {exitUsage, []string{"hide", "localhost:27015"}, []string{"localhost:27015"}},
		"without protocol": {exitUsage, []string{"add", one}, []string{"arg"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, tc.code, d.cliEnv(), append([]string{"server"}, tc.args...), tc.parts...)
		})
	}

	// Banned ones have a verdict, listed before or not.
	never := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.10"), h.address().Port())
	d.cli("ban", "add", "127.0.0.0/8", "--scope", "lists")
	wantReason(t, d, netip.MustParseAddrPort(two), "probe", verdicts.Banned)
	d.cli("server", "add", "a2s", never.String())
	d.waitFor("the verdict on a server that was never listed", 0, verdictOn(never, "banned"))
	wantIn(t, d.cli("doctor", "127.0.0.10"), never.String(), "the address is banned, so the server is neither asked nor listed", "a ban of 127.0.0.0/8 covers it")
	if out := d.cli("server", "list", "--kept"); strings.Count(out, " banned") != 3 || strings.Contains(out, " yes ") {
		t.Errorf("server list --kept does not say that three servers are banned:\n%s", out)
	}
	d.stop()
}

func TestAddedAndHiddenServersSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	c := startChild(t, dir)
	for _, args := range [][]string{{"add", "a2s", one}, {"add", "a2s", two}, {"hide", two}} {
		c.cli(append([]string{"server"}, args...)...)
	}
	c.kill()

	// Without a daemon, the stored servers can be listed and changed.
	env := testEnv(dir)
	if out := cli(t, env, "server", "list", "--kept"); strings.Count(out, one) != 1 || strings.Count(out, two) != 2 {
		t.Errorf("server list --kept without a daemon:\n%s", out)
	}
	three := probetest.Listen(t, talk).Address().String()
	cli(t, env, "server", "add", "a2s", three)
	cli(t, env, "server", "hide", three)
	cli(t, env, "server", "unhide", three)
	refused(t, exitFailure, env, []string{"server", "list"}, "not running")

	d := start(t, dir)
	for _, address := range []string{one, three} {
		if r := appears(t, d, address); r.Origin != "static" {
			t.Errorf("%s is listed as %+v", address, r)
		}
	}
	if _, ok := allRecords(t, d)[two]; ok {
		t.Error("the hidden server is shown after a restart")
	}
	eventually(t, "the hidden one in the operator's list", func() bool { return strings.Contains(d.cli("server", "list"), two) })
	d.stop()

	// They are listed again at once, from the saved list, whatever their game.
	d = start(t, dir)
	for _, line := range []string{one, three} {
		if _, ok := allRecords(t, d)[line]; !ok {
			t.Errorf("%s is not listed right after a restart", line)
		}
	}
	if _, ok := allRecords(t, d)[two]; ok {
		t.Error("the hidden server is restored for everybody")
	}
	d.stop()
}

func TestServerOfTheConfigurationIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := probetest.Listen(t, probetest.Arena("cstrike").Speaks("a2s")).Address().String()
	d := start(t, t.TempDir(), variable("servers.static", "a2s "+s))
	refused(t, exitFailure, d.cliEnv(), []string{"server", "remove", s}, "servers.static")
	if out := d.cli("server", "list", "--kept"); !strings.Contains(out, s) {
		t.Errorf("server list --kept:\n%s", out)
	}
	d.stop()
}

func TestStaticServersAreChecked(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"a2s": "host:port", "quake9 192.0.2.1:27015": "not one of", "a2s 192.0.2.1": "host:port", "a2s 192.0.2.1:80": "1024",
		"a2s 224.0.0.1:27015": "bad host", "a2s [::1]:27015": "bad host", "a2s exa_mple:27015": "bad host", "a2s 999.1.1.1:27015": "bad host",
	} {
		refused(t, exitFailure, []string{variable("servers.static", text)}, []string{"check"}, "servers.static", text, part)
	}
}

func TestHiddenZandronumServers(t *testing.T) {
	t.Parallel()
	d := startZan(t, t.TempDir(), noWindow)
	one, two := newZanHost(t, d, home, nil), newZanHost(t, d, home, nil)
	one.register()
	two.register()
	launcher := newZanPeer(t, d, home, nil)
	wantZanList(t, launcher, one, two)
	d.cli("server", "hide", one.address().String())
	wantZanList(t, launcher, two)
	one.announce() // not answered
	two.announce()
	wantZanList(t, launcher, two)
	d.cli("server", "unhide", one.address().String())
	wantZanList(t, launcher, one, two)
	d.stop()
}
