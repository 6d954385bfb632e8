package nwmaster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/storage"
)

const name = "nwmaster"

// Options configure a Server.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Registration

	Players netserve.AddrSet // banned ones
	// Asking is the port of the socket that servers are asked from.
	Asking uint16
	// Profile returns the profile with a unique nick and its account, and CheckProof checks
	// players, see package accounts. They may wait for the store.
	Profile    func(ctx context.Context, namespace int, nick string) (storage.Profile, storage.User, error)
	CheckProof func(ctx context.Context, p accounts.Proof) (accounts.Login, error)
}

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	uplink.Master
	opt    Options
	live   atomic.Pointer[Config] // never nil
	out    atomic.Pointer[ways]   // nil until Serve
	checks chan check

	received map[nwn.Kind]prometheus.Counter
	results  results
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{opt: opt, checks: make(chan check, opt.MaxChecks), received: make(map[nwn.Kind]prometheus.Counter)}
	s.Master = uplink.New(uplink.Options{
		Registration: opt.Registration, Readers: opt.Readers, MaxPacket: nwn.MaxPacket, Handle: s.handle,
		Dialect: uplink.Dialect{
			Service: name, Origin: Origin, Instance: 0x4E574E4D,
			Question: func(b []byte, _ uplink.Challenge, _ string) []byte { return nwn.AppendAskRules(b, opt.Asking) },
		},
	})
	in := metric.With(opt.Registerer)
	received := in.Counters("respawnd_nwmaster_received_total", "Messages taken from game servers and players, by kind.", "kind").WithLabelValues
	for kind, label := range map[nwn.Kind]string{
		nwn.Status: "status", nwn.Start: "start", nwn.Module: "module", nwn.Heartbeat: "heartbeat", nwn.Leave: "leave", nwn.Account: "account",
		nwn.Keys: "keys", nwn.Motd: "motd", nwn.Version: "version", nwn.NewAccount: "new_account", nwn.Friends: "friends", nwn.RulesAnswer: "rules",
	} {
		s.received[kind] = received(label)
	}
	s.results = newResults(in)
	in.GaugeFunc("respawnd_nwmaster_checks_waiting", "Checks of players that wait for the store.", func() int { return len(s.checks) })
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys at once. Budgets begin full.
func (s *Server) Reload(c *Config) {
	s.live.Store(c)
	s.Keeper.Reload(c.Config, uplink.ListConfig{}, 0)
}

// Serve takes packets from conn and further sockets, and asks servers from another one,
// until ctx ends. The sockets stay open and belong to the caller.
func (s *Server) Serve(ctx context.Context, conn, asking *netserve.PacketConn, further ...netserve.Further) error {
	var two netserve.PacketWriter = conn
	if len(further) > 0 {
		two = further[0].Conn
	}
	s.through(conn, two, asking)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(s.opt.Readers)) })
	g.Go(func() error { return netserve.ServePackets(ctx, asking, s.answers(), s.opt.Packets(s.opt.Readers)) })
	for _, f := range further {
		g.Go(func() error { return netserve.ServePackets(ctx, f.Conn, s.At(f.Port), s.opt.Packets(s.opt.Readers)) })
	}
	g.Go(func() error { s.Run(ctx, asking); return nil })
	for range checkers {
		g.Go(func() error { s.work(ctx); return nil })
	}
	return g.Wait()
}

// answers returns the handler of answers of servers at the socket of the queries.
func (s *Server) answers() uplink.Front {
	return s.Keeper.Front(func(_ netserve.PacketWriter, p netserve.Packet, _ uint16, now time.Time) uplink.Drop {
		return s.rules(p, now)
	})
}

// ways are the sockets, for packets that are sent after the handler of a packet has
// returned or through another socket.
type ways struct{ first, second, asking netserve.PacketWriter }

func (s *Server) through(first, second, asking netserve.PacketWriter) {
	s.out.Store(&ways{first, second, asking})
}

// handle returns why the packet was dropped, if it was. Neverwinter Nights 2 has a further
// port.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	second := port != 0
	kind, rest, ok := nwn.Cut(p.Data)
	counter := s.received[kind]
	switch {
	case len(p.Data) < nwn.LettersLen:
		return uplink.Foreign
	case !ok || counter == nil || kind == nwn.RulesAnswer:
		return uplink.UnknownKind
	case s.Banned(p.From.Addr()):
		return uplink.Banned
	}
	counter.Inc()
	switch kind {
	case nwn.Status, nwn.Motd, nwn.Version:
		if len(rest) < portLen { // answered requests must not be shorter than games send them
			return uplink.MalformedRequest
		}
	default:
	}
	switch kind {
	case nwn.Status:
		return s.status(w, p, second, now)
	case nwn.Start, nwn.Module, nwn.Heartbeat:
		return s.ask(p, 0, now)
	case nwn.Leave:
		return s.leave(p, rest, now)
	case nwn.Account:
		return s.account(p, rest, second)
	case nwn.Keys:
		return s.keys(w, p, rest)
	case nwn.Motd:
		return s.motd(w, p, now)
	case nwn.Version:
		return s.text(w, p, nwn.VersionAnswer, s.live.Load().Version, now)
	case nwn.Friends:
		return s.send(w, p, nwn.AppendNoFriends(nil), now)
	default: // BMCA: no answer is known
		return uplink.NotDropped
	}
}

// portLen is the length of the port that begins most messages.
const portLen = 2

// send sends an answer, if it may be sent.
func (s *Server) send(w netserve.PacketWriter, p netserve.Packet, b []byte, now time.Time) uplink.Drop {
	if !s.Known(p.From) && !s.MaySend(p.From.Addr(), len(b), len(p.Data), now) {
		return uplink.Limited
	}
	s.Send(w, b, p.To, p.From)
	return uplink.NotDropped
}

// status answers a server that asks whether we are here, and asks it.
func (s *Server) status(w netserve.PacketWriter, p netserve.Packet, second bool, now time.Time) uplink.Drop {
	b := nwn.AppendStatusAnswer(nil, second)
	if dropped := s.send(w, p, b, now); dropped != uplink.NotDropped {
		return dropped
	}
	return s.ask(p, len(b), now)
}

// questionSize is the length of every question to a server.
var questionSize = len(nwn.AppendAskRules(nil, 0))

// ask asks a server that reported for its rules. sent is the number of bytes that it was sent
// already.
func (s *Server) ask(p netserve.Packet, sent int, now time.Time) uplink.Drop {
	out := s.out.Load()
	switch {
	case out == nil: // not before Serve
		return uplink.Busy
	case !s.Known(p.From) && !s.MaySend(p.From.Addr(), sent+questionSize, len(p.Data), now):
		return uplink.Limited
	}
	s.Challenge(out.asking, 0, p.From, p.To, "", now)
	return uplink.NotDropped
}

// leave asks a listed server that says it stops: the packet may be forged, but only a
// server that stopped does not answer.
func (s *Server) leave(p netserve.Packet, rest []byte, now time.Time) uplink.Drop {
	if nwn.Stops(rest) && s.Known(p.From) {
		return s.ask(p, 0, now)
	}
	return uplink.NotDropped
}

// text answers with a text.
func (s *Server) text(w netserve.PacketWriter, p netserve.Packet, k nwn.Kind, text string, now time.Time) uplink.Drop {
	return s.send(w, p, nwn.AppendTextAnswer(nil, k, text), now)
}

// motd answers with the message of the day, or with none where it would be more than was
// sent: players get it with the answer to their password.
func (s *Server) motd(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	text := s.live.Load().Motd
	if !s.Known(p.From) && len(nwn.AppendTextAnswer(nil, nwn.MotdAnswer, text)) > len(p.Data) {
		text = ""
	}
	return s.text(w, p, nwn.MotdAnswer, text, now)
}

// keys answers a server about the keys of a player.
func (s *Server) keys(w netserve.PacketWriter, p netserve.Packet, rest []byte) uplink.Drop {
	c, err := nwn.ParseKeys(rest)
	if err != nil {
		return uplink.MalformedRequest
	}
	result := nwn.Good
	if s.opt.Players.Has(c.Player.Addr()) {
		result = nwn.Bad
	}
	s.results.keys(result)
	b := c.AppendKeysAnswer(nil, result)
	if len(b) > len(p.Data) { // keys with hashes are longer
		return uplink.MalformedRequest
	}
	s.Send(w, b, p.To, p.From)
	return uplink.NotDropped
}

// rules lists a server that answers the question for its rules.
func (s *Server) rules(p netserve.Packet, now time.Time) uplink.Drop {
	kind, rest, _ := nwn.Cut(p.Data)
	if kind != nwn.RulesAnswer {
		return uplink.Unexpected
	}
	s.received[kind].Inc()
	r, bad := nwn.ParseRules(rest)
	v, dropped := s.Answer(p.From, func(uplink.Challenge) bool { return true }, now)
	switch {
	case dropped != uplink.NotDropped:
		return dropped
	case bad != nil:
		return uplink.Malformed
	}
	game, ok := s.opt.Games.MasterNames(name).Speaking(int(r.Game))
	if !ok {
		return uplink.UnknownGame
	}
	names, values := r.Fields()
	return s.List(v, uplink.Listing{Game: game, Names: names, Values: values})
}
