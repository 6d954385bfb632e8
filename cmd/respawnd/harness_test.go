package main

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

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/daemon"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/webservices/auth"
)

// hang ends a wait for an event that never comes. No result depends on it.
const hang = time.Minute

// stopHang is how long a daemon may take to stop. Those of tests on a busy machine take
// seconds, although no connection is closed by force.
const stopHang = 45 * time.Second

// entry is one line of the log.
type entry map[string]any

func (e entry) text(field string) string { s, _ := e[field].(string); return s }

// logBook collects the log of a daemon and lets tests wait for lines of it.
type logBook struct {
	mu      sync.Mutex // guards the fields below
	rest    []byte
	entries []entry
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
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || e.text("level") == "" || e.text("message") == "" {
			b.bad = append(b.bad, string(line))
		} else {
			b.entries = append(b.entries, e)
		}
		b.rest = rest
		close(b.more)
		b.more = make(chan struct{})
	}
}

// since returns the lines from number n on, and a channel that is closed when
// more come.
func (b *logBook) since(n int) ([]entry, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries[n:]), b.more
}

// wait returns the first line from number n on that match accepts. It gives up
// when ended is closed.
func (b *logBook) wait(t testing.TB, what string, n int, ended <-chan struct{}, match func(entry) bool) entry {
	t.Helper()
	guard := time.NewTimer(hang)
	defer guard.Stop()
	for over := false; ; {
		lines, more := b.since(n)
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

// len returns how many lines there are.
func (b *logBook) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// String returns all lines.
func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, e := range b.entries {
		fmt.Fprintln(&out, e)
	}
	for _, line := range b.bad {
		fmt.Fprintf(&out, "not a log line: %q\n", line)
	}
	return out.String()
}

// check fails the test unless every line was a log line, and ready came once.
func (b *logBook) check(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bad) > 0 || len(b.rest) > 0 {
		t.Errorf("not lines of JSON with level and message: %q, rest %q", b.bad, b.rest)
	}
	ready := 0
	for _, e := range b.entries {
		if e.text("message") == "ready" {
			ready++
		}
	}
	if ready != 1 {
		t.Errorf("%d lines say ready, want 1", ready)
	}
}

func message(text string) func(entry) bool {
	return func(e entry) bool { return e.text("message") == text }
}

// verdictOn matches the verdict about an address.
func verdictOn(peer netip.AddrPort, verdict string) func(entry) bool {
	return func(e entry) bool {
		return e.text("peer") == peer.String() && strings.HasPrefix(e.text("verdict"), verdict)
	}
}

// variable returns the environment variable of a key.
func variable(key, value string) string {
	return configs.EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_")) + "=" + value
}

// testEnv puts every service on a free port of the loopback address. Probes are
// off: they change a server at a moment that a test does not choose.
func testEnv(dir string, more ...string) []string {
	env := []string{variable("data_dir", dir), variable("log.format", "json"), variable("qr2.probe", "false"), variable("dns.enabled", "true")}
	for _, s := range services.All() {
		env = append(env, variable(s.Key, "127.0.0.1:0"))
	}
	return append(env, more...)
}

// onlyEnv is testEnv with all services off but some.
func onlyEnv(dir string, on []string, more ...string) []string {
	var off []string
	for _, s := range services.All() {
		if name, _, _ := strings.Cut(s.Key, "."); !slices.Contains(on, name) {
			off = append(off, variable(s.Key, ""))
		}
	}
	return testEnv(dir, append(off, more...)...)
}

// running is a daemon in this process.
type running struct {
	t       testing.TB
	env     []string
	log     *logBook
	address map[string]netip.AddrPort // by service
	cancel  context.CancelFunc
	ended   chan struct{}
	code    int // once ended is closed
	out     bytes.Buffer
}

// quickTests holds the names of the tests that called quick.
var quickTests sync.Map

// quick keeps a test of the whole daemon in the short run: one for each protocol.
func quick(t *testing.T) { quickTests.Store(t.Name(), true) }

// start runs `respawnd serve` and returns when it is ready. more holds
// variables, NAME=value, or arguments. In the short run it skips tests that are
// not quick.
func start(t testing.TB, dir string, more ...string) *running {
	t.Helper()
	placeKey(t, dir)
	args := []string{}
	env := testEnv(dir)
	for _, m := range more {
		if strings.HasPrefix(m, configs.EnvPrefix) {
			env = append(env, m)
		} else {
			args = append(args, m)
		}
	}
	d := startWithout(t, env, args...)
	for _, name := range listening() {
		if !d.address[name].IsValid() {
			t.Fatalf("no line says where %s listens:\n%s", name, d.log)
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

// placeKey puts the key of web services into a data folder that exists and has none.
func placeKey(t testing.TB, dir string) {
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
	must(t, errors.Join(err, f.Close()))
}

// listening returns the services of this build that listen on an address.
func listening() (names []string) {
	for _, e := range daemon.List(new(services.Config)) {
		if strings.HasSuffix(e.Key, ".listen") {
			names = append(names, e.Name)
		}
	}
	return names
}

// startWithout is start for a daemon with services off.
func startWithout(t testing.TB, env []string, args ...string) *running {
	t.Helper()
	if _, ok := quickTests.Load(t.Name()); testing.Short() && !ok {
		t.Skip("starts the whole daemon")
	}
	ctx, cancel := context.WithCancel(context.Background()) // the daemon outlives t's context until the cleanup
	d := &running{t: t, env: env, log: newLogBook(), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		d.code = run(ctx, append([]string{"serve"}, args...), env, strings.NewReader(""), &d.out, d.log)
	}()
	t.Cleanup(func() { cancel(); <-d.ended })
	d.log.wait(t, "ready", 0, d.ended, message("ready"))
	d.address = addresses(t, d.log)
	return d
}

// addresses reads the addresses of the services from the log.
func addresses(t testing.TB, log *logBook) map[string]netip.AddrPort {
	t.Helper()
	out := make(map[string]netip.AddrPort)
	lines, _ := log.since(0)
	for _, e := range lines {
		if e.text("message") != "listening" {
			continue
		}
		a, err := netip.ParseAddrPort(e.text("address"))
		if err != nil {
			t.Fatalf("line %v: %v", e, err)
		}
		out[e.text("service")] = a
	}
	return out
}

// stop ends the daemon as a signal does and checks that it leaves nothing
// behind.
func (d *running) stop() {
	d.t.Helper()
	d.cancel()
	guard := time.NewTimer(stopHang)
	defer guard.Stop()
	select {
	case <-d.ended:
	case <-guard.C:
		d.t.Fatalf("the daemon did not stop within %v", stopHang)
	}
	if d.code != 0 {
		d.t.Errorf("serve returned %d after a stop, want 0:\n%s", d.code, d.log)
	}
	if d.out.Len() > 0 {
		d.t.Errorf("serve wrote to standard output: %q", d.out.String())
	}
	d.log.check(d.t)
}

// waitFor returns the next line that match accepts, from line n on.
func (d *running) waitFor(what string, n int, match func(entry) bool) entry {
	d.t.Helper()
	return d.log.wait(d.t, what, n, d.ended, match)
}

// cliEnv is the environment of commands that should find the running daemon. Once
// it ended, its port may be that of another test's daemon.
func (d *running) cliEnv() []string {
	select {
	case <-d.ended:
		return slices.Clone(d.env)
	default:
	}
	return append(slices.Clone(d.env), variable("admin.listen", d.address["admin"].String()))
}

// cli runs a command for the running daemon, which must succeed.
func (d *running) cli(args ...string) string {
	d.t.Helper()
	return cli(d.t, d.cliEnv(), args...)
}

// cli runs a command, which must succeed, and returns its output.
func cli(t testing.TB, env []string, args ...string) string {
	t.Helper()
	code, out, errOut := command(t, env, args...)
	if code != 0 || withoutNotes(errOut) != "" {
		t.Fatalf("respawnd %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// progressLine is one of those that "storage copy" prints while it takes long.
var progressLine = regexp.MustCompile(`^[A-Za-z ]+: \d+\n$`)

// withoutNotes returns standard error without progress lines and without the notes
// about new folders and services of later versions, which testEnv causes.
func withoutNotes(text string) string {
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

// run executes a command line. The machine's installed service is not looked for.
func run(ctx context.Context, args, env []string, in io.Reader, out, errOut io.Writer) int {
	env = append(slices.Clone(env), "GOGC="+strconv.Itoa(collectInTests)) // the setting is that of all tests
	return newProgram(env, in, out, errOut).run(ctx, args)
}

// command runs a command and returns its exit code and its output.
func command(t testing.TB, env []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	guard := hang
	if slices.Contains(args, "selftest") { // many steps, each with a limit of its own
		guard = 4 * hang
	}
	if len(args) > 0 && args[0] == "query" && !slices.Contains(args, "--timeout") { // a server on a busy machine takes seconds
		args = append(slices.Clone(args), "--timeout", "30s")
	}
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	var o, e bytes.Buffer
	code = run(ctx, args, env, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// refused runs a command that must fail with the exit code and name every part.
func refused(t testing.TB, want int, env, args []string, parts ...string) {
	t.Helper()
	code, out, errOut := command(t, env, args...)
	if code != want || out != "" {
		t.Errorf("respawnd %s: exit code %d, want %d; printed %q, want nothing", strings.Join(args, " "), code, want, out)
	}
	for _, p := range parts {
		if !strings.Contains(errOut, p) {
			t.Errorf("respawnd %s: the message lacks %q:\n%s", strings.Join(args, " "), p, errOut)
		}
	}
}

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names returns the names in a folder, sorted.
func names(t testing.TB, dir string) []string {
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
