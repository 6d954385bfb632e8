package legacylist

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Bounds of a connection after its request.
const (
	// lingerTime and lingerBytes bound the data of a client that is read after
	// everything was sent. Closing a connection with unread data would destroy
	// the end of the list.
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 10
	// closeGrace is how long a pending write may take when the service stops.
	closeGrace = time.Second
)

// ended is the reason for which the master closes a connection without a list;
// its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

var (
	endedBanned     = reasons.Add("banned")
	endedTooLong    = reasons.Judge("too_long", verdicts.MalformedRequest, "Request too long")
	endedTimeout    = reasons.Add("request_timeout")
	endedGone       = reasons.Add("no_request")
	endedEnctype    = reasons.Judge("bad_enctype", verdicts.MalformedRequest, "Unknown enctype")
	endedValidation = reasons.Judge("validation", verdicts.WrongResponse, "Validation error")
	endedSecret     = reasons.Judge("no_secret", verdicts.NoSecret, "Validation error")
	endedFilter     = reasons.Judge("bad_filter", verdicts.BadFilter, "Query error")
	endedExpensive  = reasons.Judge("too_expensive", verdicts.BadFilter, "Query too expensive")
	endedBusy       = reasons.Add("busy", "Server is busy")
	endedShare      = reasons.Add("not_shared")     // another master without the secret, or too often
	droppedPipeline = reasons.Add("pipelined_list") // the connection got the list that it requested first
)

// session is one connection. It has one goroutine.
type session struct {
	server    *Server
	conn      *netserve.Conn
	out       io.Writer // conn
	challenge string
}

// ServeConn implements netserve.ConnHandler. It greets the client, answers one
// request and returns.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	if s.opt.Banned.Has(c.Peer().Addr()) {
		s.opt.Metrics.Drop(endedBanned.Error())
		s.opt.Verdicts.NotePlayer(name, c.Peer().Addr(), "", verdicts.Banned)
		return
	}
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		_ = c.SetReadDeadline(now)
		_ = c.SetWriteDeadline(now.Add(closeGrace))
	})
	defer stop()
	x := &session{server: s, conn: c, out: c, challenge: gamespy.RandomLetters(challengeLen)}
	err := x.run(ctx)
	s.opt.Log.Debug().Stringer("peer", c.Peer()).Err(err).Msg("connection ended")
}

// run greets, reads the request and answers. The error is the reason for which
// there was no list.
func (x *session) run(ctx context.Context) error {
	if _, err := x.out.Write([]byte(greeting + x.challenge)); err != nil {
		return err
	}
	in := inbox{conn: x.conn, time: x.server.opt.RequestTime}
	r, err := in.inquiry(ctx)
	if err == nil {
		x.conn.SetState(netserve.StateBusy)
		err = x.list(&r)
		x.conn.SetState(netserve.StateIdle)
	}
	x.noteList(r.wanted(), err)
	if err != nil && !x.refuse(err, r.enctype) {
		return err
	}
	if err == nil && asksForList(in.rest()) {
		x.server.opt.Metrics.Drop(droppedPipeline.Error())
	}
	x.linger(ctx)
	return err
}

// refuse counts the reason for which there is no list and sends it to the
// client. It returns false if there is nothing to send or the client has gone.
// A client without encryption would parse a reason as servers, and send packets
// to those addresses: it gets an empty list.
func (x *session) refuse(err error, enctype string) bool {
	reason, ok := errors.AsType[ended](err)
	if !ok {
		return false
	}
	x.server.opt.Metrics.Drop(reason.Error())
	text := reason.Text()
	if text == "" {
		return false
	}
	if n, ok := enctypeOf(enctype); ok && n == 0 {
		text = ""
	} else {
		text = `\fatal\1\error\` + text
	}
	_, err = io.WriteString(x.out, text+gamespy.Final)
	return err == nil
}

// linger closes the sending direction and waits for the client to do the same.
func (x *session) linger(ctx context.Context) {
	if x.conn.CloseWrite() == nil && ctx.Err() == nil {
		_ = x.conn.Linger(lingerTime, lingerTime, lingerBytes) // whatever ends it, the list is out
	}
}
