package rig

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

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/operator"
)

// usedGames are the built-in games that tests of this package use.
var usedGames = []string{TestGame, "battlefield2", "callofduty", "callofduty2", "callofduty4", "cc3tibwars", "cc3xp1", "ccgenzh", "civ4", "cstrike", "doom3", "halor", "lotrbme2r", "lotrbme2wk", "lotrconquest", "mariokartwii", "mercs2", "mohairborne", "nwn", "openarena", "quake2", "quake4", "quakeworld", "prey", "redalert3pc", "source", "stella", "swat4", "ut", "ut2004", "zandronum"}

// fewGames cuts the built-in lists to the games that tests use. Each start and each
// command reads the lists, and with all 2400 games that takes longer than everything
// else together, most of all with the race detector.
func fewGames() {
	keep := func(table string, column int) string {
		var kept strings.Builder
		for line := range strings.Lines(table) {
			if row := strings.Split(line, "\t"); len(row) > column && slices.Contains(usedGames, row[column]) {
				kept.WriteString(line)
			}
		}
		return kept.String()
	}
	configs.GameTable, configs.RoomTable, configs.EditionTable = keep(configs.GameTable, 0), keep(configs.RoomTable, 1), keep(configs.EditionTable, 0)
	facts := []byte("games:")
	for _, record := range strings.Split(string(configs.Games), "\n  - ")[1:] {
		_, name, _ := strings.Cut(record, "name: ")
		if end := strings.IndexAny(name, ",}\n"); slices.Contains(usedGames, name[:max(end, 0)]) {
			facts = append(facts, "\n  - "+record...)
		}
	}
	configs.Games = append(facts, '\n')
}

// AsProgram is the variable that makes the test binary be the program. So the
// program has the race detector and the coverage counters if the tests have them,
// and nothing is built twice.
const AsProgram = "TEST_AS_RESPAWND"

// collectInTests is how much garbage tests and their daemons let pile up, in percent: at
// the daemon's own setting, collecting takes a third of the time of short tests.
const collectInTests = 400

// UsualCollector is the environment of daemons that collect garbage as their users' do.
const UsualCollector = "GOGC="

// AllGames is the value of asProgram that leaves the built-in tables as they are.
const AllGames = "all games"

// Main is TestMain of every package of tests: it makes the test binary be the program
// where a test starts it, and sets what all tests share.
func Main(m *testing.M) {
	as := os.Getenv(AsProgram)
	if as != AllGames {
		fewGames()
	}
	if as != "" {
		os.Exit(commands.Main("dev"))
	}
	debug.SetGCPercent(collectInTests)
	// For all processes that tests start. With the race detector a process would wait
	// a second at its end.
	for name, value := range map[string]string{
		AsProgram: "1", "GOGC": strconv.Itoa(collectInTests), "GORACE": "atexit_sleep_ms=0 " + os.Getenv("GORACE"),
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

// BuiltProgram returns the path of the program. Tests that need it start processes, and
// are left out of the short run.
func BuiltProgram(t testing.TB) string {
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

// Child is a daemon in a process of its own.
type Child struct {
	Running
	Process *os.Process
	State   *os.ProcessState // once ended is closed
}

// StartChild runs the built program and returns when it is ready. more holds
// variables, NAME=value, or arguments.
func StartChild(t testing.TB, dir string, more ...string) *Child {
	t.Helper()
	PlaceKey(t, dir)
	var args, vars []string
	for _, m := range more {
		if strings.Contains(m, "=") && !strings.HasPrefix(m, "-") {
			vars = append(vars, m)
		} else {
			args = append(args, m)
		}
	}
	return StartProcess(t, "", TestEnv(dir, vars...), args...)
}

// StartProcess is startChild in a working directory.
func StartProcess(t testing.TB, workingDir string, env []string, args ...string) *Child {
	t.Helper()
	return Launch(t, workingDir, nil, env, args...).begin()
}

// StartWrapped is startChild for a program that a wrapper executes.
func StartWrapped(t testing.TB, wrapper, env []string, args ...string) *Child {
	t.Helper()
	return Launch(t, "", wrapper, env, args...).begin()
}

// Launch starts the program and does not wait for anything.
func Launch(t testing.TB, workingDir string, wrapper, env []string, args ...string) *Child {
	t.Helper()
	path := BuiltProgram(t)
	c := &Child{Running: Running{T: t, Env: env, Log: newLogBook(), Ended: make(chan struct{})}}
	line := append(append(slices.Clone(wrapper), path, "serve"), args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), line[0], line[1:]...) // it is stopped by hand
	cmd.Dir = workingDir
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = &c.out, c.Log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.Process = cmd.Process
	go func() {
		defer close(c.Ended)
		_ = cmd.Wait() // the caller reads its state
		c.State = cmd.ProcessState
	}()
	t.Cleanup(c.Kill)
	return c
}

// begin waits until the daemon is ready.
func (c *Child) begin() *Child {
	c.T.Helper()
	c.WaitFor("ready", 0, Message("ready"))
	c.Address = addresses(c.T, c.Log)
	return c
}

// Kill kills the daemon, as kill -9 does, and waits for its end.
func (c *Child) Kill() {
	c.T.Helper()
	_ = c.Process.Kill() // it may have ended
	<-c.Ended
	if log := c.Log.String(); strings.Contains(log, raceReport) {
		c.T.Errorf("data race in the daemon:\n%s", log)
	}
}

// raceReport is in the first line of a report of the race detector.
const raceReport = "WARNING: DATA RACE"

// Client returns a client of the daemon's API for operators.
func (c *Child) Client(dir string) operator.Conn {
	c.T.Helper()
	token, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile))
	if err != nil {
		c.T.Fatal(err)
	}
	client, err := admin.NewClient(c.Address["admin"].String(), token)
	if err != nil {
		c.T.Fatal(err)
	}
	return client
}
