package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/storage"
)

// builtProgram builds the program once for all tests that need a process of it. The
// folder is removed by TestMain.
var builtProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "respawnd")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*hang)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// buildDir is set once, by TestMain.
var buildDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "respawnd-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	buildDir = dir
	m.Run()
}

// child is a daemon in a process of its own.
type child struct {
	running
	process *os.Process
	state   *os.ProcessState // once ended is closed
}

// startChild runs the built program and returns when it is ready. What is in
// more are variables, NAME=value, or arguments.
func startChild(t testing.TB, dir string, more ...string) *child {
	t.Helper()
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
	path, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{running: running{t: t, env: env, log: newLogBook(), ended: make(chan struct{})}}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, append([]string{"serve"}, args...)...) // it is stopped by hand
	cmd.Dir = workingDir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = &c.out, c.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process = cmd.Process
	go func() {
		defer close(c.ended)
		_ = cmd.Wait() // its state says it all
		c.state = cmd.ProcessState
	}()
	t.Cleanup(c.kill)
	c.waitFor("ready", 0, message("ready"))
	c.address = addresses(t, c.log)
	return c
}

func (c *child) kill() {
	_ = c.process.Kill() // it may have ended
	<-c.ended
}

func (c *child) client(dir string) *admin.Client {
	c.t.Helper()
	token, err := admin.ReadToken(filepath.Join(dir, tokenName))
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := admin.NewClient(c.address["admin"].String(), token)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// A ban that was acknowledged is there after a crash, whenever that comes.
func TestAcknowledgedBansSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var acknowledged []netip.Prefix
	next := 0
	const rounds = 5
	for round := range rounds {
		c := startChild(t, dir)
		client := c.client(dir)
		checkBans(t, client, acknowledged, round)

		acks := make(chan netip.Prefix)
		var adding sync.WaitGroup
		for range 3 {
			first := next
			next += 10_000
			adding.Go(func() { addBans(t, client, first, acks) })
		}
		go func() { adding.Wait(); close(acks) }()
		left := 5 + rand.IntN(20)
		for p := range acks {
			acknowledged = append(acknowledged, p)
			if left--; left == 0 {
				_ = c.process.Kill() // others are under way
			}
		}
		c.kill()
	}
	c := startChild(t, dir)
	checkBans(t, c.client(dir), acknowledged, rounds)
	c.kill()

	// The command line finds them too, and the file is whole.
	out := cli(t, testEnv(dir), "ban", "list")
	for _, p := range acknowledged {
		if !strings.Contains(out, p.String()) {
			t.Errorf("ban list lacks %v", p)
		}
	}
}

// addBans adds bans until the daemon is gone.
func addBans(t *testing.T, client *admin.Client, n int, acks chan<- netip.Prefix) {
	for ; ; n++ {
		p, err := bans.ParsePrefix(fmt.Sprintf("10.%d.%d.%d", n>>16&0xFF, n>>8&0xFF, n&0xFF))
		if err != nil {
			t.Error(err)
			return
		}
		if client.AddBan(t.Context(), storage.Ban{Prefix: p, Scope: storage.ScopeAll, Reason: "kill test"}) != nil {
			return
		}
		acks <- p
	}
}

func checkBans(t *testing.T, client *admin.Client, want []netip.Prefix, round int) {
	t.Helper()
	list, err := client.Bans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[netip.Prefix]bool)
	for _, b := range list {
		have[b.Prefix] = true
	}
	for _, p := range want {
		if !have[p] {
			t.Errorf("after kill %d the ban of %v is gone, although it was acknowledged", round, p)
		}
	}
}

func TestBuiltProgramTellsItsExitCode(t *testing.T) {
	t.Parallel()
	path, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, 0},
		{[]string{"check", "--log-level", "loud"}, exitFailure},
		{[]string{"no-such-command"}, exitUsage},
	} {
		cmd := exec.CommandContext(t.Context(), path, tc.args...)
		out, _ := cmd.CombinedOutput() // the exit code says the rest
		if got := cmd.ProcessState.ExitCode(); got != tc.want {
			t.Errorf("respawnd %s: exit code %d, want %d\n%s", strings.Join(tc.args, " "), got, tc.want, out)
		}
	}
}
