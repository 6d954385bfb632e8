package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/operator"
)

// asProgram is the variable that makes the test binary be the program. So the
// program has the race detector and the coverage counters if the tests have them,
// and nothing is built twice.
const asProgram = "TEST_AS_RESPAWND"

// collectInTests is how much garbage tests and their daemons let pile up, in percent: at
// the daemon's own setting, collecting takes a third of the time of short tests.
const collectInTests = 400

// usualCollector is the environment of daemons that collect garbage as their users' do.
const usualCollector = "GOGC="

// allGames is the value of asProgram that leaves the built-in tables as they are.
const allGames = "all games"

// clockSkew is the variable that puts the clock of the process ahead.
const clockSkew = "TEST_CLOCK_SKEW"

func TestMain(m *testing.M) {
	if text := os.Getenv(clockSkew); text != "" {
		d, err := time.ParseDuration(text)
		if err == nil {
			err = nettest.SkewClock(d)
		}
		if err != nil {
			panic(err)
		}
	}
	as := os.Getenv(asProgram)
	if as != allGames {
		fewGames()
	}
	if as != "" {
		main()
	}
	debug.SetGCPercent(collectInTests)
	// For all processes that tests start. With the race detector a process would wait
	// a second at its end.
	for name, value := range map[string]string{
		asProgram: "1", "GOGC": strconv.Itoa(collectInTests), "GORACE": "atexit_sleep_ms=0 " + os.Getenv("GORACE"),
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	if err := waitTogether(); err != nil {
		panic(err)
	}
	m.Run()
}

// waitTogether has more tests run at once than there are processors, unless the
// command line says how many: most of their time they wait for a daemon's clock.
func waitTogether() error {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" || f.Name == "test.cpu" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", "8")
}

// builtProgram returns the path of the program. Tests that need it start processes, and
// are left out of the short run.
func builtProgram(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a process")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// child is a daemon in a process of its own.
type child struct {
	running
	process *os.Process
	state   *os.ProcessState // once ended is closed
}

// startChild runs the built program and returns when it is ready. more holds
// variables, NAME=value, or arguments.
func startChild(t testing.TB, dir string, more ...string) *child {
	t.Helper()
	placeKey(t, dir)
	var args, vars []string
	for _, m := range more {
		if strings.Contains(m, "=") && !strings.HasPrefix(m, "-") {
			vars = append(vars, m)
		} else {
			args = append(args, m)
		}
	}
	return startProcess(t, "", testEnv(dir, vars...), args...)
}

// startProcess is startChild in a working directory.
func startProcess(t testing.TB, workingDir string, env []string, args ...string) *child {
	t.Helper()
	return launch(t, workingDir, nil, env, args...).begin()
}

// startWrapped is startChild for a program that a wrapper executes.
func startWrapped(t testing.TB, wrapper, env []string, args ...string) *child {
	t.Helper()
	return launch(t, "", wrapper, env, args...).begin()
}

// launch starts the program and does not wait for anything.
func launch(t testing.TB, workingDir string, wrapper, env []string, args ...string) *child {
	t.Helper()
	path := builtProgram(t)
	c := &child{running: running{t: t, env: env, log: newLogBook(), ended: make(chan struct{})}}
	line := append(append(slices.Clone(wrapper), path, "serve"), args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), line[0], line[1:]...) // it is stopped by hand
	cmd.Dir = workingDir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = &c.out, c.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process = cmd.Process
	go func() {
		defer close(c.ended)
		_ = cmd.Wait() // the caller reads its state
		c.state = cmd.ProcessState
	}()
	t.Cleanup(c.kill)
	return c
}

// begin waits until the daemon is ready.
func (c *child) begin() *child {
	c.t.Helper()
	c.waitFor("ready", 0, message("ready"))
	c.address = addresses(c.t, c.log)
	return c
}

func (c *child) kill() {
	c.t.Helper()
	_ = c.process.Kill() // it may have ended
	<-c.ended
	if log := c.log.String(); strings.Contains(log, raceReport) {
		c.t.Errorf("data race in the daemon:\n%s", log)
	}
}

// raceReport is in the first line of a report of the race detector.
const raceReport = "WARNING: DATA RACE"

func (c *child) client(dir string) operator.Operator {
	c.t.Helper()
	token, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile))
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := admin.NewClient(c.address["admin"].String(), token)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

func TestBuiltProgramTellsItsExitCode(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, 0},
		{[]string{"check", "--log-level", "loud"}, exitFailure},
		{[]string{"no-such-command"}, exitUsage},
	} {
		cmd := exec.CommandContext(t.Context(), path, tc.args...)
		out, _ := cmd.CombinedOutput() // the caller checks the exit code
		if got := cmd.ProcessState.ExitCode(); got != tc.want {
			t.Errorf("respawnd %s: exit code %d, want %d\n%s", strings.Join(tc.args, " "), got, tc.want, out)
		}
	}
}
