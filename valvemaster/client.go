package valvemaster

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/netclient"
)

// Host is a game server: it sends heartbeats and answers A2S queries from
// any address. Serve must run while the other methods are called.
type Host struct {
	*netclient.Packets

	beat       Heartbeat
	answer     func(query []byte) [][]byte
	challenges chan uint32
	asked      atomic.Bool
}

// NewHost returns a host that reports beat, with a challenge filled in. Its
// socket is not connected, since queries come from other ports than the
// master's. answer returns the packets that answer a query of another address
// than the master's; nil: the host is silent.
func NewHost(p *netclient.Packets, beat Heartbeat, answer func(query []byte) [][]byte) *Host {
	return &Host{Packets: p, beat: beat, answer: answer, challenges: make(chan uint32, 1)}
}

// AnswerA2S returns an answer for NewHost: that of a server without players and
// rules.
func AnswerA2S(info a2s.Info) func(query []byte) [][]byte {
	return func(query []byte) [][]byte {
		q, err := a2s.ParseRequest(query)
		if err != nil {
			return nil
		}
		switch q.Kind {
		case a2s.InfoRequest:
			return [][]byte{a2s.AppendInfo(nil, info)}
		case a2s.PlayersRequest:
			return [][]byte{a2s.AppendPlayers(nil, a2s.Players{})}
		case a2s.RulesRequest:
			return [][]byte{a2s.AppendRules(nil, a2s.Rules{})}
		default:
			return nil
		}
	}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Packets.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	if c, err := ParseChallenge(p); err == nil && from == h.Server() {
		select {
		case h.challenges <- c.Challenge:
		default: // one is there
		}
		return
	}
	if h.answer == nil {
		return
	}
	for _, b := range h.answer(p) {
		h.asked.Store(true)
		_ = h.SendTo(b, from) // it may be lost, as elsewhere
	}
}

// Asked reports whether the host has answered a query.
func (h *Host) Asked() bool { return h.asked.Load() }

// Challenge asks the master for a challenge and waits for it.
func (h *Host) Challenge(ctx context.Context) (uint32, error) {
	select {
	case <-h.challenges: // of an earlier request
	default:
	}
	if err := h.Send(ChallengeRequest{}.AppendTo(nil)); err != nil {
		return 0, err
	}
	return netclient.Wait(ctx, h.challenges)
}

// Heartbeat requests a challenge and sends a heartbeat with it. The host is
// listed once it has answered the queries that follow.
func (h *Host) Heartbeat(ctx context.Context) error {
	c, err := h.Challenge(ctx)
	if err != nil {
		return err
	}
	beat := h.beat
	beat.Challenge = c
	b, err := beat.AppendTo(nil)
	if err != nil {
		return err
	}
	return h.Send(b)
}

// Leave requests a challenge and removes the host from the list with it.
func (h *Host) Leave(ctx context.Context) error {
	c, err := h.Challenge(ctx)
	if err != nil {
		return err
	}
	return h.Send(Goodbye{Challenge: c, HasChallenge: true}.AppendTo(nil))
}

// Browser requests lists.
type Browser struct {
	*netclient.Packets

	// Retry is the time after which it repeats a request; 0: never.
	Retry time.Duration
	// Max bounds the entries of a list; 0: no bound.
	Max int

	out []byte
}

// Page requests the servers of a list after seed, at first [Start].
func (b *Browser) Page(ctx context.Context, filter string, seed netip.AddrPort) (l List, err error) {
	err = b.Request(ctx, ListRequest{Region: AnyRegion, Seed: seed, Filter: []byte(filter)}, func(p []byte) error {
		l, err = ParseList(p)
		return err
	})
	return l, err
}

// Request sends a request and calls parse with the answer.
func (b *Browser) Request(ctx context.Context, r ListRequest, parse func([]byte) error) error {
	b.out = r.AppendTo(b.out[:0])
	for {
		wait := ctx
		if b.Retry > 0 {
			wait = netclient.Bound(ctx, b.Retry)
		}
		if err := b.Send(b.out); err != nil {
			return err
		}
		err := b.Await(wait, func(p []byte, _ netip.AddrPort) (bool, error) { return true, parse(p) })
		if b.Retry == 0 || wait == ctx || !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// errRepeats reports a page after which the same page would be requested again.
var errRepeats = errors.New("the master repeats a page")

// List reads all pages, at most a number of them; 0: all. The error is
// netclient.ErrTooLong for a list beyond Max. The servers that were read are returned
// with an error too.
func (b *Browser) List(ctx context.Context, filter string, pages int) (servers []netip.AddrPort, err error) {
	seed := Start
	for n := 1; ; n++ {
		l, err := b.Page(ctx, filter, seed)
		if err != nil {
			return servers, err
		}
		servers = append(servers, l.Servers...)
		switch next := l.continuation(); {
		case b.Max > 0 && len(servers) > b.Max:
			return servers[:b.Max], netclient.ErrTooLong
		case l.Last || len(l.Servers) == 0 || n == pages:
			return servers, nil
		case next == seed:
			return servers, errRepeats
		default:
			seed = next
		}
	}
}
