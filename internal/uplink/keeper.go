package uplink

import (
	"context"
	"crypto/subtle"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Dialect describes a protocol to a Keeper.
type Dialect struct {
	// Service is the name under which verdicts are noted, and that of the metrics.
	Service string
	// Origin and Instance mark its records in the list.
	Origin   *master.Origin
	Instance uint32
	// Question appends the question to a server about which the heartbeat said
	// something.
	Question func(b []byte, c Challenge, about string) []byte
	// About returns the content of the heartbeat of a listed server; nil: it has none that counts.
	About func(*master.Server) string
	// Stays reports whether a listed server may stay, nil: all may.
	Stays func(*master.Server) bool
	// Own is the protocol of the service, of which packets are not foreign.
	Own foreign.Protocol
}

// Keeper keeps the servers of a master in the list. It is safe for concurrent use.
type Keeper struct {
	opt     Options
	limits  atomic.Pointer[limits] // never nil once Reload was called
	out     netserve.Sender
	foreign *foreign.Notes
	further atomic.Pointer[[]netserve.Further] // nil until Run

	challenges, registered, refreshed prometheus.Counter

	mu    sync.Mutex // guards hosts; held while the list of servers is changed
	hosts hostTable
}

// NewKeeper returns a Keeper of a Master. Nothing runs until Run is called; Reload must be called
// first.
func NewKeeper(opt Options) *Keeper {
	wrong := maxWrong
	if opt.Posts != nil {
		wrong = 1 // there are only so many ways to guess
	}
	k := &Keeper{opt: opt, hosts: newHostTable(wrong), foreign: foreign.NewNotes(opt.Verdicts, opt.Service)}
	in, prefix := metric.With(opt.Registerer), "respawnd_"+opt.Service+"_"
	k.challenges = in.Counter(prefix+"challenges_total", "Challenges sent to game servers, to restored ones too.")
	k.registered = in.Counter(prefix+"registrations_total", "Servers that answered their challenge and were listed.")
	k.refreshed = in.Counter(prefix+"refreshes_total", "Answers to challenges of servers that were listed already.")
	k.out = netserve.Sender{Log: opt.Log, Errors: in.Counter(prefix+"write_errors_total", "Packets that the system did not take.")}
	in.GaugeFunc(prefix+"hosts", "Servers that this master lists, hidden ones included.", k.Hosts)
	in.GaugeFunc(prefix+"pending", "Servers that have not answered their challenge yet.", k.Pending)
	return k
}

// Hosts returns the number of servers that the master lists.
func (k *Keeper) Hosts() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hosts.known.Len()
}

// UnknownGames returns the number of games of listed servers that are not in the
// catalogue.
func (k *Keeper) UnknownGames() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.hosts.games)
}

// Pending returns the number of servers that have not answered their challenge yet.
func (k *Keeper) Pending() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hosts.pending.Len()
}

// KeyOf returns the key of the record of a server.
func (k *Keeper) KeyOf(a netip.AddrPort) master.Key {
	return master.Key{Source: a, Instance: k.opt.Instance}
}

// Send sends a packet; the system may refuse it, which is counted.
func (k *Keeper) Send(w netserve.PacketWriter, b []byte, via netip.Addr, to netip.AddrPort) {
	k.out.Send(w, b, via, to)
}

// Run performs the periodic work until ctx ends: questions to restored servers through w, expiry,
// comparison with the list. Servers that talk to further ports are asked again there.
func (k *Keeper) Run(ctx context.Context, w netserve.PacketWriter, further ...netserve.Further) {
	k.further.Store(&further)
	asking := k.Greet(w)
	asking.Step(time.Now())
	checked := time.Now()
	for now := range clock.Ticks(ctx, TickEvery) {
		asking.Step(now)
		k.Expire(w, now)
		if now.Sub(checked) >= checkEvery {
			checked = now
			k.Check()
		}
	}
}

// about returns the content of the heartbeat of a listed server.
func (k *Keeper) about(srv *master.Server) string {
	if k.opt.About == nil {
		return ""
	}
	return k.opt.About(srv)
}

// way returns the socket of a further port, w if there is none.
func (k *Keeper) way(w netserve.PacketWriter, port uint16) netserve.PacketWriter {
	if list := k.further.Load(); list != nil && port != 0 {
		for _, s := range *list {
			if s.Port == port {
				return s.Conn
			}
		}
	}
	return w
}

// Refuses returns the reason why no packet of a length from an address is read.
func Refuses(a netip.AddrPort, size, most int) Drop {
	switch {
	case size > most:
		return Oversized
	case a.Port() == 0 || a.Addr().Zone() != "" || a.Addr().IsMulticast() || a.Addr().IsUnspecified():
		return Foreign
	default:
		return NotDropped
	}
}

// Dropped counts a packet that was dropped and notes the reason. The verdict on a
// listed server stays, since the packet may be forged.
func (k *Keeper) Dropped(p netserve.Packet, reason Drop) {
	k.opt.Metrics.Drop(reason.Error())
	if reason == Unexpected || reason == NoBudget || reason == Unproved || reason == Busy || k.Known(p.From) {
		return
	}
	switch reason {
	case Oversized:
		k.foreign.Note(p.From, verdicts.TooLong)
	case UnknownKind, Foreign:
		if !k.foreign.Foreign(p.From, p.Data, k.opt.Own) && reason == UnknownKind {
			k.foreign.Unknown(p.From, p.Data)
		}
	default:
		if reason == Malformed && k.foreign.Foreign(p.From, p.Data, k.opt.Own) {
			return
		}
		if v, ok := reason.Verdict(); ok {
			k.note(p.From, "", v)
		}
	}
}

// Challenge asks a server from our address via, and a further port of the protocol or 0
// for the first. about is the content of its heartbeat. w is not kept.
func (k *Keeper) Challenge(w netserve.PacketWriter, port uint16, a netip.AddrPort, via netip.Addr, about string, now time.Time) {
	k.mu.Lock()
	asked, gone := k.hosts.hear(a, port, via, about, k.limits.Load().MaxPending, now)
	_, known := k.hosts.known.Get(a)
	k.mu.Unlock()
	for range gone {
		k.opt.Metrics.Drop(PendingFull.Error())
	}
	k.ask(w, &asked, now)
	if !known {
		k.note(a, "", verdicts.ChallengeSent)
	}
}

// ask sends a server its question, through w if there are no posts.
func (k *Keeper) ask(w netserve.PacketWriter, v *waiting, now time.Time) {
	if k.opt.Posts != nil {
		if w = k.opt.Posts.at(pathOf(v.Number)[v.Of.step], now); w == nil {
			k.opt.Metrics.Drop(Busy.Error())
			return
		}
	}
	var buf [64]byte
	k.Send(w, k.opt.Question(buf[:0], newChallenge(v.Number), v.about), v.Of.via, v.Source)
	k.challenges.Inc()
}

// Same returns a function for Answer that accepts the challenge itself.
func Same(got []byte) func(Challenge) bool {
	return func(c Challenge) bool { return subtle.ConstantTimeCompare(got, c[:]) == 1 }
}

// Answered is a server that brought its challenge back.
type Answered struct {
	Address netip.AddrPort
	About   string     // content of its heartbeat
	Via     netip.Addr // our address that it talks to
}

// Answer ends the waiting for a server whose answer proves that it knows its
// challenge.
func (k *Keeper) Answer(a netip.AddrPort, proves func(Challenge) bool, now time.Time) (Answered, Drop) {
	k.mu.Lock()
	v, dropped := k.hosts.pending.Answer(a, func(number uint64) bool { return proves(newChallenge(number)) }, now)
	k.mu.Unlock()
	if dropped != NotDropped {
		return Answered{}, dropped
	}
	if k.opt.Banned.Has(a.Addr()) { // since its heartbeat
		dropped = Banned
	}
	return Answered{a, v.about, v.Of.via}, dropped
}

// Banned reports whether an address is neither served nor listed.
func (k *Keeper) Banned(a netip.Addr) bool { return k.opt.Banned.Has(a) }

// Known reports whether this master lists a server.
func (k *Keeper) Known(a netip.AddrPort) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.hosts.known.Get(a)
	return ok
}

// Expired notes that the registry dropped a silent server. The owner of the
// registry calls it.
func (k *Keeper) Expired(srv *master.Server) { k.left(srv, verdicts.Expired) }

// Replaced notes that the registry dropped a server for a newcomer. The protocols
// cannot inform the server. The owner of the registry calls it.
func (k *Keeper) Replaced(srv *master.Server) { k.left(srv, verdicts.Replaced) }

func (k *Keeper) left(srv *master.Server, v verdicts.Verdict) {
	k.mu.Lock()
	k.hosts.remove(srv.Key.Source)
	k.mu.Unlock()
	k.note(srv.Key.Source, srv.Game, v)
}

// Remove removes a server that said that it stops, with proof.
func (k *Keeper) Remove(a netip.AddrPort) {
	if srv, ok := k.opt.Registry.Get(k.KeyOf(a)); ok && k.opt.Registry.Remove(srv.Key) {
		k.left(srv, verdicts.Expired)
	}
}

func (k *Keeper) note(a netip.AddrPort, game string, v verdicts.Verdict) {
	k.opt.Verdicts.Note(k.opt.Service, a, game, v)
}
