package masters

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/valvemaster"
)

// keyedList asks for the list as the browser of Xash3D does, once.
func keyedList(t testing.TB, d *rig.Running, filter string) (l valvemaster.KeyedList) {
	t.Helper()
	r := valvemaster.ListRequest{Region: valvemaster.AnyRegion, Seed: valvemaster.Start, Filter: []byte(filter)}
	err := rig.ValveBrowser(t, d, 0).Request(rig.Wait(t), r, func(p []byte) (err error) {
		l, err = valvemaster.ParseKeyedList(p)
		return err
	})
	if err != nil {
		t.Fatalf("keyed list: %v", err)
	}
	return l
}

func TestValveServerIsListedOnceItAnswers(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	game := probetest.Arena("cstrike")
	h := rig.NewValveHost(t, d, game)
	deaf := rig.NewValveHost(t, d, nil)
	h.MustHeartbeat()
	deaf.MustHeartbeat()
	d.WaitFor("the verdict on the server", 0, rig.VerdictOn(h.Address(), "listed"))
	want := []string{h.Address().String()}
	rig.Eventually(t, "the list", func() bool { return slices.Equal(rig.ValveList(t, d, ""), want) })
	for filter, want := range map[string][]string{
		`\gamedir\cstrike\map\de_dust\empty\1\full\1`: want,
		`\name_match\arena*\dedicated\1\appid\240`:    want,
		`\gamedir\tf`:                       nil,
		`\nor\1\secure\1`:                   nil,
		`\gametype\alltalk\password\0`:      want,
		`\gameaddr\` + h.Address().String(): want,
	} {
		if got := rig.ValveList(t, d, filter); !slices.Equal(got, want) {
			t.Errorf("list with the filter %s: %v, want %v", filter, got, want)
		}
	}
	if l := keyedList(t, d, `\gamedir\cstrike\nat\0\key\12ab34cd`); l.Key != 0x12AB34CD || !l.Last || !slices.Equal(l.Servers, []netip.AddrPort{h.Address()}) {
		t.Errorf("keyed list: %+v, want %v", l, want)
	}
	record, ok := rig.AllRecords(t, d)[h.Address().String()]
	if !ok || record.Origin != "valve" || record.Name != game.Name || record.Map != game.Map || len(record.PlayerList) != len(game.Players) {
		t.Errorf("public JSON: %+v", record)
	}
	if out := d.Cli("doctor", deaf.Address().Addr().String()); !strings.Contains(out, "heartbeat taken, asked over A2S") {
		t.Errorf("doctor does not tell about the server that answers nothing:\n%s", out)
	}
	if line := rig.LineWith(d.Cli("server", "list"), deaf.Address().String()); !strings.Contains(line, "no answer to A2S queries") {
		t.Errorf("server list says %q about it", line)
	}
	// A goodbye that any host can forge, and one with a proof.
	h.MustSend(valvemaster.Goodbye{}.AppendTo(nil))
	h.MustChallenge() // comes behind it
	if got := rig.ValveList(t, d, ""); !slices.Equal(got, want) {
		t.Errorf("list after a good-bye without challenge: %v", got)
	}
	h.MustSend(valvemaster.Goodbye{Challenge: h.MustChallenge(), HasChallenge: true}.AppendTo(nil))
	rig.Eventually(t, "the list", func() bool { return len(rig.ValveList(t, d, "")) == 0 })
	d.Stop()
}

func TestValveBanIsInForceAtOnce(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewValveHost(t, d, probetest.Arena("cstrike"))
	h.MustHeartbeat()
	d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), "listed"))
	n := d.Log.Len()
	d.Cli("ban", "add", "127.0.0.1")
	d.WaitFor("the verdict", n, rig.VerdictOn(h.Address(), "banned"))
	h.MustSend(valvemaster.ChallengeRequest{}.AppendTo(nil))
	rig.Eventually(t, "the drop", func() bool {
		return rig.Metric(t, d, `respawnd_dropped_total{reason="banned",service="valvemaster"}`) != "0"
	})
	d.Cli("ban", "remove", "127.0.0.1")
	if got := rig.ValveList(t, d, ""); len(got) != 0 {
		t.Errorf("list after a ban: %v", got)
	}
	h.MustChallenge() // is answered again
	d.Stop()
}

func TestValveServerThatIsHidden(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h, other := rig.NewValveHost(t, d, probetest.Arena("cstrike")), rig.NewValveHost(t, d, probetest.Arena("cstrike"))
	for _, one := range []*rig.ValveHost{h, other} {
		one.MustHeartbeat()
		d.WaitFor("the verdict", 0, rig.VerdictOn(one.Address(), "listed"))
	}
	rig.Eventually(t, "the list", func() bool { return len(rig.ValveList(t, d, "")) == 2 })
	d.Cli("server", "hide", h.Address().String())
	rig.Eventually(t, "the list", func() bool { return slices.Equal(rig.ValveList(t, d, ""), []string{other.Address().String()}) })
	d.Stop()
}

func TestValveServerSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	h := rig.NewValveHost(t, d, probetest.Arena("cstrike"))
	h.MustHeartbeat()
	d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), "listed"))
	d.Stop()
	e := rig.Start(t, dir)
	want := []string{h.Address().String()}
	if got := rig.ValveList(t, e, ""); !slices.Equal(got, want) {
		t.Errorf("list after a restart: %v, want %v", got, want)
	}
	e.WaitFor("the answer", 0, rig.VerdictOn(h.Address(), "listed")) // without a heartbeat
	e.Stop()
}

func TestSelftestPlaysAValveServer(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	var env []string
	env = append(env, d.Env...)
	for name, a := range d.Address {
		if name != "valvemaster" && name != "probe" {
			env = append(env, rig.Variable(name+".listen", ""))
		} else if name == "valvemaster" {
			env = append(env, rig.Variable("valvemaster.listen", a.String()))
		}
	}
	out := rig.Cli(t, env, "selftest")
	if !strings.Contains(rig.LineWith(out, "valvemaster"), " ok") {
		t.Errorf("selftest printed\n%s", out)
	}
	rig.Eventually(t, "the list without the test server", func() bool { return len(rig.ValveList(t, d, "")) == 0 })
	d.Cli("ban", "add", "127.0.0.0/8")
	if code, out, _ := rig.Command(t, env, "selftest"); code != commands.ExitFailure || !strings.Contains(rig.LineWith(out, "valvemaster"), "FAILED: no challenge") {
		t.Errorf("selftest while we are banned: exit code %d, want %d\n%s", code, commands.ExitFailure, out)
	}
	d.Stop()
}

// askQstatValve runs qstat against the master and returns its output by address.
func askQstatValve(t *testing.T, d *rig.Running, query string) map[string]rig.Shown {
	t.Helper()
	return rig.AskQstat(t, query, d.Address["valvemaster"])
}

// A game server may use a UDP port whose number a TCP service of the daemon
// has.
func TestValveServerOnThePortOfATCPService(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	for _, name := range []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "web", "admin"} {
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(d.Address[name]))
		if err != nil {
			continue // in use by another process; there are more to try
		}
		h := rig.NewValveHostOn(t, netclient.New(c, d.Address["valvemaster"], 0), probetest.Arena("cstrike"))
		h.MustHeartbeat()
		d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), "listed"))
		return
	}
	t.Fatal("every number is taken by other programs")
}

func TestQstatShowsValveServers(t *testing.T) {
	rig.Qstat(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("valvemaster.max_per_addr", "0"))
	address := d.Address["valvemaster"].String()
	if got := askQstatValve(t, d, "-stma2s"); len(got) != 1 || got[address].Servers != 0 || got[address].Status != "online" {
		t.Errorf("before any server: %+v, want a master with 0 servers", got)
	}
	// More than two small pages, so that qstat walks up to full ones.
	all, tf := make(map[string]rig.Shown), make(map[string]rig.Shown)
	for i := range 40 {
		game := probetest.Arena("cstrike")
		if i%10 == 0 {
			game = probetest.Arena("tf")
		}
		game.Name = fmt.Sprintf("Arena %d", i)
		h := rig.NewValveHost(t, d, game)
		h.MustHeartbeat()
		d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), "listed"))
		s := rig.Shown{
			Protocol: "a2s", Address: h.Address().String(), Status: "online", Name: game.Name, Map: game.Map,
			NumPlayers: len(game.Players), MaxPlayers: game.MaxPlayers,
		}
		all[s.Address] = s
		if game.Game == "tf" {
			tf[s.Address] = s
		}
	}
	rig.Eventually(t, "the list", func() bool { return len(rig.ValveList(t, d, "")) == len(all) })
	for query, want := range map[string]map[string]rig.Shown{
		"-stma2s":                                 all,
		"-stma2s,game=tf":                         tf,
		"-stma2s,game=tf,map=de_dust,region=3":    tf, // their region is unknown
		"-stma2s,status=notempty:notfull":         all,
		"-stma2s,game=tf,map=none,status=notfull": {},
	} {
		got := askQstatValve(t, d, query)
		if m := got[address]; m.Status != "online" || m.Servers != len(want) {
			t.Errorf("quakestat %s: master %+v, want %d servers", query, m, len(want))
		}
		delete(got, address)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("quakestat %s (-want +got):\n%s", query, diff)
		}
	}
	// Another of qstat's types, which queries servers in another way.
	if got := askQstatValve(t, d, "-hla2sm"); got[address].Servers != len(all) {
		t.Errorf("quakestat -hla2sm: %d servers, want %d", got[address].Servers, len(all))
	}
	d.Stop()
}
