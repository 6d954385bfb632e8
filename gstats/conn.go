package gstats

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Bounds of a connection.
const (
	// forever disables the idle limit of netserve.
	forever = 10 * 365 * 24 * time.Hour
	// closeGrace is the time limit for writing the last message.
	closeGrace = 2 * time.Second
	// A client that has to go while it is still sending is read from until it
	// pauses, within bounds: closing at once would take the last message from it.
	lingerPause = 100 * time.Millisecond
	lingerTime  = time.Second
	lingerBytes = 256 << 10
	// maxFirst is the length of the longest message before the game has proved
	// itself, in bytes, and maxFields that of a message without its data.
	maxFirst  = 1 << 10
	maxFields = 256 << 10
	// messageTime is how long a message may take to arrive.
	messageTime = 2 * time.Minute
	// doubtTime is how long a message that seems to be cut waits for the rest.
	doubtTime = 2 * time.Second
	// loneTime is how long answers wait behind the second message of the handshake if their
	// requests did not wait for it: long enough for a client to read that message alone.
	loneTime = 250 * time.Millisecond
	// maxOut is how much is written at once, and keepOut the memory that is kept
	// for it, in bytes.
	maxOut  = 16 << 10
	keepOut = 4 << 10
)

// link carries the messages of a session.
type link struct {
	*session
	conn  *netserve.Conn
	in    inbox
	state netserve.State
	heard time.Time // the last bytes
	since time.Time // when the waiting part of a message began to arrive
	asked time.Time // the last keepalive; zero: none
}

// ServeConn implements netserve.ConnHandler. It returns when the client has
// disconnected or is disconnected, or ctx ends.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	now := time.Now()
	k := &link{conn: c, in: inbox{most: maxFirst, shared: &s.memory}, heard: now}
	k.session = s.newSession(c.Peer(), now, func(d time.Duration) { k.pause(ctx, d) })
	defer k.release()
	_ = c.SetUserTimeout(s.opt.UserTimeout) // not every system has one
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	k.finish(k.run(ctx))
}

// release makes sure, also after a panic, that nothing is left of the session.
func (k *link) release() {
	_ = k.conn.Close()
	k.end()
	k.in.free()
}

// run answers the requests of the client. The error is the reason for its end.
func (k *link) run(ctx context.Context) error {
	if k.banned() {
		k.out = nil
		return endedBanned
	}
	for {
		body, err := k.next(ctx)
		if err != nil {
			return err
		}
		if k.banned() {
			return endedBanned
		}
		r := parseRequest(body)
		if err := k.handle(ctx, &r, time.Now()); err != nil {
			return err
		}
		k.settle()
		switch {
		case k.alone && k.in.waiting():
			k.pause(ctx, loneTime)
		case k.alone || len(k.out) >= maxOut:
			if err := k.flush(); err != nil {
				return errGone
			}
		}
	}
}

// settle sets the limits of the connection after a request: longer messages for a
// game that has proved itself, and protection for a player's.
func (k *link) settle() {
	if k.key == 0 {
		return
	}
	k.in.most = maxFields + k.server.live.Load().MaxBlock
	state := netserve.StateIdle
	if len(k.players) > 0 {
		state = netserve.StateProtected
	}
	if state != k.state {
		k.state = state
		k.conn.SetState(state)
	}
}

// banned reports whether the client is no longer served.
func (k *link) banned() bool { return k.server.opt.Banned.Has(k.peer.Addr()) }

func (k *link) flush() error {
	if len(k.out) == 0 {
		return nil
	}
	_, err := k.conn.Write(k.out)
	if k.out = k.out[:0]; cap(k.out) > keepOut {
		k.out = nil
	}
	k.alone = false
	return err
}

// pause writes the answers and waits.
func (k *link) pause(ctx context.Context, d time.Duration) {
	if err := k.flush(); err != nil {
		return // the next read fails too
	}
	clock.Pause(ctx, d)
}

// next returns the next message in the clear, which is valid until the next call. It
// writes the answers before it waits.
func (k *link) next(ctx context.Context) ([]byte, error) {
	for {
		body, have := k.in.next()
		switch have {
		case whole:
			k.since = k.heard
			return body, nil
		case tooLong:
			return nil, endedTooLong
		case partial, doubtful:
		}
		if err := k.flush(); err != nil {
			return nil, errGone
		}
		err := k.read(ctx, have)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, errShutdown
		case !errors.Is(err, os.ErrDeadlineExceeded) || k.conn.Expired():
			return nil, err
		case have == doubtful:
			return k.in.cut(), nil
		default:
			if err := k.silent(time.Now()); err != nil {
				return nil, err
			}
		}
	}
}

// read waits for more of a message.
func (k *link) read(ctx context.Context, have progress) error {
	was := k.in.waiting()
	if err := k.conn.SetReadDeadline(k.deadline(have)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // after the deadline is set: its end sets another one
		return err
	}
	full, err := k.in.read(k.conn)
	if full {
		return endedMemory
	}
	if err == nil {
		k.heard = time.Now()
		if !was {
			k.since = k.heard
		}
	}
	return err
}

// deadline returns when the session is to look at a silent client again.
func (k *link) deadline(have progress) time.Time {
	by := k.began.Add(k.server.opt.LoginTime)
	if k.key != 0 {
		by = earlier(later(k.heard, k.asked).Add(k.server.opt.KeepAlive), k.heard.Add(k.server.opt.Idle))
	}
	if k.in.waiting() {
		by = earlier(by, k.since.Add(messageTime))
	}
	if have == doubtful {
		by = earlier(by, k.heard.Add(doubtTime))
	}
	return by
}

// silent is called when the deadline has passed.
func (k *link) silent(now time.Time) error {
	switch {
	case k.key == 0 && !now.Before(k.began.Add(k.server.opt.LoginTime)):
		return endedTimeout
	case k.banned():
		return endedBanned
	case k.in.waiting() && !now.Before(k.since.Add(messageTime)):
		return endedUnfinished
	case k.key == 0:
		return nil
	case !now.Before(k.heard.Add(k.server.opt.Idle)):
		return endedSilent
	case !now.Before(later(k.heard, k.asked).Add(k.server.opt.KeepAlive)):
		k.asked = now
		k.out = appendKeepAlive(k.out)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// finish sends the client the remaining output and the reason for the end.
func (k *link) finish(err error) {
	k.server.opt.Log.Debug().Stringer("peer", k.peer).Str("game", clean.UTF8(k.game)).Err(err).Msg("connection ended")
	text := ""
	if why, ok := errors.AsType[ended](err); ok {
		k.drop(why)
		k.noteEnd(why)
		text = why.Text()
	}
	if errors.Is(err, errShutdown) {
		text = "The server is going down."
	}
	if text == "" {
		return // it has gone, or does not read
	}
	k.out = appendError(k.out, text)
	_ = k.conn.SetWriteDeadline(time.Now().Add(closeGrace))
	if k.flush() == nil {
		_ = k.conn.Linger(lingerPause, lingerTime, lingerBytes)
	}
}

// refused notes that a connection is refused and returns the text for its client.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	text := s.opt.Verdicts.NoteRefused(name, peer.Addr(), why)
	return appendError(nil, text)
}

// ended is the reason for which the service closes a connection, or drops a request;
// its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

var (
	endedBanned      = reasons.Judge("banned", verdicts.Banned, "You are banned.")
	endedTooLong     = reasons.Judge("too_long", verdicts.MalformedRequest, "The message is too long.")
	endedMemory      = reasons.Judge("memory", verdicts.ServiceFull, "The server is busy. Try again in a moment.")
	endedEarly       = reasons.Judge("not_authenticated", verdicts.MalformedRequest, "Authenticate first.")
	endedUnknownGame = reasons.Judge("unknown_game", verdicts.UnknownGame, "The game is not known here.")
	endedNoSecret    = reasons.Judge("no_secret", verdicts.NoSecret, "The secret key of the game is not known here.")
	endedResponse    = reasons.Judge("wrong_response", verdicts.WrongResponse, "The response is wrong.")
	endedTimeout     = reasons.Judge("login_timeout", verdicts.NeverSignedIn, "The game did not authenticate in time.")
	endedSilent      = reasons.Add("silent", "The connection was idle for too long.")
	endedUnfinished  = reasons.Add("unfinished", "The message did not arrive in time.")

	// After these the connection continues.
	droppedUnknown = reasons.Add("unknown_command")
	droppedValue   = reasons.Add("bad_value")
	droppedConnID  = reasons.Add("wrong_connid")
	droppedRate    = reasons.Add("too_many_reports")
	droppedCut     = reasons.Add("short_data")
)

// Why a connection ends without anything to count.
var (
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)
