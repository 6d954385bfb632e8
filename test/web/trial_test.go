package web

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/test/rig"
)

// selftests is how many self-tests run while others look.
const selftests = 10

func TestServersOfSelftestsAreSeenByThemAlone(t *testing.T) {
	t.Parallel()
	bot := rig.NewInbox(t, false)
	config := rig.WriteFile(t, "own.yaml", fmt.Sprintf("webhooks:\n  - {name: bot, url: %q, format: discord, events: [up], allow: [127.0.0.0/8]}\n", bot.Url))
	d := rig.Start(t, t.TempDir(), "--config", config)
	env := d.CliEnv()
	for _, name := range rig.Listening() {
		env = append(env, rig.Variable(name+".listen", d.Address[name].String()))
	}
	watching := events(t, d, "")
	watching.waitForPlace()
	for range selftests {
		if out := rig.Cli(t, env, "selftest", "--quick"); strings.Contains(out, "FAILED") || strings.Count(out, " ok\n") < 9 {
			t.Fatalf("selftest printed\n%s", out)
		}
	}
	// All changes are in the stream, so the first one is that of the first server that is not a test.
	trial := rig.NewHostAt(t, netip.AddrPortFrom(master.TrialAddr(), 0), d.Address["qr2"], "hostname", "a trial")
	trial.MustRegister()
	wantUnseen(t, d)
	h := rig.Register(t, d, "hostname", "a real one")
	if _, kind, e := watching.MustNext(); e.Name != "a real one" {
		t.Errorf("first event: %s %+v, want that of %v", kind, e, h.Address())
	}
	if body := bot.MustNext("Up: "); strings.Contains(body, "trial") || strings.Contains(body, "selftest") {
		t.Errorf("the hook was sent %s", body)
	}
	rig.WantListed(t, d, h)
	d.Stop()
}

// wantUnseen fails if something that is not a self-test sees any server, or if a self-test sees none.
func wantUnseen(t *testing.T, d *rig.Running) {
	t.Helper()
	rig.WantListed(t, d)
	old := legacylist.Request{Engine: rig.TestGame, Secret: rig.TestSecret, Enctype: 2, Mode: legacylist.Compact, Game: rig.TestGame}
	if list, err := rig.LegacyList(t, d, old); err != nil || len(list) > 0 {
		t.Errorf("the old list has %v, %v", list, err)
	}
	if list := rig.ValveList(t, d, ""); len(list) > 0 {
		t.Errorf("the list of Valve's protocol has %v", list)
	}
	if rows := rig.NewQueryTool(t, d).MustAsk("SELECT hostname").Rows; len(rows) > 0 {
		t.Errorf("a tool gets %v", rows)
	}
	if list := rig.FederatedServers(t, d); len(list) > 0 {
		t.Errorf("other masters get %v", list)
	}
	if text := rig.PageText(t, d, "/") + rig.PageText(t, d, "/servers?game="+rig.TestGame); strings.Contains(text, "a trial") {
		t.Errorf("the page shows the server:\n%s", text)
	}
	if got := rig.Metric(t, d, `respawnd_servers{game="`+rig.TestGame+`"}`); got != "" {
		t.Errorf("%s servers are counted", got)
	}
	ctx, err := netclient.From(rig.Wait(t), master.TrialAddr())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := netclient.DialTCP(ctx, d.Address["serverbrowse"].String())
	if err != nil {
		t.Fatal(err)
	}
	c := serverbrowse.NewClient(conn, rig.TestSecret)
	defer func() { _ = c.Close() }()
	reply, err := c.List(ctx, serverbrowse.NewRequest(rig.TestGame, "", `\hostname`, serverbrowse.FieldsForAll))
	if err != nil || len(reply.Entries) != 1 {
		t.Errorf("a self-test sees %v, %v; want the server", reply.Entries, err)
	}
}
