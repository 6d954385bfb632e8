package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestBanTakesServersOffAtOnce(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.Register(t, d, "hostname", "Banned soon")
	b := rig.Browse(t, d)
	b.MustAsk(serverbrowse.PushUpdates, "", `\hostname`)
	d.Cli("ban", "add", "127.0.0.1", "--scope", "lists", "--reason", "test", "--for", "24h")
	if out := d.Cli("server", "list"); strings.Contains(out, h.Address().String()) {
		t.Errorf("server list still shows the banned server:\n%s", out)
	}
	if p := b.MustNextOf(serverbrowse.PushDelete); p.Address != h.Address() {
		t.Errorf("the update takes %v away, want %v", p.Address, h.Address())
	}
	n := d.Log.Len()
	h.MustHeartbeat("3")
	h.Expect(qr2.KindRefusal)
	banned := rig.Browse(t, d)
	banned.Write([]byte{0, 3, 3})
	banned.WantClosed()
	out := d.Cli("ban", "list")
	for _, part := range []string{"127.0.0.1/32", "lists", "test"} {
		if !strings.Contains(out, part) {
			t.Errorf("ban list lacks %q:\n%s", part, out)
		}
	}
	if out := d.Cli("doctor", "127.0.0.1"); !strings.Contains(out, h.Address().String()) || !strings.Contains(out, "banned") || !strings.Contains(out, "playing gmtest here: its needs are not known") {
		t.Errorf("doctor does not say that %v is banned:\n%s", h.Address(), out)
	}
	d.Cli("ban", "remove", "127.0.0.1")
	h.MustHeartbeat("3")
	h.MustProve()
	d.WaitFor("the server back on the list", n, rig.VerdictOn(h.Address(), "listed"))
	rig.WantListed(t, d, h)
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"ban", "remove", "127.0.0.1"}, "127.0.0.1", "not banned")
	d.Stop()
}

func TestBanOfAnotherScopeLeavesTheListAlone(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.Register(t, d, "hostname", "Stays")
	d.Cli("ban", "add", "127.0.0.0/8", "--scope", "presence")
	d.Cli("ban", "add", "192.0.2.0/24")
	rig.WantListed(t, d, h)
	d.Stop()
}

func TestGameThatIsAddedIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	d.Cli("game", "add", "ourgame", "--title", "Our game", "--secret", "Zz9Yy8", "--port", "7777")
	h := rig.NewHost(t, d.Address["qr2"])
	body := gamespy.AppendEnd(gamespy.AppendPair(gamespy.AppendPair(nil, "gamename", "ourgame"), "hostname", "X"))
	h.MustSend(qr2.KindHeartbeat, append(body, 0, 0, 0, 0, 0, 0))
	challenge, _, _ := gamespy.CutString(h.Expect(qr2.KindChallenge))
	h.MustSend(qr2.KindChallenge, append([]byte(gamespy.Response("Zz9Yy8", string(challenge))), 0))
	h.Expect(qr2.KindRegistered)
	if out := d.Cli("server", "list", "--game", "ourgame"); !strings.Contains(out, h.Address().String()) {
		t.Errorf("server list --game ourgame lacks %v:\n%s", h.Address(), out)
	}
	if out := d.Cli("game", "show", "OURGAME"); !strings.Contains(out, "Zz9Yy8") || !strings.Contains(out, "7777") {
		t.Errorf("game show: %s", out)
	}
	d.Stop()
}

func TestRoomThatIsAddedIsListed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	out := d.Cli("game", "room", "add", rig.TestGame, "The lobby", "--id", "4711", "--max", "50")
	if !strings.Contains(out, "4711") {
		t.Errorf("game room add printed %q, want the number of the room", out)
	}
	r := rig.Browse(t, d).MustAsk(serverbrowse.SendGroups, "", `\hostname`)
	lobby := func(e serverbrowse.Entry) bool {
		return e.Public.Addr() == netip.AddrFrom4([4]byte{0, 0, 0x12, 0x67}) && slices.Contains(e.Values, "The lobby")
	}
	if len(r.Entries) < 2 || !slices.ContainsFunc(r.Entries, lobby) {
		t.Errorf("rooms %+v, want number 4711 called The lobby beside the built-in ones", r.Entries)
	}
	d.Stop()
}

// Commands must do the same on the store and through the daemon.
func TestCommandsWorkWithAndWithoutDaemon(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T) []string{
		"daemon": func(t *testing.T) []string {
			d := rig.Start(t, t.TempDir())
			t.Cleanup(d.Stop)
			return d.CliEnv()
		},
		"store": func(t *testing.T) []string { return rig.TestEnv(t.TempDir()) },
	}
	for name, environment := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCommands(t, environment(t))
		})
	}
}

func checkCommands(t *testing.T, env []string) {
	t.Helper()
	ourYAML := rig.WriteFile(t, "ours.yaml", "games:\n  - name: fromyaml\n    title: From YAML\n    secret: aB3dE6\n    aliases: [fromtsv]\n    rooms: [{id: 9, name: Built in}]\n")
	gslist := rig.WriteFile(t, "gslist.cfg", fmt.Sprintf("%-54s%-19s%-6s\n", "From gslist", "fromgslist", "bC4eF7"))
	tsv := rig.WriteFile(t, "game_list.tsv", "From TSV\tfromtsv\t77\tcD5fG8\t\t\n")
	mixed := rig.WriteFile(t, "mixed.tsv", "Good\tgoodone\t78\tcD5fG9\t\t\nBad\tbad name!\t79\tcD5fG9\t\t\n")
	steps := []struct {
		args []string
		want []string // parts of the output
		not  []string
	}{
		{args: []string{"ban", "list"}, want: []string{"ADDRESS"}, not: []string{"192.0.2"}},
		{args: []string{"ban", "add", "192.0.2.7"}, want: []string{"192.0.2.7/32", "all", "further notice"}},
		{args: []string{"ban", "add", "192.0.2.77/24", "--scope", "zandronum"}, want: []string{"192.0.2.0/24", "zandronum"}},
		{args: []string{"ban", "add", "2001:db8::/32", "--for", "24h", "--reason", "why not"}, want: []string{"until"}, not: []string{"further notice"}},
		{args: []string{"ban", "list"}, want: []string{"192.0.2.7/32", "192.0.2.0/24", "2001:db8::/32", "why not"}},
		{args: []string{"ban", "remove", "192.0.2.0/24"}, want: []string{"1"}},
		{args: []string{"ban", "list"}, want: []string{"192.0.2.7/32"}, not: []string{"192.0.2.0/24"}},
		{args: []string{"game", "list"}, want: []string{rig.TestGame}},
		{args: []string{"game", "show", rig.TestGame}, want: []string{"HA6zkS", "# here: its needs are not known"}},
		{args: []string{"game", "add", "added", "--secret", "dE6gH9", "--title", "Added"}, want: []string{"added"}},
		{args: []string{"game", "show", "added"}, want: []string{"dE6gH9", "Added"}},
		{args: []string{"game", "add", rig.TestGame, "--maintenance"}},
		{args: []string{"game", "show", rig.TestGame}, want: []string{"HA6zkS", "maintenance"}},
		{args: []string{"game", "remove", rig.TestGame}},
		{args: []string{"game", "show", rig.TestGame}, want: []string{"HA6zkS"}, not: []string{"maintenance"}},
		{args: []string{"game", "import", ourYAML}, want: []string{"1 games"}},
		{args: []string{"game", "import", gslist}, want: []string{"1 games"}},
		{args: []string{"game", "import", tsv}, want: []string{"1 games"}},
		{args: []string{"game", "list"}, want: []string{"fromyaml", "fromgslist", "fromtsv", "added"}},
		{args: []string{"game", "show", "fromtsv"}, want: []string{"77", "cD5fG8", "# another name of fromyaml"}},
		{args: []string{"game", "room", "add", rig.TestGame, "Lobby", "--id", "4711"}, want: []string{"4711"}},
		{args: []string{"game", "room", "list", rig.TestGame}, want: []string{"4711", "Lobby"}},
		{args: []string{"game", "room", "list", "swat4"}, not: []string{"4711"}},
		{args: []string{"game", "room", "remove", "4711"}},
		{args: []string{"game", "room", "list"}, not: []string{"4711"}},
		{args: []string{"game", "room", "add", "added", "Second"}, want: []string{"added"}},
	}
	for _, s := range steps {
		out := rig.Cli(t, env, s.args...)
		for _, part := range s.want {
			if !strings.Contains(out, part) {
				t.Errorf("respawnd %s lacks %q:\n%.2000s", strings.Join(s.args, " "), part, out)
			}
		}
		for _, part := range s.not {
			if strings.Contains(out, part) {
				t.Errorf("respawnd %s shows %q:\n%.2000s", strings.Join(s.args, " "), part, out)
			}
		}
	}
	code, out, errOut := rig.Command(t, env, "game", "import", mixed)
	if code != 0 || !strings.Contains(out, "1 games") || !strings.Contains(errOut, "refused: ") {
		t.Errorf("game import of a list with a bad row: exit code %d, %q, %q", code, out, errOut)
	}
	for _, mistake := range []struct {
		code  int
		args  []string
		parts []string
	}{
		{commands.ExitUsage, []string{"ban", "add"}, []string{"arg"}},
		{commands.ExitUsage, []string{"ban", "add", "192.0.2.1", "--scope", "nowhere"}, []string{"--scope", "nowhere"}},
		{commands.ExitUsage, []string{"ban", "add", "192.0.2.1", "--for", "-1h"}, []string{"--for"}},
		{commands.ExitUsage, []string{"ban", "add", "192.0.2.1", "--for", "0s"}, []string{"--for"}},
		{commands.ExitUsage, []string{"ban", "add", "192.0.2.1", "--for", "soon"}, []string{"soon"}},
		{commands.ExitUsage, []string{"ban", "add", "192.0.2"}, []string{"192.0.2"}},
		{commands.ExitUsage, []string{"ban", "add", "0.0.0.0/0"}, []string{"everybody"}},
		{commands.ExitUsage, []string{"ban", "add", "::/0"}, []string{"everybody"}},
		{commands.ExitFailure, []string{"game", "show", "nosuchgame"}, []string{"nosuchgame"}},
		{commands.ExitFailure, []string{"game", "add", "bad name", "--secret", "dE6gH9"}, []string{"bad name"}},
		{commands.ExitFailure, []string{"game", "add", "badsecret", "--secret", "x"}, []string{"badsecret"}},
		{commands.ExitFailure, []string{"game", "remove", "nosuchgame"}, []string{"nosuchgame", "not found"}},
		{commands.ExitFailure, []string{"game", "import", filepath.Join(t.TempDir(), "none.cfg")}, []string{"none.cfg"}},
		{commands.ExitFailure, []string{"game", "room", "add", "nosuchgame", "Lobby"}, []string{"nosuchgame"}},
		{commands.ExitFailure, []string{"game", "room", "add", rig.TestGame, "Lobby", "--id", "9"}, []string{"9", "fromyaml"}},
		{commands.ExitFailure, []string{"game", "room", "remove", "4711"}, []string{"4711", "not found"}},
		{commands.ExitUsage, []string{"game", "room", "remove", "first"}, []string{"first"}},
		{commands.ExitUsage, []string{"doctor", "no where"}, []string{"no where"}},
		{commands.ExitUsage, []string{"doctor", "192.0.2.1:0"}, []string{"not a port"}},
		{commands.ExitUsage, []string{"no-such-command"}, []string{"no-such-command", "Try 'respawnd --help'"}},
		{commands.ExitUsage, []string{"game", "add"}, []string{"Try 'respawnd game add --help'"}},
		{commands.ExitUsage, []string{"ban", "list", "--no-such-flag"}, []string{"--no-such-flag"}},
	} {
		rig.Refused(t, mistake.code, env, mistake.args, mistake.parts...)
	}
}

func TestOnlyTheDaemonKnowsTheLiveList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	rig.Refused(t, commands.ExitFailure, env, []string{"server", "list"}, "not running", dir)
	rig.Refused(t, commands.ExitFailure, env, []string{"doctor"}, "not running", dir)
}

func TestBanThatCoversAnAddressIsNamed(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	rig.Cli(t, env, "ban", "add", "198.51.100.0/24")
	rig.Refused(t, commands.ExitFailure, env, []string{"ban", "remove", "198.51.100.7"}, "198.51.100.7/32 is not banned by itself", "198.51.100.0/24")
	rig.Refused(t, commands.ExitFailure, env, []string{"ban", "remove", "192.0.2.7"}, "192.0.2.7/32 is not banned\n")
	if out := rig.Cli(t, env, "ban", "remove", "198.51.100.0/24"); out != "lifted 1 ban of 198.51.100.0/24\n" {
		t.Errorf("ban remove printed %q", out)
	}
	rig.Refused(t, commands.ExitUsage, env, []string{"doctor", "my server"}, `"my server" is not an address`)
}

func TestCommandsOutsideTheDaemonsFolder(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	wrong := filepath.Join(t.TempDir(), "respawnd-data")
	env := append(d.CliEnv(), rig.Variable("data_dir", wrong))
	rig.Refused(t, commands.ExitFailure, env, []string{"ban", "add", "192.0.2.1"}, "data_dir", wrong, "--config", d.Address["admin"].String())
	rig.Refused(t, commands.ExitFailure, env, []string{"ban", "list"}, "data_dir", wrong)
	if _, err := os.Stat(wrong); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused command left %s behind: %v", wrong, err)
	}
	d.Stop()

	// Without a running daemon the folder may be intended: the command succeeds
	// and prints a note.
	env = rig.TestEnv(wrong)
	code, _, errOut := rig.Command(t, env, "ban", "add", "192.0.2.1")
	if code != 0 || !strings.Contains(errOut, "note: no daemon has run on "+wrong) {
		t.Errorf("ban add on a new folder: exit code %d, printed %q; want 0 and a note with the folder", code, errOut)
	}
	if code, _, errOut := rig.Command(t, env, "ban", "list"); code != 0 || errOut != "" {
		t.Errorf("ban list on the same folder: exit code %d, printed %q; want 0 and nothing", code, errOut)
	}

	// It is equally wrong when it is no longer new.
	d = rig.Start(t, t.TempDir())
	env = append(d.CliEnv(), rig.Variable("data_dir", wrong))
	rig.Refused(t, commands.ExitFailure, env, []string{"ban", "remove", "192.0.2.1"}, "data_dir", wrong)
	d.Stop()
	if out := rig.Cli(t, rig.TestEnv(wrong), "ban", "list"); !strings.Contains(out, "192.0.2.1/32") {
		t.Errorf("a refused command lifted the ban:\n%s", out)
	}
}

func TestCommandsWithoutTheAdminAPI(t *testing.T) {
	t.Parallel()
	d := rig.StartWithout(t, rig.TestEnv(t.TempDir(), rig.Variable("admin.listen", "")))
	rig.Refused(t, commands.ExitFailure, d.Env, []string{"ban", "list"}, "admin.listen")
	d.Stop()
}

// A free number must not be that of a room of the catalogue.
func TestRoomGetsAFreeNumber(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	rig.Cli(t, env, "game", "import", rig.WriteFile(t, "rooms.yaml",
		"games:\n  - name: ours\n    secret: aB3dE6\n    rooms: [{id: 1, name: One}, {id: 2, name: Two}]\n"))
	for range 3 {
		rig.Cli(t, env, "game", "room", "add", rig.TestGame, "Lobby")
	}
	out := rig.Cli(t, env, "game", "room", "list")
	for line := range strings.Lines(out) {
		if id := strings.Fields(line)[0]; id == "1" || id == "2" {
			t.Errorf("a room got number %s, which the catalogue has:\n%s", id, out)
		}
	}
}

func TestBackupGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "copy.tar")
	d := rig.Start(t, dir)
	d.Cli("ban", "add", "192.0.2.0/24", "--reason", "kept")
	d.Cli("game", "add", "keptgame", "--secret", "dE6gH9")
	d.Cli("game", "room", "add", rig.TestGame, "Kept room")
	d.Cli("backup", file)
	if info, err := os.Stat(file); err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("backup file: %v, %v; want mode 0600", info, err)
	}
	if left := rig.Names(t, filepath.Dir(file)); len(left) != 1 {
		t.Errorf("beside the backup lies %q", left)
	}
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"restore", file}, "stop the daemon")
	d.Cli("ban", "add", "198.51.100.1")
	d.Stop()
	if left := rig.Names(t, dir); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, "backup") || strings.HasPrefix(n, "restore") }) {
		t.Errorf("the data folder holds leftovers: %q", left)
	}

	other := filepath.Join(t.TempDir(), "new", "data")
	rig.Cli(t, rig.TestEnv(other), "restore", file)
	if a, b := rig.ReadFile(t, filepath.Join(dir, "admin.token")), rig.ReadFile(t, filepath.Join(other, "admin.token")); a != b {
		t.Error("the restored token is another one")
	}
	e := rig.Start(t, other)
	for args, part := range map[string]string{"ban list": "kept", "game list": "keptgame", "game room list": "Kept room"} {
		if out := e.Cli(strings.Fields(args)...); !strings.Contains(out, part) {
			t.Errorf("after the restore, %s lacks %q:\n%.1000s", args, part, out)
		}
	}
	if out := e.Cli("ban", "list"); strings.Contains(out, "198.51.100.1") {
		t.Errorf("the restored bans have one that is younger than the backup:\n%s", out)
	}
	e.Stop()

	// Existing files are kept.
	rig.Cli(t, rig.TestEnv(dir), "restore", file)
	if out := rig.Cli(t, rig.TestEnv(dir), "ban", "list"); strings.Contains(out, "198.51.100.1") || !strings.Contains(out, "kept") {
		t.Errorf("bans after a restore over newer ones:\n%s", out)
	}
	if left := rig.Names(t, dir); !slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, daemon.StoreName+".before-restore-") }) {
		t.Errorf("the old store was not kept: %q", left)
	}
}

func TestRestoreOfATokenFileElsewhere(t *testing.T) {
	t.Parallel()
	token := rig.WriteFile(t, "secret.txt", "0123456789abcdef0123\n")
	file := filepath.Join(t.TempDir(), "copy.tar")
	rig.Cli(t, rig.TestEnv(t.TempDir(), rig.Variable("admin.token_file", token)), "backup", file)
	dir := t.TempDir()
	rig.Cli(t, rig.TestEnv(dir), "restore", file)
	if got, want := rig.ReadFile(t, filepath.Join(dir, "admin.token")), rig.ReadFile(t, token); got != want {
		t.Errorf("restored token %q, want %q", got, want)
	}
}

func TestBackupHoldsTheBanFiles(t *testing.T) {
	t.Parallel()
	dir, folder, fresh := t.TempDir(), t.TempDir(), t.TempDir()
	env := rig.TestEnv(dir, rig.Variable("zanmaster.ban_files", folder))
	for _, name := range zanmaster.FileNames() {
		if err := rig.WriteAt(filepath.Join(folder, name), "192.0.2.1:"+name+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "backup.tar")
	rig.Cli(t, env, "backup", file)
	rig.Cli(t, rig.TestEnv(fresh), "restore", file)
	for _, name := range zanmaster.FileNames() {
		if got, want := rig.ReadFile(t, filepath.Join(fresh, name)), "192.0.2.1:"+name+"\n"; got != want {
			t.Errorf("%s after the restore: %q, want %q", name, got, want)
		}
	}
}

func TestDamagedBackupChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	file := filepath.Join(t.TempDir(), "copy.tar")
	rig.Cli(t, env, "ban", "add", "192.0.2.1")
	rig.Cli(t, env, "backup", file)
	whole := rig.ReadFile(t, file)
	before := rig.Cli(t, env, "ban", "list")
	for name, text := range map[string]string{
		"cut": whole[:len(whole)/2], "empty": "", "flipped": flip(whole, len(whole)/2), "not a backup": strings.Repeat("x", 4096),
	} {
		rig.Refused(t, commands.ExitFailure, env, []string{"restore", rig.WriteFile(t, "bad.tar", text)}, "nothing was changed")
		if now := rig.Cli(t, env, "ban", "list"); now != before {
			t.Errorf("%s: the bans were\n%sand are\n%s", name, before, now)
		}
	}
	rig.Refused(t, commands.ExitFailure, env, []string{"restore", filepath.Join(t.TempDir(), "none.tar")}, "none.tar")
	if left := rig.Names(t, dir); len(left) != 1 {
		t.Errorf("the data folder holds %q, want the store alone", left)
	}
}

func flip(s string, at int) string {
	b := []byte(s)
	b[at] ^= 0x55
	return string(b)
}

func TestSelftestPlaysAgainstTheDaemon(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	env := d.CliEnv()
	for _, name := range rig.Listening() {
		env = append(env, rig.Variable(name+".listen", d.Address[name].String()))
	}
	out := rig.Cli(t, env, "selftest")
	if ok := strings.Count(out, " ok\n"); ok < 9 || ok != strings.Count(out, "\n") {
		t.Errorf("selftest printed\n%s", out)
	}
	// A health check that passes means that every service answers.
	for _, name := range rig.Listening() {
		step := name
		if step == "gpcm" || step == "gpsp" {
			step = "presence"
		}
		if !strings.HasPrefix(out, step+" ") && !strings.Contains(out, "\n"+step+" ") {
			t.Errorf("selftest does not try %s:\n%s", name, out)
		}
	}
	for _, service := range []string{"qr2", "valvemaster"} {
		d.WaitFor("the farewell of the test server of "+service, 0, func(e rig.Entry) bool {
			return e.Text("message") == "server left" && e.Text("service") == service
		})
	}
	if out := d.Cli("doctor"); strings.Count(out, "\n") > 1 {
		t.Errorf("after a self-test alone doctor has\n%s", out)
	}
	rig.WantListed(t, d)
	if out := d.Cli("account", "list"); strings.Contains(out, "selftest") {
		t.Errorf("selftest left an account behind:\n%s", out)
	}

	rig.WantIn(t, out, "stored records         ok\n", "match report           ok\n")
	if out := d.Cli("matches", "list", rig.TestGame); strings.Count(out, "\n") != 1 {
		t.Errorf("selftest left a match behind:\n%s", out)
	}
	if out := strings.Join(strings.Fields(d.Cli("sake", "tables", rig.TestGame)), " "); !strings.HasSuffix(out, "selftest 0 0 text") {
		t.Errorf("tables after the self-test, want an empty one:\n%s", out)
	}

	// Each service that keeps silent takes the whole time of its step.
	for _, name := range rig.Listening() {
		if !slices.Contains([]string{"gpcm", "gpsp", "legacylist", "peerchat", "qr2", "serverbrowse"}, name) {
			env = append(env, rig.Variable(name+".listen", ""))
		}
	}
	d.Cli("ban", "add", "127.0.0.0/8")
	if code, out, _ := rig.Command(t, env, "selftest"); code != commands.ExitFailure || strings.Count(out, "FAILED") < 5 {
		t.Errorf("selftest while we are banned: exit code %d, want %d\n%s", code, commands.ExitFailure, out)
	}
	d.Stop()
}

// Text that is not UTF-8 is read in one way everywhere.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	rig.Register(t, d, "hostname", "M\xfcnchen", "numplayers", "2", "maxplayers", "8")
	const want = "M\u00fcnchen"
	_, api := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers", "")
	for where, text := range map[string]string{"the command line": d.Cli("server", "list"), "the public JSON": api} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q in:\n%s", where, want, text)
		}
	}
	d.Stop()
}
