package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/qr2"
)

// fleetWorkers is how many servers of a fleet send at once.
const fleetWorkers = 16

// fleet is more game servers than there may be sockets: one has its socket only while it
// sends.
type fleet struct {
	on      []*world // server i reports to node i modulo their number
	servers []fleetServer
}

type fleetServer struct {
	instance uint32
	players  int
}

func newFleet(n int, on ...*world) *fleet {
	f := &fleet{on: on, servers: make([]fleetServer, n)}
	for i := range f.servers {
		f.servers[i].instance = rand.Uint32() // needs only to differ
	}
	return f
}

// open opens the socket of a server, the same as before.
func (f *fleet) open(i int) (*host, error) {
	h, err := newHost(f.on[i%len(f.on)], address(groupFleet, i), fmt.Sprintf("Server %d of the fleet", i), game, secret)
	if err != nil {
		return nil, err
	}
	s := &f.servers[i]
	h.Instance, h.players = s.instance, s.players
	h.play() // one player more or less
	s.players = h.players
	return h, nil
}

// fill has all servers listed.
func (f *fleet) fill(ctx context.Context) error {
	return f.each(ctx, func(h *host) error {
		err := h.Register(soon())
		h.close(true)
		return err
	})
}

// empty has all servers leave.
func (f *fleet) empty(ctx context.Context) error {
	return f.each(ctx, func(h *host) error { h.close(false); return nil })
}

// each calls do for all servers, which closes the socket.
func (f *fleet) each(ctx context.Context, do func(*host) error) error {
	var g errgroup.Group
	for k := range fleetWorkers {
		g.Go(func() error {
			for i := k; i < len(f.servers) && ctx.Err() == nil; i += fleetWorkers {
				h, err := f.open(i)
				if err == nil {
					err = do(h)
				}
				if err != nil {
					return fmt.Errorf("server %d: %w", i, err)
				}
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// change has servers report changes at a steady rate per second, each in its turn.
func (f *fleet) change(ctx context.Context, rate int, length time.Duration, t *tally) phase {
	var users []user
	for k := range fleetWorkers {
		users = append(users, &squadron{fleet: f, next: k})
	}
	return openLoop(ctx, users, float64(rate), length, t, "change of a server")
}

// squadron is every fleetWorkers-th server of a fleet.
type squadron struct {
	*fleet
	next int
}

func (s *squadron) do(context.Context) error {
	h, err := s.open(s.next)
	if err != nil {
		return err
	}
	defer h.close(true)
	if s.next += fleetWorkers; s.next >= len(s.servers) {
		s.next %= fleetWorkers
	}
	return h.Heartbeat(qr2.StateSame)
}

func (s *squadron) close(bool) {}
