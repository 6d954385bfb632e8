// Package verdicts remembers what the services last decided about an address,
// in words an operator understands, and logs a line when the decision changes.
// It answers "why is my server not listed?", and "why can I not sign in?".
//
// It decides nothing itself and keeps no packet content, no key and no secret.
// Its memory is fixed: when the book is full, the address that was heard of
// least recently makes room.
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

// Verdict is what a service decided about an address.
type Verdict uint8

// The verdicts. Their words appear in logs, on the status page and in the
// admin API, so they say what happened and, where it helps, what to look at. Each
// has a message for its log line too, see messages.
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

	// What packets get that a service drops.
	SpeaksQR2
	SpeaksQR1
	SpeaksCDKey
	SpeaksZandronum
	SpeaksValve
	SpeaksQuake3
	TooLong
	KeepaliveAlone
	NotUnderstood

	// What players get, see OfPlayer.
	SignedIn
	WrongPassword
	NoSuchAccount
	BadTicket
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
)

var words = [...]string{
	Heard:         "heard",
	UnknownGame:   "unknown game",
	NoSecret:      "game without secret key",
	ChallengeSent: "challenge sent",
	NoAnswer:      "no answer",
	WrongResponse: "wrong response",
	Banned:        "banned",
	Limited:       "limited",
	ListFull:      "list full",
	TooManyHere:   "too many servers here",
	Replaced:      "replaced by a newcomer",
	Malformed:     "malformed heartbeat",
	Listed:        "listed",
	Restored:      "restored",
	Left:          "left",
	Expired:       "expired",
	Restarted:     "restarted",
	Removed:       "removed",
	Reachable:     "reachable",
	Unreachable:   "not reachable from a new address",
	Asked:         "heartbeat taken, asked over A2S",
	Unanswered:    "no answer to A2S queries",
	NeverAsked:    "not asked: no room, or an address that is never asked",
	Hidden:        "hidden: does not enforce the ban list",
	Outdated:      "server too old",
	Blocked:       "blocked from hosting",
	NotAllowed:    "not on the allow list",
	Concealed:     "hidden by an operator",
	OnlyHere:      "listed under an address that only this machine and its network reach",
	Advertised:    "listed under the advertised address",

	StaleChallenge: "challenge out of date",
	KeepsQuiet:     "answers, but does not tell",
	BansUs:         "bans this master's address",
	AskedTooSoon:   "says that it was asked too soon",

	PerhapsReachable: "perhaps reachable",
	Negotiated:       "reached by NAT negotiation",

	SpeaksQR2:       "wrong port: speaks GameSpy's protocol",
	SpeaksQR1:       "wrong port: speaks GameSpy's older protocol",
	SpeaksCDKey:     "wrong port: checks CD keys",
	SpeaksZandronum: "wrong port: speaks Zandronum's protocol",
	SpeaksValve:     "wrong port: speaks the protocol of Valve's master",
	SpeaksQuake3:    "wrong port: speaks Quake III's protocol",
	TooLong:         "packet too long",
	KeepaliveAlone:  "sign of life of a server that is not listed",
	NotUnderstood:   "packet not understood",

	SignedIn:       "signed in",
	WrongPassword:  "wrong password",
	NoSuchAccount:  "no such account",
	BadTicket:      "ticket not good any more",
	AccountBanned:  "account banned",
	ServiceFull:    "too many players",
	NeverSignedIn:  "did not sign in in time",
	AccountMade:    "account made",
	AccountRefused: "account not made or changed",
	Met:            "reached the other player",
	NotMet:         "did not reach the other player",
	Introduced:     "introduced, no report came",
	Unconfirmed:    "introduced, not confirmed by both",
	NoPartner:      "the other player never came",
	HalfWay:        "packets stopped half-way",
	ListSent:       "list sent",
	BadFilter:      "filter refused",
}

// String returns the verdict in words.
func (v Verdict) String() string {
	if int(v) < len(words) {
		return words[v]
	}
	return "unknown"
}

// Parse returns the verdict that String writes as word; ok is false if there is
// none.
func Parse(word string) (v Verdict, ok bool) {
	i := slices.Index(words[:], word)
	return Verdict(max(i, 0)), i >= 0
}

// Outdates reports whether the advice of an earlier verdict of the same service
// on the same server is of no use after v. The address under which a server is
// listed stays the same while it is listed, whatever is found out about it.
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

// Limits of the book.
const (
	// DefaultCapacity is how many addresses the book remembers.
	DefaultCapacity = 8192
	// PerAddr is how many past verdicts it keeps for each of them.
	PerAddr = 8

	maxGame       = 64 // bytes of a game name that a stranger sent
	linesASecond  = 50
	linesAtOnce   = 500
	reportDropped = time.Minute
	sayAgain      = time.Hour // between two lines for one verdict, if no other had one
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
	Port    uint16    // where this daemon takes what came to the wrong port; 0: nowhere
}

// Book holds the last verdicts by address. It is safe for concurrent use.
type Book struct {
	log      zerolog.Logger
	capacity int

	mu         sync.Mutex // guards the fields below
	pages      map[pageKey]*list.Element
	recent     *list.List // of *page, most recent first
	lines      *rate.Limiter
	unsaid     int
	lastUnsaid time.Time
	ports      map[string]uint16 // of the services that are open; never changed
}

type pageKey struct {
	service string
	addr    netip.AddrPort
}

type page struct {
	key     pageKey
	entries []Entry // oldest first, at most PerAddr
	said    Entry   // the last one that was logged; the zero Entry: none
}

// NewBook returns an empty book that logs to log and remembers capacity
// addresses (0: DefaultCapacity).
func NewBook(log zerolog.Logger, capacity int) *Book {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Book{
		log:      log,
		capacity: capacity,
		pages:    make(map[pageKey]*list.Element),
		recent:   list.New(),
		lines:    rate.NewLimiter(linesASecond, linesAtOnce),
	}
}

// NoteVisit is Note for a player's address, whose port is another each time and is
// left out.
func (b *Book) NoteVisit(service string, addr netip.Addr, game string, v Verdict) {
	b.Note(service, netip.AddrPortFrom(addr, 0), game, v)
}

// Note records a verdict and logs it if it is new for this address and game. A
// nil book does nothing.
func (b *Book) Note(service string, addr netip.AddrPort, game string, v Verdict) {
	if b == nil {
		return
	}
	if e, unsaid, told := b.record(service, addr, game, v, time.Now()); told {
		b.say(e, unsaid)
	}
}

// Noted is a verdict that is still to be noted.
type Noted struct {
	Addr    netip.AddrPort
	Verdict Verdict
}

// NoteAll notes verdicts of one service about servers of one game, in their
// order. Noting may log: a service that finds them while it holds a lock notes
// them when it has released it.
func (b *Book) NoteAll(service, game string, list []Noted) {
	for _, n := range list {
		b.Note(service, n.Addr, game, n.Verdict)
	}
}

// record records a verdict. told says that it is to be logged; unsaid is how
// many lines were left out before, 0 if it is not yet time to tell.
func (b *Book) record(service string, addr netip.AddrPort, game string, v Verdict, now time.Time) (e Entry, unsaid int, told bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page(pageKey{service, addr})
	game = clip(game)
	if n := len(p.entries); n > 0 && p.entries[n-1].Game == game {
		last := &p.entries[n-1]
		if last.Verdict == v {
			last.Last = now
			last.Times++
			return e, 0, false
		}
		game = last.Game
	} else {
		game = strings.Clone(game) // it may be part of something longer
	}
	e = Entry{service, addr, game, v, now, now, 1, b.ports[homes[v]]}
	if len(p.entries) == PerAddr {
		p.entries = slices.Delete(p.entries, 0, 1)
	}
	p.entries = append(p.entries, e)
	if v.level() < b.log.GetLevel() || p.repeats(&e) {
		return e, 0, false
	}
	if unsaid, told = b.ration(now); told {
		p.said = e
	}
	return e, unsaid, told
}

// repeats reports whether the last line about the address said the same not long
// ago: only verdicts that are not logged came in between.
func (p *page) repeats(e *Entry) bool {
	return p.said.Verdict == e.Verdict && p.said.Game == e.Game && e.First.Sub(p.said.First) < sayAgain
}

// page returns the page of a key, fresh or brought to the front. b.mu is held.
func (b *Book) page(k pageKey) *page {
	if el, ok := b.pages[k]; ok {
		b.recent.MoveToFront(el)
		return el.Value.(*page)
	}
	if len(b.pages) >= b.capacity {
		oldest := b.recent.Back()
		delete(b.pages, oldest.Value.(*page).key)
		b.recent.Remove(oldest)
	}
	p := &page{key: k}
	b.pages[k] = b.recent.PushFront(p)
	return p
}

// ration decides whether there is a line in the log for a verdict. A flood of
// strangers must not become a flood of lines, so lines are rationed and what was
// left out is counted in a later one. b.mu is held.
func (b *Book) ration(now time.Time) (unsaid int, told bool) {
	if !b.lines.AllowN(now, 1) {
		b.unsaid++
		return 0, false
	}
	if b.unsaid > 0 && now.Sub(b.lastUnsaid) >= reportDropped {
		unsaid = b.unsaid
		b.unsaid, b.lastUnsaid = 0, now
	}
	return unsaid, true
}

// say logs a verdict. b.mu is not held: nobody waits for the log.
func (b *Book) say(e Entry, unsaid int) {
	line := b.log.WithLevel(e.Verdict.level()).Str("service", e.Service).Stringer("peer", e.Addr).Stringer("verdict", e.Verdict)
	if e.Game != "" {
		line = line.Str("game", clean.UTF8(e.Game))
	}
	if unsaid > 0 {
		line = line.Int("lines_left_out", unsaid)
	}
	line.Msg(e.Verdict.message())
}

// Of returns what is remembered of an address, over all its ports and services,
// oldest first.
func (b *Book) Of(addr netip.Addr) []Entry {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Entry
	for k, el := range b.pages {
		if k.addr.Addr() == addr {
			out = append(out, el.Value.(*page).entries...)
		}
	}
	slices.SortFunc(out, func(x, y Entry) int { return x.First.Compare(y.First) })
	return out
}

// Recent returns the latest verdict of up to n addresses, the newest first.
func (b *Book) Recent(n int) []Entry {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Entry
	for el := b.recent.Front(); el != nil && len(out) < n; el = el.Next() {
		entries := el.Value.(*page).entries
		out = append(out, entries[len(entries)-1])
	}
	return out
}

func clip(game string) string {
	if len(game) > maxGame {
		return game[:maxGame]
	}
	return game
}
