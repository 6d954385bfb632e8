package lists

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/q2master"
	"github.com/respawnd/respawnd/snapshot"
	"github.com/respawnd/respawnd/test/rig"
)

// TestMirror kills a daemon, and browsers find its servers at a mirror that has only the folder, and
// then not even that.
func TestMirror(t *testing.T) {
	t.Parallel()
	dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "list")
	var static []string
	at := make(map[string]string) // address by protocol
	for p, game := range map[string]string{"quake2": "quake2", "a2s": "cstrike", "zandronum": "zandronum", "quake3": "openarena", "gs3": rig.TestGame} {
		at[p] = probetest.Listen(t, probetest.Arena(game).Speaks(p)).Address().String()
		static = append(static, p+" "+at[p])
	}
	main := rig.StartChild(t, dir, rig.Variable("snapshot.dir", folder), rig.Variable("snapshot.every", "1s"), rig.Variable("servers.static", strings.Join(static, ",")))
	for _, a := range at {
		rig.Appears(t, &main.Running, a)
	}
	rig.Eventually(t, "all servers are in the folder", func() bool {
		text, err := os.ReadFile(filepath.Join(folder, snapshot.ServersName))
		for _, a := range at {
			if err != nil || !strings.Contains(string(text), `"`+a+`"`) {
				return false
			}
		}
		return true
	})
	rig.Eventually(t, "all forms are in the folder", func() bool {
		for _, name := range []string{"packets/q2master/quake2", "packets/zanmaster/zandronum", "packets/valvemaster/all", "packets/q3master/openarena-71", "v1/gamedirs", "raw/quake2.txt", "json/quake2"} {
			if info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name))); err != nil || info.Size() == 0 {
				return false
			}
		}
		return true
	})
	key := strings.TrimSpace(rig.Cli(t, main.CliEnv(), "snapshot", "key"))
	main.Kill()

	start := func(env []string) *rig.Running {
		return rig.StartAs(t, "mirror", env, folder, "--key", key, "--name", "lan")
	}
	env := rig.TestEnv(t.TempDir())
	mirror := start(env)
	for p, a := range at {
		if s := rig.Appears(t, mirror, a); s.Origin != "federated" {
			t.Errorf("%s: %+v", p, s)
		}
	}
	conn, err := netclient.Dial(t.Context(), mirror.Address["q2master"].String())
	rig.Must(t, err)
	defer func() { _ = conn.Close() }()
	list, err := q2master.List(rig.Wait(t), conn, quake2.Two)
	if err != nil || len(list) != 1 || list[0].String() != at["quake2"] {
		t.Errorf("list of Quake 2: %v, %v", list, err)
	}
	if got := rig.ValveList(t, mirror, `\gamedir\cstrike`); !slices.Equal(got, []string{at["a2s"]}) {
		t.Errorf("list of Valve’s form: %v", got)
	}
	if got := rig.List(t, mirror, "", `\hostname`); len(got) != 1 {
		t.Errorf("list of GameSpy’s form: %v", got)
	}
	if text := rig.PageText(t, mirror, "/servers"); !strings.Contains(text, "This is a mirror: its list was made at ") {
		t.Errorf("the page does not say how old the list is:\n%s", text)
	}
	// Servers cannot report here.
	h := rig.NewHost(t, mirror.Address["qr2"], "gamename", rig.TestGame)
	h.MustHeartbeat("3")
	h.MustAnswer()
	mirror.WaitFor("the server is refused", 0, rig.VerdictOn(h.Address(), "list full"))
	if mirror.Address["gpcm"].IsValid() || mirror.Address["peerchat"].IsValid() {
		t.Error("a mirror runs services for players")
	}

	// The mirror has the list after a restart, although the folder is away.
	mirror.Stop()
	rig.Must(t, os.RemoveAll(folder))
	mirror = start(env)
	for _, a := range at {
		rig.Appears(t, mirror, a)
	}
}
