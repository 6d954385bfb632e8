package utmaster

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// toolOS is the operating system that qstat states, the first one that no known game
// does.
const toolOS = 6

// writeSize is the number of bytes of a list that are written at a time, for which a
// reader has the time of one write.
const writeSize = 128 << 10

// maxMOTD is the longest message of the day that is sent, in bytes.
const maxMOTD = 16 << 10

// serveBrowser answers the one request of a client.
func (x *session) serveBrowser(ctx context.Context, by time.Time) error {
	if x.hello.Version >= modern {
		p, err := x.read(ctx, maxRequest, by)
		if err != nil {
			return err
		}
		if _, _, err := parseWord(p); err != nil { // any digest will do
			x.unreadable(p, err)
			return endedMalformed
		}
		if _, err := x.conn.Write(appendWord(nil, wordVerified)); err != nil {
			return err
		}
	}
	p, err := x.read(ctx, maxRequest, by)
	if err != nil {
		return err
	}
	x.conn.SetState(netserve.StateBusy)
	err = x.answer(ctx, p)
	x.conn.SetState(netserve.StateIdle)
	x.noteAnswer(err)
	if err == nil {
		x.linger(ctx)
	}
	return err
}

func (x *session) answer(ctx context.Context, p []byte) error {
	if len(p) == 0 {
		return endedMalformed
	}
	m := x.server.metrics
	switch p[0] {
	case askList:
		filters, err := parseFilters(p[1:])
		if err != nil {
			x.unreadable(p, err)
			return endedMalformed
		}
		m.list.Inc()
		return x.sendList(ctx, filters, p[1:])
	case askMOTD:
		m.motd.Inc()
		return x.send(appendMOTD(nil, x.server.motd(x.game.Name), x.hello.Version))
	case askCommunity:
		m.community.Inc()
		return x.send(appendNoCommunity(nil))
	case askUpgrade:
		x.unreadable(p, ErrKind)
		return endedRequest
	default:
		x.unreadable(p, ErrKind)
		return endedRequest
	}
}

// motd returns the message of the day of a game.
func (s *Server) motd(game string) string {
	if s.opt.MOTD == nil {
		return ""
	}
	text := s.opt.MOTD(game)
	return text[:min(len(text), maxMOTD)]
}

func (x *session) send(b []byte) error {
	_, err := x.conn.Write(b)
	return err
}

// sendList sends a list. text are the bytes of the filters.
func (x *session) sendList(ctx context.Context, filters []Filter, text []byte) error {
	v, err := x.server.view(x, filters, string(text))
	if err != nil {
		return err
	}
	if err := x.server.views.Begin(v); err != nil {
		return endedBusy
	}
	defer x.server.views.End(v)
	x.server.metrics.views.Entries.Add(float64(v.Rows))
	list := v.Bytes
	if len(list) > writeSize {
		if err := x.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
			return err
		}
	}
	if v.Rows > 0 && x.live.ListPause > 0 && x.hello.OS >= toolOS {
		if err := x.send(list[:listHeadSize]); err != nil {
			return err
		}
		list = list[listHeadSize:]
		if !clock.Pause(ctx, x.live.ListPause) {
			return ctx.Err()
		}
	}
	for len(list) > 0 {
		n := min(len(list), writeSize)
		if _, err := x.conn.Write(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// noteAnswer notes the result of a request.
func (x *session) noteAnswer(err error) {
	v := verdicts.ListSent
	if why, ok := errors.AsType[ended](err); ok {
		if why != endedMalformed && why != endedRequest {
			return
		}
		v = verdicts.MalformedRequest
	} else if err != nil {
		return
	}
	x.server.opt.Players.NoteDetail(browserName, x.conn.Peer().Addr(), x.game.Name, v, verdicts.VersionDetail(strconv.Itoa(int(x.hello.Version))))
}
