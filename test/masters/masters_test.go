package masters

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/codmaster"
	"github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/nwmaster"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/test/rig"
)

// listedBy returns the address, name and origin of the servers of a game as the pages'
// JSON has them.
func listedBy(t *testing.T, d *rig.Running, game string) (list []string) {
	t.Helper()
	b, err := netclient.Get(t.Context(), d.Address["web"].String(), "/api/v1/servers?game="+game)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Servers []struct{ Name, Address, Map, Origin string }
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.Servers {
		list = append(list, s.Address+" "+s.Name+" "+s.Map+" "+s.Origin)
	}
	return list
}

// wantQuakestat lists one server with quakestat in a mode.
func wantQuakestat(t *testing.T, mode string, at netip.AddrPort, want ...string) {
	t.Helper()
	want = append(want, "1 servers")
	t.Run("quakestat", func(t *testing.T) {
		if out, ok := rig.Quakestat(t, want, "-"+mode, at.String()); !ok {
			t.Errorf("quakestat -%s shows, want %q:\n%s", mode, want, out)
		}
	})
}

// TestIDMaster registers servers of Doom 3 and Quake 4, and finds them in all lists, after
// a restart too.
func TestIDMaster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	const preyVersion = 4
	serve := func(protocol idtech4.Protocol, name string, pairs ...string) *idmaster.Host {
		conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["idmaster"])
		h := idmaster.NewHost(conn, idmaster.InfoOf(protocol, append(pairs, "si_name", name, "si_map", "q4dm1", "si_maxPlayers", "8")...))
		var serving sync.WaitGroup
		serving.Go(h.Serve)
		t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
		if err := h.Heartbeat(rig.Wait(t)); err != nil {
			t.Fatal(err)
		}
		d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
		return h
	}
	doom := serve(1<<16+41, "The Inn")
	serve(2<<16+85, "The Barn")
	serve(3<<16+preyVersion, "The Bar")
	want := []string{doom.Local().String() + " The Inn q4dm1 idtech4"}
	if got := listedBy(t, d, "doom3"); !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
	wantQuakestat(t, "dm3m,1.41", d.Address["idmaster"], "The Inn")
	wantQuakestat(t, "q4m,2.85", d.Address["idmaster"], "The Barn")
	wantQuakestat(t, "preym,3."+strconv.Itoa(preyVersion), d.Address["idmaster"], "The Bar")
	if out := d.Cli("query", "idtech4", doom.Local().String()); !strings.Contains(out, "The Inn") {
		t.Errorf("query idtech4:\n%s", out)
	}
	p := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["idmaster"])
	if err := p.Send([]byte("\xff\xffnewThing\x00\x01")); err != nil {
		t.Fatal(err)
	}
	if _, err := idmaster.List(rig.Wait(t), p, idtech4.Request{}, 1); err != nil { // it is taken after the message
		t.Fatal(err)
	}
	if out := d.Cli("doctor", rig.Home.String()); !strings.Contains(out, `\xff\xffnewThing\x00\x01`) {
		t.Errorf("doctor does not show the message:\n%s", out)
	}
	d.Stop()

	d = rig.Start(t, dir)
	if got := listedBy(t, d, "doom3"); !slices.Equal(got, want) {
		t.Errorf("JSON after a restart %v, want %v", got, want)
	}
	d.Stop()
}

// TestCoDMaster registers servers of three games of Call of Duty, and finds them in all
// lists. Two speak the same protocol: the port that is asked tells them apart.
func TestCoDMaster(t *testing.T) {
	t.Parallel()
	at := rig.QuietLoopback(t)
	d := rig.Start(t, t.TempDir(), rig.Variable("codmaster.listen", netip.AddrPortFrom(at, 20510).String()))
	for _, tc := range []struct {
		game, tag, protocol, mode string
		port                      uint16
	}{
		{"callofduty", "COD-1", "6", "codm,6", 20510},
		{"callofduty2", "COD-2", "118", "cod2m,118", 20710},
		{"callofduty4", "COD-4", "6", "cod4m,6", 20810},
	} {
		master := netip.AddrPortFrom(at, tc.port)
		conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), master)
		h := q3master.NewHost(conn, tc.tag, "protocol", tc.protocol, "hostname", "The Inn of "+tc.game, "mapname", "mp_carentan", "clients", "0",
			"sv_maxclients", "20", "gametype", "dm")
		var serving sync.WaitGroup
		serving.Go(h.Serve)
		t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
		rig.Must(t, h.Heartbeat(rig.Wait(t)))
		d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
		if got, want := listedBy(t, d, tc.game), []string{h.Local().String() + " The Inn of " + tc.game + " mp_carentan callofduty"}; !slices.Equal(got, want) {
			t.Errorf("JSON %v, want %v", got, want)
		}
		wantQuakestat(t, tc.mode, master, "The Inn of "+tc.game)
	}
	if good, err := codmaster.Ask(rig.Wait(t), d.Address["codmaster"].String(), netip.MustParseAddr("192.0.2.7")); err != nil || !good {
		t.Errorf("a player may not join: %v", err)
	}
	d.Stop()
}

// TestNWMaster registers a server of Neverwinter Nights and signs a player in.
func TestNWMaster(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["nwmaster"])
	h := nwmaster.NewHost(conn, "The Inn", nwn.Rules{Port: 5121, Game: nwn.Game1, Most: 16, Module: []byte("Prelude")})
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(rig.Wait(t)); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	if got := listedBy(t, d, "nwn"); len(got) != 1 || !strings.HasPrefix(got[0], h.Local().String()) || !strings.HasSuffix(got[0], "Prelude nwn") {
		t.Errorf("JSON %v", got)
	}
	if out := d.Cli("query", "nwn", h.Local().String()); !strings.Contains(out, "The Inn") || !strings.Contains(out, "Prelude") {
		t.Errorf("query nwn:\n%s", out)
	}
	rig.Typed(t, d.CliEnv(), "secret", "account", "create", "--email", "tester@example.org", "--nick", "Tester", "--uniquenick", "Tester", "--password-stdin")
	p := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["nwmaster"])
	for password, want := range map[string]nwn.Result{"secret": nwn.Good, "wrong": nwn.Bad} {
		if got, err := nwmaster.SignIn(rig.Wait(t), p, "Tester", password); err != nil || got != want {
			t.Errorf("password %s: result %d, %v; want %d", password, got, err, want)
		}
	}
	if got, err := nwmaster.SignIn(rig.Wait(t), p, "Stranger", "x"); err != nil || got != nwn.Good {
		t.Errorf("a player without an account: %d, %v", got, err)
	}
	d.Stop()
}
