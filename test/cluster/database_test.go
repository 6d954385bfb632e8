package cluster

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// isAway and isBack match the lines about the database.
func isAway(e rig.Entry) bool { return strings.HasPrefix(e.Text("message"), "the database is away") }

func isBack(e rig.Entry) bool { return e.Text("message") == "the database is back" }

// selfTested returns the results of some steps of the self-test.
func selfTested(t *testing.T, d *rig.Running) map[string]string {
	t.Helper()
	env := d.CliEnv()
	for _, name := range rig.Listening() {
		env = append(env, rig.Variable(name+".listen", d.Address[name].String()))
	}
	_, out, _ := rig.Command(t, env, "selftest")
	said := make(map[string]string)
	for line := range strings.Lines(out) {
		name, result, _ := strings.Cut(line, "  ")
		said[name] = strings.TrimSpace(result)
	}
	return said
}

// TestDatabaseAway stops the database of a daemon and starts it again. Services that
// need only memory continue, the others refuse requests and work again afterwards.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	d := rig.AnnAndBen(t, rig.OnPostgres(server.TCP(server.Database(t)))...)
	ann, ben := rig.SignedIn(t, d, "uniquenick", "Ann"), rig.SignedIn(t, d, "uniquenick", "Ben")
	rig.Befriend(ann, ben)
	token := "Bearer " + strings.TrimSpace(rig.ReadFile(t, filepath.Join(dataDir(d), "admin.token")))

	before := d.Log.Len()
	server.Stop(t)
	d.WaitFor("the line about the database", before, isAway)
	code, body := rig.Get(t, d, "admin", http.MethodGet, "/readyz", "")
	if code != http.StatusServiceUnavailable || !strings.HasPrefix(body, "the database has been away for ") || strings.Contains(body, "unused") {
		t.Errorf("/readyz: %d %q", code, body)
	}
	if code, body := rig.Get(t, d, "admin", http.MethodGet, "/api/v1/accounts", token); code != http.StatusServiceUnavailable {
		t.Errorf("accounts over the API: %d %q, want 503", code, body)
	}
	if code, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers", ""); code != http.StatusOK {
		t.Errorf("the public list: %d %q", code, body)
	}
	host := rig.Register(t, d, "hostname", "Meanwhile")
	rig.WantListed(t, d, host)
	said := selfTested(t, d)
	for _, step := range []string{"natneg", "serverbrowse list", "web", "valvemaster", "zanmaster"} {
		if said[step] != "ok" {
			t.Errorf("self-test without the database: %s: %q, want ok", step, said[step])
		}
	}
	if !strings.Contains(said["admin"], "the database has been away") {
		t.Errorf("self-test without the database: admin: %q", said["admin"])
	}
	late := rig.Greeted(t, d)
	if err := late.Enter("uniquenick", "Ann", rig.StormPassword); err == nil {
		t.Error("a player signed in without the database")
	}
	ann.Say(`\addblock\\sesskey\$K\profileid\2`)
	ann.Hears(`\error\\err\`) // and not fatal: the session continues
	ann.Say(`\ka\`)
	lines, _ := d.Log.Since(before)
	for _, e := range lines {
		if l := e.Text("level"); (l == "error" || l == "warn") && !isAway(e) {
			t.Errorf("a second line about the database: %v", e)
		}
	}

	server.Start(t)
	d.WaitFor("the database is back", before, isBack)
	if code, body := rig.Get(t, d, "admin", http.MethodGet, "/readyz", ""); code != http.StatusOK {
		t.Errorf("/readyz afterwards: %d %q", code, body)
	}
	if away := rig.Metric(t, d, "respawnd_postgres_away_seconds"); away != "0" {
		t.Errorf("respawnd_postgres_away_seconds = %s afterwards", away)
	}
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\still there`)
	rig.WantIn(t, ben.Hears(`\bm\1\f\1\date\`), `\msg\still there`)
	for step, said := range selfTested(t, d) {
		if strings.Contains(said, "FAILED") {
			t.Errorf("self-test afterwards: %s: %s", step, said)
		}
	}
	d.Stop()
}

// dataDir returns the data folder of a daemon.
func dataDir(d *rig.Running) string {
	for _, v := range d.Env {
		if dir, ok := strings.CutPrefix(v, rig.Variable("data_dir", "")); ok {
			return dir
		}
	}
	return ""
}

func TestDatabaseIsMissing(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	url := server.TCP(server.Database(t))
	dir := t.TempDir()
	serve := []string{"serve"}
	secret := strings.Replace(url, "unused", "hidden-token", 1)
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir, rig.Variable("storage.engine", "postgres")), serve, "storage.postgres.url")
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir, rig.OnPostgres(strings.Replace(secret, "/test_", "/none_", 1))...), serve, "storage.postgres.url", "does not exist")
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir, rig.OnPostgres(strings.Replace(secret, "/test_", "/none_", 1))...), []string{"check"}, "storage.postgres.url", "does not exist")
	file := rig.WriteFile(t, "url", secret+"\n")
	_, out, _ := rig.Command(t, rig.TestEnv(dir, rig.Variable("storage.engine", "postgres"), rig.Variable("storage.postgres.url_file", file)), "check")
	rig.WantIn(t, out, "and empty", "configuration is fine")
	server.Stop(t)
	away := rig.TestEnv(dir, rig.Variable("storage.engine", "postgres"), rig.Variable("storage.postgres.url_file", file), rig.Variable("storage.postgres.start_wait", "1s"))
	for _, args := range [][]string{serve, {"check"}, {"ban", "list"}} {
		code, out, errOut := rig.Command(t, away, args...)
		if code != commands.ExitFailure || !strings.Contains(errOut, "storage.postgres.url_file") || !strings.Contains(errOut, "not available") {
			t.Errorf("%v without the database: exit code %d\n%s%s", args, code, out, errOut)
		}
		if strings.Contains(out+errOut, "hidden-token") {
			t.Errorf("%v shows the password:\n%s%s", args, out, errOut)
		}
		if n := strings.Count(errOut, "the start waits for it"); args[0] == "serve" && n != 1 {
			t.Errorf("%d lines say that the start waits, want 1:\n%s", n, errOut)
		}
	}
}

// TestStorageCopy copies the store of a daemon to a database and back, and runs daemons
// on all of them.
func TestStorageCopy(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir, other := t.TempDir(), t.TempDir()
	d := withAnn(t, dir)
	ban := "192.0.2.77"
	d.Cli("ban", "add", ban)
	code, _, errOut := rig.Command(t, d.CliEnv(), "storage", "copy", "--from", "bolt", "--to", "postgres:"+url)
	if code != commands.ExitFailure || !strings.Contains(errOut, "stop the daemon first") {
		t.Errorf("copy while the daemon runs: exit code %d: %s", code, errOut)
	}
	d.Stop()

	env := rig.TestEnv(dir)
	out := rig.Cli(t, env, "storage", "copy", "--from", "bolt", "--to", url)
	rig.WantIn(t, out, "users", "both sides are equal")
	rig.Refused(t, commands.ExitFailure, env, []string{"storage", "copy", "--from", "bolt", "--to", url}, "not empty")
	rig.Refused(t, commands.ExitUsage, env, []string{"storage", "copy", "--from", "bolt"}, "--to")
	rig.Refused(t, commands.ExitFailure, env, []string{"storage", "copy", "--from", "bolt", "--to", "mysql:x"}, "--to")

	pg := rig.Start(t, dir, rig.OnPostgres(url)...)
	rig.WantIn(t, pg.Cli("ban", "list"), ban)
	rig.SignedIn(t, pg, "uniquenick", "Ann")
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(other), []string{"storage", "copy", "--from", url, "--to", "bolt"}, "stop the daemons first")
	archive := filepath.Join(t.TempDir(), "backup.tar")
	pg.Cli("backup", archive)
	pg.Cli("ban", "remove", ban)
	pg.Stop()

	// Back to a file, elsewhere: the key file comes along by hand.
	rig.WantIn(t, rig.Cli(t, rig.TestEnv(other), "storage", "copy", "--from", url, "--to", "bolt:"+filepath.Join(other, engine.FileName), "--json"), `"entries":`)
	for _, name := range []string{"account.key"} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(rig.ReadFile(t, filepath.Join(dir, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	back := rig.Start(t, other)
	rig.SignedIn(t, back, "uniquenick", "Ann")
	if strings.Contains(back.Cli("ban", "list"), ban) {
		t.Error("the ban was lifted before the copy")
	}
	back.Stop()

	// The backup of the database, restored into another one and into a file.
	fresh := pgtest.Database(t)
	restored := t.TempDir()
	rig.Refused(t, commands.ExitFailure, append(rig.TestEnv(restored), rig.OnPostgres(url)...), []string{"restore", archive}, "not empty", "storage.postgres.url")
	rig.WantIn(t, rig.Cli(t, append(rig.TestEnv(restored), rig.OnPostgres(fresh)...), "restore", archive), "restored the backup")
	again := rig.Start(t, restored, rig.OnPostgres(fresh)...)
	rig.SignedIn(t, again, "uniquenick", "Ann")
	rig.WantIn(t, again.Cli("ban", "list"), ban)
	again.Stop()
	file := t.TempDir()
	rig.WantIn(t, rig.Cli(t, rig.TestEnv(file), "restore", archive), "restored the backup")
	rig.WantIn(t, rig.Cli(t, rig.TestEnv(file), "ban", "list"), ban)
}

// TestStorageCopyOfFiles copies the content of a player's file into a database, and back
// into another folder.
func TestStorageCopyOfFiles(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir, other := t.TempDir(), t.TempDir()
	store := storetest.File(t, filepath.Join(dir, engine.FileName))
	_, ann, err := store.CreateUser(t.Context(), storage.User{Email: "ann@example.com"}, storage.Profile{Nick: "Ann"})
	rig.Must(t, err)
	u, err := files.New(store, dir).Begin(t.Context(), ann.ID, 5)
	rig.Must(t, err)
	_, err = u.Write([]byte("hello"))
	rig.Must(t, err)
	f, err := u.Commit(t.Context(), "gmtest", "a.txt")
	rig.Must(t, errors.Join(err, store.Close()))

	rig.WantIn(t, rig.Cli(t, rig.TestEnv(dir), "storage", "copy", "--from", "bolt", "--to", url), "copied the contents of 1 file")
	rig.WantIn(t, rig.Cli(t, rig.TestEnv(dir), "storage", "copy", "--from", url, "--to", "bolt:"+filepath.Join(other, engine.FileName), "--json"), `"contents":1`)
	store = storetest.File(t, filepath.Join(other, engine.FileName))
	_, content, err := files.New(store, other).Open(t.Context(), f.ID)
	rig.Must(t, err)
	text, err := io.ReadAll(content)
	if rig.Must(t, errors.Join(err, content.Close(), store.Close())); string(text) != "hello" {
		t.Errorf("content %q", text)
	}
}

// withAnn starts a daemon with one account.
func withAnn(t *testing.T, dir string) *rig.Running {
	t.Helper()
	d := rig.Start(t, dir)
	rig.Typed(t, d.CliEnv(), rig.StormPassword+"\n", "account", "create",
		"--email", "Ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	return d
}

// TestOtherKeys starts a second node with other keys on the database of a first one.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir, other := t.TempDir(), t.TempDir()
	rig.Start(t, dir, rig.OnPostgres(url)...).Stop()
	const advice = "copy their file to this node"
	env := append(rig.TestEnv(other), rig.OnPostgres(url)...)
	rig.Refused(t, commands.ExitFailure, env, []string{"serve"}, "accounts.key_file", "account.key", "webservices.key_file", "webservices.key", advice)
	for _, name := range []string{"account.key", "webservices.key"} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(rig.ReadFile(t, filepath.Join(dir, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := rig.Start(t, other, rig.OnPostgres(url)...)
	second.Stop()
}
