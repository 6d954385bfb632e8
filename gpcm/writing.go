package gpcm

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// startWriting lets the goroutine that writes begin when there is something.
func (x *session) startWriting(ctx context.Context) {
	x.renewed = time.Now()
	x.silence = time.AfterFunc(x.server.opt.KeepAlive, x.breakSilence)
	x.out.open(func() { x.writer.Go(func() { x.write(ctx) }) })
}

// stopWriting waits until everything is written, last at the end, or cannot be.
func (x *session) stopWriting(last []byte) {
	x.out.close(last)
	x.writer.Wait()
	if x.silence != nil {
		x.silence.Stop()
	}
	if x.settling != nil {
		x.settling.Stop()
	}
	x.unread.stop()
	x.unsent = append(x.unread.behind, x.unsent...)
	items, _, _ := x.out.take(nil) // if the writer never began
	x.keepUnsent(items)
}

// writerStack is the stack size that writing an event needs, in bytes.
const writerStack = 3 << 10

// growWriterStack is growStack for the writing goroutine.
//
//go:noinline
func growWriterStack(i uint8) byte {
	var room [writerStack]byte
	return room[i]
}

// write writes the outbox until it is empty or the client is gone.
func (x *session) write(ctx context.Context) {
	defer x.containPanic()
	growWriterStack(0)
	var slack []item
	for {
		items, last, more := x.out.take(slack)
		if !more {
			return
		}
		written := x.flight.written
		if x.failed {
			x.keepUnsent(items)
		} else if err := x.send(ctx, items, last); err != nil {
			x.failed = true
			x.Kick(err)
		}
		if x.flight.written != written {
			x.silence.Reset(x.server.opt.KeepAlive)
		}
		x.settleInTime(ctx)
		slack = recycle(items)
	}
}

// containPanic ends the session in place of the daemon.
func (x *session) containPanic() {
	if r := recover(); r != nil {
		x.server.opt.Log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Uint32("profile", uint32(x.profile)).
			Msg("panic while writing, connection ended")
		x.Kick(errGone)
	}
}

// breakSilence sends the client a keepalive.
func (x *session) breakSilence() {
	if x.server.opt.Banned.Has(x.conn.Peer().Addr()) {
		x.Kick(endedBanned)
		return
	}
	x.out.push(item{line: appendFinal(appendPair(nil, "ka", ""))})
}

// send writes items, and last after them. After an error, unwritten data is in unsent or in the
// flight.
func (x *session) send(ctx context.Context, items []item, last []byte) error {
	p := page{session: x, now: time.Now(), buf: x.server.buffers.get()}
	defer func() { x.server.buffers.put(p.buf) }()
	if len(items) > 0 && p.now.Sub(x.renewed) >= x.server.opt.TicketRenewal {
		x.renewed = p.now
		x.server.metrics.renewed.Inc()
		p.event(presence.Ticket{Value: x.server.opt.Accounts.Grants.IssueTicket(x.profile)})
	}
	for i, next := range items {
		if err := p.put(ctx, next); err != nil {
			x.keepUnsent(items[i:])
			return err
		}
		if err := p.flushIfLong(); err != nil {
			x.keepUnsent(items[i+1:])
			return err
		}
	}
	*p.buf = append(*p.buf, last...)
	return p.flush()
}

// page is the data of one write.
type page struct {
	*session

	now time.Time
	buf *[]byte
}

// put appends an item. After an error it is not in the page.
func (p *page) put(ctx context.Context, next item) error {
	switch e := next.event.(type) {
	case nil:
		*p.buf = append(*p.buf, next.line...)
	case presence.MessagesWaiting:
		return p.mailbox(ctx)
	case presence.BuddyRequest:
		if p.shown.add(e.Signature) {
			p.event(e)
		}
	case presence.Message, presence.BuddyAuthorized, presence.BuddyRevoked:
		return p.afterMailbox(ctx, e)
	default:
		p.event(e)
	}
	return nil
}

// event appends an event in the form for the client.
func (p *page) event(e presence.Event) { *p.buf = appendEvent(*p.buf, e, p.revision) }

// track appends an event that may be missed, id being that of the message in the
// mailbox, and notes it.
func (p *page) track(ctx context.Context, e presence.Event, id uint64) error {
	if tracked(e) {
		if err := p.awaitFlight(ctx); err != nil {
			return err
		}
		p.event(e)
		p.flight.add(e, id, p.flight.written+uint64(len(*p.buf)), p.now)
		return nil
	}
	p.event(e)
	return nil
}

// flushIfLong writes the page if it is long enough.
func (p *page) flushIfLong() error {
	if len(*p.buf) < maxWriteBuffer {
		return nil
	}
	return p.flush()
}

func (p *page) flush() error {
	if len(*p.buf) == 0 {
		return nil
	}
	n, err := p.conn.Write(*p.buf)
	p.flight.written += uint64(n)
	*p.buf = (*p.buf)[:0]
	return err
}

// shownRequests are the signatures of the requests that a client was sent. One
// that is made while the stored ones are read comes both ways.
type shownRequests map[string]struct{}

// maxShown bounds shownRequests by the number of requests that may be stored
// for one profile. Beyond it the set is cleared; at worst a request is shown
// twice.
const maxShown = storage.MaxRequestsTo

// add notes a signature and reports whether it is new.
func (s *shownRequests) add(signature string) bool {
	if _, known := (*s)[signature]; known {
		return false
	}
	if *s == nil || len(*s) == maxShown {
		*s = make(shownRequests)
	}
	(*s)[signature] = struct{}{}
	return true
}

// keepUnsent keeps the events that their senders count on.
func (x *session) keepUnsent(items []item) {
	for _, i := range items {
		if i.event != nil {
			x.unsent = append(x.unsent, i.event)
		}
	}
}
