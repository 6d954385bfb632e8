// Package rig runs the whole daemon for the tests in the folders beside it: in the
// process of the test (Start) or in one of its own (StartChild), on free ports, with
// clients of its protocols, and with a log that tests wait for.
//
// It is for tests only.
package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/webservices/auth"
)

// WriteAt writes a file that only its owner reads.
func WriteAt(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// StartRefused runs serve, which must fail, and returns the errors that it logs.
func StartRefused(t *testing.T, env []string, args ...string) []string {
	t.Helper()
	code, out, errOut := Command(t, env, append([]string{"serve"}, args...)...)
	if code != commands.ExitFailure || out != "" {
		t.Errorf("serve: exit code %d, want %d; printed %q", code, commands.ExitFailure, out)
	}
	log := newLogBook()
	if _, err := log.Write([]byte(errOut)); err != nil {
		t.Fatal(err)
	}
	if len(log.bad) > 0 || len(log.rest) > 0 {
		t.Errorf("not lines of JSON with level and message: %q %q", log.bad, log.rest)
	}
	var texts []string
	lines, _ := log.Since(0)
	for _, e := range lines {
		if e.Text("message") == "ready" {
			t.Error("a daemon that was refused said that it is ready")
		}
		if e.Text("level") == "error" {
			texts = append(texts, e.Text("error"))
		}
	}
	return texts
}

// WantOne fails unless exactly one of the texts has all parts.
func WantOne(t *testing.T, texts []string, parts ...string) {
	t.Helper()
	found := 0
	for _, text := range texts {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(text, p)
		}
		if all {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d errors have %q, want 1 of these:\n%s", found, parts, strings.Join(texts, "\n"))
	}
}

// Hang ends a wait for an event that never comes. No result depends on it.
const Hang = time.Minute

// stopHang is how long a daemon may take to stop. Those of tests on a busy machine take
// seconds, although no connection is closed by force.
const stopHang = 45 * time.Second

// Entry is one line of the log.
type Entry map[string]any

// Text returns a field that is a string, or "".
func (e Entry) Text(field string) string { s, _ := e[field].(string); return s }

// logBook collects the log of a daemon and lets tests wait for lines of it.
type logBook struct {
	mu      sync.Mutex // guards the fields below
	rest    []byte
	Entries []Entry
	bad     []string      // lines that are not log lines
	more    chan struct{} // closed when a line comes
}

func newLogBook() *logBook { return &logBook{more: make(chan struct{})} }

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = append(b.rest, p...)
	for {
		line, rest, found := bytes.Cut(b.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil || e.Text("level") == "" || e.Text("message") == "" {
			b.bad = append(b.bad, string(line))
		} else {
			b.Entries = append(b.Entries, e)
		}
		b.rest = rest
		close(b.more)
		b.more = make(chan struct{})
	}
}

// Since returns the lines from number n on, and a channel that is closed when
// more come.
func (b *logBook) Since(n int) ([]Entry, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.Entries[n:]), b.more
}

// Wait returns the first line from number n on that match accepts. It gives up
// when ended is closed.
func (b *logBook) Wait(t testing.TB, what string, n int, ended <-chan struct{}, match func(Entry) bool) Entry {
	t.Helper()
	guard := time.NewTimer(Hang)
	defer guard.Stop()
	for over := false; ; {
		lines, more := b.Since(n)
		for _, e := range lines {
			if match(e) {
				return e
			}
		}
		if over {
			t.Fatalf("the daemon ended without logging %s:\n%s", what, b)
		}
		select {
		case <-more:
		case <-ended:
			over = true
		case <-guard.C:
			t.Fatalf("no line in the log for %s:\n%s", what, b)
		}
	}
}

// Len returns how many lines there are.
func (b *logBook) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.Entries)
}

// String returns all lines.
func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, e := range b.Entries {
		fmt.Fprintln(&out, e)
	}
	for _, line := range b.bad {
		fmt.Fprintf(&out, "not a log line: %q\n", line)
	}
	return out.String()
}

// Check fails the test unless every line was a log line, and ready came once, and if one holds
// the password of the accounts of tests: the log of a test says all that there is to say.
func (b *logBook) Check(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bad) > 0 || len(b.rest) > 0 {
		t.Errorf("not lines of JSON with level and message: %q, rest %q", b.bad, b.rest)
	}
	ready := 0
	for _, e := range b.Entries {
		if e.Text("message") == "ready" {
			ready++
		}
		line, _ := json.Marshal(e) // it was JSON
		for what, form := range passwordForms() {
			if bytes.Contains(line, form) {
				t.Errorf("a line of the log holds %s: %s", what, line)
			}
		}
	}
	if ready != 1 {
		t.Errorf("%d lines say ready, want 1", ready)
	}
}

// Message matches lines of the log with a message.
func Message(text string) func(Entry) bool {
	return func(e Entry) bool { return e.Text("message") == text }
}

// VerdictOn matches the verdict about an address.
func VerdictOn(peer netip.AddrPort, verdict string) func(Entry) bool {
	return func(e Entry) bool {
		return e.Text("peer") == peer.String() && strings.HasPrefix(e.Text("verdict"), verdict)
	}
}

// Variable returns the environment variable of a key.
func Variable(key, value string) string {
	return configs.EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_")) + "=" + value
}

// TestEnv puts every service on a free port of the loopback address. Probes are
// off: they change a server at a moment that a test does not choose.
func TestEnv(dir string, more ...string) []string {
	env := []string{Variable("data_dir", dir), Variable("log.format", "json"), Variable("log.level", "trace"), Variable("qr2.probe", "false"), Variable("dns.enabled", "true"), Variable("fesl.extra_listen", "")}
	for _, s := range services.All() {
		env = append(env, Variable(s.Key, "127.0.0.1:0"))
	}
	return append(env, more...)
}

// OnlyEnv is testEnv with all services off but some.
func OnlyEnv(dir string, on []string, more ...string) []string {
	var off []string
	for _, s := range services.All() {
		if name, _, _ := strings.Cut(s.Key, "."); !slices.Contains(on, name) {
			off = append(off, Variable(s.Key, ""))
		}
	}
	return TestEnv(dir, append(off, more...)...)
}

// Running is a daemon in this process.
type Running struct {
	T       testing.TB
	Env     []string
	Log     *logBook
	Address map[string]netip.AddrPort // by service
	cancel  context.CancelFunc
	Ended   chan struct{}
	code    int // once ended is closed
	out     bytes.Buffer
}

// quickTests holds the names of the tests that called quick.
var quickTests sync.Map

// Quick keeps a test of the whole daemon in the short run: one for each protocol.
func Quick(t *testing.T) { quickTests.Store(t.Name(), true) }

// Start runs `respawnd serve` and returns when it is ready. more holds
// variables, NAME=value, or arguments. In the short run it skips tests that are
// not quick.
func Start(t testing.TB, dir string, more ...string) *Running {
	t.Helper()
	PlaceKey(t, dir)
	args := []string{}
	env := TestEnv(dir)
	for _, m := range more {
		if strings.HasPrefix(m, configs.EnvPrefix) {
			env = append(env, m)
		} else {
			args = append(args, m)
		}
	}
	d := StartWithout(t, env, args...)
	for _, name := range Listening() {
		if !d.Address[name].IsValid() {
			t.Fatalf("no line says where %s listens:\n%s", name, d.Log)
		}
	}
	return d
}

// serviceKey is a key of web services: to make one takes a fifth of a start.
var serviceKey = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "respawnd-test")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, auth.KeyName)
	_, err = auth.OpenKey(path)
	text, errRead := os.ReadFile(path)
	return text, errors.Join(err, errRead, os.RemoveAll(dir))
})

// PlaceKey puts the key of web services into a data folder that exists and has none.
func PlaceKey(t testing.TB, dir string) {
	t.Helper()
	key, err := serviceKey()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, auth.KeyName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return // there is a key, or the daemon makes the folder
	}
	_, err = f.Write(key)
	Must(t, errors.Join(err, f.Close()))
}

// Listening returns the services of this build that listen on an address.
func Listening() (names []string) {
	for _, e := range daemon.List(new(services.Config)) {
		if strings.HasSuffix(e.Key, ".listen") {
			names = append(names, e.Name)
		}
	}
	return names
}

// StartWithout is start for a daemon with services off.
func StartWithout(t testing.TB, env []string, args ...string) *Running {
	t.Helper()
	return StartAs(t, "serve", env, args...)
}

// StartAs is StartWithout for another command that runs the daemon.
func StartAs(t testing.TB, command string, env []string, args ...string) *Running {
	t.Helper()
	if _, ok := quickTests.Load(t.Name()); testing.Short() && !ok {
		t.Skip("starts the whole daemon")
	}
	ctx, cancel := context.WithCancel(context.Background()) // the daemon outlives t's context until the cleanup
	d := &Running{T: t, Env: env, Log: newLogBook(), cancel: cancel, Ended: make(chan struct{})}
	go func() {
		defer close(d.Ended)
		d.code = Run(ctx, append([]string{command}, args...), env, strings.NewReader(""), &d.out, d.Log)
	}()
	t.Cleanup(func() { cancel(); <-d.Ended })
	d.Log.Wait(t, "ready", 0, d.Ended, Message("ready"))
	d.Address = addresses(t, d.Log)
	return d
}

// addresses reads the addresses of the services from the log.
func addresses(t testing.TB, log *logBook) map[string]netip.AddrPort {
	t.Helper()
	out := make(map[string]netip.AddrPort)
	lines, _ := log.Since(0)
	for _, e := range lines {
		if e.Text("message") != "listening" {
			continue
		}
		a, err := netip.ParseAddrPort(e.Text("address"))
		if err != nil {
			t.Fatalf("line %v: %v", e, err)
		}
		out[e.Text("service")] = a
	}
	return out
}

// Stop ends the daemon as a signal does and checks that it leaves nothing
// behind.
func (d *Running) Stop() {
	d.T.Helper()
	d.cancel()
	guard := time.NewTimer(stopHang)
	defer guard.Stop()
	select {
	case <-d.Ended:
	case <-guard.C:
		d.T.Fatalf("the daemon did not stop within %v", stopHang)
	}
	if d.code != 0 {
		d.T.Errorf("serve returned %d after a stop, want 0:\n%s", d.code, d.Log)
	}
	if d.out.Len() > 0 {
		d.T.Errorf("serve wrote to standard output: %q", d.out.String())
	}
	d.Log.Check(d.T)
}

// WaitFor returns the next line that match accepts, from line n on.
func (d *Running) WaitFor(what string, n int, match func(Entry) bool) Entry {
	d.T.Helper()
	return d.Log.Wait(d.T, what, n, d.Ended, match)
}

// CliEnv is the environment of commands that should find the running daemon. Once
// it ended, its port may be that of another test's daemon.
func (d *Running) CliEnv() []string {
	select {
	case <-d.Ended:
		return slices.Clone(d.Env)
	default:
	}
	return append(slices.Clone(d.Env), Variable("admin.listen", d.Address["admin"].String()))
}

// Cli runs a command for the running daemon, which must succeed.
func (d *Running) Cli(args ...string) string {
	d.T.Helper()
	return Cli(d.T, d.CliEnv(), args...)
}

// Cli runs a command, which must succeed, and returns its output.
func Cli(t testing.TB, env []string, args ...string) string {
	t.Helper()
	code, out, errOut := Command(t, env, args...)
	if code != 0 || WithoutNotes(errOut) != "" {
		t.Fatalf("respawnd %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// progressLine is one of those that "storage copy" prints while it takes long.
var progressLine = regexp.MustCompile(`^[A-Za-z_ ]+: \d+\n$`)

// WithoutNotes returns standard error without progress lines and without the notes
// about new folders and services of later versions, which testEnv causes.
func WithoutNotes(text string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "note: no daemon has run on "), strings.HasSuffix(line, "is not part of this version yet\n"), progressLine.MatchString(line):
		default:
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// Run executes a command line. The machine's installed service is not looked for.
func Run(ctx context.Context, args, env []string, in io.Reader, out, errOut io.Writer) int {
	env = append(slices.Clone(env), "GOGC="+strconv.Itoa(collectInTests)) // the setting is that of all tests
	return commands.Run(ctx, cli.New(env, in, out, errOut), args)
}

// Command runs a command and returns its exit code and its output.
func Command(t testing.TB, env []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	guard := Hang
	if slices.Contains(args, "selftest") { // many steps, each with a limit of its own
		guard = 4 * Hang
	}
	if len(args) > 0 && args[0] == "query" && !slices.Contains(args, "--timeout") { // a server on a busy machine takes seconds
		args = append(slices.Clone(args), "--timeout", "30s")
	}
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	var o, e bytes.Buffer
	code = Run(ctx, args, env, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// Refused runs a command that must fail with the exit code and name every part.
func Refused(t testing.TB, want int, env, args []string, parts ...string) {
	t.Helper()
	code, out, errOut := Command(t, env, args...)
	if code != want || out != "" {
		t.Errorf("respawnd %s: exit code %d, want %d; printed %q, want nothing", strings.Join(args, " "), code, want, out)
	}
	for _, p := range parts {
		if !strings.Contains(errOut, p) {
			t.Errorf("respawnd %s: the message lacks %q:\n%s", strings.Join(args, " "), p, errOut)
		}
	}
}

// WriteFile writes a file into a new folder and returns its path.
func WriteFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Names returns the names in a folder, sorted.
func Names(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, e := range list {
		set[e.Name()] = true
	}
	return slices.Sorted(maps.Keys(set))
}
