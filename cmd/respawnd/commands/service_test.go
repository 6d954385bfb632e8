package commands

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
)

// fakeManager is a service manager that keeps its service in memory.
type fakeManager struct {
	args     []string // of the service; nil: there is none
	commands [][]string
	states   []serviceState // that State returns, one after the other; the last again and again
	did      []string
	run      func(func(func(serviceState), <-chan serviceRequest) error) error
}

func (m *fakeManager) Install(_ context.Context, _ string, args []string, commands [][]string) error {
	m.args, m.commands = args, commands
	return nil
}

func (m *fakeManager) do(what string) error {
	m.did = append(m.did, what)
	return nil
}

func (m *fakeManager) Remove(context.Context) error { return m.do("remove") }
func (m *fakeManager) Start() error                 { return m.do("start") }
func (m *fakeManager) Stop() error                  { return m.do("stop") }
func (m *fakeManager) Close() error                 { return m.do("close") }

func (m *fakeManager) State() (serviceState, error) {
	if m.states == nil {
		return 0, errors.New("not installed")
	}
	state := m.states[0]
	if len(m.states) > 1 {
		m.states = m.states[1:]
	}
	return state, nil
}

func (m *fakeManager) Run(f func(func(serviceState), <-chan serviceRequest) error) error {
	return m.run(f)
}

// runServiceCommand runs a command line below "service" against a manager and returns the exit code and what
// was printed.
func runServiceCommand(t *testing.T, m *fakeManager, env []string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	con := cli.New(env, nil, &out, &out)
	root := Root(con)
	old, _, err := root.Find([]string{"service"})
	if err != nil {
		t.Fatal(err)
	}
	root.RemoveCommand(old)
	root.AddCommand(serviceCommand(con, func() (serviceManager, error) { return m, nil }))
	return run(t.Context(), con, root, append([]string{"service"}, args...)), out.String()
}

func TestServiceInstall(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("my games.yaml", []byte("web: {title: Mine}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	data, file := filepath.Join(here, "my data"), filepath.Join(here, "my games.yaml")
	m := new(fakeManager)
	code, out := runServiceCommand(t, m, nil, "install", "--config", "my games.yaml", "--data-dir", "my data", "--log-level", "debug", "--services", "web,admin", "--firewall")
	want := []string{"service", "run", "--data-dir", data, "--config", file, "--log-level=debug", "--services=web,admin"}
	if code != 0 || !slices.Equal(m.args, want) {
		t.Errorf("install: %d %s: the service has the command line\n%q, want\n%q", code, out, m.args, want)
	}
	root := Root(cli.New(nil, nil, nil, nil))
	if cmd, rest, err := root.Find(m.args); err != nil || cmd.Name() != "run" || cmd.ParseFlags(rest) != nil {
		t.Errorf("the program does not understand the command line of the service: %v", err)
	}
	var access []string
	for _, c := range m.commands {
		access = append(access, strings.Join(c, " "))
	}
	all := strings.Join(access, "\n")
	for _, part := range []string{
		"icacls " + data + " /inheritance:r /grant:r ", `NT SERVICE\respawnd:(OI)(CI)M`, "icacls " + file + ` /grant NT SERVICE\respawnd:R`, "netsh advfirewall firewall add rule",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("commands of the installation:\n%s\nwant %q", all, part)
		}
	}
	if info, err := os.Stat(data); err != nil || !info.IsDir() {
		t.Errorf("the data folder: %v", err)
	}
	m = new(fakeManager)
	if code, out := runServiceCommand(t, m, nil, "install"); code != 0 || len(m.args) != 4 || m.args[3] != filepath.Join(here, "respawnd-data") || len(m.commands) != 2 {
		t.Errorf("install without settings: %d %s: %q, %q", code, out, m.args, m.commands)
	}
	m = new(fakeManager)
	code, out = runServiceCommand(t, m, []string{"RESPAWND_WEB_LISTEN=:1"}, "install")
	if code != ExitFailure || !strings.Contains(out, "RESPAWND_WEB_LISTEN does not reach") || m.args != nil {
		t.Errorf("install with a variable: %d %s: %q", code, out, m.args)
	}
}

func TestServiceStartAndStop(t *testing.T) {
	for _, tc := range []struct {
		command, states, did, says string
		code                       int
	}{
		{"start", "starting starting running", "start close", "the daemon is ready", 0},
		{"start", "starting stopped", "start close", serviceLog, ExitFailure},
		{"start", "starting", "start close", "takes longer than 1m0s", ExitFailure},
		{"start", "", "start close", "not installed", ExitFailure},
		{"stop", "running stopping stopped", "stop close", "the daemon has stopped", 0},
		{"stop", "stopped", "close", "the daemon has stopped", 0},
		{"stop", "running", "stop close", "takes longer than 1m0s", ExitFailure},
		{"remove", "running stopping stopped", "stop remove close", "removed", 0},
		{"remove", "stopped", "remove close", "its data", 0},
		{"remove", "", "close", "not installed", ExitFailure},
	} {
		names := map[string]serviceState{"stopped": serviceStopped, "starting": serviceStarting, "running": serviceRunning, "stopping": serviceStopping}
		m := new(fakeManager)
		for s := range strings.FieldsSeq(tc.states) {
			m.states = append(m.states, names[s])
		}
		synctest.Test(t, func(t *testing.T) {
			code, out := runServiceCommand(t, m, nil, tc.command)
			if did := strings.Join(m.did, " "); code != tc.code || did != tc.did || !strings.Contains(out, tc.says) {
				t.Errorf("%s of a service that is %s: %d, did %q, says %q; want %d, %q, %q", tc.command, tc.states, code, did, out, tc.code, tc.did, tc.says)
			}
		})
	}
}

// The real daemon runs as the service: it gets ready, reloads, stops, and its log is in the data folder.
func TestServiceRun(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(t.TempDir(), "respawnd.yaml")
	if err := os.WriteFile(config, []byte("odamaster: {listen: '127.0.0.1:0'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	requests, states := make(chan serviceRequest), make(chan serviceState, 3)
	m := &fakeManager{run: func(f func(func(serviceState), <-chan serviceRequest) error) error {
		return f(func(s serviceState) { states <- s }, requests)
	}}
	next := func(want serviceState) {
		t.Helper()
		if got := <-states; got != want {
			t.Fatalf("state %d, want %d", got, want)
		}
	}
	ended := make(chan int, 1)
	go func() {
		code, out := runServiceCommand(t, m, nil, "run", "--data-dir", dir, "--config", config, "--services", "odamaster")
		if out != "" {
			t.Errorf("the service printed %q", out)
		}
		ended <- code
	}()
	next(serviceStarting)
	next(serviceRunning)
	requests <- reloadService
	next(serviceRunning) // again, when it has reloaded
	requests <- stopService
	next(serviceStopping)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	log, err := os.ReadFile(filepath.Join(dir, serviceLog))
	for _, line := range []string{`"message":"ready"`, `"message":"reloaded games`, `"message":"stopped"`} {
		if !strings.Contains(string(log), line) {
			t.Errorf("the log of the service has no %s: %v\n%s", line, err, log)
		}
	}
}

// A daemon that fails ends the service, and what it reports while it stops is not "running".
func TestServeRequests(t *testing.T) {
	failed := errors.New("failed")
	var states []serviceState
	requests := make(chan serviceRequest)
	go func() { requests <- stopService }()
	err := serveRequests(t.Context(), func(s serviceState) { states = append(states, s) }, requests,
		func(ctx context.Context, notify daemon.Notify, _ <-chan os.Signal) error {
			<-ctx.Done()
			return errors.Join(failed, notify(daemon.NotifyReady, ""))
		})
	if !errors.Is(err, failed) || !slices.Equal(states, []serviceState{serviceStarting, serviceStopping}) {
		t.Errorf("%v, states %v", err, states)
	}
}

func TestServiceElsewhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the service manager would answer")
	}
	for _, what := range []string{"install", "remove", "start", "stop", "run"} {
		var out bytes.Buffer
		if code := Run(t.Context(), cli.New(nil, nil, &out, &out), []string{"service", what}); code != ExitFailure || !strings.Contains(out.String(), "Windows alone") {
			t.Errorf("service %s: %d %s", what, code, &out)
		}
	}
}

// A log keeps its lines where the file before it cannot be replaced.
func TestLogFileThatCannotMove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.MkdirAll(filepath.Join(path+".old", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), maxLogFile/2)
	for range 5 {
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 5*int64(len(line)) {
		t.Errorf("the log has %v, %v; want all lines", info, err)
	}
}

func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	line := bytes.Repeat([]byte("x"), maxLogFile/4)
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return -1
		}
		return info.Size() / int64(len(line))
	}
	for i, want := range [][2]int64{{1, -1}, {2, -1}, {3, -1}, {4, -1}, {1, 4}, {2, 4}, {3, 4}, {4, 4}, {1, 4}} {
		l, err := openLog(path) // each line in a process of its own
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := [2]int64{size(path), size(path + ".old")}; got != want {
			t.Fatalf("after line %d the files have %v lines, want %v", i+1, got, want)
		}
	}
}
