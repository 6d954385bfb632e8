package relay

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// pair is two relayed players. Its ports are open while it is in Server.pairs.
type pair struct {
	server *Server
	game   string
	proved bool // both players receive at their addresses; else they may be forged
	opened time.Duration
	legs   [2]leg
	spent  budget       // bytes of both
	last   atomic.Int64 // when a packet was passed on, a time as in opened
	over   atomic.Bool  // it has ended; set once
}

// leg is the side of a pair of one player.
type leg struct {
	port   *netserve.ForwardPort
	at     netip.AddrPort // that the player was sent
	seen   []netip.Addr   // addresses that it may come from
	source *source
	came   func(netip.AddrPort) // service.RelayPlayer.Came
	// player is where its packets come from; nil: none has come.
	player  atomic.Pointer[netip.AddrPort]
	packets atomic.Uint64 // of the player that were passed on
	bytes   atomic.Uint64
}

// source is an address with its pairs. server.mu guards pairs.
type source struct {
	pairs   counts
	trusted bool // its budget does not bind it
	spent   budget
}

// direction passes on the packets of one player. It implements netserve.Router.
type direction struct {
	*pair
	from int // index of the leg
}

// Route implements netserve.Router.
func (d direction) Route(p netserve.Packet) (to netip.AddrPort, ok bool) {
	reason := d.route(p, &to, time.Since(d.server.start))
	if reason != "" {
		d.server.opt.Metrics.Drop(reason)
	}
	return to, reason == ""
}

// route finds out where a packet is passed on to. It returns why it is dropped, "" if it
// is not.
func (d direction) route(p netserve.Packet, to *netip.AddrPort, now time.Duration) (dropped string) {
	here, there := &d.legs[d.from], &d.legs[1-d.from]
	if dropped = d.check(here, p.From); dropped != "" {
		return dropped
	}
	partner := there.player.Load()
	if partner == nil {
		return dropNoPartner
	}
	live, n := d.server.live.Load(), len(p.Data)
	switch {
	case !d.spent.take(now, n, live.PairRate):
		return dropPairRate
	case !here.source.trusted && !here.source.spent.take(now, n, live.AddrRate):
		return dropAddrRate
	case !d.server.spent.take(now, n, live.TotalRate):
		return dropTotalRate
	}
	d.last.Store(int64(now))
	here.packets.Add(1)
	here.bytes.Add(uint64(n))
	*to = *partner
	return ""
}

// check returns why a packet from an address does not count as one of the player, "" if
// it does. The first one from an address of the player fixes its port.
func (d direction) check(here *leg, from netip.AddrPort) (dropped string) {
	if d.over.Load() {
		return dropEnded
	}
	player := here.player.Load()
	for player == nil {
		switch {
		case !slices.Contains(here.seen, from.Addr()):
			return dropStranger
		case d.server.ours(from):
			return dropLoop
		case here.player.CompareAndSwap(nil, &from):
			if here.came != nil {
				here.came(from)
			}
			return ""
		}
		player = here.player.Load()
	}
	switch {
	case *player == from:
		return ""
	case slices.Contains(here.seen, from.Addr()):
		return dropOtherPort
	default:
		return dropStranger
	}
}

// joinWait is how long the players have to come: connects are repeated for seven seconds,
// and then answered by pings for as long.
const joinWait = 20 * time.Second

// ending returns why a pair is to end at a time; ok is false if it is not.
func (p *pair) ending(now time.Duration, live *Config) (why end, ok bool) {
	last := time.Duration(p.last.Load())
	switch {
	case !live.Enabled:
		return endOff, true
	case now-p.opened >= live.MaxTime:
		return endTime, true
	case last == 0:
		return endUnused, now-p.opened >= joinWait
	case now-last >= live.Idle:
		return endIdle, true
	}
	for i := range p.legs {
		if slices.ContainsFunc(p.legs[i].seen, p.server.opt.Banned.Has) {
			return endBanned, true
		}
	}
	return 0, false
}

func (p *pair) close() {
	p.over.Store(true)
	for i := range p.legs {
		_ = p.legs[i].port.Close()
	}
}

// shown is where a player is, its address alone before its first packet.
func (l *leg) shown() netip.AddrPort {
	if player := l.player.Load(); player != nil {
		return *player
	}
	return netip.AddrPortFrom(l.seen[0], 0)
}
