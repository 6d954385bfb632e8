package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
)

const (
	// queueLen is the maximum number of events that wait for a hook. Further
	// ones are lost, counted and logged.
	queueLen = 256
	// maxEvents is the maximum number of events of one request.
	maxEvents = 20
	// gather is how long events are collected for one request.
	gather = time.Second

	// maxAttempts is the maximum number of attempts. Before the next attempt
	// there is a pause of firstWait, which grows by waitFactor each time, up to
	// maxWait; or longer if the receiver requests it.
	maxAttempts = 6
	firstWait   = time.Second
	waitFactor  = 4
	maxWait     = 5 * time.Minute

	// lostAgain is the least time between two log lines about a full queue.
	lostAgain = time.Minute
)

// worker delivers the events of one hook.
type worker struct {
	sender  *sender
	metrics *metrics
	log     zerolog.Logger
	events  chan Event
	stop    context.CancelFunc

	// Used only by the goroutine of Dispatcher.Run.
	high   map[serverKey]bool // servers that were reported as busy
	lines  allowance          // of a chat room
	warned time.Time          // of the last line about a full queue
	lost   int                // since then
}

// offer queues an event without waiting.
func (w *worker) offer(e Event) {
	select {
	case w.events <- e:
		w.metrics.events[e.Kind].Inc()
	default:
		w.metrics.drop(dropQueueFull, 1)
		w.lost++
		if now := time.Now(); now.Sub(w.warned) >= lostAgain {
			w.log.Warn().Int("events", w.lost).Msg("events lost: the webhook takes them too slowly")
			w.warned, w.lost = now, 0
		}
	}
}

// run delivers until ctx ends.
func (w *worker) run(ctx context.Context) {
	var waiting []Event
	for {
		if len(waiting) == 0 {
			select {
			case <-ctx.Done():
			case e := <-w.events:
				waiting = append(waiting, e)
				clock.Pause(ctx, gather)
			}
		}
		for more := true; more && len(waiting) < maxEvents; {
			select {
			case e := <-w.events:
				waiting = append(waiting, e)
			default:
				more = false
			}
		}
		if ctx.Err() != nil {
			w.abandon(len(waiting) + len(w.events))
			return
		}
		r, sent := w.sender.compose(waiting, time.Now())
		if w.deliver(ctx, r, sent) {
			waiting = waiting[sent:]
		}
	}
}

// deliver makes a request until it is taken or given up. It reports false if ctx
// ended before that.
func (w *worker) deliver(ctx context.Context, r request, events int) (over bool) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		err := w.sender.send(ctx, r, time.Now())
		switch {
		case err == nil:
			w.metrics.delivered.Inc()
			w.log.Debug().Int("events", events).Int("attempt", attempt).Msg("webhook delivered")
			return true
		case ctx.Err() != nil:
			return false
		case attempt == maxAttempts || !temporary(err):
			w.metrics.failed.Inc()
			w.metrics.drop(dropUndelivered, events)
			w.log.Warn().Err(err).Int("events", events).Int("attempts", attempt).Msg("webhook gave up: events lost")
			return true
		}
		w.metrics.retried.Inc()
		w.log.Debug().Err(err).Int("attempt", attempt).Msg("webhook failed, trying again")
		asked := time.Duration(0)
		if e, ok := errors.AsType[*StatusError](err); ok {
			asked = e.After
		}
		clock.Pause(ctx, max(asked, wait))
		wait = min(wait*waitFactor, maxWait)
	}
}

// abandon counts the remaining events when the worker stops.
func (w *worker) abandon(events int) {
	if events > 0 {
		w.metrics.drop(dropStopped, events)
		w.log.Warn().Int("events", events).Msg("webhook stopped: events lost")
	}
}
