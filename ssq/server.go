package ssq

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/views"
)

// Options configure a Server. Registry is required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers   // Trusted need no proof and have no budget; without Verdicts the column x-verdict is empty
	part.Listing // Games are for titles; may be nil

	Players *verdicts.Log // of queries that cannot be answered; nil: none are noted
}

const serviceName = "ssq"

const (
	// budgetBurst is the number of seconds of budget that can be used at once,
	// and leastBurst its minimum in bytes: a few of the longest answers.
	budgetBurst = 4
	leastBurst  = 64 << 10

	// A source may give this many passwords per second, and so many at once.
	authRate  = 1
	authBurst = 5
)

// live holds the live keys of a Config. It is immutable.
type live struct {
	digest          []byte // of the password; nil: there is none
	perAddr, perNet budget
}

// budget bounds the bytes for each source.
type budget struct {
	limiter *netserve.Limiter
	burst   int
}

// newBudget takes bytes per second and the length of a source's network.
func newBudget(rate, prefix int) budget {
	burst := max(rate*budgetBurst, leastBurst)
	return budget{netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(rate), Burst: burst, Prefix4: prefix}), burst}
}

// spend takes n bytes, or all that a full budget holds if n is more.
func (b budget) spend(a netip.Addr, n int, now time.Time) bool {
	return b.limiter.AllowN(a, min(n, b.burst), now)
}

// Server answers queries. It implements netserve.PacketHandler.
type Server struct {
	opt      Options
	keys     *keys
	live     atomic.Pointer[live] // never nil
	out      netserve.Sender
	metrics  *metrics
	latest   *views.Latest[snapshot]
	trials   *views.Latest[snapshot] // for self-tests
	guesses  *netserve.Limiter       // of passwords
	partials partials
	unread   *foreign.Notes
	columns  []column       // the fixed ones
	fixed    map[string]int // their places by name
	buffers  sync.Pool      // of *buffer
}

// buffer is memory for one answer.
type buffer struct {
	answer, rows []byte
	packet       [wire.MaxPacket]byte
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{
		opt:     opt,
		keys:    newKeys(),
		metrics: newMetrics(opt.Registerer),
		latest:  newLatest(opt.Registry),
		trials:  newLatest(opt.Registry.Trials()),
		guesses: netserve.NewLimiter(netserve.LimiterOptions{Rate: authRate, Burst: authBurst}),
		unread:  foreign.NewNotes(opt.Players, serviceName),
		columns: fixedColumns(),
		fixed:   make(map[string]int),
	}
	for i := range s.columns {
		s.fixed[s.columns[i].name] = i
	}
	s.buffers.New = func() any { return new(buffer) }
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys at once. Tokens for another password become
// invalid.
func (s *Server) Reload(c *Config) {
	l := &live{perAddr: newBudget(c.BytesPerAddr, 32), perNet: newBudget(c.BytesPerNet, 24)}
	if c.Password != "" {
		l.digest = s.keys.digest(c.Password)
	}
	s.live.Store(l)
}

// Serve answers the queries that come to conn until ctx ends. conn stays open
// and belongs to the caller.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	forgetting, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.latest.Run(forgetting) })
	defer running.Wait()
	defer stop()
	return netserve.ServePackets(ctx, conn, s, s.opt.Packets(1))
}

type drop = drops.Reason

var notDropped drop

var reasons drops.List

var (
	dropForeign   = reasons.Add("foreign")
	dropOversized = reasons.Judge("oversized", verdicts.TooLong)
	dropBanned    = reasons.Judge("banned", verdicts.Banned)
	dropMalformed = reasons.Judge("malformed", verdicts.MalformedRequest)
	dropParts     = reasons.Judge("parts_forgotten", verdicts.MalformedRequest)
	dropShort     = reasons.Judge("too_short_for_token", verdicts.MalformedRequest)
	dropLimited   = reasons.Judge("limited", verdicts.Limited)
	dropNoBudget  = reasons.Judge("no_budget", verdicts.Limited)
)

// request is a query on its way.
type request struct {
	w        netserve.PacketWriter
	packet   netserve.Packet
	id       byte
	received int // bytes of the question
	query    wire.Query
	live     *live
	now      time.Time

	trusted bool // no budget
	proved  bool // the client has proved its address
}

func (r *request) from() netip.Addr { return r.packet.From.Addr() }

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != notDropped {
		s.opt.Metrics.Drop(reason.Error())
		if v, ok := reason.Verdict(); ok {
			s.unread.Player(p.From.Addr(), v)
		}
	}
}

// handle returns why the packet was dropped.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) (dropped drop) {
	switch {
	case !p.From.Addr().Is4() || p.From.Port() == 0:
		return dropForeign
	case len(p.Data) > wire.HeaderLen+wire.MaxQuery:
		return dropOversized
	case s.opt.Banned.Has(p.From.Addr()):
		return dropBanned
	}
	h, body, err := wire.ParseHeader(p.Data)
	if err != nil {
		return dropMalformed
	}
	r := &request{w: w, packet: p, id: h.ID, received: len(p.Data), live: s.live.Load(), now: time.Now()}
	if h.Count > 1 {
		body, r.received, dropped = s.partials.add(p.From, h, p.Data, r.now)
		if body == nil {
			return dropped
		}
		if dropped != notDropped { // older questions; this one is whole
			s.opt.Metrics.Drop(dropped.Error())
		}
	}
	r.trusted = s.opt.Trusted.Has(r.from())
	r.query, err = wire.ParseQuery(body)
	switch {
	case errors.Is(err, wire.ErrNoQuery):
		return dropMalformed
	case err != nil:
		r.proved = r.trusted || s.keys.proves(r.query.Token, r.from(), r.now)
		s.refuse(r, err)
		return dropMalformed
	}
	s.metrics.received[r.query.Verb].Inc()
	if r.query.Verb == wire.Ping {
		return s.pong(r)
	}
	if r.proved = r.trusted || s.keys.proves(r.query.Token, r.from(), r.now); !r.proved {
		return s.wantProof(r)
	}
	return s.answer(r)
}

// pong answers a ping. The answer is shorter than any question.
func (s *Server) pong(r *request) drop {
	var buf [8]byte
	s.write(r, wire.AppendPong(wire.Header{ID: r.id, Count: 1}.AppendTo(buf[:0])))
	return notDropped
}

// wantProof sends the token that the client has to repeat, if the question was
// long enough for it.
func (s *Server) wantProof(r *request) drop {
	b := s.oneCell(r.id, wire.TokenColumn, s.keys.proof(r.from(), r.now))
	if len(b) > r.received {
		return dropShort
	}
	s.metrics.tokens.Inc()
	s.write(r, b)
	return notDropped
}

// oneCell returns the packet of a table of one cell.
func (s *Server) oneCell(id byte, column, cell string) []byte {
	t := wire.Table{Columns: []string{column}, Rows: [][]string{{cell}}}
	return t.AppendTo(wire.Header{ID: id, Count: 1}.AppendTo(nil))
}

// maxError is the longest text of an error, in bytes.
const maxError = 200

// refuse sends the client an error: the whole text if the address is proved,
// else cut to the length of the question.
func (s *Server) refuse(r *request, err error) {
	text := err.Error()
	room := maxError
	if !r.proved {
		room = min(room, r.received-len(s.oneCell(r.id, wire.ErrorColumn, "")))
	}
	if room < 1 {
		return
	}
	b := s.oneCell(r.id, wire.ErrorColumn, text[:min(len(text), room)])
	if !r.proved && len(b) > r.received {
		return // escapes made it longer
	}
	s.metrics.errors.Inc()
	s.write(r, b)
}

var errBusy = errors.New("busy")

// spend takes bytes from the budgets of the address.
func (r *request) spend(n int) bool {
	return r.trusted || (r.live.perAddr.spend(r.from(), n, r.now) && r.live.perNet.spend(r.from(), n, r.now))
}

func usesList(v wire.Verb) bool { return v == wire.Select || v == wire.Procedure || v == wire.Columns }

// answer answers a query from an address that is proved.
func (s *Server) answer(r *request) drop {
	if usesList(r.query.Verb) && !r.spend(searchWork(s.opt.Registry.Len(), len(r.query.Where))) {
		return s.busy(r) // before anything is done for it
	}
	buf := s.buffers.Get().(*buffer)
	defer s.buffers.Put(buf)
	b := buf.answer[:0]
	switch r.query.Verb {
	case wire.Auth:
		token, dropped := s.auth(r)
		if dropped != notDropped {
			return dropped
		}
		t := wire.Table{Columns: []string{wire.AuthColumn}, Rows: [][]string{{token}}}
		b = t.AppendTo(b)
	case wire.Version:
		t := wire.Table{Columns: wire.VersionColumns(), Rows: [][]string{{"1", "list", s.program()}}}
		b = t.AppendTo(b)
	case wire.Columns:
		b = s.columnList(b, s.latest.Now(), r.query.Long)
	default:
		asker, latest := s.opt.Addresses.Asker(r.from()), s.latest
		if asker.IsTrial() {
			latest = s.trials
		}
		snap := latest.Now()
		p, err := s.newPlan(&r.query, snap, s.keys.authorizes(r.query.Identified, r.from(), r.live.digest, r.now), r.now)
		if err != nil {
			return s.correct(r, err)
		}
		if !r.spend(p.moreWork(snap)) {
			return s.busy(r)
		}
		p.asker = asker
		b, buf.rows = s.run(b, buf.rows, p, snap)
	}
	buf.answer = b
	if !r.spend(len(b)) {
		return s.busy(r)
	}
	s.send(r, buf)
	return notDropped
}

// correct sends the client the names that the list does not have.
func (s *Server) correct(r *request, err error) drop {
	if !r.spend(maxError) {
		return s.busy(r)
	}
	s.refuse(r, err)
	return notDropped
}

// busy informs the client that it has used up its budget. A question with a
// token is longer than this answer.
func (s *Server) busy(r *request) drop {
	r.proved = false
	s.refuse(r, errBusy)
	return dropNoBudget
}

// auth returns the token for a password, "" for a wrong one.
func (s *Server) auth(r *request) (token string, dropped drop) {
	if !s.guesses.Allow(r.from(), r.now) {
		return "", dropLimited
	}
	if r.live.digest == nil || !same(string(s.keys.digest(r.query.Password)), string(r.live.digest)) {
		s.metrics.auth.refused.Inc()
		s.opt.Log.Debug().Stringer("peer", r.packet.From).Msg("wrong password for private columns")
		return "", notDropped
	}
	s.metrics.auth.granted.Inc()
	s.opt.Log.Info().Stringer("peer", r.packet.From).Msg("password taken: private columns are shown to this address")
	return s.keys.auth(r.from(), r.live.digest, r.now), notDropped
}

// program returns the name and version of this program.
func (s *Server) program() string {
	if s.opt.Version == "" {
		return "respawnd"
	}
	return "respawnd " + s.opt.Version
}

// send sends an answer of at most wire.MaxWritten bytes.
func (s *Server) send(r *request, buf *buffer) {
	packets, err := wire.Split(&buf.packet, r.id, buf.answer)
	if err != nil {
		s.opt.Log.Error().Err(err).Int("bytes", len(buf.answer)).Msg("answer has no room in its packets")
		return
	}
	for p := range packets {
		s.write(r, p)
	}
}

func (s *Server) write(r *request, b []byte) { s.out.Send(r.w, b, r.packet.To, r.packet.From) }
