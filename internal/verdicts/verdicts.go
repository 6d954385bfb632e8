// Package verdicts records the last decisions of the services about each
// address, explains them and logs a line when a decision changes. It answers
// "why is my server not listed?" and "why can I not sign in?".
//
// It decides nothing itself and keeps no packet content, no key and no secret.
// Its memory is fixed: when the log is full, the address whose last verdict is
// oldest is dropped.
package verdicts

import (
	"container/list"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/clean"
)

// Verdict is a decision of a service about an address.
type Verdict uint8

// The verdicts. Their words appear in log lines, on the status page and in the
// admin API; programs compare them, so they do not change. Their texts are in
// texts.
const (
	Heard Verdict = iota
	UnknownGame
	NoSecret
	ChallengeSent
	NoAnswer
	WrongResponse
	Banned
	Limited
	ListFull
	TooManyHere
	Replaced
	Malformed
	Listed
	Restored
	Left
	Expired
	Restarted
	Removed
	Reachable
	Unreachable
	Asked
	Unanswered
	NeverAsked
	Hidden
	Outdated
	Blocked
	NotAllowed
	Concealed
	OnlyHere
	Advertised
	StaleChallenge
	KeepsQuiet
	BansUs
	AskedTooSoon
	PerhapsReachable
	Negotiated

	// Verdicts on packets that a service drops.
	SpeaksQR2
	SpeaksQR1
	SpeaksCDKey
	SpeaksZandronum
	SpeaksValve
	SpeaksQuake3
	TooLong
	KeepaliveAlone
	NotUnderstood

	// Verdicts on players, see OfPlayer.
	SignedIn
	WrongPassword
	UnreadablePassword
	NoSuchAccount
	OtherNamespace
	BadTicket
	NotKept
	AccountBanned
	ServiceFull
	NeverSignedIn
	AccountMade
	AccountRefused
	Met
	NotMet
	Introduced
	Unconfirmed
	NoPartner
	HalfWay
	ListSent
	BadFilter
	InChat
	ChatBanned
	ChatMuted
	KeyAccepted
	KeyUnknown
	KeyWrong
	KeyInUse
	KeyBanned
	DataTooLarge
	UnknownRequest
	MalformedRequest
	FileUploaded
	UploadUnproved
	UploadTooLarge
	UploadFailed
	StorageRefused
	SearchTooLarge
	RecordsLeftOut
	BadCertificate
	MatchRefused
)

// Outdates reports whether v makes the advice of an earlier verdict of the same
// service on the same server useless. Only OnlyHere stays valid while the
// server is listed, because it depends on the address only.
func (v Verdict) Outdates(earlier Verdict) bool {
	if earlier != OnlyHere {
		return true
	}
	switch v {
	case Heard, ChallengeSent, Asked, Listed, Reachable, PerhapsReachable, Unreachable, Negotiated:
		return false
	default:
		return true
	}
}

// Limits of the log.
const (
	// DefaultCapacity is the number of addresses that a log remembers.
	DefaultCapacity = 8192
	// PerAddr is the number of past verdicts kept for each of them.
	PerAddr = 8

	maxGame        = 64 // bytes of a game name from the network
	linesPerSecond = 50
	linesBurst     = 500
	reportSkipped  = time.Minute // between two lines that count skipped ones
	repeatAfter    = time.Hour   // between two lines for one verdict with no other between
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
	Detail  string    // what differs from case to case, in words of the service; empty: nothing
}

// Log holds the last verdicts by service and address. It is safe for concurrent
// use. A nil Log remembers nothing.
type Log struct {
	log      zerolog.Logger
	capacity int

	mu          sync.Mutex // guards the fields below
	sources     map[source]*list.Element
	recent      *list.List // of *record, most recent first
	lines       *rate.Limiter
	skipped     int               // lines since the last report of them
	lastSkipped time.Time         // when that was
	ports       map[string]uint16 // of the open services; the map is never changed
}

type source struct {
	service string
	addr    netip.AddrPort
}

// record holds the verdicts of one source.
type record struct {
	source  source
	entries []Entry // oldest first, at most PerAddr
	logged  Entry   // the last one that was logged; the zero Entry: none
}

// NewLog returns an empty log that remembers capacity addresses (0:
// DefaultCapacity) and writes its lines to log.
func NewLog(log zerolog.Logger, capacity int) *Log {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Log{
		log:      log,
		capacity: capacity,
		sources:  make(map[source]*list.Element),
		recent:   list.New(),
		lines:    rate.NewLimiter(linesPerSecond, linesBurst),
	}
}

// NotePlayer is Note for the address of a player, without its port, which differs
// from connection to connection.
func (l *Log) NotePlayer(service string, addr netip.Addr, game string, v Verdict) {
	l.Note(service, netip.AddrPortFrom(addr, 0), game, v)
}

// NoteDetail is NotePlayer with what differs from case to case. The detail is text of
// the service: what it holds from the network must be safe to print, see package clean.
func (l *Log) NoteDetail(service string, addr netip.Addr, game string, v Verdict, detail string) {
	l.note(source{service, netip.AddrPortFrom(addr, 0)}, game, v, detail)
}

// Note records a verdict and logs it if it is new for this address and game.
func (l *Log) Note(service string, addr netip.AddrPort, game string, v Verdict) {
	l.note(source{service, addr}, game, v, "")
}

func (l *Log) note(from source, game string, v Verdict, detail string) {
	if l == nil {
		return
	}
	if e, skipped, due := l.record(from, game, v, detail, time.Now()); due {
		l.write(e, skipped)
	}
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

// record records a verdict. due reports that it must be logged, skipped how many
// lines were left out before (0 unless a report of them is due).
func (l *Log) record(from source, game string, v Verdict, detail string, now time.Time) (e Entry, skipped int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of(from)
	if len(game) > maxGame {
		game = game[:maxGame]
	}
	if n := len(r.entries); n > 0 && r.entries[n-1].Game == game {
		last := &r.entries[n-1]
		if last.Verdict == v && (v != UnknownRequest && v != StorageRefused || last.Detail == detail) {
			last.Last, last.Detail = now, detail
			last.Times++
			return e, 0, false
		}
		game = last.Game
	} else {
		game = strings.Clone(game) // it may be part of something longer
	}
	e = Entry{from.service, from.addr, game, v, now, now, 1, l.ports[v.text().home], detail}
	if len(r.entries) == PerAddr {
		r.entries = slices.Delete(r.entries, 0, 1)
	}
	r.entries = append(r.entries, e)
	if v.level() < l.log.GetLevel() || r.repeats(&e) {
		return e, 0, false
	}
	if skipped, due = l.ration(now); due {
		r.logged = e
	}
	return e, skipped, due
}

// repeats reports whether the last line about the source said the same less than
// repeatAfter ago, so that only verdicts below the log level came in between.
func (r *record) repeats(e *Entry) bool {
	return r.logged.Verdict == e.Verdict && r.logged.Game == e.Game && e.First.Sub(r.logged.First) < repeatAfter
}

// of returns the record of a source, new or moved to the front. l.mu is held.
func (l *Log) of(from source) *record {
	if el, ok := l.sources[from]; ok {
		l.recent.MoveToFront(el)
		return el.Value.(*record)
	}
	if len(l.sources) >= l.capacity {
		oldest := l.recent.Back()
		delete(l.sources, oldest.Value.(*record).source)
		l.recent.Remove(oldest)
	}
	r := &record{source: from}
	l.sources[from] = l.recent.PushFront(r)
	return r
}

// ration decides whether a verdict gets a line, so that a flood of packets does
// not become a flood of lines. Skipped lines are counted in a later one. l.mu is
// held.
func (l *Log) ration(now time.Time) (skipped int, ok bool) {
	if !l.lines.AllowN(now, 1) {
		l.skipped++
		return 0, false
	}
	if l.skipped > 0 && now.Sub(l.lastSkipped) >= reportSkipped {
		skipped = l.skipped
		l.skipped, l.lastSkipped = 0, now
	}
	return skipped, true
}

// write logs a verdict. l.mu is not held: a slow log delays no other caller.
func (l *Log) write(e Entry, skipped int) {
	line := l.log.WithLevel(e.Verdict.level()).Str("service", e.Service).Stringer("peer", e.Addr).Stringer("verdict", e.Verdict)
	if e.Game != "" {
		line = line.Str("game", clean.UTF8(e.Game))
	}
	if e.Detail != "" {
		line = line.Str("detail", e.Detail)
	}
	if skipped > 0 {
		line = line.Int("lines_left_out", skipped)
	}
	line.Msg(e.Verdict.text().message)
}

// SetPorts sets the ports at which the services of this daemon are open, by
// service name. Later verdicts on packets for another service name its port.
func (l *Log) SetPorts(ports map[string]uint16) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ports = ports
}

// Of returns the remembered verdicts on an address, over all its ports and
// services, oldest first.
func (l *Log) Of(addr netip.Addr) []Entry {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Entry
	for from, el := range l.sources {
		if from.addr.Addr() == addr {
			out = append(out, el.Value.(*record).entries...)
		}
	}
	slices.SortFunc(out, func(x, y Entry) int { return x.First.Compare(y.First) })
	return out
}

// Recent returns the latest verdict of up to n addresses, the newest first.
func (l *Log) Recent(n int) []Entry {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Entry
	for el := l.recent.Front(); el != nil && len(out) < n; el = el.Next() {
		entries := el.Value.(*record).entries
		out = append(out, entries[len(entries)-1])
	}
	return out
}
