package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/netserve"

	"github.com/respawnd/respawnd/web/front"
)

const (
	// Reasons under which streams are refused or closed: too many in total,
	// evicted for one of another address, too many of one address, a client
	// that did not read for streamWrite.
	dropStreams        = "streams_full"
	dropStreamEvicted  = "stream_evicted"
	dropStreamsPerAddr = "streams_per_address"
	dropSlowStream     = "stream_slow"

	eventsType = "text/event-stream; charset=utf-8"

	// streamBeat is how often a stream without events gets a comment, so that
	// no proxy considers it dead.
	streamBeat = 15 * time.Second
	// streamWrite is the time for a client to read sent data. Otherwise the
	// stream is closed; the client may reconnect with the id of its last event.
	streamWrite = 10 * time.Second
	// streamRetry is the time in milliseconds after which clients should
	// reconnect.
	streamRetry = "5000"
	// streamsFull is the time in seconds after which a refused client should
	// try again.
	streamsFull = "30"
)

// DropReasons returns the reasons for netserve.NewMetrics, beside those of package
// front.
func DropReasons() []string {
	return []string{dropStreams, dropStreamEvicted, dropStreamsPerAddr, dropSlowStream}
}

// serveEvents answers /api/v1/events.
func (s *API) serveEvents(w http.ResponseWriter, r *http.Request, p Params) error {
	game, err := p.Game()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", eventsType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	h.Add("Vary", "Accept-Encoding")
	zipped := front.AcceptsGzip(r)
	if zipped {
		h.Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	addr := s.Visitor(r)
	a := s.streams.Enter(addr, time.Now(), cancel)
	if a.Seat == nil {
		s.refuseStream(w, a.Refused)
		return nil
	}
	defer a.Seat.Leave()
	if a.Evicted {
		s.Drop(dropStreamEvicted)
	}
	a.Seat.SetState(netserve.StateStream)
	netserve.SetState(ctx, netserve.StateStream)
	out := &stream{server: s, w: w, control: http.NewResponseController(w), addr: addr, game: game, zipped: zipped, at: s.feed.join()}
	defer s.feed.leave()
	if err := out.run(r.WithContext(ctx)); errors.Is(err, os.ErrDeadlineExceeded) {
		s.Drop(dropSlowStream)
	}
	return nil
}

// refuseStream answers a client that gets no stream.
func (s *API) refuseStream(w http.ResponseWriter, why netserve.Refusal) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Retry-After", streamsFull)
	if why == netserve.RefusedPerAddr {
		s.Drop(dropStreamsPerAddr)
		front.FailJSON(w, http.StatusTooManyRequests, "too many event streams from your address")
		return
	}
	s.Drop(dropStreams)
	front.FailJSON(w, http.StatusServiceUnavailable, "too many event streams, try again")
}

// stream is one client of the feed.
type stream struct {
	server  *API
	w       http.ResponseWriter
	control *http.ResponseController
	addr    netip.Addr // of the visitor
	game    string     // empty: all
	zipped  bool       // the client gets it compressed
	at      uint64     // the client has all changes up to this serial
	counts  uint64     // and the counts of chat rooms up to this version
}

// run sends events until the client leaves, does not read, or the service stops.
func (t *stream) run(r *http.Request) error {
	_ = t.control.SetReadDeadline(time.Time{}) // a stream has no end; writers without deadlines are accepted
	t.w.WriteHeader(http.StatusOK)
	f := t.server.feed
	if r.Header.Get("Last-Event-ID") == "" { // one that returns gets all counts
		t.counts, _ = t.server.lobby.now()
	}
	err := t.begin(r.Header.Get("Last-Event-ID"))
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for err == nil {
		b, now, wait := f.next(t.at)
		switch {
		case b != nil:
			err = t.tell(b)
			continue
		case wait == nil:
			err = t.tell(t.catchUp(now))
			continue
		}
		version, moved := t.server.lobby.now()
		if version != t.counts {
			err = t.tellCounts()
			continue
		}
		select {
		case <-wait:
		case <-moved:
		case <-beat.C:
			err = t.send([]byte(":\n\n"))
		case <-r.Context().Done():
			return nil
		case <-f.over:
			return nil
		}
	}
	return err
}

// begin sends the serial from which the stream continues: after the client's
// last event, if that is given and known, else now.
func (t *stream) begin(last string) error {
	f := t.server.feed
	if t.zipped {
		if _, err := io.WriteString(t.w, gzipHead); err != nil {
			return err
		}
	}
	if last == "" {
		return t.send([]byte("retry: " + streamRetry + "\nid: " + f.id(t.at) + "\n\n"))
	}
	if at, ok := f.parseID(last); ok && at <= t.at {
		t.at = at
		return t.send([]byte("retry: " + streamRetry + "\n\n"))
	}
	return t.tell(f.reset(t.at, t.at, resetRestart))
}

// catchUp writes the next events for this stream only, in turn with answers.
func (t *stream) catchUp(to uint64) (b *batch) {
	s := t.server
	s.InTurn(func() { b = s.feed.write(t.at, to) })
	return b
}

// tell sends the events of a batch that match the client's request.
func (t *stream) tell(b *batch) error {
	t.at = b.to
	var asker advertise.Asker
	if len(b.spots) > 0 {
		asker = t.server.opt.Addresses.Browser(t.addr, netip.Addr{})
	}
	return t.write(b.formFor(t.game, t.server.opt.Registry.Sharing(t.game), asker).bytes(t.zipped))
}

// tellCounts sends the counts of chat rooms that changed.
func (t *stream) tellCounts() error {
	text, now := t.server.lobby.since(t.counts, t.game)
	t.counts = now
	return t.send(text)
}

// send writes text for this stream alone, which is short.
func (t *stream) send(text []byte) error {
	if t.zipped {
		text = deflate(text)
	}
	return t.write(text)
}

// write writes and flushes text, which is compressed in a compressed stream, within
// streamWrite.
func (t *stream) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_ = t.control.SetWriteDeadline(time.Now().Add(streamWrite)) // writers without deadlines do not block
	if _, err := t.w.Write(text); err != nil {
		return err
	}
	return t.control.Flush()
}
