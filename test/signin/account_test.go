package signin

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/test/rig"
)

// Commands must do the same on the store and through the daemon.
func TestAccountCommands(t *testing.T) {
	t.Parallel()
	t.Run("daemon", func(t *testing.T) {
		t.Parallel()
		d := rig.Start(t, t.TempDir())
		checkAccounts(t, d.CliEnv())
		d.Stop()
		for _, secret := range []string{"hunter2!", "another one"} {
			if strings.Contains(d.Log.String(), secret) {
				t.Errorf("the log of the daemon has a password in it:\n%s", d.Log)
			}
		}
	})
	t.Run("store", func(t *testing.T) {
		t.Parallel()
		checkAccounts(t, rig.TestEnv(t.TempDir()))
	})
}

func checkAccounts(t *testing.T, env []string) {
	t.Helper()
	create := []string{"account", "create", "--email", "Bob@example.com", "--nick", "Bob", "--uniquenick", "BobU", "--password-stdin"}
	rig.WantIn(t, rig.Typed(t, env, "hunter2!\n", create...), "profile 1 (Bob)", "account 1 (Bob@example.com)")
	code, _, errOut := rig.Typing(t, env, "hunter2!\n", create...)
	if code != commands.ExitFailure {
		t.Errorf("the same account again: exit code %d, want %d", code, commands.ExitFailure)
	}
	rig.WantIn(t, errOut, "has a profile with that nick")

	rig.Typed(t, env, "hunter2!", "account", "create", "--email", "bob@example.com", "--nick", "Second", "--password-stdin")
	rig.WantIn(t, rig.Typed(t, env, "ign\r\n", "account", "create", "--email", "bob@example.com", "--nick", "Ign", "--partner", "10",
		"--namespace", "15", "--uniquenick", "BobI", "--password-stdin"), "account 2")
	out := rig.Cli(t, env, "account", "list")
	rig.WantIn(t, out, "Bob@example.com", "Bob (BobU in 1), Second", "Ign (BobI in 15)")
	if strings.Contains(rig.Cli(t, env, "account", "list", "--match", "bobi"), "BobU") {
		t.Error("list --match shows what does not match")
	}
	for _, name := range []string{"bob@EXAMPLE.com", "bobu", "1"} {
		rig.WantIn(t, rig.Cli(t, env, "account", "show", name), "Bob@example.com", "BobU in namespace 1", "Second")
	}
	for _, args := range [][]string{{"bob@example.com", "--partner", "10"}, {"BobI", "--namespace", "15"}, {"2"}} {
		rig.WantIn(t, rig.Cli(t, env, append([]string{"account", "show"}, args...)...), "BobI in namespace 15")
	}
	rig.Refused(t, commands.ExitFailure, env, []string{"account", "show", "unknown@example.com"}, "unknown@example.com", "no such account")

	rig.WantIn(t, rig.Typed(t, env, "another one\n", "account", "passwd", "BobU", "--password-stdin"), "account 1")
	if code, _, _ := rig.Typing(t, env, "hunter2!\n", "account", "create", "--email", "bob@example.com", "--nick", "Third", "--password-stdin"); code != commands.ExitFailure {
		t.Errorf("a profile with the old password: exit code %d, want %d", code, commands.ExitFailure)
	}
	rig.Typed(t, env, "another one\n", "account", "create", "--email", "bob@example.com", "--nick", "Third", "--password-stdin")

	rig.WantIn(t, rig.Cli(t, env, "account", "ban", "BobU", "--for", "24h", "--reason", "because"), "account 1")
	rig.WantIn(t, rig.Cli(t, env, "account", "show", "1"), "until", "because")
	rig.Cli(t, env, "account", "unban", "1")
	if strings.Contains(rig.Cli(t, env, "account", "show", "1"), "because") {
		t.Error("the account is still banned")
	}

	file := filepath.Join(t.TempDir(), "accounts.jsonl")
	rig.WantIn(t, rig.Cli(t, env, "account", "export", file), file)
	if text := rig.ReadFile(t, file); strings.Count(text, "\n") != 2 || strings.Contains(text, "password") {
		t.Errorf("export without passwords:\n%s", text)
	}
	rig.WantIn(t, rig.Cli(t, env, "account", "export", file, "--with-passwords"), "secret")
	rig.WantIn(t, rig.ReadFile(t, file), "password_md5")
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the export: %v, %v; want 0600", info.Mode(), err)
	}
	if got := rig.Cli(t, env, "account", "export", "-", "--with-passwords"); got != rig.ReadFile(t, file) {
		t.Errorf("export to standard output differs:\n%s", got)
	}
	rig.WantIn(t, rig.Cli(t, env, "account", "rotate-key"), "2 accounts")
	rig.WantIn(t, rig.Cli(t, env, "account", "delete", "--yes", "BobU"), "account 1")
	code, out, errOut = rig.Typing(t, env, rig.ReadFile(t, file), "account", "import", "-")
	if code != commands.ExitFailure {
		t.Errorf("import of one that is there: exit code %d, want %d", code, commands.ExitFailure)
	}
	rig.WantIn(t, out+errOut, "imported 1", "refused 1", "bob@example.com") // the deleted one is back
	rig.WantIn(t, rig.Cli(t, env, "account", "show", "1"), "BobU in namespace 1")

	other := rig.TestEnv(t.TempDir())
	rig.WantIn(t, rig.Cli(t, other, "account", "import", file), "imported 2")
	rig.Typed(t, other, "another one\n", "account", "create", "--email", "bob@example.com", "--nick", "Moved", "--password-stdin")
	rig.WantIn(t, rig.Cli(t, other, "account", "show", "1"), "BobU in namespace 1", "Third", "Moved")
}

func TestBuddiesAreImportedAfterAllAccounts(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	file := rig.WriteFile(t, "accounts.jsonl", `
{"email":"a@example.com","password":"a","profiles":[{"profile":{"id":10,"nick":"A"},"buddies":[20,30],"blocks":[20]}]}
{"email":"b@example.com","profiles":[{"profile":{"id":20,"nick":"B"},"buddies":[10]}]}
`)
	rig.WantIn(t, rig.Cli(t, env, "account", "import", file), "imported 2", "refused 0")
	lines := strings.Fields(rig.Cli(t, env, "account", "show", "a@example.com"))
	rig.WantIn(t, strings.Join(lines, " "), "buddies 20", "blocks 20")
	rig.WantIn(t, rig.Cli(t, env, "account", "show", "b@example.com"), "10")
}

// An import that ended between the accounts and their buddies is completed by
// the next; buddies that a player has changed since stay as they are.
func TestRepeatedImportBringsBuddies(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	a := `{"email":"a@example.com","password":"a","profiles":[{"profile":{"id":10,"nick":"A"},"buddies":[20],"blocks":[30]}]}`
	rest := `
{"email":"b@example.com","profiles":[{"profile":{"id":20,"nick":"B"}}]}
{"email":"c@example.com","profiles":[{"profile":{"id":30,"nick":"C"}}]}
`
	if code, out, errOut := rig.Typing(t, env, a, "account", "import", "-"); code != 0 {
		t.Fatalf("import: exit code %d\n%s%s", code, out, errOut)
	}
	for range 2 {
		if code, out, _ := rig.Typing(t, env, a+rest, "account", "import", "-"); code != commands.ExitFailure || !strings.Contains(out, "imported") {
			t.Fatalf("import of one that is there: exit code %d, want %d\n%s", code, commands.ExitFailure, out)
		}
		shown := strings.Join(strings.Fields(rig.Cli(t, env, "account", "show", "a@example.com")), " ")
		rig.WantIn(t, shown, "buddies 20", "blocks 30")
	}
	other := strings.ReplaceAll(strings.Replace(a, `"id":10`, `"id":11`, 1), "[20]", "[20,30]") + `
{"email":"c@example.com","profiles":[{"profile":{"id":31,"nick":"C"},"buddies":[20]}]}
{"email":"b@example.com","profiles":[{"profile":{"id":20,"nick":"Other"},"buddies":[10]}]}
{"id":99,"email":"b@example.com","profiles":[{"profile":{"id":20,"nick":"B"},"buddies":[10]}]}`
	if code, _, _ := rig.Typing(t, env, other, "account", "import", "-"); code != commands.ExitFailure {
		t.Errorf("import of other accounts: exit code %d, want %d", code, commands.ExitFailure)
	}
	for _, name := range []string{"b@example.com", "c@example.com"} {
		rig.WantIn(t, strings.Join(strings.Fields(rig.Cli(t, env, "account", "show", name)), " "), "buddies -") // not those of another account
	}
}

func TestAccountGame(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	rig.Typed(t, env, "hunter2!\n", "account", "create", "--email", "a@b.org", "--nick", "A", "--uniquenick", "soldier", "--game", "Battlefield2", "--password-stdin")
	rig.WantIn(t, rig.Cli(t, env, "account", "show", "soldier", "--game", "battlefield2"), "soldier in namespace 12")
	rig.Refused(t, commands.ExitFailure, env, []string{"account", "show", "Soldier"}, "no such account in namespace 1; another one has it: --namespace 12")
	rig.Refused(t, commands.ExitFailure, env, []string{"account", "show", "soldier", "--game", "nosuch"}, "there is no game nosuch")
}

func TestCheckFocus(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir(), rig.Variable("games.focus", "swat4,civ4,stella,nosuch"))
	code, out, errOut := rig.Command(t, env, "check")
	if code != 0 {
		t.Fatalf("check: exit code %d\n%s%s", code, out, errOut)
	}
	rig.WantIn(t, out, "swat4: discs, version 1.1: should play: ", "swat4: GOG: should play: ", "civ4: Steam: played on another network: Steam, since 2014-04", "stella: discs: needs a patched game: plain text")
	rig.WantIn(t, errOut, "games.focus: nosuch is not a built-in game")
}

func TestAccountMistakes(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	create := func(more ...string) []string {
		return append([]string{"account", "create", "--email", "a@example.com", "--nick", "A"}, more...)
	}
	for name, tc := range map[string]struct {
		in   string
		args []string
		code int
		want string
	}{
		"no password":            {"secret\n", create(), commands.ExitUsage, "--password-stdin"},
		"empty password":         {"\n", create("--password-stdin"), commands.ExitFailure, "one line"},
		"nothing on input":       {"", create("--password-stdin"), commands.ExitFailure, "one line"},
		"two lines":              {"secret\nmore\n", create("--password-stdin"), commands.ExitFailure, "one line"},
		"endless password":       {strings.Repeat("secret", 1000), create("--password-stdin"), commands.ExitFailure, "too long"},
		"long password":          {strings.Repeat("secret", 6), create("--password-stdin"), commands.ExitFailure, "password"},
		"password as argument":   {"", create("--password", "secret"), commands.ExitUsage, "unknown flag"},
		"password as word":       {"", create("--password-stdin", "secret"), commands.ExitUsage, "unknown command"},
		"no nick":                {"secret", []string{"account", "create", "--email", "a@example.com", "--password-stdin"}, commands.ExitUsage, "--nick"},
		"unique nick without ns": {"secret", create("--uniquenick", "AU", "--namespace", "0", "--password-stdin"), commands.ExitUsage, "--uniquenick"},
		"reserved":               {"secret", create("--uniquenick", "sesskey", "--password-stdin"), commands.ExitFailure, "reserved"},
		"passwd without":         {"secret", []string{"account", "passwd", "a@example.com"}, commands.ExitUsage, "--password-stdin"},
		"unknown":                {"", []string{"account", "delete", "--yes", "a@example.com"}, commands.ExitFailure, "no such account"},
		"ban into the past":      {"", []string{"account", "ban", "1", "--for", "-1h"}, commands.ExitUsage, "--for: must be longer than 0"},
		"not confirmed":          {"n\n", []string{"account", "delete", "a@example.com"}, commands.ExitFailure, "nothing was changed: answer y, or use --yes"},
		"import of no file":      {"", []string{"account", "import", filepath.Join(t.TempDir(), "none")}, commands.ExitFailure, "none"},
		"import of a bad line":   {`{"email":"a@example.com","profiles":[],"passwort":"x"}`, []string{"account", "import", "-"}, commands.ExitFailure, "account 1"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := rig.Typing(t, env, tc.in, tc.args...)
			if code != tc.code || out != "" || !strings.Contains(errOut, tc.want) {
				t.Errorf("exit code %d, want %d; printed %q; message lacks %q:\n%s", code, tc.code, out, tc.want, errOut)
			}
			if strings.Contains(errOut, "secretsecret") {
				t.Errorf("the message has the password in it:\n%s", errOut)
			}
		})
	}
}

// Commands that do not use accounts must work although the key is lost.
func TestLostKeyKeepsOtherCommandsGoing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	rig.Typed(t, env, "secret", "account", "create", "--email", "a@example.com", "--nick", "A", "--password-stdin")
	if err := os.Remove(filepath.Join(dir, accounts.KeyName)); err != nil {
		t.Fatal(err)
	}
	rig.Cli(t, env, "ban", "add", "192.0.2.1")
	rig.WantIn(t, rig.Cli(t, env, "account", "list"), "a@example.com")
	code, _, errOut := rig.Typing(t, env, "secret", "account", "passwd", "a@example.com", "--password-stdin")
	if code != commands.ExitFailure {
		t.Errorf("passwd: exit code %d, want %d", code, commands.ExitFailure)
	}
	rig.WantIn(t, errOut, accounts.KeyName, "key is missing")
	code, _, errOut = rig.Command(t, env, "serve")
	if code != commands.ExitFailure {
		t.Errorf("serve: exit code %d, want %d", code, commands.ExitFailure)
	}
	rig.WantIn(t, errOut, accounts.KeyName)
}

// TestGameDataOfAccounts checks that an export holds the data that games keep for
// players, and that an import restores it.
func TestGameDataOfAccounts(t *testing.T) {
	t.Parallel()
	t.Run("little", func(t *testing.T) { wantGameDataBack(t, 10) })
	t.Run("more than one request carries", func(t *testing.T) {
		racetest.Skip(t, "reads megabytes")
		wantGameDataBack(t, 600<<10)
	})
}

// wantGameDataBack exports and imports three accounts, of which the last has five
// records. Each record and block has so many bytes.
func wantGameDataBack(t *testing.T, size int) {
	t.Helper()
	data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x00\\"), size/2))
	var file, without strings.Builder // without: as of a version without data of games
	for i := range 3 {
		var records []string
		for n := range 5 * (i / 2) {
			records = append(records, fmt.Sprintf(`{"game":"gmtest","table":"levels","id":%d,"created":"2026-11-01T12:00:00Z",`+
				`"changed":"2026-11-01T12:00:00Z","fields":[{"name":"data","value":{"type":"binaryDataValue","value":"%s"}}]}`, n+1, data))
		}
		account := fmt.Sprintf(`{"id":%d,"email":"%d@example.com","profiles":[{"profile":{"id":%d,"nick":"A"}`, i+1, i, i+10)
		_, _ = fmt.Fprintf(&file, account+`,"game_data":`+
			`[{"game":"gmtest","kind":1,"index":%d,"data":"%s","modified":"2026-11-01T12:00:00Z"}],"scores":`+
			`[{"game":"gmtest","board":"kills","value":%d.5,"updated":"2026-11-01T12:00:00Z"}],"records":[%s]}]}`+"\n",
			i, data, i, strings.Join(records, ","))
		without.WriteString(account + "}]}\n")
	}
	env := rig.TestEnv(t.TempDir())
	rig.WantIn(t, rig.Typed(t, env, without.String(), "account", "import", "-"), "imported 3")
	_, out, errOut := rig.Typing(t, env, file.String(), "account", "import", "-")
	rig.WantIn(t, out+errOut, "imported 0", "refused 3")
	back := rig.Cli(t, env, "account", "export", "-")
	if n := strings.Count(back, data); n != 8 {
		t.Errorf("%d of 3 blocks and 5 records are in the export", n)
	}
	rig.WantIn(t, back, `"index":2`, `"value":1.5`, `"table":"levels","id":5`)
	other := rig.TestEnv(t.TempDir())
	rig.WantIn(t, rig.Typed(t, other, back, "account", "import", "-"), "imported 3")
	if got := rig.Cli(t, other, "account", "export", "-"); got != back {
		t.Error("the export of the imported accounts differs")
	}
}
