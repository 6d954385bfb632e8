package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
)

// onPostgres returns the variables of a daemon on a database.
func onPostgres(url string) []string {
	return []string{variable("storage.engine", "postgres"), variable("storage.postgres.url", url)}
}

// isAway and isBack match the lines about the database.
func isAway(e entry) bool { return strings.HasPrefix(e.text("message"), "the database is away") }
func isBack(e entry) bool { return e.text("message") == "the database is back" }

// selfTested returns the results of some steps of the self-test.
func selfTested(t *testing.T, d *running) map[string]string {
	t.Helper()
	env := d.cliEnv()
	for _, name := range listening() {
		env = append(env, variable(name+".listen", d.address[name].String()))
	}
	_, out, _ := command(t, env, "selftest")
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
	d := annAndBen(t, onPostgres(server.TCP(server.Database(t)))...)
	ann, ben := signedIn(t, d, "uniquenick", "Ann"), signedIn(t, d, "uniquenick", "Ben")
	befriend(ann, ben)
	token := "Bearer " + strings.TrimSpace(readFile(t, filepath.Join(dataDir(d), "admin.token")))

	before := d.log.len()
	server.Stop(t)
	d.waitFor("the line about the database", before, isAway)
	code, body := get(t, d, "admin", http.MethodGet, "/readyz", "")
	if code != http.StatusServiceUnavailable || !strings.HasPrefix(body, "the database has been away for ") || strings.Contains(body, "unused") {
		t.Errorf("/readyz: %d %q", code, body)
	}
	if code, body := get(t, d, "admin", http.MethodGet, "/api/v1/accounts", token); code != http.StatusServiceUnavailable {
		t.Errorf("accounts over the API: %d %q, want 503", code, body)
	}
	if code, body := get(t, d, "web", http.MethodGet, "/api/v1/servers", ""); code != http.StatusOK {
		t.Errorf("the public list: %d %q", code, body)
	}
	host := register(t, d, "hostname", "Meanwhile")
	wantListed(t, d, host)
	said := selfTested(t, d)
	for _, step := range []string{"natneg", "serverbrowse list", "web", "valvemaster", "zanmaster"} {
		if said[step] != "ok" {
			t.Errorf("self-test without the database: %s: %q, want ok", step, said[step])
		}
	}
	if !strings.Contains(said["admin"], "the database has been away") {
		t.Errorf("self-test without the database: admin: %q", said["admin"])
	}
	late := greeted(t, d)
	if err := late.enter("uniquenick", "Ann", stormPassword); err == nil {
		t.Error("a player signed in without the database")
	}
	ann.say(`\addblock\\sesskey\$K\profileid\2`)
	ann.hears(`\error\\err\`) // and not fatal: the session continues
	ann.say(`\ka\`)
	lines, _ := d.log.since(before)
	for _, e := range lines {
		if l := e.text("level"); (l == "error" || l == "warn") && !isAway(e) {
			t.Errorf("a second line about the database: %v", e)
		}
	}

	server.Start(t)
	d.waitFor("the database is back", before, isBack)
	if code, body := get(t, d, "admin", http.MethodGet, "/readyz", ""); code != http.StatusOK {
		t.Errorf("/readyz afterwards: %d %q", code, body)
	}
	if away := metric(t, d, "respawnd_postgres_away_seconds"); away != "0" {
		t.Errorf("respawnd_postgres_away_seconds = %s afterwards", away)
	}
	ann.say(`\bm\1\sesskey\$K\t\2\msg\still there`)
	wantIn(t, ben.hears(`\bm\1\f\1\date\`), `\msg\still there`)
	for step, said := range selfTested(t, d) {
		if strings.Contains(said, "FAILED") {
			t.Errorf("self-test afterwards: %s: %s", step, said)
		}
	}
	d.stop()
}

// dataDir returns the data folder of a daemon.
func dataDir(d *running) string {
	for _, v := range d.env {
		if dir, ok := strings.CutPrefix(v, variable("data_dir", "")); ok {
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
	refused(t, exitFailure, testEnv(dir, variable("storage.engine", "postgres")), serve, "storage.postgres.url")
	refused(t, exitFailure, testEnv(dir, onPostgres(strings.Replace(secret, "/test_", "/none_", 1))...), serve, "storage.postgres.url", "does not exist")
	refused(t, exitFailure, testEnv(dir, onPostgres(strings.Replace(secret, "/test_", "/none_", 1))...), []string{"check"}, "storage.postgres.url", "does not exist")
	file := writeFile(t, "url", secret+"\n")
	_, out, _ := command(t, testEnv(dir, variable("storage.engine", "postgres"), variable("storage.postgres.url_file", file)), "check")
	wantIn(t, out, "and empty", "configuration is fine")
	server.Stop(t)
	away := testEnv(dir, variable("storage.engine", "postgres"), variable("storage.postgres.url_file", file), variable("storage.postgres.start_wait", "1s"))
	for _, args := range [][]string{serve, {"check"}, {"ban", "list"}} {
		code, out, errOut := command(t, away, args...)
		if code != exitFailure || !strings.Contains(errOut, "storage.postgres.url_file") || !strings.Contains(errOut, "not available") {
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
	d.cli("ban", "add", ban)
	code, _, errOut := command(t, d.cliEnv(), "storage", "copy", "--from", "bolt", "--to", "postgres:"+url)
	if code != exitFailure || !strings.Contains(errOut, "stop the daemon first") {
		t.Errorf("copy while the daemon runs: exit code %d: %s", code, errOut)
	}
	d.stop()

	env := testEnv(dir)
	out := cli(t, env, "storage", "copy", "--from", "bolt", "--to", url)
	wantIn(t, out, "accounts", "both sides are equal")
	refused(t, exitFailure, env, []string{"storage", "copy", "--from", "bolt", "--to", url}, "not empty")
	refused(t, exitUsage, env, []string{"storage", "copy", "--from", "bolt"}, "--to")
	refused(t, exitFailure, env, []string{"storage", "copy", "--from", "bolt", "--to", "mysql:x"}, "--to")

	pg := start(t, dir, onPostgres(url)...)
	wantIn(t, pg.cli("ban", "list"), ban)
	signedIn(t, pg, "uniquenick", "Ann")
	refused(t, exitFailure, testEnv(other), []string{"storage", "copy", "--from", url, "--to", "bolt"}, "stop the daemons first")
	archive := filepath.Join(t.TempDir(), "backup.tar")
	pg.cli("backup", archive)
	pg.cli("ban", "remove", ban)
	pg.stop()

	// Back to a file, elsewhere: the key file comes along by hand.
	wantIn(t, cli(t, testEnv(other), "storage", "copy", "--from", url, "--to", "bolt:"+filepath.Join(other, engine.FileName), "--json"), `"records":`)
	for _, name := range []string{"account.key"} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(readFile(t, filepath.Join(dir, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	back := start(t, other)
	signedIn(t, back, "uniquenick", "Ann")
	if strings.Contains(back.cli("ban", "list"), ban) {
		t.Error("the ban was lifted before the copy")
	}
	back.stop()

	// The backup of the database, restored into another one and into a file.
	fresh := pgtest.Database(t)
	restored := t.TempDir()
	refused(t, exitFailure, append(testEnv(restored), onPostgres(url)...), []string{"restore", archive}, "not empty", "storage.postgres.url")
	wantIn(t, cli(t, append(testEnv(restored), onPostgres(fresh)...), "restore", archive), "restored the backup")
	again := start(t, restored, onPostgres(fresh)...)
	signedIn(t, again, "uniquenick", "Ann")
	wantIn(t, again.cli("ban", "list"), ban)
	again.stop()
	file := t.TempDir()
	wantIn(t, cli(t, testEnv(file), "restore", archive), "restored the backup")
	wantIn(t, cli(t, testEnv(file), "ban", "list"), ban)
}

// TestStorageCopyOfFiles copies the content of a player's file into a database, and back
// into another folder.
func TestStorageCopyOfFiles(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir, other := t.TempDir(), t.TempDir()
	store, err := bolt.Open(t.Context(), filepath.Join(dir, engine.FileName), bolt.Options{})
	must(t, err)
	_, ann, err := store.CreateUser(t.Context(), storage.User{Email: "ann@example.com"}, storage.Profile{Nick: "Ann"})
	must(t, err)
	u, err := files.New(store, dir).Begin(t.Context(), ann.ID, 5)
	must(t, err)
	_, err = u.Write([]byte("hello"))
	must(t, err)
	f, err := u.Commit(t.Context(), "gmtest", "a.txt")
	must(t, errors.Join(err, store.Close()))

	wantIn(t, cli(t, testEnv(dir), "storage", "copy", "--from", "bolt", "--to", url), "copied the contents of 1 file")
	wantIn(t, cli(t, testEnv(dir), "storage", "copy", "--from", url, "--to", "bolt:"+filepath.Join(other, engine.FileName), "--json"), `"contents":1`)
	store, err = bolt.Open(t.Context(), filepath.Join(other, engine.FileName), bolt.Options{})
	must(t, err)
	_, content, err := files.New(store, other).Open(t.Context(), f.ID)
	must(t, err)
	text, err := io.ReadAll(content)
	if must(t, errors.Join(err, content.Close(), store.Close())); string(text) != "hello" {
		t.Errorf("content %q", text)
	}
}

// withAnn starts a daemon with one account.
func withAnn(t *testing.T, dir string) *running {
	t.Helper()
	d := start(t, dir)
	typed(t, d.cliEnv(), stormPassword+"\n", "account", "create",
		"--email", "Ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	return d
}

// TestOtherKeys starts a second node with other keys on the database of a first one.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir, other := t.TempDir(), t.TempDir()
	start(t, dir, onPostgres(url)...).stop()
	const advice = "copy their file to this node"
	env := append(testEnv(other), onPostgres(url)...)
	refused(t, exitFailure, env, []string{"serve"}, "accounts.key_file", "account.key", "webservices.key_file", "webservices.key", advice)
	for _, name := range []string{"account.key", "webservices.key"} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(readFile(t, filepath.Join(dir, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := start(t, other, onPostgres(url)...)
	second.stop()
}
