package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/qr2"
)

const (
	// swarmWindow is how many servers of a swarm wait for an answer at a time.
	swarmWindow = 64
	// swarmBatch is how many datagrams a swarm sends or reads at once.
	swarmBatch = 64
	// swarmWait is how long it waits for answers; later ones are lost.
	swarmWait = 2 * time.Second
	// swarmGroup is the second byte of the first address of a swarm. The group has
	// room for 16 million servers.
	swarmGroup = 64
	// maxSwarm is how many servers a swarm may have.
	maxSwarm = 1 << 20
)

// swarm is many game servers on one socket, of which each has an address of its own.
// They need neither a socket nor a goroutine each, so that one process can be
// hundreds of thousands. It is used by one goroutine at a time.
type swarm struct {
	conn    *net.UDPConn
	packets *ipv4.PacketConn
	to      *net.UDPAddr
	bare    bool // it talks to the null server
	host    qr2.Host
	beats   []byte // how often each has reported
	waiting []bool // which wait for an answer
	next    int    // whose turn it is

	in, out []ipv4.Message
	filled  int // slots of out
	sent    atomic.Int64
}

var errSwarm = errors.New("servers of the load got no answer")

// newSwarm returns n servers that report to a service, on a socket of their own.
func newSwarm(w *world, n int) (*swarm, error) {
	if n > maxSwarm {
		return nil, fmt.Errorf("%d servers, at most %d", n, maxSwarm)
	}
	s := &swarm{beats: make([]byte, n), waiting: make([]bool, n)}
	to := w.daemon.at("qr2")
	if !to.IsValid() {
		to, s.bare = w.daemon.at("null"), true
	}
	s.to = net.UDPAddrFromAddrPort(to)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{})
	if err != nil {
		return nil, err
	}
	_ = conn.SetReadBuffer(netserve.DefaultReadBuffer) // the system may cap it
	s.conn, s.packets = conn, ipv4.NewPacketConn(conn)
	s.host = qr2.Host{
		Game: game, Secret: secret, NATNeg: true, Rules: hostRules(int(s.port())),
		Players: hostPlayers(), Teams: hostTeams(),
	}
	for range swarmBatch {
		s.in = append(s.in, ipv4.Message{Buffers: [][]byte{make([]byte, 2048)}})
		s.out = append(s.out, ipv4.Message{Buffers: [][]byte{make([]byte, 0, 2048)}, Addr: s.to})
	}
	return s, nil
}

func (s *swarm) close() { _ = s.conn.Close() }

// port returns the port of all servers.
func (s *swarm) port() uint16 { return uint16(s.conn.LocalAddr().(*net.UDPAddr).Port) }

// swarmAddress returns the address of the i-th server.
func swarmAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, swarmGroup + byte(i>>16), byte(i >> 8), byte(i)})
}

// slot returns the buffer of the next datagram, which leaves from server i. When all
// are taken, they are sent.
func (s *swarm) slot(i int) (*[]byte, error) {
	if s.filled == len(s.out) {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	m := &s.out[s.filled]
	s.filled++
	m.OOB = (&ipv4.ControlMessage{Src: swarmAddress(i).AsSlice()}).Marshal()
	m.Buffers[0] = m.Buffers[0][:0]
	return &m.Buffers[0], nil
}

// flush sends queued packets.
func (s *swarm) flush() error {
	for rest := s.out[:s.filled]; len(rest) > 0; {
		n, err := s.packets.WriteBatch(rest, 0)
		if err != nil {
			return err
		}
		rest = rest[n:]
		s.sent.Add(int64(n))
	}
	s.filled = 0
	return nil
}

// heartbeat queues a heartbeat of server i, which differs from the one before.
func (s *swarm) heartbeat(i int, state string) error {
	b, err := s.slot(i)
	if err != nil {
		return err
	}
	s.beats[i]++
	n := int(s.beats[i])
	s.host.Instance = instance(i)
	s.host.Private = netip.AddrPortFrom(swarmAddress(i), s.port())
	for k := range s.host.Rules {
		switch r := &s.host.Rules[k]; r.Name {
		case "hostname":
			r.Value = "Server " + strconv.Itoa(i) + " of the load"
		case "mapname":
			r.Value = "map" + strconv.Itoa(i%16)
		case "numplayers":
			r.Value = strconv.Itoa(n % maxHostPlayers)
		}
	}
	s.host.Players.Rows = hostRows(n%maxHostPlayers, n%100)
	*b, err = s.host.AppendHeartbeat(*b, state)
	if s.bare && state == qr2.StateStarts {
		(*b)[0] = byte(nullStart)
	}
	return err
}

func (s *swarm) keepalive(i int) error {
	b, err := s.slot(i)
	if err == nil {
		*b = qr2.AppendKeepalive(*b, instance(i))
	}
	return err
}

func instance(i int) uint32 { return uint32(i) + 1 }

// register has all servers listed. Those whose packets are lost try again.
func (s *swarm) register(ctx context.Context) error {
	listed := make([]bool, len(s.beats))
	left := len(listed)
	for range 10 {
		i := 0
		next := func() (int, bool) {
			for ; i < len(listed); i++ {
				if !listed[i] {
					i++
					return i - 1, true
				}
			}
			return 0, false
		}
		begin := func(i int) error { return s.heartbeat(i, qr2.StateStarts) }
		done, _, err := s.drive(ctx, next, begin, func(i int, r qr2.Reply) (bool, error) {
			if r.Kind == qr2.KindRefusal {
				return false, fmt.Errorf("server %d was refused: %q", i, r.Body)
			}
			if r.Kind == qr2.KindChallenge {
				b, err := s.slot(i)
				if err == nil {
					*b = qr2.AppendResponse(*b, instance(i), secret, r.Body)
				}
				return false, err
			}
			listed[i] = listed[i] || r.Kind == qr2.KindRegistered
			return listed[i], nil
		})
		if left -= done; err != nil || left == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: %d of %d", errSwarm, left, len(listed))
}

// beat has servers send heartbeats and keepalives one after the other until ctx
// ends or the count is reached, and returns how many were answered.
func (s *swarm) beat(ctx context.Context, count int) (done, lost int, err error) {
	begun := 0
	next := func() (int, bool) {
		if begun == count || ctx.Err() != nil {
			return 0, false
		}
		begun++
		return s.turn(), true
	}
	return s.drive(context.WithoutCancel(ctx), next, s.report, func(_ int, r qr2.Reply) (bool, error) { return r.Kind == qr2.KindKeepalive, nil })
}

// report queues a heartbeat and a keepalive, whose answer shows that both were read.
func (s *swarm) report(i int) error {
	if err := s.heartbeat(i, qr2.StateSame); err != nil {
		return err
	}
	return s.keepalive(i)
}

// turn returns the server whose turn it is.
func (s *swarm) turn() int {
	s.next = (s.next + 1) % len(s.beats)
	return s.next
}

// drive has the servers that next returns begin an exchange, swarmWindow at a time.
// on gets the answers and reports whether one was the last of its exchange.
func (s *swarm) drive(ctx context.Context, next func() (int, bool), begin func(int) error, on func(int, qr2.Reply) (bool, error)) (done, lost int, err error) {
	clear(s.waiting)
	open, window := 0, min(swarmWindow, len(s.beats))
	for more := true; ; {
		for more && open < window && ctx.Err() == nil {
			var i int
			if i, more = next(); !more {
				break
			}
			if s.waiting[i] {
				continue // all of them wait
			}
			if err := begin(i); err != nil {
				return done, lost, err
			}
			s.waiting[i] = true
			open++
		}
		if err := s.flush(); err != nil {
			return done, lost, err
		}
		if open == 0 {
			return done, lost, ctx.Err()
		}
		got, err := s.receive(func(i int, r qr2.Reply) error {
			if !s.waiting[i] {
				return nil
			}
			last, err := on(i, r)
			if last {
				s.waiting[i] = false
				open--
				done++
			}
			return err
		})
		if err != nil {
			return done, lost, err
		}
		if !got {
			lost += open
			open = 0
			clear(s.waiting)
		}
	}
}

// receive waits for answers and passes them to on. It reports false if none came in
// time.
func (s *swarm) receive(on func(int, qr2.Reply) error) (bool, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(swarmWait)); err != nil {
		return false, err
	}
	n, err := s.packets.ReadBatch(s.in, 0)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, m := range s.in[:n] {
		r, ok := qr2.ParseReply(m.Buffers[0][:m.N])
		if i := int(r.Key) - 1; ok && i >= 0 && i < len(s.beats) {
			if err := on(i, r); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// churnStep is the time between two bursts of a churn.
const churnStep = 10 * time.Millisecond

// steady calls act with one server after the other, so many times per second, until
// ctx ends, and returns how often. Steps that it has overslept by more than a few are left out unless
// all is set: a burst of it would not be the load that is wanted.
func (s *swarm) steady(ctx context.Context, rate float64, all bool, act func(int) error) (int, error) {
	const steps = 5
	begin, count, owed := time.Now(), 0, 0.0
	for pause(ctx, churnStep) {
		now := time.Now()
		late := now.Sub(begin)
		if begin = now; !all {
			late = min(late, steps*churnStep)
		}
		owed += rate * late.Seconds()
		for ; owed >= 1; owed-- {
			if err := act(s.turn()); err != nil {
				return count, err
			}
			count++
		}
		if err := s.flush(); err != nil {
			return count, err
		}
	}
	return count, nil
}

// churn has servers report changes, so many per second, until ctx ends.
func (s *swarm) churn(ctx context.Context, rate float64) error {
	_, err := s.steady(ctx, rate, true, func(i int) error { return s.heartbeat(i, qr2.StateSame) })
	return err
}

// count counts the answers to keepalives until a while after during ends. It may run
// beside steady.
func (s *swarm) count(ctx, during context.Context) (answered int) {
	var late time.Time // when to stop waiting; zero: during has not ended
	for {
		got, err := s.receive(func(_ int, r qr2.Reply) error {
			if r.Kind == qr2.KindKeepalive {
				answered++
			}
			return nil
		})
		if late.IsZero() && during.Err() != nil {
			late = time.Now().Add(swarmWait)
		}
		if err != nil || ctx.Err() != nil || !late.IsZero() && (!got || time.Now().After(late)) {
			return answered
		}
	}
}
