package pgtest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/internal/pgtest"
)

// ask runs statements and returns the text that the last one answers with.
func ask(t *testing.T, url string, statements ...string) (string, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(t.Context()) }()
	last := len(statements) - 1
	for _, s := range statements[:last] {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			return "", err
		}
	}
	var text string
	err = conn.QueryRow(t.Context(), statements[last]).Scan(&text)
	return text, err
}

func mustAsk(t *testing.T, url string, statements ...string) string {
	t.Helper()
	text, err := ask(t, url, statements...)
	if err != nil {
		t.Fatalf("%q: %v", statements, err)
	}
	return text
}

func TestDatabase(t *testing.T) {
	one, other := pgtest.Database(t), pgtest.Database(t)
	mustAsk(t, one, "CREATE TABLE things (n int)", "SELECT 'made'")
	if _, err := ask(t, other, "SELECT count(*)::text FROM things"); err == nil {
		t.Error("another database has the table")
	}
	if got := mustAsk(t, one, "SHOW server_encoding"); got != "UTF8" {
		t.Errorf("encoding %q", got)
	}
}

// timesPrepared counts in all runs of TestPrepared: the process has one template.
var timesPrepared int

func TestPrepared(t *testing.T) {
	prepare := func(url string) error {
		timesPrepared++
		_, err := ask(t, url, "CREATE TABLE prepared (n int)", "SELECT 'made'")
		return err
	}
	for range 3 {
		url := pgtest.Prepared(t, "a table", prepare)
		if got := mustAsk(t, url, "INSERT INTO prepared VALUES (1)", "SELECT count(*)::text FROM prepared"); got != "1" {
			t.Errorf("%s rows after the first insert", got)
		}
	}
	if timesPrepared != 1 {
		t.Errorf("prepared %d times, want once", timesPrepared)
	}
}

func TestServer(t *testing.T) {
	s := pgtest.New(t)
	url := s.Database(t)
	mustAsk(t, url, "CREATE TABLE kept (n int)", "SELECT ''")
	for _, stop := range []func(testing.TB){s.Stop, s.Kill} {
		stop(t)
		for _, u := range []string{url, s.TCP(url)} {
			if _, err := ask(t, u, "SELECT ''"); err == nil {
				t.Errorf("%s answers although the server is stopped", u)
			}
		}
		s.Start(t)
		for _, u := range []string{url, s.TCP(url)} {
			if got := mustAsk(t, u, "SELECT count(*)::text FROM kept"); got != "0" {
				t.Errorf("%s: %s rows", u, got)
			}
		}
	}
}

// victim is the variable that makes a test binary print the folder of a server, its own
// or the shared one, and wait to be killed.
const victim = "PGTEST_VICTIM"

func TestVictim(t *testing.T) {
	var s *pgtest.Server
	switch os.Getenv(victim) {
	case "own":
		s = pgtest.New(t)
	case "shared":
		s = pgtest.Shared(t)
	default:
		t.Skip("it is a process of TestKilled and TestSharedServer")
	}
	_, _ = fmt.Fprintf(os.Stdout, "server %s %d\n", s.Dir(), s.Port())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startVictim starts a process that has a server, with a temporary folder. It returns
// the server's folder and port, and kills the process when kill is called.
func startVictim(t *testing.T, kind, temp string) (dir string, port int, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victim+"="+kind, "TMPDIR="+temp)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "server %s %d", &dir, &port); n == 2 {
			break
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("folder %q: %v", dir, err)
	}
	return dir, port, func() { _, _, _ = cmd.Process.Kill(), cmd.Wait(), in.Close() }
}

// temporary returns a folder that is for everyone, as the system's is.
func temporary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o711, dir: 0o777 | os.ModeSticky} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// waitGone waits until no file matches the pattern.
func waitGone(t *testing.T, pattern string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q are still there", found)
		}
	}
}

// TestKilled kills a test binary that has a server, and expects that the server ends and
// that nothing of it stays.
func TestKilled(t *testing.T) {
	pgtest.Database(t) // skips without PostgreSQL
	dir, _, kill := startVictim(t, "own", temporary(t))
	kill()
	waitGone(t, dir)
}

// TestSharedServer kills two test binaries that share a server, one after the other, and
// expects that the server ends after the second.
func TestSharedServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("servers are shared on Linux")
	}
	pgtest.Database(t) // skips without PostgreSQL
	temp := temporary(t)
	dir, port, killFirst := startVictim(t, "shared", temp)
	other, otherPort, killSecond := startVictim(t, "shared", temp)
	if other != dir || otherPort != port {
		t.Errorf("servers %s %d and %s %d, want the same", dir, port, other, otherPort)
	}
	killFirst()
	if third, thirdPort, killThird := startVictim(t, "shared", temp); third != dir || thirdPort != port {
		t.Errorf("server %s %d after one user was killed, want %s %d", third, thirdPort, dir, port)
	} else {
		killThird()
	}
	killSecond()
	waitGone(t, filepath.Join(dir, "*"))
}
