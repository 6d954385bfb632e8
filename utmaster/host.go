package utmaster

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Messages of a game server per second, and at once. It waits for further ones in the
// buffers of the connection.
const (
	messageRate  = 10
	messageBurst = 50
)

// inbox holds the results of the reader of a game server's connection.
type inbox struct {
	p   []byte
	err error
}

// serveHost serves a game server until its connection ends.
func (x *session) serveHost(ctx context.Context, challenge string) error {
	s := x.server
	x.events, x.gone = make(chan event, maxEvents), make(chan struct{})
	x.link = link{
		policy: policy{
			probe: x.live.Probe, unproved: x.live.ListUnproved, shortPorts: x.live.ShortPorts, askKeys: x.live.AskKeys,
			wait: x.live.ProbeWait,
		},
		peer: x.conn.Peer().Addr(), version: x.hello.Version, statistics: x.hello.Statistics != -1, challenge: challenge,
	}
	s.mu.Lock()
	x.link.code = s.table.enter(x)
	s.mu.Unlock()

	in, read := make(chan inbox), make(chan struct{})
	var reading sync.WaitGroup
	inner, cancel := context.WithCancel(ctx)
	reading.Go(func() { x.readAll(inner, in, read) })
	err := x.converse(ctx, in, read)
	cancel()
	_ = x.conn.Close() // wakes the reader
	reading.Wait()
	x.leave(err, ctx.Err() != nil)
	return err
}

// readAll reads messages. Each is handled before the next is read: read has an entry
// then.
func (x *session) readAll(ctx context.Context, in chan<- inbox, read <-chan struct{}) {
	budget := rate.NewLimiter(messageRate, messageBurst)
	for {
		p, err := x.read(ctx, maxFrame, time.Now().Add(x.server.live.Load().Timeout))
		if errors.Is(err, endedTimeout) {
			err = endedSilent
		}
		select {
		case in <- inbox{p, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		select {
		case <-read:
		case <-ctx.Done():
			return
		}
		if budget.Wait(ctx) != nil {
			return
		}
	}
}

// converse passes events to the link and executes its effects.
func (x *session) converse(ctx context.Context, in <-chan inbox, read chan<- struct{}) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if due := x.link.due(); !due.IsZero() {
			timer.Reset(time.Until(due))
		}
		var e effects
		var err error
		select {
		case m := <-in:
			if m.err != nil {
				return m.err
			}
			if e, err = x.link.message(m.p, time.Now()); err != nil {
				x.unreadable(m.p, err)
				return endedMalformed
			}
			if err = x.do(&e); err == nil && e.other >= 0 {
				x.server.opt.Metrics.Drop(droppedMessage.Error())
				x.log.Debug().Int("kind", e.other).Int("len", len(m.p)).Hex("begin", m.p[:min(len(m.p), maxShown)]).Msg("message not used")
			}
			if err == nil {
				select {
				case read <- struct{}{}:
				case <-ctx.Done():
				}
			}
		case ev := <-x.events:
			err = x.datagram(ev)
		case now := <-timer.C:
			e = x.link.tick(now)
			err = x.do(&e)
		case <-x.gone:
			return endedReplaced
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

func (x *session) datagram(ev event) error {
	var e effects
	if ev.probe {
		x.server.metrics.probes.Inc()
		e = x.link.probed(ev.socket, ev.port)
	} else {
		x.server.metrics.proofs.Inc()
		e = x.link.answered()
	}
	return x.do(&e)
}

// do executes effects of the link. The error ends the connection.
func (x *session) do(e *effects) error {
	s := x.server
	if len(e.send) > 0 {
		if _, err := x.conn.Write(e.send); err != nil {
			return err
		}
	}
	if e.ask.IsValid() {
		x.ask(e.ask)
	}
	if e.mute {
		x.muted = true
		s.opt.Metrics.Drop(droppedUnproved.Error())
		s.opt.Verdicts.Note(serviceName, x.at(), x.game.Name, verdicts.NoAnswer)
	}
	if e.key != nil {
		if err := x.player(e.key); err != nil {
			return err
		}
	}
	if e.list {
		if err := x.list(); err != nil {
			return err
		}
	}
	if e.found {
		s.opt.Registry.Report(keyOf(x.address()), master.Findings{Reached: master.ReachedPerhaps})
	}
	return nil
}

// ask asks a query port for its status.
func (x *session) ask(at netip.AddrPort) {
	s := x.server
	if s.opt.Own.Has(at) {
		return
	}
	s.mu.Lock()
	s.table.ask(x, at)
	s.mu.Unlock()
	s.metrics.questions.Inc()
	s.out.Send(s.packets, statusQuery(x.hello.Version), x.conn.Local().Addr(), at)
}

// player has a player disconnected whose key is banned.
func (x *session) player(k *PlayerKey) error {
	banned := x.keyBanned(k.KeyHash)
	x.log.Debug().Str("player", k.Player).Str("key", x.keyMark(k.KeyHash)).Bool("banned", banned).Msg("key of a player")
	if !banned {
		return nil
	}
	if at, err := netip.ParseAddrPort(k.Player); err == nil {
		x.server.opt.Players.NotePlayer(browserName, at.Addr().Unmap(), x.game.Name, verdicts.KeyBanned)
	}
	_, err := x.conn.Write(appendDisconnect(nil, k.Player))
	return err
}

// at returns the address under which verdicts on the server are noted: that of its
// game, if it is known.
func (x *session) at() netip.AddrPort {
	if x.link.state == nil {
		return x.conn.Peer()
	}
	return x.address()
}

// replace ends the connection, because another one has its server.
func (x *session) replace() {
	if x.left.CompareAndSwap(false, true) {
		close(x.gone)
	}
}

// leave removes the server of a connection that ended. If that is because the service
// stops, the record stays, to be saved with the list.
func (x *session) leave(err error, stopping bool) {
	s := x.server
	s.mu.Lock()
	source, listed := x.source, x.source.IsValid()
	s.table.leave(x)
	if listed && !stopping {
		s.opt.Registry.Remove(keyOf(source))
	}
	s.mu.Unlock()
	if stopping {
		return
	}
	why, ours := errors.AsType[ended](err)
	switch {
	case ours && why != endedGone && why != endedSilent:
		x.noteEnd(why)
	case listed && why == endedSilent:
		s.opt.Verdicts.Note(serviceName, source, x.game.Name, verdicts.Expired)
	case listed:
		s.opt.Verdicts.Note(serviceName, source, x.game.Name, verdicts.Left)
	}
}

// noteEnd notes why a game server was disconnected.
func (x *session) noteEnd(why ended) {
	if v, ok := why.Verdict(); ok {
		x.server.opt.Verdicts.Note(serviceName, x.at(), x.game.Name, v)
	}
}
