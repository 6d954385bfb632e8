package pgtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/porttest"
)

// superuser is the role that owns every server.
const superuser = "postgres"

// strategy copies a database file by file, which is the quickest without fsync.
const strategy = "file_copy"

// programs are the programs of a server.
var programs = []string{"postgres", "initdb", "pg_ctl"}

// installed is where Debian puts the programs of each version, which are not in PATH.
const installed = "/usr/lib/postgresql/*/bin"

// folder returns the folder of the programs, or why there is none.
var folder = sync.OnceValues(func() (string, error) {
	if unsupported != "" {
		return "", errors.New(unsupported)
	}
	if path, err := exec.LookPath("pg_ctl"); err == nil && complete(filepath.Dir(path)) {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob(installed)
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	for _, dir := range found {
		if complete(dir) {
			return dir, nil
		}
	}
	return "", errors.New("the programs of PostgreSQL are missing: install Debian's package postgresql")
})

// version returns the number in a folder that installed matches.
func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

func complete(dir string) bool {
	return !slices.ContainsFunc(programs, func(p string) bool {
		_, err := exec.LookPath(filepath.Join(dir, p))
		return err != nil
	})
}

// find skips the test without the programs; where CI is set, it fails.
func find(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("a server is started: not in a short run")
	}
	_, err := folder()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		tb.Fatalf("CI is set, but %v", err)
	default:
		tb.Skip(err)
	}
}

// newServer gives a server a new temporary folder and starts it.
func newServer(s *Server) (*Server, error) {
	// The path of a socket is short: at most 107 characters.
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s.dir, s.prepared = dir, make(map[string]string)
	if err := own(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s.end, err = s.guard(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.begin(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// begin creates the data of a server and starts it.
func (s *Server) begin() error {
	if err := s.run("initdb", "--pgdata="+s.data(), "--username="+superuser, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.firstStart()
}

// open admits clients of other addresses than the loopback one, if the server has one.
func (s *Server) open() error {
	if s.at.IsLoopback() {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all all trust\n")
	return errors.Join(err, f.Close())
}

// firstStart starts the server on a port that is free now. Another process may take it
// before the server does, so it tries more than one.
func (s *Server) firstStart() error {
	for try := 1; ; try++ {
		free, err := porttest.TCP(s.at)
		if err != nil {
			return err
		}
		s.port = int(free.Port())
		if err := s.start(); err == nil || try == 5 {
			return err
		}
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) start() error {
	log := filepath.Join(s.dir, "log")
	err := s.control("start", "--log="+log, "--options="+s.settings())
	if err != nil {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// control has pg_ctl do something and waits until it is done.
func (s *Server) control(args ...string) error {
	return s.run("pg_ctl", append(args, "--wait", "--timeout=60", "--silent", "--pgdata="+s.data())...)
}

// run runs one of the programs.
func (s *Server) run(program string, args ...string) error {
	dir, err := folder()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), filepath.Join(dir, program), args...) // a folder of the system
	cmd.Dir = s.dir
	// A file, because a server started by pg_ctl keeps the output of pg_ctl open.
	out, err := os.CreateTemp("", "pgtest")
	if err != nil {
		return err
	}
	defer func() { _, _ = out.Close(), os.Remove(out.Name()) }()
	cmd.Stdout, cmd.Stderr = out, out
	if err := asOwner(cmd); err != nil {
		return err
	}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", program, err, bytes.TrimSpace(text))
	}
	return nil
}

// guard starts a shell that stops the server and removes its folder as soon as its
// standard input ends, which the system closes even if this process is killed.
func (s *Server) guard() (end func(), err error) {
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	const script = `read -r _; "$1" stop --silent --mode=immediate --pgdata="$2/data" >/dev/null 2>&1; rm -rf "$2"`
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", script, "pgtest", filepath.Join(dir, "pg_ctl"), s.dir) // as above
	cmd.Dir = "/"
	if err := asOwner(cmd); err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { _, _ = in.Close(), cmd.Wait() }, nil
}

func (s *Server) close() { s.end() }
