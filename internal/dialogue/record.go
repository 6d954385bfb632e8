package dialogue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Bounds of a recording.
const (
	Longest    = 10 * time.Minute // Longest is how long it lasts at most.
	MaxBytes   = 8 << 20          // MaxBytes is the largest size of its file.
	maxMessage = 64 << 10         // of a connection's message that is not cut; else lengths are recorded
	endSpace   = 256              // bytes of MaxBytes that are kept for the last line
)

// Why a recording ended, as its last line says.
const (
	endedTime    = "the time is over"
	endedBytes   = "the file has reached its largest size"
	endedStopped = "it was stopped"
)

// ErrBusy is returned while another recording is made.
var ErrBusy = errors.New("another recording is being made: there is one at a time")

// Recorder makes recordings, one at a time. Its fields are set before it is used.
type Recorder struct {
	Tap     netserve.Tap
	Logs    []*verdicts.Log
	Program string // version of the daemon
	// Protocol returns that of a service.
	Protocol func(service string) Protocol
}

// Record writes to w what the services and an address say to each other, until ctx ends, for a
// time of at most Longest, and up to MaxBytes. If w has a method Flush, it is called after each part.
func (r *Recorder) Record(ctx context.Context, game string, addr netip.Addr, span time.Duration, w io.Writer) error {
	addr = addr.Unmap()
	c := &recording{
		recorder: r, addr: addr, started: time.Now(), left: MaxBytes - endSpace,
		streams: make(map[any]*stream), written: make(chan struct{}, 1),
	}
	if !r.Tap.Begin(&netserve.Watch{Addr: addr, Take: c.take}) {
		return ErrBusy
	}
	defer r.Tap.End()
	for _, l := range r.Logs {
		l.Watch(c.verdict)
		defer l.Watch(nil)
	}
	c.line(Header{Version, game, c.started.UTC().Truncate(time.Second), r.Program, masked(addr)})
	return c.run(ctx, min(span, Longest), w)
}

// masked returns an address without its last part.
func masked(a netip.Addr) string {
	if a.Is4() {
		text := a.String()
		return text[:strings.LastIndexByte(text, '.')] + ".x"
	}
	p, _ := a.Prefix(48) // every IPv6 address has one
	return p.String()
}

// recording is one that is being made.
type recording struct {
	recorder *Recorder
	addr     netip.Addr
	started  time.Time
	written  chan struct{} // has a value after lines were added, or the file is full

	mu      sync.Mutex // guards the fields below
	lines   bytes.Buffer
	left    int // bytes that the file may still get
	ended   string
	streams map[any]*stream
	count   int // of streams so far
}

// stream is a connection, or the datagrams of one port of the client.
type stream struct {
	number  int
	partial [2][]byte // messages that are not whole, of the client and of the service
	lost    [2]bool   // the messages cannot be told apart any more
}

// run writes the lines to w until the end.
func (c *recording) run(ctx context.Context, span time.Duration, w io.Writer) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	for {
		why := ""
		select {
		case <-ctx.Done():
			why = endedStopped
		case <-timer.C:
			why = endedTime
		case <-c.written:
		}
		b, over := c.collect(why)
		if _, err := w.Write(b); err != nil {
			return err
		}
		if f, ok := w.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
	}
}

// collect returns the lines since its last call, and after the end, for which there may be a
// reason, the last ones.
func (c *recording) collect(why string) (lines []byte, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == "" && why != "" {
		c.ended = why
	}
	if c.ended != "" {
		c.left = 2 * endSpace
		c.append(Event{At: c.now(), Kind: End, Text: c.ended})
		c.left = 0
	}
	lines = bytes.Clone(c.lines.Bytes())
	c.lines.Reset()
	return lines, c.ended != ""
}

func (c *recording) now() int64 { return time.Since(c.started).Milliseconds() }

// line adds a line, and ends the recording if there is no room for it.
func (c *recording) line(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.append(v)
}

// append is line while c.mu is held.
func (c *recording) append(v any) {
	b, err := marshal(v)
	if err != nil || c.left == 0 {
		return // values of these types can be encoded
	}
	if len(b)+1 > c.left {
		c.left, c.ended = 0, endedBytes
	} else {
		c.left -= len(b) + 1
		c.lines.Write(append(b, '\n'))
	}
	select {
	case c.written <- struct{}{}:
	default:
	}
}

func (c *recording) verdict(e *verdicts.Entry) {
	if e.Addr.Addr() != c.addr {
		return
	}
	c.line(Event{At: c.now(), Kind: Verdict, Service: e.Service, Text: e.Verdict.String()})
}

// take is netserve.Watch.Take.
func (c *recording) take(p netserve.Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[p.Stream]
	if s == nil {
		c.count++
		s = &stream{number: c.count}
		c.streams[p.Stream] = s
	}
	e := Event{At: c.now(), Service: p.Service, Over: p.Over, Stream: s.number, Port: p.Port}
	switch p.Act {
	case netserve.Opened:
		e.Kind = Open
		c.append(e)
		return
	case netserve.Closed:
		for i, kind := range []Kind{Client, Server} {
			e.Kind = kind
			c.length(e, len(s.partial[i]))
		}
		e.Kind = Close
		c.append(e)
		delete(c.streams, p.Stream)
		return
	case netserve.Heard:
		e.Kind = Client
	case netserve.Said:
		e.Kind = Server
	}
	c.said(s, e, &p)
}

func (c *recording) said(s *stream, e Event, p *netserve.Part) {
	protocol := c.recorder.Protocol(p.Service)
	side := 0
	if e.Kind == Server {
		side = 1
	}
	switch {
	case protocol.Blot == nil || s.lost[side] || p.Cut > 0:
		c.length(e, len(p.Data)+p.Cut)
	case p.Over != "tcp":
		c.message(e, &protocol, p.Data)
	case protocol.Split == nil:
		c.length(e, len(p.Data))
	default:
		rest := append(s.partial[side], p.Data...)
		for len(rest) > 0 {
			n := protocol.Split(side == 1, rest)
			if n == 0 {
				break
			}
			c.message(e, &protocol, rest[:n])
			rest = rest[n:]
		}
		if s.partial[side] = bytes.Clone(rest); len(rest) > maxMessage {
			c.length(e, len(rest))
			s.partial[side], s.lost[side] = nil, true
		}
	}
}

// length records that there were so many bytes.
func (c *recording) length(e Event, n int) {
	if e.Length = n; n > 0 {
		c.append(e)
	}
}

// message records a whole message without its secrets.
func (c *recording) message(e Event, protocol *Protocol, data []byte) {
	plain := protocol.plain(bytes.Clone(data))
	if len(plain) == 0 { // it cannot be deciphered
		c.length(e, len(data))
		return
	}
	e.Data = bytes.Clone(plain)
	protocol.Blot(e.Data)
	blotMail(e.Data)
	e.Blotted = !bytes.Equal(e.Data, plain)
	c.mask(e.Data)
	e.Length = len(e.Data)
	c.append(e)
}

// mask overwrites the last part of the player's address.
func (c *recording) mask(b []byte) {
	text, bits := c.addr.String(), c.addr.AsSlice()
	known := strings.LastIndexAny(text, ".:") + 1
	replace(b, []byte(text), []byte(text[:known]+strings.Repeat("x", len(text)-known)))
	hidden := bytes.Clone(bits)
	if clear(hidden[len(bits)-1:]); len(bits) == 16 {
		clear(hidden[6:])
	}
	replace(b, bits, hidden)
}

// replace overwrites each old in b with new, of the same length.
func replace(b, old, with []byte) {
	for {
		i := bytes.Index(b, old)
		if i < 0 || bytes.Equal(old, with) {
			return
		}
		copy(b[i:], with)
		b = b[i+len(old):]
	}
}

// Messages returns how many messages a recording has.
func Messages(events []Event) (n int) {
	for i := range events {
		if events[i].Kind == Client || events[i].Kind == Server {
			n++
		}
	}
	return n
}

// Ended returns why a recording ended.
func Ended(events []Event) string {
	if n := len(events); n > 0 && events[n-1].Kind == End {
		return events[n-1].Text
	}
	return "it was cut off"
}
