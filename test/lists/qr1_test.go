package lists

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/test/rig"
)

func TestQR1HostIsListed(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"])
	h.TextBeat(`\statechanged\1`)
	proof := gamespy.Response(rig.TestSecret, h.TextQuery())
	// Two packets, the last one first.
	h.Raw(fmt.Appendf(nil, `\player_0\Ann\frags_0\3\validate\%s\final\\queryid\1.2`, proof))
	h.Raw([]byte(`\gamename\gmtest\hostname\Old one\numplayers\1\maxplayers\8\mapname\harbour\queryid\1.1`))
	d.WaitFor("the registration", 0, rig.VerdictOn(h.Address(), "listed"))
	want := map[string]map[string]string{h.Address().String(): {"hostname": "Old one", "numplayers": "1"}}
	if diff := cmp.Diff(want, rig.List(t, d, "numplayers > 0", `\hostname\numplayers`)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	b := rig.Browse(t, d)
	b.MustAsk(serverbrowse.NoServerList, "", "")
	b.Write(serverbrowse.AppendInfoRequest(nil, h.Address()))
	got := make(map[string]string)
	for _, r := range b.MustNextOf(serverbrowse.PushServer).Entry.Rules {
		got[r.Name] = r.Value
	}
	if got["player_0"] != "Ann" || got["frags_0"] != "3" || got["mapname"] != "harbour" {
		t.Errorf("details %v, want those of the answer", got)
	}
	d.Stop()
}

func TestQR1WrongProofIsNotListed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"])
	h.TextBeat("")
	h.Raw(fmt.Appendf(nil, `\hostname\Impostor\validate\%s\final\\queryid\1.1`, gamespy.Response("wrong1", h.TextQuery())))
	d.WaitFor("the wrong proof", 0, rig.VerdictOn(h.Address(), "wrong"))
	rig.WantListed(t, d)
	d.Stop()
}

func TestQR1HeartbeatWithAPortOfTheDaemon(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"])
	for _, service := range []string{"qr2", "natneg", "probe"} {
		h.Raw(fmt.Appendf(nil, `\heartbeat\%d\gamename\quake2`, d.Address[service].Port()))
	}
	h.TextBeat("")
	h.TextQuery() // the heartbeats before it were taken by now
	if got := rig.Metric(t, d, `respawnd_dropped_total{reason="foreign",service="qr2"}`); got != "3" {
		t.Errorf("%s heartbeats dropped, want 3", got)
	}
	if got := rig.Metric(t, d, `respawnd_qr1_queries_total{result="sent"}`); got != "1" {
		t.Errorf("%s queries sent, want 1", got)
	}
	d.Stop()
}

func TestQR1HostIsAskedAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	h := rig.NewHost(t, d.Address["qr2"])
	answer := func(name string) {
		h.Raw(fmt.Appendf(nil, `\hostname\%s\validate\%s\final\\queryid\1.1`, name, gamespy.Response(rig.TestSecret, h.TextQuery())))
	}
	h.TextBeat("")
	answer("Before")
	d.WaitFor("the registration", 0, rig.VerdictOn(h.Address(), "listed"))
	d.Stop()

	d = rig.Start(t, dir)
	h.SetServer(d.Address["qr2"])
	answer("After") // without a heartbeat
	d.WaitFor("the registration", 0, rig.VerdictOn(h.Address(), "listed"))
	want := map[string]map[string]string{h.Address().String(): {"hostname": "After"}}
	if diff := cmp.Diff(want, rig.List(t, d, "", `\hostname`)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	d.Stop()
}

// TestSearchOnLocalNetworks has nothing to search: the daemon of a test speaks
// from the loopback address, which is on no network.
func TestSearchOnLocalNetworks(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("lan.discover", "true"), rig.Variable("lan.every", "5s"))
	if !d.Address["lan"].IsValid() {
		t.Error("no line says where lan listens")
	}
	if got := rig.Metric(t, d, `respawnd_lan_discovery_total{event="sent"}`); got != "0" {
		t.Errorf("%s questions sent, want 0", got)
	}
	d.Stop()
	d = rig.Start(t, t.TempDir())
	if d.Address["lan"].IsValid() {
		t.Error("it searches although it is off")
	}
	d.Stop()
}
