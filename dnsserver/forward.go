package dnsserver

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

// Times and bounds of questions to upstreams.
const (
	// defaultTryTime is how long one upstream has for its answer. Clients
	// repeat a question after about five seconds.
	defaultTryTime = 1500 * time.Millisecond
	// minTries is the number of packets to a single upstream; packets get lost.
	minTries = 2
	// maxTries is the maximum number of packets per question.
	maxTries = 4
	// maxWaiters is the maximum number of clients that wait for one question.
	maxWaiters = 64
	// warnEvery bounds the lines about loops, and those about private addresses, in
	// the log.
	warnEvery = time.Minute
)

var (
	// errBusy is returned while too many questions are open.
	errBusy = errors.New("dnsserver: too many questions to upstreams")
	// errLoop is returned for a question of an upstream that is itself being
	// asked it.
	errLoop = errors.New("dnsserver: an upstream asks us in turn")
)

// question is a question to upstreams; clients with equal questions share an
// answer.
type question struct {
	name   string // in lower case, with the final dot
	kind   uint16
	do, cd bool // the client wants signatures, or checks them itself
}

// waiter is a client that waits for an answer.
type waiter struct {
	query   query // of this client
	limit   int   // of its answer, in bytes
	deliver func([]byte)
}

// forwarder asks upstreams.
type forwarder struct {
	upstreams []netip.AddrPort
	most      int
	tryTime   time.Duration
	metrics   *metrics
	log       zerolog.Logger
	warn      rate.Sometimes
	warnLocal rate.Sometimes
	allowed   func() []string // domains whose names may have private addresses
	running   sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	ctx  context.Context
	open map[question][]*waiter
}

func newForwarder(opt *Options, m *metrics, allowed func() []string) *forwarder {
	return &forwarder{
		upstreams: opt.Upstreams, most: opt.MaxForwards, tryTime: opt.TryTime, metrics: m, log: opt.Log,
		warn: rate.Sometimes{Interval: warnEvery}, warnLocal: rate.Sometimes{Interval: warnEvery}, allowed: allowed,
		open: make(map[question][]*waiter),
	}
}

// begin allows questions until ctx ends. wait must be called after the last
// question.
func (f *forwarder) begin(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx = ctx
}

func (f *forwarder) wait() { f.running.Wait() }

// ask sends a client's question to upstreams, or lets the client wait for an
// equal one that is open. The error is errBusy or errLoop.
func (f *forwarder) ask(w *waiter, client netip.Addr) error {
	ask := w.query.question()
	q := question{name: dns.CanonicalName(ask.Name), kind: ask.Qtype, cd: w.query.msg.CheckingDisabled}
	q.do = w.query.opt != nil && w.query.opt.Do()
	f.mu.Lock()
	defer f.mu.Unlock()
	if waiters, open := f.open[q]; open {
		switch {
		case f.isUpstream(client):
			f.warn.Do(func() {
				f.log.Warn().Stringer("upstream", client).Str("name", q.name).
					Msg("this upstream of dns.upstreams forwards questions back to this server: remove it, or change its upstream")
			})
			return errLoop
		case len(waiters) >= maxWaiters:
			f.metrics.busy.Inc()
			return errBusy
		}
		f.open[q] = append(waiters, w)
		f.metrics.joined.Inc()
		return nil
	}
	if len(f.open) >= f.most || f.ctx == nil || f.ctx.Err() != nil {
		f.metrics.busy.Inc()
		return errBusy
	}
	f.open[q] = []*waiter{w}
	f.metrics.forwarded.Inc()
	f.metrics.open.Inc()
	ctx := f.ctx
	f.running.Go(func() { f.fetch(ctx, q) })
	return nil
}

// isUpstream reports whether an address belongs to an upstream.
func (f *forwarder) isUpstream(a netip.Addr) bool {
	return !a.IsLoopback() && slices.ContainsFunc(f.upstreams, func(u netip.AddrPort) bool { return u.Addr() == a })
}

// fetch gets the answer to a question and delivers it to all waiting clients.
func (f *forwarder) fetch(ctx context.Context, q question) {
	answer := f.withoutLocal(q.name, f.resolve(ctx, q))
	f.mu.Lock()
	waiters := f.open[q]
	delete(f.open, q)
	f.mu.Unlock()
	f.metrics.open.Dec()
	if answer != nil {
		f.metrics.relayed.Inc()
	} else {
		f.metrics.lost.Inc()
	}
	var r reply
	for _, w := range waiters {
		r.begin(&w.query, dns.RcodeServerFailure, true)
		if answer != nil {
			r.relay(answer)
		}
		b, err := r.pack(nil, w.limit)
		if err != nil {
			f.log.Debug().Str("name", q.name).Err(err).Msg("answer not written")
			continue
		}
		w.deliver(b)
	}
}

// resolve queries one upstream after the other. It returns nil if none answers.
func (f *forwarder) resolve(ctx context.Context, q question) (answer *dns.Msg) {
	tries := min(max(len(f.upstreams), minTries), maxTries)
	for i := range tries {
		upstream := f.upstreams[i%len(f.upstreams)]
		m, err := f.askOne(ctx, upstream, q)
		switch {
		case ctx.Err() != nil:
			return answer
		case err != nil:
			f.log.Debug().Stringer("upstream", upstream).Str("name", q.name).Err(err).Msg("upstream did not answer")
		case m.Rcode != dns.RcodeServerFailure && m.Rcode != dns.RcodeRefused:
			return m
		default:
			answer = m // another one may know more
		}
	}
	return answer
}
