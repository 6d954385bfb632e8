package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/valvemaster"
)

// valveHost is a game server of Valve's kind: it sends heartbeats, and answers
// A2S queries from any address.
type valveHost struct {
	*valvemaster.Host
	t testing.TB
}

// newValveHost starts a server. A nil game is one whose port is closed to
// strangers: it answers no query.
func newValveHost(t testing.TB, d *running, game *probetest.Game) *valveHost {
	t.Helper()
	return newValveHostAt(t, home, d, game)
}

// newValveHostAt is newValveHost on an address of this machine.
func newValveHostAt(t testing.TB, at netip.Addr, d *running, game *probetest.Game) *valveHost {
	t.Helper()
	return newValveHostOn(t, packetsAt(t, netip.AddrPortFrom(at, 0), d.address["valvemaster"]), game)
}

// newValveHostOn is newValveHost on a socket, which it closes in the end.
func newValveHostOn(t testing.TB, c *netclient.Packets, game *probetest.Game) *valveHost {
	t.Helper()
	var answer func([]byte) [][]byte
	if game != nil {
		answer = game.Speaks("a2s")
	}
	beat := valvemaster.Heartbeat{GameDir: []byte("cstrike"), Region: valvemaster.AnyRegion}
	h := &valveHost{valvemaster.NewHost(c, beat, answer), t}
	var answering sync.WaitGroup
	answering.Go(h.Serve)
	t.Cleanup(func() { _ = c.Close(); answering.Wait() })
	return h
}

func (h *valveHost) address() netip.AddrPort { return h.Local() }

func (h *valveHost) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v: %v", h.address(), err)
	}
}

func (h *valveHost) send(b []byte) {
	h.t.Helper()
	h.must(h.Send(b))
}

// challenge asks for a challenge.
func (h *valveHost) challenge() uint32 {
	h.t.Helper()
	c, err := h.Challenge(wait(h.t))
	h.must(err)
	return c
}

func (h *valveHost) heartbeat() {
	h.t.Helper()
	h.must(h.Heartbeat(wait(h.t)))
}

// valveRetry is how long a browser waits for a page until it asks again, for the
// tests ask too often.
const valveRetry = 200 * time.Millisecond

func valveBrowser(t testing.TB, d *running, retry time.Duration) *valvemaster.Browser {
	t.Helper()
	return &valvemaster.Browser{Packets: packetsAt(t, netip.AddrPortFrom(netip.IPv4Unspecified(), 0), d.address["valvemaster"]), Retry: retry}
}

// valveList walks through the list as a browser does.
func valveList(t testing.TB, d *running, filter string) (all []string) {
	t.Helper()
	b := valveBrowser(t, d, valveRetry)
	defer func() { _ = b.Close() }()
	servers, err := b.List(wait(t), filter, 0)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	for _, s := range servers {
		all = append(all, s.String())
	}
	return all
}

// keyedList asks for the list as the browser of Xash3D does, once.
func keyedList(t testing.TB, d *running, filter string) (l valvemaster.KeyedList) {
	t.Helper()
	r := valvemaster.ListRequest{Region: valvemaster.AnyRegion, Seed: valvemaster.Start, Filter: []byte(filter)}
	err := valveBrowser(t, d, 0).Request(wait(t), r, func(p []byte) (err error) {
		l, err = valvemaster.ParseKeyedList(p)
		return err
	})
	if err != nil {
		t.Fatalf("keyed list: %v", err)
	}
	return l
}

func TestValveServerIsListedOnceItAnswers(t *testing.T) {
	quick(t)
	t.Parallel()
	d := start(t, t.TempDir())
	game := probetest.Arena("cstrike")
	h := newValveHost(t, d, game)
	deaf := newValveHost(t, d, nil)
	h.heartbeat()
	deaf.heartbeat()
	d.waitFor("the verdict on the server", 0, verdictOn(h.address(), "listed"))
	want := []string{h.address().String()}
	eventually(t, "the list", func() bool { return slices.Equal(valveList(t, d, ""), want) })
	for filter, want := range map[string][]string{
		`\gamedir\cstrike\map\de_dust\empty\1\full\1`: want,
		`\name_match\arena*\dedicated\1\appid\240`:    want,
		`\gamedir\tf`:                       nil,
		`\nor\1\secure\1`:                   nil,
		`\gametype\alltalk\password\0`:      want,
		`\gameaddr\` + h.address().String(): want,
	} {
		if got := valveList(t, d, filter); !slices.Equal(got, want) {
			t.Errorf("list with the filter %s: %v, want %v", filter, got, want)
		}
	}
	if l := keyedList(t, d, `\gamedir\cstrike\nat\0\key\12ab34cd`); l.Key != 0x12AB34CD || !l.Last || !slices.Equal(l.Servers, []netip.AddrPort{h.address()}) {
		t.Errorf("keyed list: %+v, want %v", l, want)
	}
	record, ok := allRecords(t, d)[h.address().String()]
	if !ok || record.Origin != "valve" || record.Name != game.Name || record.Map != game.Map || len(record.PlayerList) != len(game.Players) {
		t.Errorf("public JSON: %+v", record)
	}
	if out := d.cli("doctor", deaf.address().Addr().String()); !strings.Contains(out, "heartbeat taken, asked over A2S") {
		t.Errorf("doctor does not tell about the server that answers nothing:\n%s", out)
	}
	if line := lineWith(d.cli("server", "list"), deaf.address().String()); !strings.Contains(line, "no answer to A2S queries") {
		t.Errorf("server list says %q about it", line)
	}
	// A goodbye that any host can forge, and one with a proof.
	h.send(valvemaster.Goodbye{}.AppendTo(nil))
	h.challenge() // comes behind it
	if got := valveList(t, d, ""); !slices.Equal(got, want) {
		t.Errorf("list after a good-bye without challenge: %v", got)
	}
	h.send(valvemaster.Goodbye{Challenge: h.challenge(), HasChallenge: true}.AppendTo(nil))
	eventually(t, "the list", func() bool { return len(valveList(t, d, "")) == 0 })
	d.stop()
}

func TestValveBanIsInForceAtOnce(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newValveHost(t, d, probetest.Arena("cstrike"))
	h.heartbeat()
	d.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))
	n := d.log.len()
	d.cli("ban", "add", "127.0.0.1")
	d.waitFor("the verdict", n, verdictOn(h.address(), "banned"))
	h.send(valvemaster.ChallengeRequest{}.AppendTo(nil))
	eventually(t, "the drop", func() bool {
		return metric(t, d, `respawnd_dropped_total{reason="banned",service="valvemaster"}`) != "0"
	})
	d.cli("ban", "remove", "127.0.0.1")
	if got := valveList(t, d, ""); len(got) != 0 {
		t.Errorf("list after a ban: %v", got)
	}
	h.challenge() // is answered again
	d.stop()
}

func TestValveServerThatIsHidden(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h, other := newValveHost(t, d, probetest.Arena("cstrike")), newValveHost(t, d, probetest.Arena("cstrike"))
	for _, one := range []*valveHost{h, other} {
		one.heartbeat()
		d.waitFor("the verdict", 0, verdictOn(one.address(), "listed"))
	}
	eventually(t, "the list", func() bool { return len(valveList(t, d, "")) == 2 })
	d.cli("server", "hide", h.address().String())
	eventually(t, "the list", func() bool { return slices.Equal(valveList(t, d, ""), []string{other.address().String()}) })
	d.stop()
}

func TestValveServerSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	h := newValveHost(t, d, probetest.Arena("cstrike"))
	h.heartbeat()
	d.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))
	d.stop()
	e := start(t, dir)
	want := []string{h.address().String()}
	if got := valveList(t, e, ""); !slices.Equal(got, want) {
		t.Errorf("list after a restart: %v, want %v", got, want)
	}
	e.waitFor("the answer", 0, verdictOn(h.address(), "listed")) // without a heartbeat
	e.stop()
}

func TestSelftestPlaysAValveServer(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	var env []string
	env = append(env, d.env...)
	for name, a := range d.address {
		if name != "valvemaster" && name != "probe" {
			env = append(env, variable(name+".listen", ""))
		} else if name == "valvemaster" {
			env = append(env, variable("valvemaster.listen", a.String()))
		}
	}
	out := cli(t, env, "selftest")
	if !strings.Contains(lineWith(out, "valvemaster"), " ok") {
		t.Errorf("selftest printed\n%s", out)
	}
	eventually(t, "the list without the test server", func() bool { return len(valveList(t, d, "")) == 0 })
	d.cli("ban", "add", "127.0.0.1")
	if code, out, _ := command(t, env, "selftest"); code != exitFailure || !strings.Contains(lineWith(out, "valvemaster"), "FAILED: no challenge") {
		t.Errorf("selftest while we are banned: exit code %d, want %d\n%s", code, exitFailure, out)
	}
	d.stop()
}

// askQstatValve runs qstat against the master and returns its output by address.
func askQstatValve(t *testing.T, d *running, query string) map[string]shown {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), qstat(t), append(slices.Clone(qstatTime), "-json", "-nh", query, d.address["valvemaster"].String())...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("quakestat %s: %v\n%s", query, err, out)
	}
	var list []shown
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("quakestat printed %v:\n%s", err, out)
	}
	all := make(map[string]shown)
	for _, s := range list {
		all[s.Address] = s
	}
	return all
}

// A game server may use a UDP port whose number a TCP service of the daemon
// has.
func TestValveServerOnThePortOfATCPService(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	for _, name := range []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "web", "admin"} {
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(d.address[name]))
		if err != nil {
			continue // in use by another process; there are more to try
		}
		h := newValveHostOn(t, netclient.New(c, d.address["valvemaster"], 0), probetest.Arena("cstrike"))
		h.heartbeat()
		d.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))
		return
	}
	t.Fatal("every number is taken by other programs")
}

func TestQstatShowsValveServers(t *testing.T) {
	qstat(t)
	t.Parallel()
	d := start(t, t.TempDir(), variable("valvemaster.max_per_addr", "0"))
	address := d.address["valvemaster"].String()
	if got := askQstatValve(t, d, "-stma2s"); len(got) != 1 || got[address].Servers != 0 || got[address].Status != "online" {
		t.Errorf("before any server: %+v, want a master with 0 servers", got)
	}
	// More than two small pages, so that qstat walks up to full ones.
	all, tf := make(map[string]shown), make(map[string]shown)
	for i := range 40 {
		game := probetest.Arena("cstrike")
		if i%10 == 0 {
			game = probetest.Arena("tf")
		}
		game.Name = fmt.Sprintf("Arena %d", i)
		h := newValveHost(t, d, game)
		h.heartbeat()
		d.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))
		s := shown{
			Protocol: "a2s", Address: h.address().String(), Status: "online", Name: game.Name, Map: game.Map,
			NumPlayers: len(game.Players), MaxPlayers: game.MaxPlayers,
		}
		all[s.Address] = s
		if game.Game == "tf" {
			tf[s.Address] = s
		}
	}
	eventually(t, "the list", func() bool { return len(valveList(t, d, "")) == len(all) })
	for query, want := range map[string]map[string]shown{
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
	d.stop()
}
