package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/quake2"
)

// listed is how many servers a list has.
const listed = 1000

// row is an operation that is measured, on a fresh daemon.
type row struct {
	name    string
	users   int
	open    opener
	prepare func(ctx context.Context, w *world) ([]user, error) // opens users that are there before; nil: none
	// floor is the equivalent work of bare servers, or of the cipher: how often of which reference.
	floor []part
}

// part is a reference and how often it is contained.
type part struct {
	times float64
	name  string
}

// The references, measured in the same run. The cipher and the signature are not a
// server's.
const (
	refUDP     = "udp"          // a datagram in and one out
	refTCP     = "tcp"          // a request and an answer on a held connection
	refConnect = "connect"      // the same with a connection of its own
	refList    = "list"         // a connection and 94.5 KB
	refEpic    = "epic"         // a connection, two messages and 67 KB
	refHTML    = "html"         // 54 KB with net/http on a held connection
	refJSON    = "json"         // 1,086 KB in the same way
	refFan     = "fan"          // a line in and the same out to 200 held connections
	refPost    = "post"         // a sign-in's bytes with net/http, on a connection of its own
	refCipher  = "cipher"       // 94.5 KB enciphered
	refSign    = "sign"         // a signature of RSA-1024
	refSigned  = "post, signed" // refPost with a signature of RSA-1024 for each
)

// references are operations of the bare server.
func references() []row {
	return []row{
		{name: refUDP, users: 64, open: openPacketEcho},
		{name: refTCP, users: 64, open: streamEchoes(echoAnswer, true)},
		{name: refConnect, users: 64, open: streamEchoes(echoAnswer, false)},
		{name: refList, users: 4, open: streamEchoes(echoList, false)},
		{name: refEpic, users: 16, open: openEpicEcho},
		{name: refPost, users: 16, open: openPoster},
		{name: refSigned, users: 16, open: openSigned},
		{name: refFan, users: 1, open: openBareHall},
		{name: refHTML, users: 8, open: readers("/" + strconv.Itoa(echoHTML))},
		{name: refJSON, users: 8, open: readers("/" + strconv.Itoa(echoJSON))},
	}
}

// rows are the operations of respawnd. A datagram counts as half an echo.
func rows() []row {
	hosts := populate(listed, openHost)
	return []row{
		{"qr2 register and leave", 16, openNewcomer, nil, []part{{2.5, refUDP}}},
		{"qr2 heartbeat, keepalive", 64, several(16, openHost), nil, []part{{1.5, refUDP}}},
		{"qr2 keepalive", 64, several(16, openIdleHost), nil, []part{{1, refUDP}}},
		{"serverbrowse list of 1,000", 4, counting(openBrowser), hosts, []part{{1, refList}, {1, refCipher}}},
		{"legacylist list of 1,000", 4, counting(openOldBrowser), hosts, []part{{1, refConnect}, {1, refTCP}}},
		{"gpcm login and logout", 16, visitors(0), accounts(16), []part{{1, refConnect}, {1, refTCP}}},
		{"gpcm message", 32, openPair, buddies(64), []part{{1, refTCP}}},
		{"webservices sign-in", 16, openSOAPPlayer, accounts(16), []part{{1, refSigned}}},
		{"webservices console", 16, openConsole, nil, []part{{1, refPost}}},
		{"webservices upload of 4 KiB", 16, openUploader, accounts(16), []part{{1, refPost}}},
		{"webservices download, 4 KiB", 16, openDownloader, accounts(16), []part{{1, refPost}}},
		{"sake durable create", 64, openRecordWriter, accounts(64), []part{{1, refPost}}},
		{"sake GetMyRecords, 10", 16, openRecordReader, accounts(16), []part{{1, refPost}}},
		{"webservices match report", 64, openMatchPlayer, accounts(64), []part{{3, refPost}}},
		{"webservices BFHQ page", 16, openSoldier, accounts(16), []part{{1, refPost}}},
		{"gpsp look-up", 16, openSearcher, accounts(16), []part{{1, refConnect}}},
		{"peerchat sign-on", 16, openLobbyVisitor, nil, []part{{1, refConnect}, {2, refTCP}}},
		{"peerchat message to 200", 1, openHall, nil, []part{{1, refFan}}},
		{"peerchat join of 2,000", 1, openNewMember, populate(crowdSize, openMember), []part{{2 * crowdSize / audience, refFan}}},
		{"natneg pair", 16, openNegotiator, nil, []part{{10, refUDP}}},
		{"relayed packet", 64, openRelayed, nil, []part{{1, refUDP}}},
		{"gstats player, one block", 16, openStatsGame, accounts(16), []part{{1, refConnect}, {3, refTCP}}},
		{"gstats durable setpd", 64, openStatsWriter, accounts(64), []part{{1, refTCP}}},
		{"cdkey check", 32, openKeyChecker, nil, []part{{1, refUDP}}},
		{"mangler question", 32, openMangled, nil, []part{{1, refUDP}}},
		{"zanmaster heartbeat, check", 32, several(16, openZanBeater), nil, []part{{1.5, refUDP}}},
		{"zanmaster list of 1,000", 16, counting(openLauncher), populate(listed, openZanServer), []part{{4, refUDP}}},
		{"ssq select, 50 of 1,000", 16, openTool, hosts, []part{{1.5, refUDP}}},
		{"valvemaster heartbeat", 16, several(8, openValveServer), nil, []part{{1.5, refUDP}}},
		{"valvemaster page of 1,000", 16, openFirstPage, settled(populate(listed, openValveServer)), []part{{1, refUDP}}},
		{"q3master heartbeat", 16, several(8, openQuake3Server), nil, []part{{1.5, refUDP}}},
		{"q3master list of 1,000", 16, counting(openQuake3Browser), populate(listed, openQuake3Server), []part{{3.5, refUDP}}},
		{"q2master heartbeat", 16, several(8, quake2Servers("q2master", quake2.Two, groupQuake2)), nil, []part{{9, refUDP}}},
		{ // one packet of 231 servers
			"q2master list of 1,000", 16, quake2Browsers("q2master", quake2.Two, groupQuake2Browsers),
			populate(listed, quake2Servers("q2master", quake2.Two, groupQuake2)),
			[]part{{1, refUDP}},
		},
		{"qwmaster heartbeat", 16, several(8, quake2Servers("qwmaster", quake2.World, groupQuakeWorld)), nil, []part{{8.5, refUDP}}},
		{"utmaster list of 1,000", 16, counting(openEpicBrowser), populate(listed, openEpicServer), []part{{1.3, refEpic}, {0.65, refTCP}}},
		{"idmaster heartbeat", 16, several(8, openDoom3Server), nil, []part{{1.5, refUDP}}},
		{"idmaster list of 1,000", 16, counting(openDoom3Browser), populate(listed, openDoom3Server), []part{{3.5, refUDP}}},
		{"codmaster list of 1,000", 16, counting(openCoDBrowser), populate(listed, openCoDServer), []part{{25.5, refUDP}}},
		{"codmaster player", 16, openCoDAsker, nil, []part{{1.5, refUDP}}},
		{"nwmaster keys", 16, openNWNServer, nil, []part{{1.5, refUDP}}},
		{"nwmaster account", 16, openNWNPlayer, nil, []part{{3, refUDP}}}, // it reads the store, and two datagrams answer
		{"web JSON of 1,000", 8, readers("/api/v1/servers?game=" + game), hosts, []part{{1, refJSON}}},
		{"web page, 100 of 1,000", 8, readers("/servers?game=" + game), hosts, []part{{1, refHTML}}},
		{"dns answer", 32, openResolver, nil, []part{{1, refUDP}}},
	}
}

// tableSettings lift the limits for single addresses, because the load comes from few of them.
var tableSettings = []string{
	"net.trusted=127.0.0.0/8",
	"zanmaster.list_window=0s", "zanmaster.lists_per_net=0", "zanmaster.lists_total=0", "zanmaster.servers_per_address=0",
	"q3master.list_window=0s", "q3master.lists_per_net=0", "q3master.lists_total=0", "q3master.max_per_addr=0", "q3master.query=false",
	"valvemaster.pages_per_addr=0", "valvemaster.pages_per_net=0", "web.rate=0", "natneg.max_open=1000000", "peerchat.max_members=3000",
	"relay.pair_rate=1GiB", "relay.total_rate=1GiB", "relay.ports=20000-29999", // which the system gives to no other socket
	"idmaster.list_window=0s", "idmaster.lists_per_net=0", "idmaster.lists_total=0", "idmaster.max_per_addr=0", "idmaster.query=false",
	"q2master.list_window=0s", "q2master.lists_per_net=0", "q2master.lists_total=0", "q2master.max_per_addr=0", "q2master.query=false",
	"qwmaster.max_per_addr=0", "qwmaster.query=false",
	"codmaster.list_window=0s", "codmaster.lists_per_net=0", "codmaster.lists_total=0", "codmaster.max_per_addr=0", "codmaster.query=false",
	"webservices.unproved_uploads=true", "webservices.player_files=200000", "webservices.player_file_size=1GiB",
	"webservices.records_per_owner=10000", "webservices.player_records=10000", "webservices.player_requests=0", "webservices.player_writes=0",
	"webservices.match_reports=0", "webservices.match_sessions=0",
}

// tableOptions say how a table is made.
type tableOptions struct {
	program string
	length  time.Duration // of each loop
	only    string        // parts of the names of operations, with commas between; empty: all
}

// wants reports whether an operation is measured.
func (o tableOptions) wants(name string) bool {
	return slices.ContainsFunc(strings.Split(o.only, ","), func(part string) bool { return strings.Contains(name, part) })
}

var errLost = errors.New("operations failed; see above")

// table measures all operations and writes a line for each. The error is errLost
// if too many failed.
func table(ctx context.Context, out io.Writer, opt tableOptions) error {
	m := &meter{opt: opt, out: out, tally: newTally(), costs: make(map[string]time.Duration)}
	if err := m.reference(ctx); err != nil {
		return err
	}
	for _, r := range rows() {
		if !opt.wants(r.name) {
			continue
		}
		if err := m.withDaemon(ctx, func(w *world) error { return m.measure(ctx, w, r) }); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for _, h := range holdings() {
		if !opt.wants(h.name) {
			continue
		}
		if err := m.withDaemon(ctx, func(w *world) error { return m.hold(ctx, w, h) }); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	if _, failed := m.tally.sums(); failed > 0 {
		m.tally.write(out)
	}
	if float64(m.lost) > maxFailed*float64(m.done) {
		return errLost
	}
	return ctx.Err()
}

// meter makes the table.
type meter struct {
	opt        tableOptions
	out        io.Writer
	tally      *tally
	costs      map[string]time.Duration // processor time of a reference
	done, lost int
}

func (m *meter) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(m.out, format+"\n", args...)
}

// reference writes the head of the table, and measures the bare server.
func (m *meter) reference(ctx context.Context) error {
	cipher, err := cipherTime(echoList)
	if err != nil {
		return err
	}
	signature, err := signTime()
	if err != nil {
		return err
	}
	m.costs[refCipher], m.costs[refSign] = cipher, signature
	m.printf("%s, %s\n", time.Now().UTC().Format(time.DateOnly), machine())
	m.line("", "one after the other, ms", "at half that rate, ms", "", "CPU ms", "bare", "times", "MiB")
	head := fmt.Sprintf("%7s%7s%7s%7s", "per s", "p50", "p99", "max")
	m.line("operation", head, head, "lost", "/10,000", "server", "that", "RSS")
	bare, err := startEcho(ctx)
	if err != nil {
		return err
	}
	for _, r := range references() {
		if err == nil {
			err = m.measure(ctx, &world{daemon: bare}, r)
		}
	}
	for _, name := range []string{refCipher, refSign} {
		m.line("bare "+name, "", "", "", whole(perTenThousand(m.costs[name])), "", "", "")
	}
	return errors.Join(err, bare.stop())
}

// line writes a line of the table, at most 120 letters long.
func (m *meter) line(name, closed, open, lost, cpu, floor, times, rss string) {
	m.printf("%-27s|%28s|%28s|%5s|%8s%8s%6s|%5s", name, closed, open, lost, cpu, floor, times, rss)
}

func whole(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }

// machine describes the machine of the figures.
func machine() string {
	model := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d x %s, Linux %s, %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)), runtime.Version())
}

// perTenThousand returns the milliseconds of 10,000 operations.
func perTenThousand(one time.Duration) float64 { return 1e4 * one.Seconds() * 1e3 }

// withDaemon calls f with a fresh daemon, which may complain of nothing.
func (m *meter) withDaemon(ctx context.Context, f func(*world) error) error {
	dir, err := os.MkdirTemp("", "respawnd-load")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := startDaemon(ctx, m.opt.program, dir, tableSettings...)
	if err != nil {
		return err
	}
	err = errors.Join(f(&world{daemon: d, run: "t"}), d.stop())
	if _, errs := d.said(); errs > 0 {
		err = errors.Join(err, fmt.Errorf("respawnd logged errors: %s", strings.Join(d.complaints, "\n")))
	}
	return err
}

// measure runs the loops of an operation and writes its line.
func (m *meter) measure(ctx context.Context, w *world, r row) (err error) {
	var there []user
	defer func() { closeAll(there) }()
	if r.prepare != nil {
		if there, err = r.prepare(ctx, w); err != nil {
			return err
		}
	}
	users, err := openAll(ctx, w, r.users, r.open)
	defer func() { closeAll(users) }()
	if err != nil {
		return err
	}
	before, err := w.daemon.measure()
	if err != nil {
		return err
	}
	closed := closedLoop(ctx, users, m.opt.length, m.tally, r.name)
	after, err := w.daemon.measure()
	if err != nil {
		return err
	}
	if len(closed.times) == 0 {
		m.tally.write(m.out)
		return errors.New("no operation succeeded")
	}
	open := openLoop(ctx, users, closed.rate()/2, m.opt.length, m.tally, r.name)
	end, err := w.daemon.measure()
	if err != nil {
		return err
	}
	m.done += len(closed.times) + len(open.times)
	m.lost += closed.lost + open.lost
	one := (after.cpu - before.cpu) / time.Duration(len(closed.times))
	m.write(r, &closed, &open, one, end.rss)
	return ctx.Err()
}

// write writes the line of an operation.
func (m *meter) write(r row, closed, open *phase, one time.Duration, rss int64) {
	name, floor, times := "bare "+r.name, "", ""
	if len(r.floor) == 0 {
		m.costs[r.name] = one
	} else {
		var least time.Duration
		for _, p := range r.floor {
			least += time.Duration(p.times * float64(m.costs[p.name]))
		}
		name, floor = r.name, whole(perTenThousand(least))
		if least > 0 {
			times = fmt.Sprintf("%.1f", float64(one)/float64(least))
		}
	}
	lost := strconv.Itoa(closed.lost + open.lost)
	m.line(name, phaseText(closed), phaseText(open), lost, whole(perTenThousand(one)), floor, times, whole(mib(rss)))
}

func phaseText(p *phase) string {
	ms := func(q float64) string {
		f := float64(p.quantile(q)) / float64(time.Millisecond)
		digits := 2
		if f >= 100 {
			digits = 0
		}
		return strconv.FormatFloat(f, 'f', digits, 64)
	}
	return fmt.Sprintf("%7.0f%7s%7s%7s", p.rate(), ms(0.5), ms(0.99), ms(1))
}

// holding is a number of idle users; the memory of each is measured.
type holding struct {
	name    string
	users   int
	open    opener
	prepare func(ctx context.Context, w *world) ([]user, error)
}

// holdings are resources of which a daemon may hold many at a time.
func holdings() []holding {
	return []holding{
		{"qr2 server listed", 5000, openHost, nil},
		{"gpcm idle session", 1000, sessions(0), accounts(1000)},
		{"gstats idle connection", 1000, openStatsWriter, accounts(1000)},
		{"peerchat idle member", 2000, openIdler, nil},
		{"serverbrowse with updates", 1000, openWatcher, nil},
		{"web events", 1000, openListener, nil},
	}
}

// hold opens the users and writes the use of one of them.
func (m *meter) hold(ctx context.Context, w *world, h holding) (err error) {
	if h.prepare != nil {
		if _, err := h.prepare(ctx, w); err != nil {
			return err
		}
	}
	before, err := w.daemon.measure()
	if err != nil {
		return err
	}
	users, err := openAll(ctx, w, h.users, h.open)
	defer func() { closeAll(users) }()
	if err != nil {
		return err
	}
	after, err := w.daemon.measure()
	if err != nil {
		return err
	}
	m.printf("%-27s|%9.1f KiB of RSS each: %d of them took %.1f MiB more than the %.1f MiB before", h.name,
		float64(after.rss-before.rss)/1024/float64(h.users), h.users, mib(after.rss-before.rss), mib(before.rss))
	return nil
}
