package pgtest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
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

// TestKilled kills a test binary that has a server, and expects that the server ends and
// that nothing of it stays.
func TestKilled(t *testing.T) {
	if os.Getenv("PGTEST_VICTIM") != "" {
		s := pgtest.New(t)
		_, _ = fmt.Fprintf(os.Stdout, "folder %s\n", s.Dir())
		time.Sleep(time.Minute)
		return
	}
	pgtest.Database(t) // skips without PostgreSQL
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "PGTEST_VICTIM=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := ""
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		dir, _ = strings.CutPrefix(lines.Text(), "folder ")
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	if _, err := os.Stat(dir); dir == "" || err != nil {
		t.Fatalf("folder %q: %v", dir, err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
