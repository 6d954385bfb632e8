package zanmaster

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

const serviceName = "zanmaster"

// Options configure a Server. Registry is required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers   // without Banned: that is for Bans and Files
	part.Listing // Config.AdvertiseAs comes before Addresses

	Bans *bans.Table // those of scope zandronum and all are used; nil: only the files

	// Files is the directory of the four ban files; empty: there are none.
	Files string
}

// cappedEvery bounds the lines in the log about lists that are too long.
const cappedEvery = time.Minute

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	opt     Options
	list    *master.Registry
	start   time.Time
	live    atomic.Pointer[live]   // never nil
	access  atomic.Pointer[access] // never nil
	metrics *metrics
	out     netserve.Sender
	foreign *foreign.Notes
	answers [zandronum.AnswerList][]byte // coded
	gate    *gate
	lister  *lister
	trials  *lister       // for self-tests
	buffers sync.Pool     // of *[maxMessage]byte, for decoded messages
	wake    chan struct{} // holds one: the ticker has something to do at once

	tell, tellOld rate.Sometimes // that a list, and the old form of one, is too long

	// reading is held while files are read and the rules in force are replaced,
	// so that changes take effect in order.
	reading                                   sync.Mutex
	banFile, exemptFile, blockFile, multiFile *ruleFile

	mu    sync.Mutex // guards hosts
	hosts hostTable
}

// New returns a Server. Nothing runs and no file is read until Serve is called.
// It registers itself with Options.Bans.
func New(opt Options) *Server {
	s := &Server{
		opt:        opt,
		list:       opt.Registry,
		start:      time.Now(),
		metrics:    newMetrics(opt.Registerer),
		foreign:    foreign.NewNotes(opt.Verdicts, serviceName),
		gate:       newGate(),
		lister:     newLister(opt.Registry),
		trials:     newLister(opt.Registry.Trials()),
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
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.takeOver(&s.opt.Config)
	if opt.Bans != nil {
		opt.Bans.OnChange(s.bansChanged)
	}
	return s
}

// Serve reads the ban files and takes packets from conn until ctx ends. conn
// stays open and belongs to the caller.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	s.logProblems(s.readFiles())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(s.opt.Readers)) })
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

// idle is the tick interval while idle.
const idle = time.Second

// tick performs the work that is due: expiry, ban lists, changed files.
func (s *Server) tick(ctx context.Context, w netserve.PacketWriter) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	next := time.Now().Add(idle)
	due := ticker{poll: time.Now().Add(s.opt.BanFilesPoll), expire: next}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			// Not at once: more events may follow.
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

// ticker signals when something is due.
type ticker struct {
	poll, expire time.Time
}

// step performs the work that is due at now and returns the time until the next step.
func (s *Server) step(w netserve.PacketWriter, due *ticker, now time.Time) time.Duration {
	if s.opt.BanFilesPoll > 0 && !now.Before(due.poll) {
		due.poll = now.Add(s.opt.BanFilesPoll)
		if s.filesChanged() {
			s.logProblems(s.readFiles())
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

func (s *Server) wakeUp() { wake.Up(s.wake) }

func (s *Server) note(a netip.AddrPort, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, zandronum.Game, v)
}

// noteDrop notes the verdict for a reason, if it has one.
func (s *Server) noteDrop(a netip.AddrPort, reason uplink.Drop) {
	if v, ok := reason.Verdict(); ok {
		s.note(a, v)
	}
}

// notes are verdicts to note after all locks are released.
type notes []verdicts.Noted

func (n *notes) add(a netip.AddrPort, v verdicts.Verdict) {
	*n = append(*n, verdicts.Noted{Addr: a, Verdict: v})
}

// drop adds the verdict for a reason, if it has one.
func (n *notes) drop(a netip.AddrPort, reason uplink.Drop) {
	if v, ok := reason.Verdict(); ok {
		n.add(a, v)
	}
}

func (s *Server) noteAll(n notes) { s.opt.Verdicts.NoteAll(serviceName, zandronum.Game, n) }

// The values of Config.NotEnforcing, for servers that do not enforce the ban
// list.
const (
	hide = "hide" // they are in no list, as with the original
	show = "show" // they are listed like the others
	mark = "mark" // they are listed, and their record has a warning
)

// live is a Config that is in force. It is not changed.
type live struct {
	*Config
	// unproved limits, per address, the verification requests that are longer
	// than the challenge before them, and the answers to banned addresses.
	unproved *netserve.Limiter
}

// Reload applies the live keys at once: servers that may no longer be listed
// leave the list, and hidden ones that may be listed enter it.
func (s *Server) Reload(c *Config) {
	s.takeOver(c)
	s.enforce()
}

func (s *Server) takeOver(c *Config) {
	s.live.Store(&live{c, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst})})
	s.gate.takeOver(c)
	s.lister.takeOver(c)
	s.trials.takeOver(c)
}

// shows reports whether a server is listed.
func (l *live) shows(enforces bool) bool { return enforces || l.NotEnforcing != hide }

// marks reports whether the record of a server has a warning.
func (l *live) marks(enforces bool) bool { return !enforces && l.NotEnforcing == mark }

// public returns the address under which a server is listed.
func (l *live) public(source netip.AddrPort) netip.AddrPort {
	if a := source.Addr(); l.AdvertiseAs.Is4() && (a.IsPrivate() || a.IsLoopback()) {
		return netip.AddrPortFrom(l.AdvertiseAs, source.Port())
	}
	return source
}

// covers reports whether one of the networks holds a; no networks hold all.
func covers(networks []netip.Prefix, a netip.Addr) bool {
	return len(networks) == 0 || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// metrics are the counters of this package. They are resolved once, so that
// counting a packet costs one addition.
type metrics struct {
	received struct {
		challenge, heartbeat, verification, receipt, list, oldList prometheus.Counter
	}
	answers struct {
		list, oldList, tooSoon, banned, wrongVersion prometheus.Counter
	}
	bans struct {
		sent, repeated, received prometheus.Counter
	}
	registered, requests, capped, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m, in := &metrics{}, metric.With(reg)
	received := in.Counters("respawnd_zanmaster_received_total", "Packets taken from game servers and launchers, by kind.", "kind").WithLabelValues
	m.received.challenge = received("challenge")
	m.received.heartbeat = received("heartbeat")
	m.received.verification = received("verification")
	m.received.receipt = received("receipt")
	m.received.list = received("list")
	m.received.oldList = received("old_list")
	answers := in.Counters("respawnd_zanmaster_answers_total", "Answers to launchers and refused servers.", "answer").WithLabelValues
	m.answers.list = answers("list")
	m.answers.oldList = answers("old_list")
	m.answers.tooSoon = answers("too_soon")
	m.answers.banned = answers("banned")
	m.answers.wrongVersion = answers("wrong_version")
	bans := in.Counters("respawnd_zanmaster_ban_lists_total", "Ban lists to game servers: sent for the first time, sent again, acknowledged.", "result").WithLabelValues
	m.bans.sent = bans("sent")
	m.bans.repeated = bans("repeated")
	m.bans.received = bans("received")
	m.registered = in.Counter("respawnd_zanmaster_registrations_total", "Servers that verified their address and were listed.")
	m.requests = in.Counter("respawnd_zanmaster_verification_requests_total", "Verification requests sent, repeated ones included.")
	m.capped = in.Counter("respawnd_zanmaster_capped_lists_total", "Lists that were made without the servers that had no room in them.")
	m.writeErrors = in.Counter("respawnd_zanmaster_write_errors_total", "Packets that the system did not take.")
	return m
}

func dropNames() []string {
	return uplink.NamesOf(
		uplink.Empty, uplink.Oversized, uplink.Foreign, uplink.UnknownKind, uplink.Malformed, uplink.Banned, uplink.Blocked,
		uplink.NotAllowed, uplink.Outdated, uplink.Limited, uplink.TooMany, uplink.TooManyPending, uplink.Full, uplink.NoBudget,
		uplink.Wrong, uplink.Unexpected, uplink.TooSoon, uplink.Silenced, uplink.OldListOff, uplink.WrongVersion,
	)
}
