package probe

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
)

// fullGame is a server of usual size: 16 players, 60 rules.
func fullGame() *probetest.Game {
	g := probetest.Arena("cstrike")
	for i := range 14 {
		g.Players = append(g.Players, probetest.Player{Name: "player " + strings.Repeat("x", i), Score: i, Seconds: 60 * i})
	}
	for i := range 58 {
		g.Rules = append(g.Rules, [2]string{"mp_some_setting_" + string(rune('a'+i%26)) + string(rune('a'+i/26)), "1"})
	}
	return g
}

// memory is a wire without sockets: every question is answered by one game.
type memory struct {
	p    *Prober
	talk probetest.Talk
	todo []netserve.Packet
}

func (m *memory) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	for _, a := range m.talk(data) {
		m.todo = append(m.todo, netserve.Packet{Data: a, From: to})
	}
	return nil
}

func (m *memory) deliver() {
	for len(m.todo) > 0 {
		todo := m.todo
		m.todo = nil
		for _, a := range todo {
			m.p.ServePacket(m, a)
		}
	}
}

func benchProber(b *testing.B) (*Prober, *master.Registry) {
	b.Helper()
	catalogue, err := games.NewCatalog([]games.Game{{Name: "plain", Secrets: []string{"secret"}}})
	if err != nil {
		b.Fatal(err)
	}
	reg := master.NewRegistry(master.Limits{})
	c := config()
	c.Rate = 1e9
	p := New(Options{Config: c, Listing: part.Listing{Registry: reg, Games: catalogue}, Peers: part.Peers{Trusted: func(netip.Addr) bool { return true }}})
	p.maxOpen, p.rulesEvery = 1<<20, time.Nanosecond
	return p, reg
}

// BenchmarkVisit is one whole visit, info, players and rules, without sockets; the time
// includes the game server's work.
func BenchmarkVisit(b *testing.B) {
	p, reg := benchProber(b)
	m := &memory{p: p, talk: fullGame().Speaks("a2s")}
	p.start(m)
	if err := p.Watch(Target{Address: there, Protocol: A2S, Origin: master.Static}); err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(2 * config().Every)
		p.tick(now)
		m.deliver()
	}
	if reg.Len() != 1 {
		b.Fatal("not listed")
	}
}
