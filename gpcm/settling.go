package gpcm

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// Pauses between the looks at a client that has to acknowledge something before
// it is sent more.
const (
	firstFlightPause = 5 * time.Millisecond
	maxFlightPause   = time.Second
)

// settled returns the time up to which written events count as arrived.
func (x *session) settled(now time.Time) time.Time {
	if x.flight.known {
		return now.Add(-x.server.settleTime)
	}
	return now.Add(-x.server.opt.UserTimeout)
}

// settleInTime settles when the time has come, and sets the timer for the next time.
func (x *session) settleInTime(ctx context.Context) {
	now := time.Now()
	if !x.settleBy.IsZero() && !now.Before(x.settleBy) {
		x.flight.acknowledge(x.conn.Unacknowledged())
		x.removeMessages(ctx, x.flight.arrived(x.settled(now)))
		x.flight.shrink()
		x.settleBy = time.Time{}
	}
	if len(x.flight.events) > 0 && x.settleBy.IsZero() {
		x.settleBy = now.Add(x.server.settleTime)
		if x.settling == nil {
			x.settling = time.AfterFunc(x.server.settleTime, x.out.look)
		} else {
			x.settling.Reset(x.server.settleTime)
		}
	}
}

// awaitFlight waits until there is room in the flight. A client that acknowledges
// nothing for as long as a write may take is too slow.
func (p *page) awaitFlight(ctx context.Context) error {
	if !p.flight.full() {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	end := p.now.Add(p.server.opt.Write)
	for pause := firstFlightPause; ; pause = min(2*pause, maxFlightPause) {
		p.flight.acknowledge(p.conn.Unacknowledged())
		p.removeMessages(ctx, p.flight.arrived(p.now))
		if !p.flight.full() {
			return nil
		}
		select {
		case p.now = <-time.After(pause):
		case <-p.kicked:
			return nil // the rest of the queue is bounded, and so is its time
		}
		if p.now.After(end) {
			return endedSlow
		}
	}
}

// removeMessages removes messages that have arrived from the mailbox, and reports whether
// it did. One that cannot be removed comes once more.
func (x *session) removeMessages(ctx context.Context, ids []uint64) bool {
	if len(ids) == 0 {
		return true
	}
	err := x.server.opt.Store.RemoveMessages(ctx, x.profile, ids)
	if err != nil && ctx.Err() == nil {
		x.server.troubled(err, "messages not removed from a mailbox")
	}
	return err == nil
}

// tookAll reports whether everything was written and, if known, acknowledged by
// the client's system.
func (x *session) tookAll() bool {
	n, known := x.conn.Unacknowledged()
	return !x.failed && (n == 0 || !known)
}

// settleAtEnd determines the events that have arrived at a client whose
// connection is over, and puts the others back into the mailbox. there reports
// that the client was connected to the end. The writer has ended.
func (x *session) settleAtEnd(ctx context.Context, there bool) {
	if len(x.flight.events) == 0 && len(x.unsent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	now := time.Now()
	x.flight.acknowledge(x.conn.Unacknowledged())
	before := x.settled(now)
	if there {
		before = now
	}
	x.removeMessages(ctx, x.flight.arrived(before))
	var back []storage.Message
	var receipts []*presence.Receipt
	for _, s := range x.flight.events {
		if m, ok := presence.Stored(s.event); ok && s.id == 0 {
			m.Again = true
			back, receipts = append(back, m), append(receipts, presence.ReceiptOf(s.event))
		}
	}
	for _, e := range x.unsent {
		if m, ok := presence.Stored(e); ok {
			back, receipts = append(back, m), append(receipts, presence.ReceiptOf(e))
		}
	}
	x.flight.events, x.unsent = nil, nil
	if len(back) == 0 {
		return
	}
	x.server.metrics.messages.WithLabelValues(messageReturned).Add(float64(len(back)))
	if !x.server.opt.Hub.PutBack(ctx, x.profile, back) {
		return // the nodes of the senders keep theirs, in case this one dies before they are stored
	}
	for _, r := range receipts {
		r.Settle()
	}
}

// troubled logs a fault of the store, not too often.
func (s *Server) troubled(err error, what string) {
	s.trouble.Line(fault.Log(s.opt.Log, err)).Err(err).Msg(what)
}
