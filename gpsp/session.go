package gpsp

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a connection.
const (
	// lingerTime and lingerBytes bound the data that is read from a
	// disconnected client that still sends: closing at once would destroy the
	// answer.
	lingerTime  = time.Second
	lingerBytes = 256 << 10
)

// ended is the reason for which the service closes a connection, or drops a
// request; its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

var notDropped ended

var (
	endedBanned    = reasons.Add("banned")
	endedTooLong   = reasons.Judge("too_long", verdicts.MalformedRequest, "the request is too long")
	endedMalformed = reasons.Judge("malformed", verdicts.MalformedRequest, "the request is malformed")
	endedUnknown   = reasons.Judge("unknown_command", verdicts.MalformedRequest, "unknown command")
	endedIdle      = reasons.Add("request_timeout")

	// After these the connection continues.
	droppedQuota    = reasons.Add("quota")
	droppedNetQuota = reasons.Add("quota_net")
)

// session is one connection. It belongs to one goroutine.
type session struct {
	server *Server
	conn   *netserve.Conn
	log    zerolog.Logger
	in     gamespy.Inbox
	out    reply
}

// ServeConn implements netserve.ConnHandler. It returns when the client has
// disconnected or is disconnected, or ctx ends; a received request is still
// answered then.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	if s.opt.Banned.Has(c.Peer().Addr()) {
		s.opt.Metrics.Drop(endedBanned.Error())
		s.opt.Verdicts.NotePlayer(name, c.Peer().Addr(), "", verdicts.Banned)
		return
	}
	x := &session{server: s, conn: c, log: s.opt.Log.With().Stringer("peer", c.Peer()).Logger()}
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	x.log.Debug().Err(x.run(ctx)).Msg("connection ended")
}

// run reads and answers requests. The error is the reason for its end.
func (x *session) run(ctx context.Context) error {
	for {
		m, err := x.next(ctx)
		if err == nil {
			x.conn.SetState(netserve.StateBusy)
			err = x.handle(ctx, m)
			x.conn.SetState(netserve.StateIdle)
		}
		if err != nil {
			return x.part(err)
		}
	}
}

func (x *session) next(ctx context.Context) (gamespy.Message, error) {
	if err := x.conn.SetReadDeadline(time.Now().Add(x.server.opt.Idle)); err != nil {
		return gamespy.Message{}, err
	}
	if err := ctx.Err(); err != nil { // it may have ended before the deadline was set
		return gamespy.Message{}, err
	}
	text, err := x.in.Next(x.conn)
	switch {
	case errors.Is(err, gamespy.ErrMessageTooLong):
		err = endedTooLong
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil:
		err = endedIdle
	}
	if err != nil {
		return gamespy.Message{}, err
	}
	m, err := gamespy.ParseMessage(text)
	if err != nil {
		err = endedMalformed
	}
	return m, err
}

// handle answers one request. An error ends the connection.
func (x *session) handle(ctx context.Context, m gamespy.Message) error {
	c, known := x.server.commands[storage.Fold(m.Name())]
	if !known {
		return endedUnknown
	}
	result := resultAnswered
	if c.serve != nil {
		var err error
		r := &request{Message: m, from: x.conn.Peer().Addr(), live: x.server.live.Load()}
		x.out.b = x.out.b[:0]
		result, err = x.server.perform(context.WithoutCancel(ctx), &c, r, &x.out)
		if err != nil {
			x.server.trouble.Line(fault.Log(x.log, err)).Str("command", c.name).Err(err).Msg("request not carried out")
		}
	}
	x.server.metrics.request(c.name, result)
	x.log.Debug().Str("command", c.name).Str("result", result).Msg("request")
	if c.serve == nil {
		return nil
	}
	_, err := x.conn.Write(x.out.end())
	return err
}

// part counts the reason and informs the client if the service ends the
// connection.
func (x *session) part(err error) error {
	reason, ok := errors.AsType[ended](err)
	if !ok {
		return err
	}
	x.server.opt.Metrics.Drop(reason.Error())
	if v, ok := reason.Verdict(); ok {
		x.server.opt.Verdicts.NotePlayer(name, x.conn.Peer().Addr(), "", v)
	}
	text := reason.Text()
	if text == "" {
		return err
	}
	x.out.failure(codeParse, text)
	if _, werr := x.conn.Write(x.out.end()); werr == nil && reason == endedTooLong {
		_ = x.conn.Linger(lingerTime, lingerTime, lingerBytes)
	}
	return err
}
