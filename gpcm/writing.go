package gpcm

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// startWriting lets the goroutine that writes begin when there is something.
func (x *session) startWriting() {
	x.renewed = time.Now()
	x.silence = time.AfterFunc(x.server.opt.KeepAlive, x.breakSilence)
	x.out.open(func() { x.writer.Go(x.write) })
}

// stopWriting waits until everything is written, last at the end, or cannot be.
func (x *session) stopWriting(last []byte) {
	x.out.close(last)
	x.writer.Wait()
	if x.silence != nil {
		x.silence.Stop()
	}
	items, _, _ := x.out.take(nil) // if the writer never began
	x.keepUnsent(items)
}

// write writes what is in the outbox until that is empty or the client is gone.
func (x *session) write() {
	defer x.containPanic()
	var spare []item
	for {
		items, last, more := x.out.take(spare)
		if !more {
			return
		}
		if x.failed {
			x.keepUnsent(items)
		} else if err := x.send(items, last); err != nil {
			x.failed = true
			x.Kick(err)
		}
		x.silence.Reset(x.server.opt.KeepAlive)
		spare = recycle(items)
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

// breakSilence gives the client something to hear.
func (x *session) breakSilence() {
	if x.server.banned(x.conn.Peer().Addr()) {
		x.Kick(endedBanned)
		return
	}
	x.out.push(item{line: appendFinal(appendPair(nil, "ka", ""))})
}

// send writes items, and last after them. What an error kept from being written
// is in unsent then.
func (x *session) send(items []item, last []byte) error {
	buf := x.server.buffers.get()
	defer x.server.buffers.put(buf)
	if now := time.Now(); len(items) > 0 && now.Sub(x.renewed) >= x.server.opt.TicketRenewal {
		x.renewed = now
		x.server.metrics.renewed.Inc()
		*buf = appendEvent(*buf, presence.Ticket{Value: x.server.opt.Accounts.IssueTicket(x.profile)}, x.revision)
	}
	for i, next := range items {
		switch e := next.event.(type) {
		case nil:
			*buf = append(*buf, next.line...)
		case presence.BuddyRequest:
			if x.shown.add(e.Signature) {
				*buf = appendEvent(*buf, e, x.revision)
			}
		default:
			*buf = appendEvent(*buf, e, x.revision)
		}
		if len(*buf) >= maxWriteBuffer {
			if _, err := x.conn.Write(*buf); err != nil {
				x.keepUnsent(items[i+1:])
				return err
			}
			*buf = (*buf)[:0]
		}
	}
	*buf = append(*buf, last...)
	if len(*buf) == 0 {
		return nil
	}
	_, err := x.conn.Write(*buf)
	return err
}

// shownRequests are the signatures of the requests that a client was sent. One
// that is made while the stored ones are read comes both ways.
type shownRequests map[string]struct{}

// maxShown bounds shownRequests, at what may be stored for one profile. Then it
// begins anew; the worst is a request that is shown twice.
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

// keepUnsent keeps the events that somebody else counts on.
func (x *session) keepUnsent(items []item) {
	for _, i := range items {
		if i.event != nil {
			x.unsent = append(x.unsent, i.event)
		}
	}
}

// handOn puts into the store what did not reach the client.
func (x *session) handOn(ctx context.Context) {
	if len(x.unsent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	for _, e := range x.unsent {
		m, ok := stored(e)
		if !ok {
			continue
		}
		if err := x.server.leave(ctx, x.profile, m); err != nil {
			x.debug(err).Msg("undelivered message lost")
		}
	}
}
