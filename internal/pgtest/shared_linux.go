package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// linger is how long the shared server stays without a user, in seconds: between two
// test binaries of one "go test" there may be a moment without one.
const linger = "10"

// joinShared returns the server that all test binaries of a user share, and starts it
// if there is none. It is in a folder of the temporary folder:
//
//	start     locked by the process that starts the server or looks for it
//	users     locked, shared, by each process that uses it, until that ends
//	server/   its data, socket and log; file port is written once it runs
//
// The kernel releases the locks of a process that is killed. A shell waits for the
// exclusive lock of users, which it gets when no process uses the server, and then stops it.
func joinShared() (*Server, error) {
	if _, err := exec.LookPath("flock"); err != nil {
		return newServer(&Server{at: loopback}) // a server for this binary alone
	}
	dir := filepath.Join(os.TempDir(), "respawnd-pgtest-"+strconv.Itoa(os.Getuid()))
	if err := ownFolder(dir); err != nil {
		return nil, err
	}
	start, err := lock(filepath.Join(dir, "start"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer func() { _ = start.Close() }()
	users, err := lock(filepath.Join(dir, "users"), syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: filepath.Join(dir, "server"), at: loopback, prepared: make(map[string]string), users: users}
	if s.running() {
		return s, nil
	}
	if err := s.startShared(users.Name()); err != nil {
		return nil, errors.Join(err, users.Close())
	}
	return s, nil
}

// ownFolder makes a folder that only its owner changes and that the user who runs
// servers can enter. In a folder for everyone, another user may have made it first.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user", dir)
	}
	return os.Chmod(dir, 0o711) // whatever the umask
}

// lock opens a file and locks it. Closing the file releases the lock.
func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err = errors.Join(err, f.Chmod(0o644)); err != nil { // the shell of another user locks it too
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// running reports whether the server of the folder answers.
func (s *Server) running() bool {
	text, err := os.ReadFile(s.portFile())
	if err != nil {
		return false
	}
	if s.port, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return false
	}
	return s.admin("SELECT 1") == nil
}

func (s *Server) portFile() string { return filepath.Join(s.dir, "port") }

// startShared starts the server in place of what a crash of the machine may have left.
func (s *Server) startShared(users string) error {
	_ = s.control("stop", "--mode=immediate") // it may answer too slowly; usually there is none
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	if err := own(s.dir); err != nil {
		return err
	}
	if err := s.guardShared(users); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	return os.WriteFile(s.portFile(), []byte(strconv.Itoa(s.port)), 0o644)
}

// guardShared starts the shell that stops the server once no process uses it.
func (s *Server) guardShared(users string) error {
	dir, err := folder()
	if err != nil {
		return err
	}
	const script = `while flock -x "$1" true && sleep "$2"; do
	flock -n -x "$1" sh -c '"$1" stop --silent --mode=immediate --pgdata="$2/data" >/dev/null 2>&1; rm -rf "$2"/*' sh "$3" "$4" && exit
done`
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", script, "pgtest", users, linger, filepath.Join(dir, "pg_ctl"), s.dir) // it outlives this process
	cmd.Dir = "/"
	if err := asOwner(cmd); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
