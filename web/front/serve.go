// Package front is the common HTTP front of the public services: it determines
// the address of visitors behind proxies, bounds their connections and
// requests, sets common headers, contains panics of handlers, and shares and
// compresses answers. It does not know the content of answers, which comes from
// packages web, web/api and web/account.
package front

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
)

const (
	maxHeader    = 16 << 10 // bytes of a request's header
	bodyTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second // of a whole answer
	idleTimeout  = 60 * time.Second
	grace        = 2 * time.Second // for pending responses when the service stops

	panicAgain = time.Minute // least time between two log lines about panics
)

// Options configure a Front. All fields are optional.
type Options struct {
	// Trusted returns whether the bounds per address do not apply to a visitor; nil:
	// they apply to all.
	Trusted func(netip.Addr) bool
	// TakesForms returns whether a path may be sent a form; nil: none may.
	TakesForms func(path string) bool
	// ErrorPage writes the page of an error outside of the API; nil: errors are JSON.
	ErrorPage func(w http.ResponseWriter, r *http.Request, status int, text string) []byte
	// Choose answers a form that every page has; false: the request is another one. Nil: there is none.
	Choose func(w http.ResponseWriter, r *http.Request) bool

	Log        zerolog.Logger
	Metrics    *netserve.Metrics     // counts refusals; nil: not counted
	Registerer prometheus.Registerer // for the metrics of all handlers; nil: not registered
}

// Front holds the common state of all handlers. All methods may be called
// concurrently.
type Front struct {
	opt     Options
	metrics *metrics
	limits  atomic.Pointer[limits] // never nil

	zipper      *zipper
	building    chan struct{} // one token per answer that is being written
	outbox      outbox
	panicLogged atomic.Int64 // Unix nanoseconds
}

// New returns a Front without bounds on requests and without trusted proxies. It
// panics if the registerer has other metrics of the same names.
func New(opt Options) *Front {
	f := &Front{opt: opt, metrics: newMetrics(opt.Registerer), zipper: newZipper(), building: make(chan struct{}, maxBuilding())}
	f.SetLimits(0, 0, nil)
	return f
}

// Log returns the log of the service.
func (f *Front) Log() *zerolog.Logger { return &f.opt.Log }

// Drop counts a request that was refused for a reason.
func (f *Front) Drop(reason string) { f.opt.Metrics.Drop(reason) }

// Serve answers requests on ln until ctx ends. Then it waits up to two seconds
// for pending responses, closes the rest and returns nil. An error that ends it
// before is returned. It always closes ln.
//
// At most maxConns connections are open, and maxPerAddr of one IPv4 address or
// IPv6 /64; the second does not apply to trusted proxies and addresses. The head of a
// request must arrive within headTime.
func (f *Front) Serve(ctx context.Context, ln net.Listener, handler http.Handler, maxConns, maxPerAddr int, headTime time.Duration) error {
	hs := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headTime,
		ReadTimeout:       headTime + bodyTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// Pending responses outlive ctx by the grace.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	err := netserve.ServeHTTPUntil(ctx, hs, ln, grace, netserve.ConnOptions{
		MaxConns: maxConns, MaxPerAddr: maxPerAddr, Exempt: f.unbound, Metrics: f.opt.Metrics, Log: f.opt.Log,
	})
	if err != nil {
		return fmt.Errorf("serve pages on %s: %w", ln.Addr(), err)
	}
	return nil
}
