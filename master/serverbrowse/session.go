package serverbrowse

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Bounds of a connection.
const (
	// firstMessage is the time to complete the first message after the time for
	// its first byte.
	firstMessage = 5 * time.Second
	// maxMissed is the number of keepalives without an answer after which a
	// connection is closed.
	maxMissed = 2
	// closeGrace is how long a pending write may take when the service stops.
	closeGrace = time.Second
	// Lists per second on one connection, and at once. The original client
	// sends one request per connection.
	listRate  = 2
	listBurst = 10
)

// ended is the reason for which the master closes a connection; its name is its
// label in metrics.
type ended = drops.Reason

var reasons drops.List

var (
	endedBanned  = reasons.Judge("banned", verdicts.Banned)
	endedFraming = reasons.Judge("bad_length", verdicts.MalformedRequest)
	endedBad     = reasons.Judge("bad_message", verdicts.MalformedRequest)
	endedOrder   = reasons.Judge("no_list_first", verdicts.MalformedRequest)
	endedGame    = reasons.Judge("unknown_game", verdicts.UnknownGame)
	endedSecret  = reasons.Judge("no_secret", verdicts.NoSecret)
	endedFirst   = reasons.Add("first_message_timeout")
	endedGone    = reasons.Add("keepalive_timeout")
	endedIdle    = reasons.Add("idle_timeout")
	endedRate    = reasons.Judge("list_rate", verdicts.Limited)
	endedSlow    = reasons.Add("slow_push")
)

// session is one connection. Its goroutine reads and answers; a second one
// writes updates if the client requested them.
type session struct {
	server *Server
	conn   *netserve.Conn
	frames frameReader
	out    outlet
	log    zerolog.Logger

	ready    bool            // the cipher is set up
	game     string          // the game that the last list request was for
	port     uint16          // its default query port, as sent to the client
	asker    advertise.Asker // as derived from the last list request
	heard    time.Time       // time of the last message, or of the connection
	missed   int             // keepalives without an answer since then, without the first of reading
	reading  reading
	lists    *rate.Limiter
	messages *rate.Limiter

	leave func()         // ends the updates; nil: there are none
	push  sync.WaitGroup // the goroutine that writes them
}

// ServeConn implements netserve.ConnHandler. It returns when the client has
// disconnected or is disconnected, or ctx ends.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	if s.opt.Banned.Has(c.Peer().Addr()) {
		s.opt.Metrics.Drop(endedBanned.Error())
		s.opt.Verdicts.NotePlayer(name, c.Peer().Addr(), "", verdicts.Banned)
		return
	}
	x := &session{
		server:   s,
		conn:     c,
		frames:   frameReader{r: c},
		out:      outlet{w: c, chunks: &s.chunks},
		log:      s.opt.Log.With().Stringer("peer", c.Peer()).Logger(),
		heard:    time.Now(),
		lists:    rate.NewLimiter(listRate, listBurst),
		messages: rate.NewLimiter(rate.Limit(s.opt.MessageRate), s.opt.MessageBurst),
	}
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		_ = c.SetReadDeadline(now)
		_ = c.SetWriteDeadline(now.Add(closeGrace))
	})
	defer stop()
	defer x.unsubscribe()
	defer func() { _ = c.Close() }() // a write of the other goroutine ends
	err := x.run(ctx)
	if reason, ok := errors.AsType[ended](err); ok {
		s.opt.Metrics.Drop(reason.Error())
		if v, ok := reason.Verdict(); ok {
			x.note("", v)
		}
	}
	x.log.Debug().Err(err).Msg("connection ended")
}

// run reads and answers messages. The error is the reason for its end.
func (x *session) run(ctx context.Context) error {
	for {
		kind, body, err := x.next(ctx)
		if err != nil {
			return err
		}
		x.server.metrics.request(kind)
		x.conn.SetState(netserve.StateBusy)
		if err := x.handle(kind, body); err != nil {
			return err
		}
		x.conn.SetState(x.state())
	}
}

// state returns the connection's State between two messages.
func (x *session) state() netserve.State {
	switch {
	case x.leave != nil:
		return netserve.StateStream
	case x.ready:
		return netserve.StateIdle
	}
	return netserve.StateNew
}

// next returns the next message. While the client is quiet it sends keepalives.
func (x *session) next(ctx context.Context) (Kind, []byte, error) {
	keepalive := time.Now().Add(x.server.opt.KeepAlive)
	for {
		kind, body, err := x.read(ctx, x.deadline(keepalive))
		switch {
		case x.server.opt.Banned.Has(x.conn.Peer().Addr()): // since the last message or keepalive
			return 0, nil, endedBanned
		case err == nil:
			x.heard, x.missed = time.Now(), 0
			return kind, body, nil
		case errors.Is(err, errLength):
			return 0, nil, endedFraming
		case ctx.Err() != nil || x.conn.Expired() || !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, nil, err // the service ends, a limit was exceeded, or the client has gone
		case !x.ready:
			return 0, nil, endedFirst
		case time.Since(x.heard) >= x.server.opt.Idle:
			return 0, nil, endedIdle
		case x.reading.due(time.Now()):
			if err := x.testReading(); err != nil {
				return 0, nil, err
			}
			continue
		case x.missed == maxMissed:
			x.doubtReading()
			return 0, nil, endedGone
		}
		x.missed++
		if err := x.out.send(nil, appendKeepalive(nil)); err != nil {
			return 0, nil, err
		}
		keepalive = time.Now().Add(x.server.opt.KeepAlive)
	}
}

// deadline returns the time at which a keepalive is due or the connection ends. keepalive
// is the time of the next one that is not the first.
func (x *session) deadline(keepalive time.Time) time.Time {
	opt := &x.server.opt
	if !x.ready {
		return x.heard.Add(opt.FirstByte + firstMessage)
	}
	by := keepalive
	if end := x.heard.Add(opt.Idle); end.Before(by) {
		by = end
	}
	if x.reading.due(by) {
		by = x.reading.next
	}
	return by
}

// read returns the next message if it is complete by the given time.
func (x *session) read(ctx context.Context, by time.Time) (Kind, []byte, error) {
	if err := x.conn.SetReadDeadline(by); err != nil {
		return 0, nil, err
	}
	if err := ctx.Err(); err != nil { // it may have ended before the deadline was set
		return 0, nil, err
	}
	return x.frames.next()
}

// handle answers one message. An error ends the connection.
func (x *session) handle(kind Kind, body []byte) error {
	x.trustReading()
	if kind == KindList {
		r, err := parseListRequest(body)
		if err != nil {
			return endedBad
		}
		return x.list(&r)
	}
	if !x.ready {
		return endedOrder // there is no key to answer with
	}
	switch kind {
	case KindInfo:
		return x.info(body)
	case KindMessage:
		return x.message(body)
	case KindPlayerSearch:
		return x.search(body)
	case KindMapLoop:
		return x.mapLoop(body)
	default: // keepalives need no answer
		return nil
	}
}

// info answers the request for all data of a server.
func (x *session) info(body []byte) error {
	asked, _, err := parseAddress(body)
	if err != nil {
		return endedBad
	}
	s, ok := x.asker.Find(x.server.opt.Registry, asked)
	if !ok {
		return x.out.send(nil, appendUnknown(nil, asked, x.port))
	}
	return x.out.send(nil, appendInfo(nil, s, x.port, asked, x.asker))
}

// mapLoop sends the present map of a server and, if reported, the next one. The
// time of the change is unknown. For a server that is not listed the client
// does not expect an answer.
func (x *session) mapLoop(body []byte) error {
	asked, _, err := parseAddress(body)
	if err != nil {
		return endedBad
	}
	s, ok := x.asker.Find(x.server.opt.Registry, asked)
	if !ok {
		return nil
	}
	var maps []string
	for _, rule := range []string{"mapname", "nextmap"} {
		if name, _ := s.Rules.Get(rule); name != "" {
			maps = append(maps, name[:min(len(name), maxMapName)])
		}
	}
	return x.out.send(nil, appendMapLoop(nil, asked, 0, maps))
}

// maxMapName is the maximum length of a map name that is sent, in bytes.
const maxMapName = 255

// message forwards data to a listed server. The browser gets no answer.
func (x *session) message(body []byte) error {
	asked, data, err := parseAddress(body)
	if err != nil {
		return endedBad
	}
	result := x.relay(asked, data)
	x.server.metrics.message(result)
	if result != messageSent {
		x.log.Debug().Stringer("server", asked).Int("len", len(data)).Str("result", result).
			Msg("message for a server dropped")
	}
	return nil
}

func (x *session) relay(to netip.AddrPort, data []byte) (result string) {
	if len(data) == 0 || len(data) > maxRelay {
		return messageSize
	}
	if !x.messages.Allow() {
		return messageRate
	}
	s, ok := x.asker.Find(x.server.opt.Registry, to)
	if !ok || x.server.opt.Messenger == nil {
		return messageUnknown
	}
	err := x.server.opt.Messenger.SendToServer(s.Key, bytes.Clone(data))
	switch {
	case err == nil:
		return messageSent
	case errors.Is(err, master.ErrNotListed):
		return messageUnknown
	case errors.Is(err, master.ErrBusy):
		return messageBusy
	}
	return messageError
}

// search answers a player search; one over the rate of the connection or the
// budget of the address is answered with nothing found.
func (x *session) search(body []byte) error {
	q, err := parsePlayerSearch(body)
	if err != nil {
		return endedBad
	}
	var found []FoundPlayer
	result := searchRated
	if x.messages.Allow() {
		var ok bool
		result = searchSpent
		if found, ok = x.server.search(x.conn.Peer().Addr(), x.game, q); ok {
			result = searchAnswered
		}
	}
	x.server.metrics.searches.WithLabelValues(result).Inc()
	for i := range found {
		found[i].Server = x.asker.Given(found[i].Server)
	}
	return x.out.send(nil, appendFound(nil, found))
}
