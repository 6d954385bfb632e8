package abuse

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/test/rig"
)

const (
	floodRate  = 20_000 // packets per second
	floodHosts = 200    // listed servers, each of which sends a keepalive every second
	floodLists = 300    // lists per second
	floodPhase = 5 * time.Second
)

// BenchmarkListsUnderFlood measures a daemon in a process of its own, with and
// without a flood of packets of strangers at the port where its listed servers
// report:
//
//	go test ./cmd/respawnd -run '^$' -bench ListsUnderFlood -benchtime 1x
//
// It reports how many packets of listed servers were not answered, and the
// processor time for a list: that of a phase with lists less that of the same
// phase without. Phases without and with the flood alternate. It takes about a
// minute and cannot fail on a figure.
func BenchmarkListsUnderFlood(b *testing.B) {
	c := rig.StartChild(b, b.TempDir(), rig.Variable("serverbrowse.rate", "1000000"), rig.Variable("serverbrowse.burst", "1000000"), rig.Variable("serverbrowse.max_per_addr", "1000"))
	fleet := newFleet(b, &c.Running)
	var quiet, flooded phase
	for range b.N {
		for range 3 {
			quiet.add(runPhase(b, c, fleet, false, false), runPhase(b, c, fleet, true, false))
			flooded.add(runPhase(b, c, fleet, false, true), runPhase(b, c, fleet, true, true))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(quiet.lost), "lost-quiet")
	b.ReportMetric(float64(flooded.lost), "lost-flooded")
	b.ReportMetric(float64(flooded.asked), "keepalives-flooded")
	b.ReportMetric(float64(flooded.flood)/flooded.time.Seconds(), "flood-packets/s")
	b.ReportMetric(float64(flooded.lists), "lists-flooded")
	b.ReportMetric(quiet.perList(), "cpu-us/list-quiet")
	b.ReportMetric(flooded.perList(), "cpu-us/list-flooded")
	b.ReportMetric(flooded.perList()/quiet.perList(), "ratio")
	b.ReportMetric(100*flooded.without.Seconds()/(flooded.time.Seconds()/2), "cpu-percent-flood")
}

// phase holds the counts of a phase, or the sums over pairs of phases.
type phase struct {
	asked, lost, lists, flood int
	time                      time.Duration
	cpu, without              time.Duration // of the daemon; without: without lists
}

// add adds a phase without lists and one with them.
func (p *phase) add(without, with phase) {
	p.asked += without.asked + with.asked
	p.lost += without.lost + with.lost
	p.flood += without.flood + with.flood
	p.time += without.time + with.time
	p.lists += with.lists
	p.cpu += with.cpu
	p.without += without.cpu
}

// perList is the processor time of a list in microseconds.
func (p *phase) perList() float64 {
	return float64((p.cpu - p.without).Microseconds()) / float64(max(p.lists, 1))
}

// runPhase lets the listed servers report for a while, clients request the list
// and strangers send their packets.
func runPhase(b *testing.B, c *rig.Child, fleet []*rig.Host, lists, flood bool) (p phase) {
	ctx, stop := context.WithTimeout(b.Context(), floodPhase)
	defer stop()
	began, cpu := time.Now(), c.Cpu()
	var doing sync.WaitGroup
	var asked, answered, listed, sent atomic.Int64
	for i := range 4 {
		doing.Go(func() {
			for ctx.Err() == nil {
				round := time.Now()
				for _, h := range fleet[i*len(fleet)/4 : (i+1)*len(fleet)/4] {
					asked.Add(1)
					if h.Alive() {
						answered.Add(1)
					}
				}
				pause(ctx, time.Until(round.Add(time.Second)))
			}
		})
	}
	if lists {
		doing.Go(func() {
			for next := time.Now(); ctx.Err() == nil; next = next.Add(time.Second / floodLists) {
				pause(ctx, time.Until(next))
				if listOnce(b, &c.Running) {
					listed.Add(1)
				}
			}
		})
	}
	if flood {
		doing.Go(func() { sent.Add(strangers(ctx, b, c.Address["qr2"])) })
	}
	doing.Wait()
	return phase{
		asked: int(asked.Load()), lost: int(asked.Load() - answered.Load()), lists: int(listed.Load()), flood: int(sent.Load()),
		time: time.Since(began), cpu: c.Cpu() - cpu,
	}
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// newFleet registers game servers, each on an address of its own.
func newFleet(b *testing.B, d *rig.Running) (fleet []*rig.Host) {
	b.Helper()
	for i := range floodHosts {
		at := netip.AddrFrom4([4]byte{127, 60, byte(i / 100), 1 + byte(i%100)})
		h := rig.NewHostAt(b, netip.AddrPortFrom(at, 0), d.Address["qr2"], "hostname", fmt.Sprintf("Server %d", i), "numplayers", "3", "maxplayers", "16", "mapname", "harbour")
		h.MustRegister()
		fleet = append(fleet, h)
	}
	return fleet
}

// listOnce asks for the list over a new connection and reads all of it.
func listOnce(b *testing.B, d *rig.Running) bool {
	c, err := new(net.Dialer).DialContext(b.Context(), "tcp4", d.Address["serverbrowse"].String())
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(rig.Hang))
	request := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: rig.TestGame, From: rig.TestGame, Challenge: [8]byte([]byte("abcdefgh")), Fields: `\hostname\mapname\numplayers`,
	}
	msg, err := request.AppendTo(nil)
	if err != nil {
		b.Error(err)
		return false
	}
	if _, err := c.Write(msg); err != nil {
		return false
	}
	dec, err := serverbrowse.NewDecoder(c, rig.TestSecret, request.Challenge)
	if err != nil {
		return false
	}
	r, err := dec.Reply(0)
	if err == nil && len(r.Entries) != floodHosts {
		b.Errorf("%d servers in a list, want %d", len(r.Entries), floodHosts)
	}
	return err == nil
}

// strangers sends strangersPackets from many addresses at a steady rate until
// ctx ends. It returns their number.
func strangers(ctx context.Context, b *testing.B, to netip.AddrPort) (sent int64) {
	var sources []*net.UDPConn
	for i := range 256 {
		at := netip.AddrFrom4([4]byte{127, 70, byte(i >> 4), 1 + byte(i&15)})
		c, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0)), net.UDPAddrFromAddrPort(to))
		if err != nil {
			b.Error(err)
			return sent
		}
		defer func() { _ = c.Close() }()
		sources = append(sources, c)
	}
	packets := strangersPackets()
	const step = 2 * time.Millisecond
	perStep := int(floodRate * step / time.Second)
	for next := time.Now(); ctx.Err() == nil; next = next.Add(step) {
		pause(ctx, time.Until(next))
		for range perStep {
			p := packets[int(sent)%len(packets)]
			if len(p) >= 5 {
				binary.BigEndian.PutUint32(p[1:], uint32(sent))
			}
			_, _ = sources[int(sent)%len(sources)].Write(p) // refused by a full buffer: counted as sent
			sent++
		}
	}
	return sent
}

// strangersPackets are random packets, keepalives of servers that are not
// listed, answers without a challenge, and heartbeats whose challenge is never
// answered.
func strangersPackets() [][]byte {
	random := rand.NewChaCha8([32]byte{1})
	rubbish := make([]byte, 200)
	_, _ = random.Read(rubbish) // never returns an error
	rubbish[0] = 0x80
	return [][]byte{
		rubbish,
		[]byte("\x08KKKK"),
		[]byte("\x01KKKKAAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00"),
		[]byte("\x03KKKKlocalip0\x00192.168.7.7\x00localport\x006500\x00natneg\x001\x00gamename\x00" + rig.TestGame + "\x00hostname\x00nobody\x00\x00"),
		[]byte("\x03KKKKgamename\x00no-such-game\x00\x00"),
	}
}
