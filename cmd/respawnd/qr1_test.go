package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/serverbrowse"
)

// textBeat sends a heartbeat of the older protocol.
func (h *host) textBeat(more string) {
	h.t.Helper()
	h.raw(fmt.Appendf(nil, `\heartbeat\%d\gamename\%s%s`, h.address().Port(), testGame, more))
}

// textQuery waits for a query of the older protocol and returns its challenge.
func (h *host) textQuery() (challenge string) {
	h.t.Helper()
	p, _ := h.packet()
	for s := gamespy.ScanFields(p); s.Next(); {
		if ascii.EqualFold(s.Key(), "secure") {
			challenge = string(s.Value())
		}
	}
	if len(p) > 24 || challenge == "" {
		h.t.Fatalf("query %q of %d bytes, want one with a challenge in at most 24", p, len(p))
	}
	return challenge
}

func TestQR1HostIsListed(t *testing.T) {
	quick(t)
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"])
	h.textBeat(`\statechanged\1`)
	proof := gamespy.Response(testSecret, h.textQuery())
	// Two packets, the last one first.
	h.raw(fmt.Appendf(nil, `\player_0\Ann\frags_0\3\validate\%s\final\\queryid\1.2`, proof))
	h.raw([]byte(`\gamename\gmtest\hostname\Old one\numplayers\1\maxplayers\8\mapname\harbour\queryid\1.1`))
	d.waitFor("the registration", 0, verdictOn(h.address(), "listed"))
	want := map[string]map[string]string{h.address().String(): {"hostname": "Old one", "numplayers": "1"}}
	if diff := cmp.Diff(want, list(t, d, "numplayers > 0", `\hostname\numplayers`)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	b := browse(t, d)
	b.ask(serverbrowse.NoServerList, "", "")
	b.write(serverbrowse.AppendInfoRequest(nil, h.address()))
	got := make(map[string]string)
	for _, r := range b.nextOf(serverbrowse.PushServer).Entry.Rules {
		got[r.Name] = r.Value
	}
	if got["player_0"] != "Ann" || got["frags_0"] != "3" || got["mapname"] != "harbour" {
		t.Errorf("details %v, want those of the answer", got)
	}
	d.stop()
}

func TestQR1WrongProofIsNotListed(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"])
	h.textBeat("")
	h.raw(fmt.Appendf(nil, `\hostname\Impostor\validate\%s\final\\queryid\1.1`, gamespy.Response("wrong1", h.textQuery())))
	d.waitFor("the wrong proof", 0, verdictOn(h.address(), "wrong"))
	wantListed(t, d)
	d.stop()
}

func TestQR1HeartbeatWithAPortOfTheDaemon(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"])
	for _, service := range []string{"qr2", "natneg", "probe"} {
		h.raw(fmt.Appendf(nil, `\heartbeat\%d\gamename\quake2`, d.address[service].Port()))
	}
	h.textBeat("")
	h.textQuery() // the heartbeats before it were taken by now
	if got := metric(t, d, `respawnd_dropped_total{reason="foreign",service="qr2"}`); got != "3" {
		t.Errorf("%s heartbeats dropped, want 3", got)
	}
	if got := metric(t, d, `respawnd_qr1_queries_total{result="sent"}`); got != "1" {
		t.Errorf("%s queries sent, want 1", got)
	}
	d.stop()
}

func TestQR1HostIsAskedAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	h := newHost(t, d.address["qr2"])
	answer := func(name string) {
		h.raw(fmt.Appendf(nil, `\hostname\%s\validate\%s\final\\queryid\1.1`, name, gamespy.Response(testSecret, h.textQuery())))
	}
	h.textBeat("")
	answer("Before")
	d.waitFor("the registration", 0, verdictOn(h.address(), "listed"))
	d.stop()

	d = start(t, dir)
	h.SetServer(d.address["qr2"])
	answer("After") // without a heartbeat
	d.waitFor("the registration", 0, verdictOn(h.address(), "listed"))
	want := map[string]map[string]string{h.address().String(): {"hostname": "After"}}
	if diff := cmp.Diff(want, list(t, d, "", `\hostname`)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	d.stop()
}

// TestSearchOnLocalNetworks has nothing to search: the daemon of a test speaks
// from the loopback address, which is on no network.
func TestSearchOnLocalNetworks(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("lan.discover", "true"), variable("lan.every", "5s"))
	if !d.address["lan"].IsValid() {
		t.Error("no line says where lan listens")
	}
	if got := metric(t, d, `respawnd_lan_discovery_total{event="sent"}`); got != "0" {
		t.Errorf("%s questions sent, want 0", got)
	}
	d.stop()
	d = start(t, t.TempDir())
	if d.address["lan"].IsValid() {
		t.Error("it searches although it is off")
	}
	d.stop()
}
