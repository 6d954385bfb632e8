package qr2

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

const (
	beaconEvery = time.Minute
	lookupEvery = 5 // beacons
	maxAnnounce = 16
	listPort    = 28900 // where players and masters ask for lists

	masterRate  = 2 // questions per second and address
	masterBurst = 10
	masterSlots = 64
)

// beacon announces this master to masters of 333networks, as game servers do, and answers their
// questions. An answer is longer than its question, so only those masters get one to which it is
// announced, and those that are listed here themselves.
type beacon struct {
	s      *Server
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	peers  atomic.Pointer[[]netip.AddrPort] // to which it is announced; nil: none
	limit  *netserve.Limiter
	number atomic.Uint32 // of the last answer
}

func newBeacon(s *Server) *beacon {
	return &beacon{
		s: s, limit: netserve.NewLimiter(netserve.LimiterOptions{Rate: masterRate, Burst: masterBurst, Slots: masterSlots}),
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
		},
	}
}

// checkAnnounce returns the mistake of the key announce.
func (c *Config) checkAnnounce() error {
	if len(c.Announce) > maxAnnounce {
		return fmt.Errorf("qr2.announce: %d masters, at most %d are allowed", len(c.Announce), maxAnnounce)
	}
	for _, text := range c.Announce {
		host, port, err := net.SplitHostPort(text)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" || n == 0 {
			return fmt.Errorf("qr2.announce: write %.80q as host:port, such as master.example.org:27900", text)
		}
	}
	return nil
}

// run announces the master until ctx ends. port is that of the socket.
func (b *beacon) run(ctx context.Context, w netserve.PacketWriter, port uint16) {
	if len(b.s.opt.Announce) == 0 {
		return
	}
	beat := fmt.Appendf(nil, `\heartbeat\%d\gamename\%s`, port, gamespy.MasterGame)
	n := 0
	send := func() {
		if n%lookupEvery == 0 {
			b.resolve(ctx)
		}
		n++
		for _, to := range *b.peers.Load() {
			if to.IsValid() {
				b.s.out.Send(w, beat, netip.Addr{}, to)
			}
		}
	}
	send()
	for range clock.Ticks(ctx, beaconEvery) {
		send()
	}
}

// resolve looks the masters up. One that cannot be found keeps the address that it had.
func (b *beacon) resolve(ctx context.Context) {
	peers := make([]netip.AddrPort, len(b.s.opt.Announce))
	old := b.peers.Load()
	for i, text := range b.s.opt.Announce {
		if old != nil {
			peers[i] = (*old)[i]
		}
		host, port, _ := net.SplitHostPort(text) // the configuration was checked
		n, _ := strconv.ParseUint(port, 10, 16)
		found, err := b.lookup(ctx, host)
		if err != nil || len(found) == 0 {
			b.s.opt.Log.Warn().Str("master", text).Err(err).Msg("a master of qr2.announce has no address")
			continue
		}
		peers[i] = netip.AddrPortFrom(found[0].Unmap(), uint16(n))
	}
	b.peers.Store(&peers)
}

// knows reports whether a master is at an address that is its own.
func (b *beacon) knows(a netip.AddrPort) bool {
	peers := b.peers.Load()
	if peers != nil && slices.ContainsFunc(*peers, func(p netip.AddrPort) bool { return p.Addr() == a.Addr() }) {
		return true
	}
	srv, listed := b.s.list.At(a)
	return listed && srv.Game == gamespy.MasterGame && !srv.Restored
}

// isMasterQuestion reports whether a field begins a question to a game server or a master.
func isMasterQuestion(key, value []byte) bool {
	if ascii.EqualFold(key, "secure") || ascii.EqualFold(key, "echo") {
		return true
	}
	return len(value) == 0 && slices.ContainsFunc([]string{"basic", "info", "rules", "status"}, func(s string) bool { return ascii.EqualFold(key, s) })
}

// answer answers the questions of a packet. The caller has found that the sender is known.
func (b *beacon) answer(w netserve.PacketWriter, p netserve.Packet) uplink.Drop {
	if !b.limit.Allow(p.From.Addr(), time.Now()) {
		return uplink.Limited
	}
	a := masterAnswer{number: b.number.Add(1)}
	for f := gamespy.ScanFields(p.Data); f.Next() && len(a.text) < MaxPacket; {
		b.add(&a, f.Key(), f.Value())
	}
	if a.part == 0 {
		return uplink.Unexpected
	}
	b.s.send(w, p, append(a.text, gamespy.Final...))
	return uplink.NotDropped
}

// add answers one question.
func (b *beacon) add(a *masterAnswer, key, value []byte) {
	all := ascii.EqualFold(key, "status")
	switch {
	case ascii.EqualFold(key, "secure"):
		a.add("validate", string(gamespy.AppendValidate(nil, 0, gamespy.MasterSecret, string(value))))
		return
	case ascii.EqualFold(key, "echo"):
		a.add("echo_reply", string(value))
		return
	}
	if all || ascii.EqualFold(key, "basic") {
		a.add("gamename", gamespy.MasterGame, "gamever", "respawnd-"+b.s.opt.Version, "location", "0")
	}
	if all || ascii.EqualFold(key, "info") {
		here, known := b.count()
		a.add("hostname", "respawnd", "hostport", strconv.Itoa(listPort), "gametype", "Masterserver", "mapname", gamespy.MasterGame,
			"numplayers", strconv.Itoa(here), "maxplayers", strconv.Itoa(known), "gamemode", "openplaying")
	}
	if all || ascii.EqualFold(key, "rules") {
		a.add("mutators", "respawnd")
	}
}

// count returns how many servers report or answer here, and how many are listed.
func (b *beacon) count() (here, known int) {
	for _, srv := range b.s.list.All() {
		known++
		if srv.Origin != master.Federated {
			here++
		}
	}
	return here, known
}

// masterAnswer is an answer to another master.
type masterAnswer struct {
	number uint32
	part   int
	text   []byte
}

// add adds fields, names and values in turn, and the number of the part.
func (a *masterAnswer) add(fields ...string) {
	a.part++
	for _, f := range append(fields, "queryid", fmt.Sprintf("%d.%d", a.number, a.part)) {
		a.text = append(append(a.text, '\\'), f...)
	}
}
