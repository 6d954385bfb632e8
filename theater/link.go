package theater

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
)

// Bounds of a connection.
const (
	maxEarly   = 16 << 10  // bytes of a frame before the sign-in
	maxFrame   = 64 << 10  // afterwards
	maxWaiting = 256 << 10 // bytes that wait to be written
	signInTime = 30 * time.Second
	closeGrace = 2 * time.Second // for the last messages
	paceRate   = 20              // a client over this rate of messages waits
	paceBurst  = 60

	silentPings = 5 // after which a silent player is disconnected
)

// pingHeader is that of a request for a sign of life.
var pingHeader = wire.Header{Service: "PING", Kind: wire.TheaterReply}

// link carries the messages of a session.
type link struct {
	*session
	conn   *netserve.Conn
	in     wire.Inbox
	pace   *rate.Limiter
	once   sync.Once
	kicked chan struct{} // closed by the first kick
	reason error         // set before kicked is closed
	outbox outbox
}

// ServeConn implements netserve.ConnHandler.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	k := &link{conn: c, pace: rate.NewLimiter(paceRate, paceBurst), kicked: make(chan struct{})}
	k.outbox = outbox{conn: c, failed: func() { k.kickOut(endedSlow) }}
	k.session = &session{server: s, peer: c.Peer(), local: c.Local(), queue: k.outbox.put, kick: k.kickOut, heard: time.Now()}
	stop := context.AfterFunc(ctx, k.wake)
	defer stop()
	err := k.run(ctx)
	s.mu.Lock()
	if errors.Is(err, presence.ErrBanned) || errors.Is(err, endedBanned) {
		k.expel()
	}
	s.leave(k.session)
	s.mu.Unlock()
	_ = c.SetWriteDeadline(time.Now().Add(closeGrace))
	k.outbox.end()
	if why, ok := errors.AsType[ended](err); ok {
		s.opt.Metrics.Drop(why.Error())
	}
	s.opt.Log.Debug().Stringer("peer", k.peer).Str("client", k.player.Client).Err(err).Msg("connection ended")
}

// kickOut ends the session, from any goroutine.
func (k *link) kickOut(reason error) {
	k.once.Do(func() {
		k.reason = reason
		close(k.kicked)
		k.wake()
	})
}

// wake makes the goroutine of the session look around.
func (k *link) wake() { _ = k.conn.SetReadDeadline(time.Now()) }

// over returns why nothing more is to be done for the client, nil if there is.
func (k *link) over(ctx context.Context) error {
	select {
	case <-k.kicked:
		return k.reason
	default:
	}
	if k.server.opt.Banned.Has(k.peer.Addr()) {
		return endedBanned
	}
	return ctx.Err()
}

// run takes the messages of the client. The error is the reason for its end.
func (k *link) run(ctx context.Context) error {
	by, most := time.Now().Add(signInTime), maxEarly
	for {
		if err := k.conn.SetReadDeadline(by); err != nil {
			return err
		}
		if err := k.over(ctx); err != nil { // after the deadline is set: its end sets another one
			return err
		}
		f, err := k.in.Next(k.conn, most)
		if over := k.over(ctx); over != nil {
			return over
		}
		if err != nil {
			return why(err)
		}
		if err := k.slowDown(ctx); err != nil {
			return err
		}
		k.server.mu.Lock()
		err = k.handle(f, time.Now())
		then := k.then
		k.then = nil
		k.server.mu.Unlock()
		if err != nil {
			return err
		}
		if then != nil {
			then(ctx)
		}
		if by.IsZero() || !k.signedIn() {
			continue
		}
		by, most = time.Time{}, maxFrame
		k.conn.SetState(netserve.StateProtected)
	}
}

// why returns the reason for which nothing more can be read.
func why(err error) error {
	switch {
	case errors.Is(err, wire.ErrTooLong):
		return endedTooLong
	case errors.Is(err, wire.ErrFrame):
		return endedMalformed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return endedTimeout
	}
	return err
}

// slowDown makes a client wait that sends too much.
func (k *link) slowDown(ctx context.Context) error {
	wait := k.pace.Reserve().Delay()
	if wait == 0 {
		return nil
	}
	k.server.metrics.paced.Inc()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-k.kicked:
	}
	return k.over(ctx)
}

// outbox is what waits to be written to a client. Its goroutine exists only while something waits:
// most clients are silent.
type outbox struct {
	conn   *netserve.Conn
	failed func() // the client reads too slowly, or not at all

	writer  sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	waiting []byte
	writing bool // the writer is there
	closed  bool
}

// put queues bytes. It never waits.
func (o *outbox) put(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return
	case len(o.waiting)+len(b) > maxWaiting:
		o.closed = true
		o.failed()
		return
	}
	o.waiting = append(o.waiting, b...)
	if !o.writing {
		o.writing = true
		o.writer.Go(o.write)
	}
}

// take returns what waits. With nothing the writer must end.
func (o *outbox) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.waiting
	o.waiting, o.writing = nil, len(b) > 0
	return b
}

func (o *outbox) write() {
	for b := o.take(); len(b) > 0; b = o.take() {
		if _, err := o.conn.Write(b); err != nil {
			o.failed()
			return
		}
	}
}

// end waits until the rest is written, and takes nothing more.
func (o *outbox) end() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.writer.Wait()
}
