package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/natneg"
)

// relayPacket is the length of the packets of relayed games in bytes.
const relayPacket = 200

// relayedPair is two players who are relayed. An operation is a packet from one to the
// other.
type relayedPair struct {
	players [2]natneg.Peer
	told    [2]netip.AddrPort // where each sends to
	packet  [relayPacket]byte
}

var (
	errNotRelayed  = errors.New("the players were not sent to the relay")
	errNotPassedOn = errors.New("the relay did not pass packets on")
)

// openRelayed opens two players who report that they cannot reach each other, and
// negotiate again.
func openRelayed(_ context.Context, w *world, i int) (user, error) {
	r, err := newRelayed(w, i)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func newRelayed(w *world, i int) (r *relayedPair, err error) {
	r = &relayedPair{}
	defer func() {
		if err != nil {
			r.close(true)
		}
	}()
	for k := range r.players {
		at := address(groupRelayed, 2*i+k)
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
		if err != nil {
			return r, err
		}
		r.players[k] = natneg.Peer{Packets: netclient.New(c, w.daemon.at("natneg"), readSize), Version: negotiationVersion, Index: byte(k), Game: game}
	}
	for range 2 { // the first time they are sent to each other, unless they were relayed within the last hour
		cookie := rand.Uint32() // needs only to differ
		for k := range r.players {
			r.players[k].Cookie = cookie
			if err := r.players[k].Announce(); err != nil {
				return r, err
			}
		}
		for k := range r.players {
			if r.told[k], err = r.players[k].Partner(soon()); err != nil {
				return r, err
			}
		}
		relayed, end := r.told[0] != r.players[1].Local(), (*natneg.Peer).Fail
		if relayed {
			end = (*natneg.Peer).Report
		}
		for k := range r.players {
			if err := end(&r.players[k], soon()); err != nil {
				return r, err
			}
		}
		if relayed {
			return r, r.join()
		}
	}
	return r, errNotRelayed
}

// join sends packets until both players are known to the relay.
func (r *relayedPair) join() error {
	var heard [2]bool
	for range 100 {
		for k := range r.players {
			if err := r.players[k].SendTo([]byte{byte(k)}, r.told[k]); err != nil {
				return err
			}
		}
		for k := range r.players {
			heard[k] = r.await(k, 1, 50*time.Millisecond) == nil || heard[k]
		}
		if heard[0] && heard[1] {
			return nil
		}
	}
	return errNotPassedOn
}

// await waits for a packet of a length from the relay.
func (r *relayedPair) await(player, length int, wait time.Duration) error {
	return r.players[player].Await(netclient.Bound(context.Background(), wait), func(b []byte, from netip.AddrPort) (bool, error) {
		return len(b) == length && from == r.told[player], nil
	})
}

func (r *relayedPair) do(context.Context) error {
	if err := r.players[0].SendTo(r.packet[:], r.told[0]); err != nil {
		return err
	}
	return r.await(1, relayPacket, timeout)
}

func (r *relayedPair) close(bool) {
	for _, p := range r.players {
		if p.Packets != nil {
			_ = p.Close()
		}
	}
}

// relayOptions say how relayed games are measured.
type relayOptions struct {
	program string
	length  time.Duration // of each part
	pairs   int
	rate    int // packets per second of each player
	hosts   int // game servers that send heartbeats beside them
}

// relayed measures the latency of packets that players send directly and through the
// relay, and heartbeats without and beside them.
func relayed(ctx context.Context, out io.Writer, opt relayOptions) error {
	dir, err := os.MkdirTemp("", "respawnd-load")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := startDaemon(ctx, opt.program, dir, append(slices.Clone(tableSettings), fmt.Sprintf("relay.max_pairs=%d", opt.pairs))...)
	if err != nil {
		return err
	}
	w := &world{daemon: d, run: "r"}
	return errors.Join(measureRelayed(ctx, out, w, opt), d.stop())
}

func measureRelayed(ctx context.Context, out io.Writer, w *world, opt relayOptions) error {
	load, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Fprintf(out, "%s, %s\nload before: %s", time.Now().UTC().Format(time.DateTime), machine(), load)
	hosts, err := openAll(ctx, w, opt.hosts, openHost)
	defer func() { closeAll(hosts) }()
	if err != nil {
		return err
	}
	var pairs []*relayedPair
	defer func() {
		for _, r := range pairs {
			r.close(true)
		}
	}()
	for i := range opt.pairs {
		r, err := newRelayed(w, i)
		if err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
		pairs = append(pairs, r)
	}
	heartbeats := func(name string) {
		p := openLoop(ctx, hosts, float64(10*opt.hosts), opt.length, newTally(), name)
		_, _ = fmt.Fprintf(out, "%-32s%s, lost %d\n", name, phaseText(&p), p.lost)
	}
	_, _ = fmt.Fprintf(out, "%-32s%7s%7s%7s%7s\n", "", "per s", "p50", "p99", "max")
	heartbeats("heartbeats alone")
	for _, direct := range []bool{true, false} {
		if err := measurePairs(ctx, out, w, pairs, direct, opt); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { err = measurePairs(ctx, out, w, pairs, false, opt) })
	heartbeats("heartbeats beside the next line")
	wg.Wait()
	return errors.Join(err, ctx.Err())
}

// measurePairs has all pairs play for a time, and writes a line.
func measurePairs(ctx context.Context, out io.Writer, w *world, pairs []*relayedPair, direct bool, opt relayOptions) error {
	name := fmt.Sprintf("%d pairs, relayed", len(pairs))
	if direct {
		name = fmt.Sprintf("%d pairs, directly", len(pairs))
	}
	before, err := w.daemon.measure()
	if err != nil {
		return err
	}
	p := playPairs(ctx, pairs, direct, opt)
	after, err := w.daemon.measure()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%-32s%s, lost %d, %.2f cores of respawnd, %.0f MiB\n", name, phaseText(&p), p.lost,
		(after.cpu-before.cpu).Seconds()/p.took.Seconds(), mib(after.rss))
	return nil
}

// playPairs sends packets at a steady rate from each player to the other.
func playPairs(ctx context.Context, pairs []*relayedPair, direct bool, opt relayOptions) (p phase) {
	begin := time.Now()
	var mu sync.Mutex // guards p
	var wg sync.WaitGroup
	stop, cancel := context.WithCancel(ctx)
	for _, r := range pairs {
		for k := range r.players {
			wg.Go(func() {
				var times []time.Duration
				_ = r.players[k].Await(stop, func(b []byte, _ netip.AddrPort) (bool, error) {
					if len(b) == relayPacket {
						times = append(times, time.Since(begin)-time.Duration(binary.BigEndian.Uint64(b)))
					}
					return false, nil
				})
				mu.Lock()
				defer mu.Unlock()
				p.times = append(p.times, times...)
			})
		}
	}
	sent := 0
	every := time.Second / time.Duration(2*len(pairs)*opt.rate)
	for ; ; sent++ {
		due := time.Duration(sent) * every
		if due >= opt.length || ctx.Err() != nil {
			break
		}
		if wait := due - time.Since(begin); wait > 0 {
			time.Sleep(wait)
		}
		r, k := pairs[sent/2%len(pairs)], sent%2
		to := r.told[k]
		if direct {
			to = r.players[1-k].Local()
		}
		binary.BigEndian.PutUint64(r.packet[:], uint64(time.Since(begin)))
		_ = r.players[k].SendTo(r.packet[:], to) // a lost packet is counted
	}
	p.took = time.Since(begin)
	time.Sleep(100 * time.Millisecond) // the last ones arrive
	cancel()
	wg.Wait()
	p.lost = sent - len(p.times)
	slices.Sort(p.times)
	return p
}
