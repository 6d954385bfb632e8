package fesl

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/ssl3"
)

// Bounds of a connection.
const (
	// closeGrace is the time limit for writing the last message.
	closeGrace = 2 * time.Second
	// A client that has to go while it is still sending is read from until it
	// pauses, within bounds: closing at once would take the last message from it.
	lingerPause = 100 * time.Millisecond
	lingerTime  = time.Second
	lingerBytes = 256 << 10
	// keepOut is the memory that is kept for output, in bytes.
	keepOut = 2 << 10
	// handshake is the first byte of a client that speaks TLS or SSL 3.0, unless it begins
	// with ssl3.OldHello.
	handshake = 0x16
)

// link carries the frames of a session.
type link struct {
	*session
	raw    *netserve.Conn
	conn   net.Conn // raw, or TLS or SSL 3.0 over it
	in     wire.Inbox
	once   sync.Once
	kicked chan struct{} // closed by the first kick
	reason error         // set before kicked is closed
}

// ServeConn implements netserve.ConnHandler. It returns when the client has disconnected
// or is disconnected, or ctx ends.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	k := &link{raw: c, conn: c, kicked: make(chan struct{})}
	k.session = s.newSession(c.Peer(), c.Local(), k.kickOut, time.Now())
	defer k.end()
	stop := context.AfterFunc(ctx, k.wake)
	defer stop()
	k.finish(k.run(ctx))
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
func (k *link) wake() { _ = k.raw.SetReadDeadline(time.Now()) }

// over returns why nothing more is to be done for the client, nil if there is.
func (k *link) over(ctx context.Context) error {
	select {
	case <-k.kicked:
		return k.reason
	default:
	}
	switch {
	case ctx.Err() != nil:
		return errShutdown
	case k.server.opt.Banned.Has(k.peer.Addr()):
		return endedBanned
	}
	return nil
}

// run answers the client. The error is the reason for its end.
func (k *link) run(ctx context.Context) error {
	if err := k.over(ctx); err != nil {
		return err
	}
	if err := k.meet(ctx); err != nil {
		return err
	}
	k.conn = &tapped{k.conn, k.raw}
	for {
		f, err := k.next(ctx)
		if err != nil {
			return err
		}
		if err := k.slowDown(ctx); err != nil {
			return err
		}
		before := k.life.stage
		if err := k.handle(ctx, f, time.Now()); err != nil {
			return err
		}
		if now := k.life.stage; now != before {
			k.raw.SetState(stateOf(now))
		}
		if err := k.flush(); err != nil {
			return err
		}
	}
}

// stateOf returns the state of a connection of a client: those that are signed in go last
// when the service is full.
func stateOf(s stage) netserve.State {
	if s >= stageAccount {
		return netserve.StateProtected
	}
	return netserve.StateIdle
}

// meet reads the first byte, which says how the client speaks.
func (k *link) meet(ctx context.Context) error {
	var first [1]byte
	if _, err := io.ReadFull(k.raw, first[:]); err != nil {
		return err
	}
	k.conn = &prefixed{Conn: k.raw, first: first[:]}
	switch letter := first[0] | 0x20; {
	case letter >= 'a' && letter <= 'z':
		return nil
	case first[0] == ssl3.OldHello && k.server.opt.SSL3 == nil:
		if _, err := k.raw.Write(ssl3.Refusal()); err == nil {
			_ = k.raw.Linger(lingerPause, lingerTime, lingerBytes)
		}
		return endedOldHello
	case first[0] != handshake && first[0] != ssl3.OldHello:
		return endedForeign
	case k.server.opt.TLS == nil:
		return endedTLS
	}
	if err := k.raw.SetReadDeadline(time.Now().Add(tlsTime)); err != nil {
		return err
	}
	if err := k.shake(ctx, first[0]); err != nil {
		return endedTLS
	}
	return nil
}

// helloVersion is where the newest version that a client speaks is in its first record, two bytes.
const helloVersion = 9

// shake makes the handshake of a client, whose first byte was read: that of SSL 3.0 if it speaks
// nothing newer.
func (k *link) shake(ctx context.Context, first byte) error {
	hello := [helloVersion + 2]byte{first}
	if _, err := io.ReadFull(k.raw, hello[1:]); err != nil {
		return err
	}
	below := &prefixed{Conn: k.raw, first: hello[:]}
	if old := k.server.opt.SSL3; old != nil && (first == ssl3.OldHello || binary.BigEndian.Uint16(hello[helloVersion:]) <= ssl3.Version) {
		c := ssl3.Server(below, old, rand.Reader, tlsTime)
		k.conn = c
		return c.Handshake()
	}
	c := tls.Server(below, k.server.opt.TLS)
	k.conn = c
	return c.HandshakeContext(ctx)
}

// prefixed is a connection whose first bytes were read already.
type prefixed struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.first) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.first)
	p.first = p.first[n:]
	return n, nil
}

// next returns the next frame. Meanwhile it asks a silent client for a sign of life.
func (k *link) next(ctx context.Context) (wire.Frame, error) {
	for {
		if err := k.raw.SetReadDeadline(k.life.next()); err != nil {
			return wire.Frame{}, err
		}
		if err := k.over(ctx); err != nil { // after the deadline is set: its end sets another one
			return wire.Frame{}, err
		}
		f, err := k.in.Next(k.conn, k.most())
		if over := k.over(ctx); over != nil {
			return wire.Frame{}, over
		}
		now := time.Now()
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, wire.ErrTooLong):
			return f, endedTooLong
		case errors.Is(err, wire.ErrFrame):
			return f, endedMalformed
		case !errors.Is(err, os.ErrDeadlineExceeded) || k.raw.Expired():
			return f, err
		}
		if err := k.look(now); err != nil {
			return f, err
		}
	}
}

// look does what is due.
func (k *link) look(now time.Time) error {
	if k.in.Begun() && k.life.partial.IsZero() {
		k.life.partial = now
	}
	switch what := k.life.due(now); what {
	case tooSlow:
		return endedTimeout
	case silent:
		return endedSilent
	case memCheck, ping:
		k.ask(what, now)
		return k.flush()
	case nothing:
	}
	return nil
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

// flush writes the output.
func (k *link) flush() error {
	if len(k.out) == 0 {
		return nil
	}
	_, err := k.conn.Write(k.out)
	if k.out = k.out[:0]; cap(k.out) > keepOut {
		k.out = nil
	}
	if err != nil {
		return errGone
	}
	return nil
}

// finish tells the client why the connection ends, if it is not its own wish.
func (k *link) finish(err error) {
	k.server.opt.Log.Debug().Stringer("peer", k.peer).Str("client", k.title.client).Err(err).Msg("connection ended")
	if why, ok := errors.AsType[ended](err); ok {
		k.server.opt.Metrics.Drop(why.Error())
		if v, ok := endVerdicts[why]; ok {
			k.note(v)
		}
	}
	text := farewellTo(err)
	if text == "" {
		return
	}
	k.farewell("GOODBYE_SERVER", text)
	_ = k.conn.SetWriteDeadline(time.Now().Add(closeGrace))
	if len(k.out) > 0 && k.flush() == nil {
		_ = k.raw.Linger(lingerPause, lingerTime, lingerBytes)
	}
}

// farewellTo returns the text for a player about the end of a connection; empty: none.
func farewellTo(err error) string {
	switch {
	case errors.Is(err, errShutdown):
		return "The server is going down."
	case errors.Is(err, presence.ErrDisplaced):
		return "Your profile has signed in elsewhere."
	case errors.Is(err, presence.ErrBanned), errors.Is(err, endedBanned):
		return "You are banned."
	case errors.Is(err, presence.ErrDeleted):
		return "The profile was deleted."
	case errors.Is(err, presence.ErrKicked):
		return "You were signed out by the operator."
	case errors.Is(err, endedTooLong), errors.Is(err, endedMalformed):
		return "The server did not understand your game."
	}
	return ""
}
