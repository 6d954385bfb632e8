package verdicts

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/netserve"
)

// Limits of the log.
const (
	// DefaultCapacity is the number of sources, a service with an address and port
	// each, that a log remembers.
	DefaultCapacity = 8192
	// PerHost is the number of them that may have the same address.
	PerHost = 512
	// PerAddr is the number of past verdicts kept for each of them.
	PerAddr = 8

	maxGame        = 64 // bytes of a game name from the network
	linesPerSecond = 50
	linesBurst     = 500
	reportSkipped  = time.Minute // between two lines that count skipped ones
	repeatAfter    = time.Hour   // between two lines for one verdict
)

// Entry is one remembered verdict.
type Entry struct {
	Service string
	Addr    netip.AddrPort
	Game    string
	Verdict Verdict
	First   time.Time // when the address got this verdict
	Last    time.Time // when it was last confirmed
	Times   int       // how often
	Port    uint16    // of this daemon, for packets sent to the wrong port; 0: none
	Detail  string    // details of the case, in words of the service; empty: none
}

// Log holds the last verdicts by service and address. It is safe for concurrent
// use. A nil Log remembers nothing.
type Log struct {
	log      zerolog.Logger
	capacity int
	trial    func(netip.Addr) bool        // see SetTrial
	watch    atomic.Pointer[func(*Entry)] // nil: no recording is made

	mu          sync.Mutex // guards the fields below
	hosts       map[netip.Addr]*host
	recent      chain // of all records
	lines       *rate.Limiter
	skipped     int                // lines since the last report of them
	lastSkipped time.Time          // when that was
	ports       map[Verdict]uint16 // see SetPorts; the map is never changed
	counts      counts
}

// counts are those of the metrics.
type counts struct{ folded, forgotten, forgottenHere, leftOut uint64 }

type source struct {
	service string
	addr    netip.AddrPort
}

// host holds the records of one address, at most PerHost.
type host struct{ recent chain }

// find returns the record of a source with the address of the host, nil if there is none. Most
// hosts have a few.
func (h *host) find(from source) *record {
	for r := h.recent.first; r != nil; r = r.links[ofHost].next {
		if r.source.addr.Port() == from.addr.Port() && r.source.service == from.service {
			return r
		}
	}
	return nil
}

// NewLog returns an empty log that remembers capacity sources (0:
// DefaultCapacity) and writes its lines to log.
func NewLog(log zerolog.Logger, capacity int) *Log {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Log{
		log:      log,
		capacity: capacity,
		trial:    func(netip.Addr) bool { return false },
		hosts:    make(map[netip.Addr]*host),
		lines:    rate.NewLimiter(linesPerSecond, linesBurst),
	}
}

// SetTrial says which addresses are those of self-tests. Verdicts on them are logged at level debug,
// and Recent leaves them out. It is called before the log is used.
func (l *Log) SetTrial(is func(netip.Addr) bool) { l.trial = is }

// NotePlayer is Note for the address of a player, without its port, which differs
// from connection to connection.
func (l *Log) NotePlayer(service string, addr netip.Addr, game string, v Verdict) {
	l.Note(service, netip.AddrPortFrom(addr, 0), game, v)
}

// NoteRefused notes that a service refused the connection of a player, and returns the text
// for its client.
func (l *Log) NoteRefused(service string, addr netip.Addr, why netserve.Refusal) (text string) {
	switch {
	case why.OfAddress():
		l.NotePlayer(service, addr, "", Limited)
		return "Too many connections from your address. Try again in a moment."
	case why == netserve.RefusedFull:
		l.NotePlayer(service, addr, "", ServiceFull)
		return "The server is full."
	}
	return "The server is stopping. Try again in a moment."
}

// NoteDetail is NotePlayer with details of the case. The detail is text of the service: parts from
// the network must be safe to print, see package clean.
func (l *Log) NoteDetail(service string, addr netip.Addr, game string, v Verdict, detail string) {
	l.note(source{service, netip.AddrPortFrom(addr, 0)}, game, v, detail)
}

// versionWord begins the detail of a verdict on a game that said its version.
const versionWord = "version "

// maxVersion is the length of the longest version in a detail, in characters.
const maxVersion = 20

// VersionDetail is the detail of a verdict on a player whose game said its version; "" if it said none.
func VersionDetail(version string) string {
	if version = clean.Line(version, maxVersion); version == "" {
		return ""
	}
	return versionWord + version
}

// Version returns the version that the game of a player said, see VersionDetail.
func (e *Entry) Version() string {
	version, ok := strings.CutPrefix(e.Detail, versionWord)
	if !ok {
		return ""
	}
	return version
}

// Note records a verdict. It logs it if it is new for this address and game, and
// from then on once per hour while the address gets it again and again.
func (l *Log) Note(service string, addr netip.AddrPort, game string, v Verdict) {
	l.note(source{service, addr}, game, v, "")
}

// NoteSample records that a message could not be understood, with its first bytes as
// text that is safe to print.
func (l *Log) NoteSample(service string, addr netip.AddrPort, sample string) {
	l.note(source{service, addr}, "", NotUnderstood, sample)
}

func (l *Log) note(from source, game string, v Verdict, detail string) {
	if l == nil {
		return
	}
	if watch := l.watch.Load(); watch != nil {
		(*watch)(&Entry{Service: from.service, Addr: from.addr, Game: game, Verdict: v})
	}
	if e, skipped, due := l.record(from, game, v, detail, time.Now()); due {
		l.write(&e, skipped)
	}
}

// Watch has f called with each verdict, also with those that repeat others; nil: with none. f
// must not block.
func (l *Log) Watch(f func(*Entry)) {
	if f == nil {
		l.watch.Store(nil)
		return
	}
	l.watch.Store(&f)
}

// Noted is a verdict that is still to be noted.
type Noted struct {
	Addr    netip.AddrPort
	Verdict Verdict
}

// NoteAll notes verdicts of one service about servers of one game, in order.
// Noting may log: a service that decides under a lock collects the verdicts and
// notes them after it released the lock.
func (l *Log) NoteAll(service, game string, list []Noted) {
	for _, n := range list {
		l.Note(service, n.Addr, game, n.Verdict)
	}
}

// record records a verdict. due reports that e must be logged, skipped how many
// lines were left out before (0 unless a report of them is due).
func (l *Log) record(from source, game string, v Verdict, detail string, now time.Time) (e Entry, skipped int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.text().elsewhere && l.ports != nil && l.ports[v] == 0 {
		v = SpeaksOther // the texts name no service that is not open
	}
	r := l.of(from)
	k, folded := r.take(v, game[:min(len(game), maxGame)], detail, l.ports[v], now)
	if folded {
		l.counts.folded++
	}
	if k == nil || l.level(from.addr, k.verdict) < l.log.GetLevel() || !r.due(k, now) {
		return e, 0, false
	}
	if skipped, due = l.ration(now, k.owed); !due {
		k.owed = true
		return e, 0, false
	}
	k.owed, k.logged, r.line = false, now, k.verdict
	return k.entry(from), skipped, true
}

// level is that of the line of a verdict.
func (l *Log) level(of netip.AddrPort, v Verdict) zerolog.Level {
	if l.trial(of.Addr()) {
		return zerolog.DebugLevel
	}
	return v.level()
}

// entry returns a verdict for callers.
func (k *kept) entry(from source) Entry {
	return Entry{from.service, from.addr, k.game, k.verdict, k.first, k.last, k.times, k.port, k.detail}
}

// of returns the record of a source, new or moved to the front. l.mu is held.
func (l *Log) of(from source) *record {
	addr := from.addr.Addr()
	h := l.hosts[addr]
	if h != nil {
		if r := h.find(from); r != nil {
			l.recent.toFront(r, ofLog)
			h.recent.toFront(r, ofHost)
			return r
		}
	}
	r := l.room(h)
	if h == nil {
		if h = r.host; h == nil {
			h = new(host)
		}
	}
	if h.recent.n == 0 {
		l.hosts[addr] = h
	}
	r.source, r.host = from, h
	l.recent.push(r, ofLog)
	h.recent.push(r, ofHost)
	return r
}

// room returns an empty record for a host, nil if it is new: that of the source whose last verdict
// is the oldest if there are as many as there may be. In a flood of new addresses no memory is
// allocated. l.mu is held.
func (l *Log) room(h *host) *record {
	switch {
	case h != nil && h.recent.n >= PerHost:
		l.counts.forgottenHere++
		return l.forget(h.recent.last)
	case l.recent.n >= l.capacity:
		l.counts.forgotten++
		return l.forget(l.recent.last)
	default:
		return new(record)
	}
}

// forget removes a record and returns it empty, with its host if that has no other. l.mu is held.
func (l *Log) forget(r *record) *record {
	l.recent.remove(r, ofLog)
	h := r.host
	if h.recent.remove(r, ofHost); h.recent.n == 0 {
		delete(l.hosts, r.source.addr.Addr())
	} else {
		h = nil
	}
	clear(r.entries)
	*r = record{entries: r.entries[:0], host: h}
	return r
}

// ration decides whether a verdict gets a line, so that a flood of packets does
// not become a flood of lines. Skipped lines are counted in a later one, each once:
// owed reports that this one was skipped before. l.mu is held.
func (l *Log) ration(now time.Time, owed bool) (skipped int, ok bool) {
	if !l.lines.AllowN(now, 1) {
		if !owed {
			l.skipped++
			l.counts.leftOut++
		}
		return 0, false
	}
	if l.skipped > 0 && now.Sub(l.lastSkipped) >= reportSkipped {
		skipped = l.skipped
		l.skipped, l.lastSkipped = 0, now
	}
	return skipped, true
}

// write logs a verdict. l.mu is not held: a slow log delays no other caller.
func (l *Log) write(e *Entry, skipped int) {
	line := l.log.WithLevel(l.level(e.Addr, e.Verdict)).Str("service", e.Service).Stringer("peer", e.Addr).Stringer("verdict", e.Verdict)
	if e.Game != "" {
		line = line.Str("game", clean.UTF8(e.Game))
	}
	if e.Detail != "" {
		line = line.Str("detail", e.Detail)
	}
	if e.Times > 1 {
		line = line.Int("times", e.Times).Time("since", e.First)
	}
	if skipped > 0 {
		line = line.Int("lines_left_out", skipped)
	}
	line.Msg(e.Verdict.text().message)
}

// SetPorts sets the ports of the services of this daemon that are open, by the verdicts on packets
// that belong to them and arrive elsewhere. Such verdicts name the port from now on.
func (l *Log) SetPorts(ports map[Verdict]uint16) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ports = ports
}

// Of returns the remembered verdicts on an address, over all its ports and
// services, in the order in which they were last confirmed. A challenge without
// an answer in time is NoAnswer, and the steps of a round that repeats a failed one
// are left out.
func (l *Log) Of(addr netip.Addr) []Entry {
	if l == nil {
		return nil
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[addr]
	if h == nil {
		return nil
	}
	var out []Entry
	for r := h.recent.first; r != nil; r = r.links[ofHost].next {
		for _, k := range r.view(now) {
			out = append(out, k.entry(r.source))
		}
	}
	slices.SortStableFunc(out, func(x, y Entry) int { return x.Last.Compare(y.Last) })
	return out
}

// Recent returns the latest verdict of up to n sources, the newest first, without self-tests.
func (l *Log) Recent(n int) []Entry {
	if l == nil {
		return nil
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Entry, 0, min(n, l.recent.n))
	for r := l.recent.first; r != nil && len(out) < n; r = r.links[ofLog].next {
		if l.trial(r.source.addr.Addr()) {
			continue
		}
		k := r.newest(now)
		out = append(out, k.entry(r.source))
	}
	return out
}

// Register registers the metrics of the log. of names the subject of its verdicts.
func (l *Log) Register(reg prometheus.Registerer, of string) {
	labels := prometheus.Labels{"of": of}
	value := func(get func() float64) func() float64 {
		return func() float64 {
			l.mu.Lock()
			defer l.mu.Unlock()
			return get()
		}
	}
	counter := func(name, help string, labels prometheus.Labels, n *uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: name, Help: help, ConstLabels: labels,
		}, value(func() float64 { return float64(*n) }))
	}
	forgotten := func(why string, n *uint64) prometheus.Collector {
		return counter("respawnd_verdicts_forgotten_total", "Addresses with port whose verdicts were forgotten, by the limit that was reached.",
			prometheus.Labels{"of": of, "limit": why}, n)
	}
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "respawnd_verdicts_remembered", Help: "Addresses with port, by service, whose verdicts are remembered.", ConstLabels: labels,
		}, value(func() float64 { return float64(l.recent.n) })),
		counter("respawnd_verdicts_repeated_total", "Verdicts that an address got before and that only count there.", labels, &l.counts.folded),
		forgotten("all", &l.counts.forgotten), forgotten("address", &l.counts.forgottenHere),
		counter("respawnd_verdicts_lines_left_out_total", "Verdicts that were not logged because there were too many at once.", labels, &l.counts.leftOut),
	)
}
