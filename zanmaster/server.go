package zanmaster

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// serviceName is the name under which verdicts are noted.
const serviceName = "zanmaster"

// Options configure a Server. Registry is required.
type Options struct {
	Registry *master.Registry
	// Addresses decides which addresses launchers are given; nil: those of the
	// list. Policy.AdvertiseAs comes first.
	Addresses *advertise.Table

	Bans     *bans.Table   // those of scope zandronum and all count; nil: the files alone
	Verdicts *verdicts.Log // nil: none are noted

	// Locate returns the country (ISO 3166 alpha-2) and region of an address,
	// empty if unknown; nil: unknown. It is called once per registration and
	// must not block.
	Locate func(netip.Addr) (country, region string)

	// Files is the directory of the four ban files; empty: there are none.
	Files string
	// Poll is how often the files are looked at for changes; 0: DefaultPoll,
	// negative: never.
	Poll time.Duration

	Policy // replaced by SetPolicy

	Packets    netserve.PacketOptions
	Log        zerolog.Logger
	Metrics    *netserve.Metrics
	Registerer prometheus.Registerer // nil: the metrics of this package are not registered
}

// cappedEvery bounds the lines in the log about lists that are too long.
const cappedEvery = time.Minute

// DefaultPoll is the default of Options.Poll.
const DefaultPoll = 2 * time.Second

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	opt     Options
	list    *master.Registry
	start   time.Time
	policy  atomic.Pointer[Policy]
	access  atomic.Pointer[access] // never nil
	metrics *metrics
	foreign *foreign.Notes
	answers [zandronum.AnswerList][]byte // coded
	gate    *gate
	lister  lister
	buffers sync.Pool     // of *[maxMessage]byte, for decoded messages
	wake    chan struct{} // holds one: the ticker has something to do at once

	tell, tellOld rate.Sometimes // that a list, and the old form of one, is too long

	// reading is held while files are read and what is in force is replaced, so
	// that changes come into force in their order.
	reading                                   sync.Mutex
	banFile, exemptFile, blockFile, multiFile *ruleFile

	mu    sync.Mutex // guards hosts
	hosts hostTable
}

// New returns a Server. Nothing runs and no file is read until Serve is called.
// It registers itself with Options.Bans.
func New(opt Options) *Server {
	if opt.Poll == 0 {
		opt.Poll = DefaultPoll
	}
	s := &Server{
		opt:        opt,
		list:       opt.Registry,
		start:      time.Now(),
		metrics:    newMetrics(opt.Registerer),
		foreign:    foreign.NewNotes(opt.Verdicts, serviceName),
		gate:       newGate(),
		lister:     newLister(opt.Registry),
		wake:       make(chan struct{}, 1),
		banFile:    newRuleFile(opt.Files, BanFile),
		exemptFile: newRuleFile(opt.Files, ExemptFile),
		blockFile:  newRuleFile(opt.Files, BlockFile),
		multiFile:  newRuleFile(opt.Files, MultiServerFile),
		hosts:      newHostTable(),
		tell:       rate.Sometimes{Interval: cappedEvery},
		tellOld:    rate.Sometimes{Interval: cappedEvery},
	}
	s.buffers.New = func() any { return new([maxMessage]byte) }
	for a := range s.answers {
		s.answers[a] = zandronum.Encode(nil, zandronum.AppendAnswer(nil, zandronum.Answer(a)))
	}
	s.access.Store(&access{banned: newRuleSet(nil), exempt: newRuleSet(nil), blocked: newRuleSet(nil), multi: newRuleSet(nil), version: 1})
	s.reading.Lock()
	s.changeAccess(s.start)
	s.reading.Unlock()
	s.setPolicy(opt.Policy)
	if opt.Bans != nil {
		opt.Bans.OnChange(s.bansChanged)
	}
	return s
}

// SetPolicy replaces the policy at once: servers that may not be listed any
// more leave the list, hidden ones that may come into it.
func (s *Server) SetPolicy(p Policy) {
	s.setPolicy(p)
	s.enforce()
}

func (s *Server) setPolicy(p Policy) {
	q := p.withDefaults()
	s.policy.Store(q)
	s.gate.setPolicy(q)
	s.lister.setPolicy(q)
}

// Serve reads the ban files and takes packets from conn until ctx ends. conn
// stays open and belongs to the caller.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	s.logProblems(s.Reload())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets) })
	g.Go(func() error { s.tick(ctx, conn); return nil })
	return g.Wait()
}

// logProblems names every bad line in a line of the log.
func (s *Server) logProblems(err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			s.logProblems(e)
		}
		return
	}
	s.opt.Log.Warn().Err(err).Msg("ban file has a mistake")
}

// idle is how long the ticker rests when nothing is under way.
const idle = time.Second

// tick does what is due: expiry, ban lists, changed files.
func (s *Server) tick(ctx context.Context, w netserve.PacketWriter) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	next := time.Now().Add(idle)
	due := ticker{poll: time.Now().Add(s.opt.Poll), expire: next}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			// Not at once: many may be in a hurry.
			if time.Until(next) > partEvery {
				next = time.Now().Add(partEvery)
				timer.Reset(partEvery)
			}
		case now := <-timer.C:
			rest := s.step(w, &due, now)
			next = now.Add(rest)
			timer.Reset(rest)
		}
	}
}

// ticker says when something is due.
type ticker struct {
	poll, expire time.Time
}

// step does what is due at now and returns how long to rest.
func (s *Server) step(w netserve.PacketWriter, due *ticker, now time.Time) time.Duration {
	if s.opt.Poll > 0 && !now.Before(due.poll) {
		due.poll = now.Add(s.opt.Poll)
		if s.filesChanged() {
			s.logProblems(s.Reload())
		}
	}
	if next := s.access.Load().next; !next.IsZero() && !now.Before(next) {
		s.bansChanged()
	}
	if !now.Before(due.expire) {
		due.expire = now.Add(idle)
		s.expire(now)
	}
	return s.pushBans(w, now)
}

// hurry wakes the ticker.
func (s *Server) hurry() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake already
	}
}

// The reasons for which packets are dropped.
const (
	dropEmpty      = "empty"
	dropOversized  = "oversized"
	dropForeign    = "foreign"
	dropUnknown    = "unknown_kind"
	dropMalformed  = "malformed"
	dropBanned     = "banned"
	dropBlocked    = "blocked"
	dropNotAllowed = "not_allowed"
	dropOutdated   = "outdated"
	dropLimited    = "limited"
	dropTooMany    = "too_many_here"
	dropPending    = "too_many_pending"
	dropFull       = "list_full"
	dropNoBudget   = "no_budget"
	dropWrong      = "wrong_response"
	dropUnexpected = "unexpected"
	dropTooSoon    = "too_soon"
	dropSilenced   = "silenced"
	dropOldList    = "old_list_off"
	dropVersion    = "wrong_version"
)

// DropReasons lists the reasons that Options.Metrics counts drops under.
func DropReasons() []string {
	return []string{
		dropEmpty, dropOversized, dropForeign, dropUnknown, dropMalformed, dropBanned, dropBlocked, dropNotAllowed,
		dropOutdated, dropLimited, dropTooMany, dropPending, dropFull, dropNoBudget, dropWrong, dropUnexpected,
		dropTooSoon, dropSilenced, dropOldList, dropVersion,
	}
}

const (
	// maxPacket is the size of the largest datagram that is looked at.
	maxPacket = 1500
	// maxMessage is the size of the largest message that is looked at. None
	// that makes sense has a tenth of it.
	maxMessage = 1024
)

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != "" {
		s.opt.Metrics.Drop(reason)
		s.explain(p, reason)
	}
}

// handle returns why the packet was dropped, "" if it was not.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) (dropped string) {
	switch {
	case len(p.Data) == 0:
		return dropEmpty
	case len(p.Data) > maxPacket:
		return dropOversized
	case !p.From.Addr().Is4() || p.From.Port() == 0:
		return dropForeign
	}
	buf := s.buffers.Get().(*[maxMessage]byte)
	defer s.buffers.Put(buf)
	message := zandronum.Decode(buf[:0], p.Data, maxMessage)
	if len(message) == 0 {
		return dropEmpty
	}
	now := time.Now()
	kind, body := zandronum.ParseKind(message)
	if s.banned(p.From.Addr(), now) {
		return s.turnAway(w, p, kind, now)
	}
	switch kind {
	case zandronum.KindChallenge:
		return s.challenge(w, p, zandronum.ParseChallenge(body), now)
	case zandronum.KindVerification:
		return s.verification(w, p, body, now)
	case zandronum.KindReceipt:
		return s.receipt(p.From, zandronum.ParseReceipt(body))
	case zandronum.KindListRequest:
		s.metrics.received.list.Inc()
		return s.launcher(w, p, zandronum.ParseListRequest(body), now)
	case zandronum.KindQuery:
		s.metrics.received.oldList.Inc()
		return s.oldLauncher(w, p, now)
	default:
		s.gate.garbage(p.From, s.since(now))
		return dropUnknown
	}
}

// turnAway answers a banned address, whatever it sent, unless that was an answer:
// two masters that ban each other, or an echo, would go on for ever. For the same
// reason it is done at the rate of strangers.
func (s *Server) turnAway(w netserve.PacketWriter, p netserve.Packet, kind zandronum.Kind, now time.Time) string {
	if kind == zandronum.KindChallenge {
		s.note(p.From, verdicts.Banned)
	}
	s.gate.refused(p.From.Addr(), s.since(now))
	if !zandronum.IsAnswer(kind) && s.policy.Load().Unproved.Allow(p.From.Addr(), now) {
		s.answer(w, p, zandronum.AnswerBanned)
		s.metrics.answers.banned.Inc()
	}
	return dropBanned
}

// since is the time on the clock of the gate.
func (s *Server) since(now time.Time) time.Duration { return now.Sub(s.start) }

// answer sends one of the answers that are only a number, unless it is longer
// than the question.
func (s *Server) answer(w netserve.PacketWriter, p netserve.Packet, a zandronum.Answer) {
	if b := s.answers[a]; len(b) <= len(p.Data) {
		s.write(w, p.To, p.From, b)
	}
}

func (s *Server) write(w netserve.PacketWriter, from netip.Addr, to netip.AddrPort, b []byte) {
	if err := w.WritePacket(b, from, to); err != nil {
		s.metrics.writeErrors.Inc()
		s.opt.Log.Debug().Stringer("peer", to).Err(err).Msg("packet not sent")
	}
}

// covers reports whether one of the networks holds a; no networks hold everybody.
func covers(networks []netip.Prefix, a netip.Addr) bool {
	return len(networks) == 0 || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
