package legacylist

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Bounds of a connection after its request.
const (
	// lingerTime and lingerBytes are what a client may still say when everything
	// was sent. A connection that is closed while something unread is left would
	// take the end of the list with it.
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 10
	// closeGrace is how long a write under way may take when the service stops.
	closeGrace = time.Second
)

// ended is why the master closes a connection without a list; it is counted
// under this name.
type ended string

// Error implements error.
func (e ended) Error() string { return string(e) }

// The reasons.
const (
	endedBanned     ended = "banned"
	endedTooLong    ended = "too_long"
	endedTimeout    ended = "request_timeout"
	endedGone       ended = "no_request"
	endedEnctype    ended = "bad_enctype"
	endedValidation ended = "validation"
	endedSecret     ended = "no_secret"
	endedFilter     ended = "bad_filter"
	endedExpensive  ended = "too_expensive"
	endedBusy       ended = "busy"
	droppedPipeline ended = "pipelined_list" // the connection got the list that it asked for first
)

// DropReasons are the reasons under which the service counts what it drops, for
// netserve.NewMetrics.
func DropReasons() []string {
	return []string{
		string(endedBanned), string(endedTooLong), string(endedTimeout), string(endedGone), string(endedEnctype),
		string(endedValidation), string(endedSecret), string(endedFilter), string(endedExpensive), string(endedBusy),
		string(droppedPipeline),
	}
}

// said is what a client is told about the reasons that concern its request.
func (e ended) said() string {
	switch e {
	case endedTooLong:
		return "Request too long"
	case endedEnctype:
		return "Unknown enctype"
	case endedValidation, endedSecret:
		return "Validation error"
	case endedFilter:
		return "Query error"
	case endedExpensive:
		return "Query too expensive"
	case endedBusy:
		return "Server is busy"
	default:
		return ""
	}
}

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
	if s.opt.Banned != nil && s.opt.Banned(c.Peer().Addr()) {
		s.opt.Metrics.Drop(string(endedBanned))
		s.opt.Verdicts.NotePlayer(name, c.Peer().Addr(), "", verdicts.Banned)
		return
	}
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		_ = c.SetReadDeadline(now)
		_ = c.SetWriteDeadline(now.Add(closeGrace))
	})
	defer stop()
	x := &session{server: s, conn: c, out: c, challenge: newChallenge()}
	err := x.run(ctx)
	s.opt.Log.Debug().Stringer("peer", c.Peer()).Err(err).Msg("connection ended")
}

// run greets, listens and answers. The error says why there was no list.
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
		x.server.opt.Metrics.Drop(string(droppedPipeline))
	}
	x.linger(ctx)
	return err
}

// refuse counts why there is no list and tells the client. It reports false if
// there is nothing to tell or nobody to tell it to. A client that reads lists as
// they are would read a reason as servers, and send packets to whoever is there:
// it gets an empty list.
func (x *session) refuse(err error, enctype string) bool {
	reason, ok := errors.AsType[ended](err)
	if !ok {
		return false
	}
	x.server.opt.Metrics.Drop(string(reason))
	text := reason.said()
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

// linger ends the own direction and waits for the client to do the same.
func (x *session) linger(ctx context.Context) {
	if x.conn.CloseWrite() != nil {
		return
	}
	if x.conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil || ctx.Err() != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, x.conn, lingerBytes) // whatever ends it, the list is out
}

// newChallenge returns six random letters. Some clients read exactly six from a
// fixed place, so there are never more or less.
func newChallenge() string {
	const fair = 256 / 26 * 26 // bytes from here on would make some letters likelier
	out := make([]byte, 0, challengeLen)
	for len(out) < challengeLen {
		var b [2 * challengeLen]byte
		_, _ = rand.Read(b[:]) // never returns an error
		for _, c := range b {
			if c < fair && len(out) < challengeLen {
				out = append(out, 'A'+c%26)
			}
		}
	}
	return string(out)
}
