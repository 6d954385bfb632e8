package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/pgtest"
)

// program is the built respawnd.
var program string

func TestMain(m *testing.M) {
	ctx := context.Background()
	if os.Getenv(echoVariable) != "" {
		main()
		return
	}
	err := withProgram(ctx, "", func(path string) error {
		program = path
		if m.Run() != 0 {
			return errors.New("tests failed")
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var p phase
	if got := p.quantile(0.5); got != 0 {
		t.Errorf("quantile of nothing: got %v, want 0", got)
	}
	for i := range 100 {
		p.times = append(p.times, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.505: 51, 0.99: 99, 1: 100} {
		if got := p.quantile(q); got != want {
			t.Errorf("quantile(%v) of 1 to 100: got %v, want %v", q, got, want)
		}
	}
}

// sleeper is a user whose operations take the given times, then none.
type sleeper struct {
	naps   []time.Duration
	begins []time.Time
	err    error
}

func (s *sleeper) do(context.Context) error {
	s.begins = append(s.begins, time.Now())
	if n := len(s.begins); n <= len(s.naps) {
		time.Sleep(s.naps[n-1])
	}
	return s.err
}

func (s *sleeper) close(bool) {}

func TestOpenLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &sleeper{naps: []time.Duration{350 * time.Millisecond}}
		p := openLoop(t.Context(), []user{u}, 10, time.Second, newTally(), "nap")
		// They are due every 100 ms; three come late.
		if len(p.times) != 10 || p.took != 900*time.Millisecond {
			t.Fatalf("openLoop: %d operations in %v, want 10 in 900ms", len(p.times), p.took)
		}
		for i, want := range []int64{350, 250, 150, 50, 0} {
			if got := p.times[9-i].Milliseconds(); got != want {
				t.Errorf("latency %d of %v: got %v ms, want %v ms", i, p.times, got, want)
			}
		}
	})
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var naps []time.Duration
		for range 100 {
			naps = append(naps, 30*time.Millisecond)
		}
		u, broken := &sleeper{naps: naps}, &sleeper{naps: naps, err: io.ErrUnexpectedEOF}
		tally := newTally()
		p := closedLoop(t.Context(), []user{u, broken}, 90*time.Millisecond, tally, "nap")
		if len(p.times) != 3 || p.lost != 3 || p.took != 90*time.Millisecond {
			t.Errorf("closedLoop: %d done, %d lost in %v, want 3, 3 in 90ms", len(p.times), p.lost, p.took)
		}
		var out strings.Builder
		tally.write(&out)
		if want := "3  FAILED nap: the connection was closed\n"; !strings.HasSuffix(out.String(), want) {
			t.Errorf("tally: got %q, want %q", out.String(), want)
		}
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		grow func(m *sample, i int)
		want error
	}{
		"flat":       {func(*sample, int) {}, nil},
		"warm-up":    {func(m *sample, i int) { m.rss += int64(min(i, 3)) << 24 }, nil},
		"memory":     {func(m *sample, i int) { m.rss += int64(i) << 22 }, errSoak},
		"heap":       {func(m *sample, i int) { m.heap += int64(i) << 22 }, errSoak},
		"goroutines": {func(m *sample, i int) { m.goroutines += 20 * i }, errSoak},
		"files":      {func(m *sample, i int) { m.fds += 20 * i }, errSoak},
	} {
		s := &soaker{out: io.Discard, world: &world{daemon: &child{}}, tally: newTally()}
		s.tally.count("x", 0, nil)
		for i := range 18 {
			m := sample{after: time.Duration(i) * time.Minute, cost: cost{rss: 50 << 20, fds: 100}, heap: 40 << 20, goroutines: 200}
			tc.grow(&m, i)
			s.samples = append(s.samples, m)
		}
		if err := s.summary(); !errors.Is(err, tc.want) {
			t.Errorf("%s: summary returned %v, want %v", name, err, tc.want)
		}
	}
	s := &soaker{out: io.Discard, world: &world{daemon: &child{errors: 1}}, tally: newTally()}
	s.tally.count("x", 0, nil)
	if err := s.summary(); !errors.Is(err, errSoak) {
		t.Errorf("with a line of an error: summary returned %v, want %v", err, errSoak)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	_, err := dialTCP(t.Context(), address(groupWeb, 0), netip.MustParseAddrPort("127.0.0.1:1"))
	if got, want := reason(err), "connection refused"; got != want {
		t.Errorf("reason of %q: got %q, want %q", err, got, want)
	}
	if got, want := reason(fmt.Errorf("challenge: %w", os.ErrDeadlineExceeded)), "challenge: no answer in time"; got != want {
		t.Errorf("reason: got %q, want %q", got, want)
	}
	h, err := newHost(&world{daemon: &child{address: map[string]netip.AddrPort{"qr2": silentPort(t)}}}, address(groupHosts, 0), "x", game, secret)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close(true)
	past, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for want, err := range map[string]error{
		"no challenge for a heartbeat: no answer in time": h.Register(past),
		"read: no answer in time":                         h.Keepalive(past),
	} {
		if got := reason(err); got != want {
			t.Errorf("reason of %q: got %q, want %q", err, got, want)
		}
	}
}

// silentPort returns the address of a UDP socket that answers nothing.
func silentPort(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

func TestQueues(t *testing.T) {
	t.Parallel()
	const table = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  101: 0100007F:ADC2 00000000:0000 07 00000000:0007FD40 00:00000000 00000000     0        0 7 2 0000000000000000 842
  102: 02000A7F:ADC2 0100007F:ADC2 01 00000000:00000340 00:00000000 00000000     0        0 8 2 0000000000000000 1
  103: 0100007F:ADC2 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 9 2 0000000000000000 8
`
	queues, err := parseQueues(table)
	if err != nil {
		t.Fatal(err)
	}
	qr2 := netip.MustParseAddrPort("127.0.0.1:44482")
	if got, want := queues[qr2], (queue{0x7FD40, 850}); got != want {
		t.Errorf("queue of the service: got %v, want %v", got, want)
	}
	if got, want := queues[netip.MustParseAddrPort("127.10.0.2:44482")], (queue{0x340, 1}); got != want {
		t.Errorf("queue of a client: got %v, want %v", got, want)
	}
	services := map[string]netip.AddrPort{"qr2": qr2, "gpcm": netip.MustParseAddrPort("127.0.0.1:1")}
	worst := make(worstQueues)
	if got, want := worst.note(services, queues), 0x7FD40; got != want {
		t.Errorf("longest queue: got %d, want %d", got, want)
	}
	worst.note(services, map[netip.AddrPort]queue{qr2: {0, 851}})
	var out strings.Builder
	worst.write(&out)
	if got, want := out.String(), "qr2 read too slowly: up to 511 KiB waited in its socket at a sample, 851 packets found it full\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := parseQueues("heading\nshort line\n"); !errors.Is(err, errSocketTable) {
		t.Errorf("short line: got %v, want %v", err, errSocketTable)
	}
}

// The tests of whole runs are not parallel: they check for files and processes left
// behind.

func TestTable(t *testing.T) {
	files := openFiles(t)
	var out bytes.Buffer
	if err := table(t.Context(), &out, tableOptions{program: program, length: 50 * time.Millisecond}); err != nil {
		t.Fatalf("table: %v\n%s", err, &out)
	}
	for _, r := range rows() {
		if !strings.Contains(out.String(), "\n"+r.name) {
			t.Errorf("no line for %s:\n%s", r.name, &out)
		}
	}
	wantFiles(t, files)
}

func TestLimit(t *testing.T) {
	files := openFiles(t)
	var out bytes.Buffer
	opt := limitOptions{program: program, length: 50 * time.Millisecond, openLoop: 100 * time.Millisecond, scale: 0.002, accounts: 50_000}
	if err := limit(t.Context(), &out, opt); err != nil {
		t.Fatalf("limit: %v\n%s", err, &out)
	}
	for _, want := range []string{
		"list of 100, a filter", "list of 100, one filter, 2,000 changes", "first list of 100 after they were restored", "registration", "heartbeat and keepalive, 400 servers",
		"memory of each of 100", "40 idle sessions", "sign-in", "relayed message", "start with 100 servers and 100 accounts", "a save", "a stop with 400", "1 listeners", "push to 1 browsers", "lost of 30",
		"GET /servers?q=load", "GET /api/v1/stats", "database, of each of 100",
	} {
		if !strings.Contains(out.String(), "\n"+want) {
			t.Errorf("no line for %s", want)
		}
	}
	if t.Failed() {
		t.Log(&out)
	}
	wantFiles(t, files)
}

func TestScale(t *testing.T) {
	page := filepath.Join(t.TempDir(), "costs.md")
	if err := os.WriteFile(page, []byte("# Costs\n\n"+scaleHeading+"\n\nold\n\n## Disk\n\nmuch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	opt := scaleOptions{program: program, length: 100 * time.Millisecond, scale: 0.01, write: page}
	if err := curve(t.Context(), &out, opt); err != nil {
		t.Fatalf("curve: %v\n%s", err, &out)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Costs\n\n" + scaleHeading + "\n\nMeasured on ", "\n| 2000 | 10 |", "\n| 10 | 200 |", "\n\n## Disk\n\nmuch\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Errorf("the section that was there is still there:\n%s", text)
	}
	if err := replaceSection(page, "## None", ""); !errors.Is(err, errNoSection) {
		t.Errorf("replaceSection of a heading that is missing: %v, want errNoSection", err)
	}
}

func TestMachines(t *testing.T) {
	t.Parallel()
	for want, load := range map[string]paced{
		"1 core and 512 MiB": {cores: 0.5, memory: 256}, "1 core and 1 GiB": {cores: 0.5, memory: 257}, "2 cores and 2 GiB": {cores: 0.51, memory: 100},
		"16 cores and 32 GiB": {cores: 8, memory: 100}, "more than one machine": {cores: 8.1, memory: 1},
	} {
		if got := load.machine(); got != want {
			t.Errorf("machine for %+v: got %q, want %q", load, got, want)
		}
	}
	rows := []paced{
		{servers: 1, players: 10, memory: 100},
		{servers: 2, players: 10, memory: 100},
		{servers: 3, players: 10, memory: 300},
		{servers: 4, players: 10, memory: 1 << 20},
		{servers: 1, players: 20, memory: 300},
	}
	want := "- 1 core and 512 MiB: 2 servers with 10 players.\n- 1 core and 1 GiB: 3 servers with 10 players, or 1 servers with 20 players.\n"
	if got := statements(rows); got != want {
		t.Errorf("statements: got %q, want %q", got, want)
	}
}

// TestLimit_unknown_part has a part that does not exist.
func TestLimit_unknown_part(t *testing.T) {
	err := limit(t.Context(), io.Discard, limitOptions{only: "nothing", scale: 1})
	if err == nil || !strings.Contains(err.Error(), "open loop") {
		t.Errorf("limit of an unknown part: %v, want an error that names those there are", err)
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 1234.5: "1234", 100: "100", 99.5: "99.5", 10: "10.0", 1.234: "1.23", 0.1: "0.100", 0.01234: "0.0123"} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v): got %s, want %s", v, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		f     figure
		scale float64
		want  string
	}{
		"time reached":    {figure{unit: "ms", now: 45, goal: 45}, 1, "reached"},
		"time missed":     {figure{unit: "ms", now: 46, goal: 45}, 1, "MISSED"},
		"ratio reached":   {figure{unit: "us", now: 12, bare: 10, goal: 1.2}, 1, "reached"},
		"ratio missed":    {figure{unit: "us", now: 12.1, bare: 10, goal: 1.2}, 1, "MISSED"},
		"smaller numbers": {figure{unit: "ms", now: 46, goal: 45}, 0.5, ""},
		"no goal":         {figure{unit: "ms", now: 46}, 1, ""},
	} {
		var out strings.Builder
		(&bench{opt: limitOptions{scale: tc.scale}, out: &out}).write(tc.f)
		line := strings.Split(out.String(), "|")
		if got := strings.TrimSpace(line[len(line)-1]); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestSoak(t *testing.T) {
	files := openFiles(t)
	var out bytes.Buffer
	err := soak(t.Context(), &out, soakOptions{program: program, length: 3 * time.Second, every: time.Second, scale: 2})
	if err != nil || strings.Contains(out.String(), "FAILED") {
		t.Fatalf("soak: %v\n%s", err, &out)
	}
	for _, c := range soakers() {
		if !strings.Contains(out.String(), c.name) {
			t.Errorf("no user did %s:\n%s", c.name, &out)
		}
	}
	wantFiles(t, files)
}

func TestCluster(t *testing.T) {
	pgtest.New(t) // or the test is skipped
	files := openFiles(t)
	var out bytes.Buffer
	err := clustered(t.Context(), &out, clusterOptions{
		program: program, length: 300 * time.Millisecond, rounds: 1, servers: 300, changes: 100, fresh: 20, pairs: 2,
	})
	if err != nil {
		t.Fatalf("cluster: %v\n%s", err, &out)
	}
	for _, line := range []string{"lone node, for each: ", "3 nodes, for each: ", "gpcm login and logout ", "buddy message to another node ", "300 servers listed ", "new server on other nodes: p99 "} {
		if !strings.Contains(out.String(), "\n"+line) {
			t.Errorf("no line %q:\n%s", line, &out)
		}
	}
	wantFiles(t, files)
}

func TestStartDaemonFails(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "nothing"), "ends": "/bin/true"} {
		if d, err := startDaemon(t.Context(), path, t.TempDir()); err == nil {
			t.Errorf("%s: startDaemon returned no error", name)
			_ = d.stop()
		}
	}
}

// wantFiles waits until no more files are open than there were before: connections may be
// closed a moment after the daemon that had them.
func wantFiles(t *testing.T, before []string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now := openFiles(t)
		if len(now) <= len(before) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("open files before %q, after %q", before, now)
		}
	}
}

// openFiles returns the targets of the descriptors of this process.
func openFiles(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			out = append(out, name)
		}
	}
	return out
}
