package qr2

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// serviceName is the name under which verdicts are noted.
const serviceName = "qr2"

// Options configure a Server. Registry and Games are required.
type Options struct {
	Registry *master.Registry
	Games    *games.Catalog
	Verdicts *verdicts.Log // nil: none are noted

	// Banned tells whether an address may list servers; nil: nobody is banned.
	Banned func(netip.Addr) bool
	// Own tells which addresses are those of this daemon, which are never asked;
	// nil: none.
	Own func(netip.AddrPort) bool
	// Locate returns the country (ISO 3166 alpha-2) and region of an address,
	// empty if unknown; nil: unknown. It is called once per registration and
	// must not block.
	Locate func(netip.Addr) (country, region string)

	Policy // replaced by SetPolicy

	Packets    netserve.PacketOptions
	Log        zerolog.Logger
	Metrics    *netserve.Metrics
	Registerer prometheus.Registerer // nil: the metrics of this package are not registered
}

// Policy is what an operator may change while the Server runs.
type Policy struct {
	// StrictAvailability answers "gone" for games that are not in the
	// catalogue, instead of "available".
	StrictAvailability bool
	// Maintenance answers "down for now" for every game.
	Maintenance bool
	// Refuse tells hosts why they are not listed.
	Refuse bool
	// MaxPending bounds the hosts that are being verified; 0: 8,192. When it is
	// reached, others make room as package unproved says.
	MaxPending int
	// Unproved bounds what is taken from addresses that have proved nothing, but
	// for heartbeats that are as long as what they are answered with; nil: no
	// bound.
	Unproved *netserve.Limiter
	// Trusted tells which addresses Unproved does not bind; nil: none.
	Trusted func(netip.Addr) bool
}

func (p *Policy) withDefaults() *Policy {
	q := *p
	if q.MaxPending <= 0 {
		q.MaxPending = DefaultMaxPending
	}
	return &q
}

// allow takes one packet from the allowance of an address that has proved
// nothing.
func (p *Policy) allow(a netip.Addr, now time.Time) bool {
	return p.Unproved.Allow(a, now) || (p.Trusted != nil && p.Trusted(a))
}

// Server is the intake. It implements netserve.PacketHandler and
// master.Messenger.
type Server struct {
	opt     Options
	list    *master.Registry
	policy  atomic.Pointer[Policy]
	source  *master.Source
	texts   sync.Pool // of *[]byte, for reports without the rule statechanged
	replies sync.Pool // of *[replyHeader]byte
	metrics *metrics
	foreign *foreign.Notes
	conn    netserve.PacketWriter
	clock   atomic.Pointer[time.Time] // the last tick; nil while Serve does not run
	text    *textIntake

	mu       sync.Mutex // guards the fields below
	pending  pendingTable
	messages messageTable
	probes   probeQueue
	vantages []vantage
}

// DefaultMaxPending is the default of Options.MaxPending.
const DefaultMaxPending = 8192

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{
		opt:      opt,
		list:     opt.Registry,
		metrics:  newMetrics(opt.Registerer),
		pending:  newPendingTable(),
		foreign:  foreign.NewNotes(opt.Verdicts, serviceName),
		messages: newMessageTable(),
		probes:   newProbeQueue(),
	}
	s.SetPolicy(opt.Policy)
	s.source = master.NewSource(newDecoder(opt.Registry))
	s.texts.New = func() any { return new([]byte) }
	s.text = newTextIntake(s)
	s.replies.New = func() any { return new([replyHeader]byte) }
	return s
}

// SetPolicy replaces the policy from the next packet on.
func (s *Server) SetPolicy(p Policy) { s.policy.Store(p.withDefaults()) }

// tickEvery is how often challenges, messages and probes are looked at.
const tickEvery = 100 * time.Millisecond

// Serve takes packets from conn until ctx ends. probe is a second socket, on
// any port, from which reachability is probed; nil: hosts are not probed. far are
// sockets that probe too, each bound to another address than conn. All stay open
// and belong to the caller.
func (s *Server) Serve(ctx context.Context, conn, probe *netserve.PacketConn, far ...*netserve.PacketConn) error {
	s.mu.Lock()
	s.conn, s.vantages = conn, nil
	for _, c := range far {
		s.vantages = append(s.vantages, vantage{c.LocalAddr().Addr(), c})
	}
	s.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets) })
	opt := netserve.PacketOptions{Log: s.opt.Packets.Log, Metrics: s.opt.Packets.Metrics}
	if probe != nil {
		g.Go(func() error { return netserve.ServePackets(ctx, probe, probeHandler{s: s}, opt) })
		for _, c := range far {
			g.Go(func() error { return netserve.ServePackets(ctx, c, probeHandler{s, c.LocalAddr().Addr()}, opt) })
		}
	}
	g.Go(func() error { s.tick(ctx, conn, probe); return nil })
	return g.Wait()
}

// tick repeats what was not answered.
func (s *Server) tick(ctx context.Context, conn, probe *netserve.PacketConn) {
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	begin := time.Now()
	s.clock.Store(&begin)
	defer s.clock.Store(nil)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			s.clock.Store(&now)
			s.repeatChallenges(conn, now)
			s.repeatMessages(conn, now)
			if probe != nil {
				s.probe(probe, now)
				s.text.tick(conn, probe, now)
			} else {
				s.text.tick(conn, nil, now)
			}
		}
	}
}

// recently is a time within the last tick or so: near enough to say when a listed
// server was heard, and cheaper than the time itself.
func (s *Server) recently() time.Time {
	if t := s.clock.Load(); t != nil {
		return *t
	}
	return time.Now()
}

// The reasons for which packets are dropped.
const (
	dropEmpty       = "empty"
	dropOversized   = "oversized"
	dropShort       = "short"
	dropForeign     = "foreign"
	dropCDKey       = "cdkey"
	dropOurs        = "master_packet"
	dropUnknownKind = "unknown_kind"
	dropUnlisted    = "unlisted"
	dropMalformed   = "malformed"
	dropLimited     = "limited"
	dropBanned      = "banned"
	dropUnknownGame = "unknown_game"
	dropNoSecret    = "no_secret"
	dropWrong       = "wrong_response"
	dropUnexpected  = "unexpected"
	dropPending     = "too_many_pending"
	dropFull        = "list_full"
	dropNoBudget    = "no_budget"
)

// DropReasons lists the reasons that Options.Metrics counts drops under.
func DropReasons() []string {
	return []string{
		dropEmpty, dropOversized, dropShort, dropForeign, dropCDKey, dropOurs, dropUnknownKind,
		dropUnlisted, dropMalformed, dropLimited, dropBanned, dropUnknownGame, dropNoSecret, dropWrong,
		dropUnexpected, dropPending, dropFull, dropNoBudget,
	}
}

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != "" {
		s.opt.Metrics.Drop(reason)
		s.explain(p, reason)
	}
}

// handle returns why the packet was dropped, "" if it was not.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) (dropped string) {
	b := p.Data
	switch {
	case len(b) == 0:
		return dropEmpty
	case len(b) > MaxPacket:
		return dropOversized
	case !p.From.Addr().Is4() || p.From.Port() == 0:
		return dropForeign
	case b[0] == '\\':
		return s.text.handle(w, p)
	case b[0] == ';':
		return dropCDKey
	case b[0] == 0xFE:
		return dropOurs
	case query.IsText(b): // an answer without its first backslash
		return s.text.answer(w, p)
	case b[0] > byte(KindRegistered):
		return dropForeign
	case len(b) < header:
		return dropShort
	}
	key := master.Key{Source: p.From, Instance: binary.BigEndian.Uint32(b[1:])}
	switch Kind(b[0]) {
	case KindKeepalive:
		return s.keepalive(w, p, key)
	case KindHeartbeat:
		return s.heartbeat(w, p, key)
	case KindChallenge:
		return s.response(w, p, key)
	case KindReceipt:
		return s.receipt(p, key)
	case KindAvailable:
		return s.available(w, p)
	case KindQuery, KindEcho, KindRefusal, KindEchoReply, KindMessage, KindRegistered:
		return dropUnexpected
	default:
		return dropUnknownKind
	}
}

// keepalive notes a sign of life. A stranger's says nothing that we could use
// and is not answered; its next heartbeat comes within a minute.
func (s *Server) keepalive(w netserve.PacketWriter, p netserve.Packet, key master.Key) string {
	if !s.list.Touch(key, master.FromQR2, s.recently()) {
		return s.restoredKeepalive(w, p, key)
	}
	s.metrics.received.keepalive.Inc()
	s.reply(w, p, KindKeepalive, key.Instance)
	return ""
}

// own returns the record of a host that is listed by this protocol. The sources
// and instance keys of other origins are easily forged: who speaks for those is
// for others to say.
func (s *Server) own(key master.Key) (*master.Server, bool) {
	srv, ok := s.list.Get(key)
	if !ok || srv.Origin != master.FromQR2 {
		return nil, false
	}
	return srv, true
}

// heartbeat refreshes a listed server or starts the verification of a new one.
func (s *Server) heartbeat(w netserve.PacketWriter, p netserve.Packet, key master.Key) string {
	s.metrics.received.heartbeat.Inc()
	old, listed := s.own(key)
	if listed && !old.Restored {
		if done, dropped := s.refresh(w, p, old); done {
			return dropped
		}
	}
	return s.introduce(w, p, key, listed)
}

// refresh takes a heartbeat of a listed server. done is false if it has to be
// verified again.
func (s *Server) refresh(w netserve.PacketWriter, p netserve.Packet, old *master.Server) (done bool, dropped string) {
	now := s.recently()
	f, err := peek(p.Data)
	if err != nil {
		s.list.Touch(old.Key, master.FromQR2, now)
		s.note(old.Key.Source, old.Game, verdicts.Malformed)
		return true, dropMalformed
	}
	if string(f.game) != old.Game {
		if g, ok := s.opt.Games.LookupBytes(f.game); !ok || g.Name != old.Game {
			return false, ""
		}
	}
	switch f.state {
	case stateLeaving:
		s.leave(old.Key, old.Game)
		return true, ""
	case stateStarting:
		// It has not heard us yet, or has lost its state: it is challenged
		// again, but it stays listed meanwhile.
		s.update(&f, p, old, now)
		return false, ""
	case statePeriodic, stateChanged:
	}
	s.update(&f, p, old, now)
	return true, ""
}

// update replaces the record if the report says something new.
func (s *Server) update(f *fixed, p netserve.Packet, old *master.Server, now time.Time) {
	sections := p.Data[header:]
	if f.hasState {
		buf := s.texts.Get().(*[]byte)
		defer s.texts.Put(buf)
		*buf = f.appendStateless((*buf)[:0], sections)
		sections = *buf
	}
	text := s.source.Text(sections)
	if old.Via == p.To && s.source.Same(old, text) {
		s.list.Touch(old.Key, master.FromQR2, now)
		return
	}
	next := s.source.Next(old, text)
	next.Via, next.NATNeg, next.Local, next.Seen = p.To, f.natNeg, f.local(old.Local), now
	s.list.Update(next) // unless it was removed meanwhile
}

// leave takes a server off the list at its own wish.
func (s *Server) leave(key master.Key, game string) {
	if s.list.Remove(key) {
		s.note(key.Source, game, verdicts.Left)
	}
	s.mu.Lock()
	s.pending.remove(key)
	s.messages.forget(key)
	s.mu.Unlock()
}

// available answers the check that games make at their start. The answer is
// never longer than the question.
func (s *Server) available(w netserve.PacketWriter, p netserve.Packet) string {
	name, ok := parseAvailable(p.Data)
	if !ok {
		return dropMalformed
	}
	if !s.policy.Load().allow(p.From.Addr(), time.Now()) {
		return dropLimited
	}
	s.metrics.received.available.Inc()
	var buf [replyHeader]byte
	s.send(w, p, appendAvailable(buf[:0], s.disabled(name)))
	return ""
}

func (s *Server) disabled(name []byte) uint32 {
	policy := s.policy.Load()
	g, known := s.opt.Games.LookupBytes(name)
	if known {
		if bits := g.Availability(policy.StrictAvailability); bits != 0 {
			return bits
		}
	}
	switch {
	case !known && policy.StrictAvailability:
		return games.Gone
	case policy.Maintenance:
		return games.TemporarilyDown
	default:
		return 0
	}
}

// reply answers a packet with one that has no body.
func (s *Server) reply(w netserve.PacketWriter, p netserve.Packet, k Kind, instance uint32) {
	buf := s.replies.Get().(*[replyHeader]byte)
	s.send(w, p, appendHeader(buf[:0], k, instance))
	s.replies.Put(buf)
}

// send answers a packet from the address that it was sent to.
func (s *Server) send(w netserve.PacketWriter, p netserve.Packet, reply []byte) {
	s.write(w, p.To, p.From, reply)
}

func (s *Server) write(w netserve.PacketWriter, from netip.Addr, to netip.AddrPort, b []byte) {
	if err := w.WritePacket(b, from, to); err != nil {
		s.metrics.writeErrors.Inc()
		s.opt.Log.Debug().Stringer("peer", to).Err(err).Msg("packet not sent")
	}
}

func (s *Server) note(a netip.AddrPort, game string, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, game, v)
}

// Expired notes that the registry dropped a silent server. The owner of the
// registry calls it.
func (s *Server) Expired(srv *master.Server) {
	s.note(srv.Key.Source, srv.Game, verdicts.Expired)
	s.mu.Lock()
	s.messages.forget(srv.Key)
	s.mu.Unlock()
}

// Replaced tells a host that the registry dropped it for a newcomer. The owner of
// the registry calls it. The address of the host is proved, so the text may be
// longer than its last packet.
func (s *Server) Replaced(srv *master.Server) {
	s.note(srv.Key.Source, srv.Game, verdicts.Replaced)
	s.mu.Lock()
	s.messages.forget(srv.Key)
	w := s.conn
	s.mu.Unlock()
	if w != nil {
		s.refuse(w, netserve.Packet{From: srv.Key.Source, To: srv.Via}, srv.Key.Instance, textReplaced)
	}
}

// verified lists a host that has answered its challenge.
func (s *Server) verified(v *pending, now time.Time) error {
	srv, err := s.record(v, now)
	if err != nil {
		return err
	}
	return s.list.Put(srv)
}

// record makes the record of a host from the report that it was challenged for.
// A server that is listed already keeps its record: if it is restored and was
// challenged on a keepalive there is no other, else its reports were taken.
func (s *Server) record(v *pending, now time.Time) (master.Server, error) {
	old, listed := s.own(v.key)
	if listed && old.Game == v.game.Name && (v.said.text == "" || !old.Restored) {
		// The record is as new as the packet, or newer.
		srv := *old
		srv.Restored, srv.Seen, srv.Via, srv.Lifetime = false, now, v.via, 0
		return srv, nil
	}
	if v.said.text == "" {
		return master.Server{}, master.ErrNotListed
	}
	srv := master.Server{
		Key:    v.key,
		Game:   v.game.Name,
		Origin: master.FromQR2,
		Public: v.key.Source,
		Via:    v.via,
		NATNeg: v.said.natNeg,
		Local:  v.said.local,
		Seen:   now,
	}
	if listed {
		srv.Rules = old.Rules // its names will probably come again
	}
	if s.opt.Locate != nil {
		srv.Country, srv.Region = s.opt.Locate(v.key.Source.Addr())
	}
	s.source.Into(&srv, s.source.KeptText(v.said.text))
	return srv, nil
}

// response checks the answer to a challenge.
func (s *Server) response(w netserve.PacketWriter, p netserve.Packet, key master.Key) string {
	now := time.Now()
	s.mu.Lock()
	v := s.pending.get(key)
	if v == nil {
		s.mu.Unlock()
		return s.repeatedResponse(w, p, key)
	}
	v.in += len(p.Data)
	right := s.pending.right(v, p.Data[header:], now)
	if !right {
		v.wrong++
	}
	if right || v.wrong >= maxWrong {
		s.pending.remove(key)
		s.pending.void(key) // used once
	}
	tell := !right && s.policy.Load().Refuse && v.spend(refusalSize(textWrong))
	s.mu.Unlock()

	if !right {
		s.note(key.Source, v.game.Name, verdicts.WrongResponse)
		if tell {
			s.refuse(w, p, key.Instance, textWrong)
		}
		return dropWrong
	}
	return s.welcome(w, p, v, now)
}

// repeatedResponse tells a listed server once more that it is listed: the
// first word of it may have been lost.
func (s *Server) repeatedResponse(w netserve.PacketWriter, p netserve.Packet, key master.Key) string {
	if srv, ok := s.own(key); !ok || srv.Restored || len(p.Data) < replyHeader {
		return dropUnexpected
	}
	s.reply(w, p, KindRegistered, key.Instance)
	return ""
}

// welcome lists a verified host and tells it so, or why not.
func (s *Server) welcome(w netserve.PacketWriter, p netserve.Packet, v *pending, now time.Time) string {
	if s.banned(v.key.Source.Addr()) {
		return s.unwelcome(w, p, v, errBanned)
	}
	old, known := s.list.At(v.key.Source)
	if err := s.verified(v, now); err != nil {
		return s.unwelcome(w, p, v, err)
	}
	if s.banned(v.key.Source.Addr()) { // since the first look
		s.list.Remove(v.key)
		return s.unwelcome(w, p, v, errBanned)
	}
	s.metrics.registered.Inc()
	s.reply(w, p, KindRegistered, v.key.Instance)
	restarted := known && old.Key != v.key
	if restarted {
		s.note(v.key.Source, v.game.Name, verdicts.Restarted)
	}
	s.note(v.key.Source, v.game.Name, verdicts.Listed)
	s.mu.Lock()
	if restarted {
		s.messages.forget(old.Key)
	}
	s.probes.add(v.key, v.via, v.game.QueryChallenge(), now)
	s.mu.Unlock()
	return ""
}

// errBanned is why a verified host on a banned address is not listed.
var errBanned = errors.New("banned")

// unwelcome tells a verified host why it is not listed. Its address is proved,
// so the answer may be longer than the question.
func (s *Server) unwelcome(w netserve.PacketWriter, p netserve.Packet, v *pending, err error) string {
	verdict, text, reason := verdicts.Malformed, textMalformed, dropMalformed
	switch {
	case errors.Is(err, master.ErrNotListed):
		return dropUnlisted // a restored server that expired; its next heartbeat is welcome
	case errors.Is(err, errBanned):
		verdict, text, reason = verdicts.Banned, textBanned, dropBanned
	case errors.Is(err, master.ErrFull):
		verdict, text, reason = verdicts.ListFull, textFull, dropFull
	case errors.Is(err, master.ErrTooManyHere), errors.Is(err, master.ErrTaken):
		verdict, text, reason = verdicts.TooManyHere, textTooMany, dropFull
	}
	s.note(v.key.Source, v.game.Name, verdict)
	s.refuse(w, p, v.key.Instance, text)
	return reason
}
