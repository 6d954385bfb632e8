package webhook

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

// Options configure a Dispatcher. Registry is required.
type Options struct {
	part.Self
	part.Listing

	// Bans returns the bans that are in force; nil: there are none. BansChanged
	// is called after each change.
	Bans func() []storage.Ban
	// Rules returns the rules of chat; nil: there are none. RulesChanged is called
	// after each change.
	Rules func() []storage.ChatRule
	// Room describes a title or group room; nil: no room is reported.
	Room func(channel string) (Room, bool)
	// Title returns the title of a game; nil: its name.
	Title func(game string) string
	// Colours returns the colour codes of a game; nil: none.
	Colours func(game string) colour.Family
	// Cluster connects the nodes that have the same hooks: each event is sent by one of
	// them. nil: this node is alone.
	Cluster cluster.Bus
	// Posts keeps the messages of hooks with Status. It is needed for those.
	Posts storage.Posts
	// Hooks are the receivers at the start.
	Hooks []Hook
}

// Dispatcher watches the list, the bans and the chat and sends their changes to the
// hooks. All methods but Run may be called by any goroutine, before Run too.
type Dispatcher struct {
	opt     Options
	metrics atomic.Pointer[metrics]         // nil until there are hooks
	bans    chan struct{}                   // has one token if the bans may have changed
	rules   chan struct{}                   // the same for the rules of chat
	changed chan struct{}                   // has one token if the hooks did
	heard   chan heard                      // of the chat
	rooms   atomic.Pointer[map[string]bool] // of which hooks get the lines; never nil
	through http.RoundTripper               // in place of the network; nil: the network
	initial *watch                          // the state when New was called, for Run; nil: no hooks

	register sync.Once // the metrics, before the first hooks are set

	mu      sync.Mutex // guards the fields below
	hooks   []Hook
	workers []*worker // changed only by Run
}

// New returns a Dispatcher. Events after New are reported once Run is called,
// if there are Hooks. New panics if the registerer has other metrics of the same
// names.
func New(opt Options) *Dispatcher {
	if opt.Title == nil {
		opt.Title = func(game string) string { return game }
	}
	if opt.Colours == nil {
		opt.Colours = func(string) colour.Family { return colour.None }
	}
	if opt.Rules == nil {
		opt.Rules = func() []storage.ChatRule { return nil }
	}
	if opt.Room == nil {
		opt.Room = func(string) (Room, bool) { return Room{}, false }
	}
	if opt.Bans == nil {
		opt.Bans = func() []storage.Ban { return nil }
	}
	d := &Dispatcher{opt: opt, bans: make(chan struct{}, 1), rules: make(chan struct{}, 1), changed: make(chan struct{}, 1), heard: make(chan heard, heardLen)}
	d.SetHooks(opt.Hooks)
	if len(opt.Hooks) > 0 {
		d.initial = newWatch(d)
	}
	return d
}

// SetHooks replaces the receivers. An unchanged hook keeps its queue; the queue of
// one that was removed or changed is lost.
func (d *Dispatcher) SetHooks(hooks []Hook) {
	if len(hooks) > 0 {
		d.register.Do(func() { d.metrics.Store(newMetrics(d.opt.Registerer, d.queued)) })
	}
	d.mu.Lock()
	d.hooks = slices.Clone(hooks)
	d.mu.Unlock()
	d.rooms.Store(roomsOf(hooks))
	wake.Up(d.changed)
}

// BansChanged makes Run look at the bans. It does not wait.
func (d *Dispatcher) BansChanged() { wake.Up(d.bans) }

// queued returns the number of waiting events.
func (d *Dispatcher) queued() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		n += len(w.events)
	}
	return n
}

// collect is how long changes of the list are collected before they are
// handled.
const collect = 500 * time.Millisecond

// Run watches and delivers until ctx ends. Events that wait then are lost,
// counted and logged. While there are no hooks nothing is watched. Run is
// called once.
func (d *Dispatcher) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := d.startWorkers(ctx, &running, d.initial)
	for {
		var moved <-chan struct{}
		if seen != nil {
			moved = d.opt.Registry.Changed(seen.serial)
		}
		settled, stop := seen.nextSettled()
		select {
		case <-ctx.Done():
			stop()
			return nil
		case <-d.changed:
			seen = d.startWorkers(ctx, &running, seen)
		case <-moved:
			clock.Pause(ctx, collect)
			seen.read(time.Now())
		case <-settled:
			seen.settle(time.Now())
		case <-d.bans:
			seen.readBans()
		case <-d.rules:
			seen.readRules(time.Now())
		case h := <-d.heard:
			seen.hear(h, time.Now())
		}
		stop()
	}
}

// startWorkers starts and stops workers so that there is one for each hook, and
// returns the watch for them, nil if there are none.
func (d *Dispatcher) startWorkers(ctx context.Context, running *sync.WaitGroup, seen *watch) *watch {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := slices.Clone(d.workers)
	var next, fresh []*worker
	for i := range d.hooks {
		h := &d.hooks[i]
		at := slices.IndexFunc(old, func(w *worker) bool { return reflect.DeepEqual(w.sender.hook, h) })
		if at >= 0 {
			next = append(next, old[at])
			old = slices.Delete(old, at, at+1)
			continue
		}
		w := d.newWorker(h)
		workCtx, stop := context.WithCancel(ctx)
		w.stop = stop
		running.Go(func() { w.run(workCtx) })
		if h.Status {
			running.Go(func() { d.runBoard(workCtx, w) })
		}
		next, fresh = append(next, w), append(fresh, w)
	}
	for _, w := range old {
		w.stop()
	}
	d.workers = next
	if len(next) == 0 {
		return nil
	}
	if seen == nil {
		seen = newWatch(d)
	}
	seen.workers = next
	for _, w := range fresh {
		seen.seed(w)
	}
	return seen
}

// newWorker returns the worker for a hook, which keeps a copy of it.
func (d *Dispatcher) newWorker(h *Hook) *worker {
	own := *h
	to := newSender(&own, d.opt.Version)
	if d.through != nil {
		to.client.Transport = d.through
	}
	return &worker{
		sender: to, metrics: d.metrics.Load(),
		log:    d.opt.Log.With().Str("hook", own.Name).Logger(),
		events: make(chan Event, queueLen), high: make(map[serverKey]bool),
	}
}

// Reasons of lost events.
const (
	dropQueueFull   = "queue_full"  // the hook has queueLen events waiting
	dropUndelivered = "undelivered" // refused, or tried maxAttempts times
	dropRate        = "rate"        // more lines of a chat room than a hook may get
	dropStopped     = "stopped"     // the daemon stopped, or the hook was taken away
)

// metrics are the counters of this package. There is no label for the hook: the
// operator chooses its name.
type metrics struct {
	events                     []prometheus.Counter // by Kind
	delivered, retried, failed prometheus.Counter
	dropped                    *netserve.Metrics
}

func newMetrics(reg prometheus.Registerer, queued func() int) *metrics {
	in := metric.With(reg)
	events := in.Counters("respawnd_webhook_events_total", "Events put into the queue of a webhook, by kind.", "kind")
	requests := in.Counters("respawnd_webhook_requests_total", "Requests to webhooks, by result: delivered, retried, failed.", "result")
	in.GaugeFunc("respawnd_webhook_queue_events", "Events that wait for their webhook.", queued)
	m := &metrics{
		delivered: requests.WithLabelValues("delivered"), retried: requests.WithLabelValues("retried"), failed: requests.WithLabelValues("failed"),
		dropped: netserve.NewMetrics(reg, "webhook", dropQueueFull, dropUndelivered, dropRate, dropStopped),
	}
	for _, kind := range kindNames() {
		m.events = append(m.events, events.WithLabelValues(kind))
	}
	return m
}

// drop counts lost events. Without hooks, m is nil, nothing is lost.
func (m *metrics) drop(reason string, events int) {
	if m == nil {
		return
	}
	for range events {
		m.dropped.Drop(reason)
	}
}
