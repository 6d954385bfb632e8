package netserve

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Defaults of ConnOptions.
const (
	DefaultMaxConns   = 8192
	DefaultMaxPerAddr = 32
	DefaultConnRate   = 10.0 // new connections per second and address
	DefaultConnBurst  = 40
	DefaultFirstByte  = 10 * time.Second
	DefaultIdle       = 2 * time.Minute
	DefaultWrite      = 30 * time.Second
	DefaultGrace      = 5 * time.Second
)

// Pauses after accept errors that follow each other: they usually mean that a
// resource has run out, which takes time to recover.
const (
	acceptPauseFirst = 5 * time.Millisecond
	acceptPauseMost  = time.Second
)

// ConnHandler handles connections. ServeConn is called in a goroutine of its
// own, may block, and the connection is closed when it returns. ctx ends when
// the service stops: the handler then has ConnOptions.Grace to finish and
// return. A handler that waits in Read can be woken like this:
//
//	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
//	defer stop()
//
// A panic in it only ends that connection; it is counted and logged.
type ConnHandler interface {
	ServeConn(ctx context.Context, c *Conn)
}

// ConnOptions are the limits of a service's connections. The zero value means
// all defaults. "Address" is an IPv4 address or an IPv6 /64.
type ConnOptions struct {
	MaxConns   int     // connections at a time; 0: DefaultMaxConns
	MaxPerAddr int     // connections at a time per address; 0: DefaultMaxPerAddr, negative: no bound but MaxConns
	Rate       float64 // new connections per second and address, more wait; 0: DefaultConnRate, negative: no bound
	Burst      int     // new connections at once per address after a rest; 0: DefaultConnBurst

	FirstByte   time.Duration // from accept to the first byte; 0: DefaultFirstByte
	Idle        time.Duration // wait of a later Read; 0: DefaultIdle
	Write       time.Duration // whole of one Write; 0: DefaultWrite
	MaxLifetime time.Duration // from accept; reads and writes end then; 0: no bound
	Grace       time.Duration // from the end of the context until connections are closed; 0: DefaultGrace, negative: none

	Log     zerolog.Logger
	Metrics *Metrics // nil: nothing is counted
	// Refused, if not nil, returns the message that is sent to a refused
	// connection before it is closed; a nil message: none. It runs in the
	// accept loop for each refusal, so it must not block.
	Refused func(peer netip.AddrPort, why Refusal) []byte
	// Exempt reports whether MaxPerAddr and Rate do not apply to an address;
	// nil: they always apply. It runs in the accept loop, so it must not block.
	Exempt func(netip.Addr) bool
	// Ciphered reports that what passes is not plain text: the handler gives it to Heard and Said.
	Ciphered bool
	// Gate, if it is not nil, decides on new connections in place of MaxConns,
	// MaxPerAddr, Rate, Burst and Exempt. Its limits can be changed while the
	// service runs. It belongs to one service.
	Gate *Gate
}

// ConnLimits are the keys in the configuration of a service that bound its connections.
type ConnLimits struct {
	// Open connections, {range}. Each needs a file descriptor.
	MaxConns int `key:"max_conns" range:"1 to 1000000" live:"true"`
	// Open connections from one address, {range}. A LAN party is one address.
	MaxPerAddr int `key:"max_per_addr" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}. More wait, for up to
	// 10s.
	Rate int `key:"rate" range:"1 to 1000000" live:"true"`
	// New connections that one address may open at once before the rate applies,
	// {range}.
	Burst int `key:"burst" range:"1 to 1000000" live:"true"`
}

// Conns returns the limits for a Gate. Addresses in exempt have none of their own.
func (l *ConnLimits) Conns(exempt AddrSet) ConnOptions {
	return ConnOptions{MaxConns: l.MaxConns, MaxPerAddr: l.MaxPerAddr, Rate: float64(l.Rate), Burst: l.Burst, Exempt: exempt}
}

func (o ConnOptions) withDefaults() ConnOptions {
	o.MaxConns = orDefault(o.MaxConns, DefaultMaxConns)
	switch {
	case o.MaxPerAddr == 0:
		o.MaxPerAddr = DefaultMaxPerAddr
	case o.MaxPerAddr < 0:
		o.MaxPerAddr = o.MaxConns
	}
	if o.Rate == 0 {
		o.Rate = DefaultConnRate
	}
	o.Burst = orDefault(o.Burst, DefaultConnBurst)
	o.FirstByte = orDefault(o.FirstByte, DefaultFirstByte)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	o.Write = orDefault(o.Write, DefaultWrite)
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	return o
}

// ServeConns accepts connections from ln and has h serve each, until ctx ends.
// A connection over the rate of its address waits for its turn, at most ten
// seconds, before it is served; see Gate for the behaviour at MaxConns. When
// ctx ends it stops accepting, waits Grace for the handlers, closes the
// remaining connections, waits for all handlers and returns nil. After
// temporary accept errors, which are counted, it pauses; an error of ln itself
// ends it in the same way and is returned. It always closes ln.
func ServeConns(ctx context.Context, ln net.Listener, h ConnHandler, opt ConnOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opt = opt.withDefaults()
	s := &connServer{
		handler:  h,
		opt:      opt,
		panics:   newPanicLog(opt.Log, opt.Metrics),
		admitter: newAdmitter(&opt),
		open:     make(map[*Conn]struct{}),
	}

	var closer sync.WaitGroup
	closer.Go(func() {
		<-ctx.Done()
		_ = ln.Close() // wakes Accept
	})
	err := s.accept(ctx, ln)
	cancel()
	closer.Wait()
	s.finish()
	return err
}

// connServer is one run of ServeConns.
type connServer struct {
	handler  ConnHandler
	opt      ConnOptions
	panics   *panicLog
	admitter *admitter
	waiting  shelf          // connections over the rate of their address
	serving  sync.WaitGroup // one per handler goroutine

	mu   sync.Mutex
	open map[*Conn]struct{}
}

// accept accepts connections until ctx ends (nil) or ln is broken.
func (s *connServer) accept(ctx context.Context, ln net.Listener) error {
	pause := backoff{first: acceptPauseFirst, most: acceptPauseMost}
	errLog := throttledLog{log: s.opt.Log}
	for {
		raw, err := ln.Accept()
		switch {
		case err == nil && ctx.Err() != nil:
			_ = raw.Close()
			return nil
		case err == nil:
			pause.reset()
			s.admit(ctx, raw)
		case ctx.Err() != nil:
			return nil
		case !isTransient(err):
			return fmt.Errorf("serve connections on %s: %w", ln.Addr(), err)
		default:
			s.opt.Metrics.Drop(dropAccept)
			errLog.warn(time.Now(), err, "accepting connections has trouble")
			if !pause.wait(ctx) {
				return nil
			}
		}
	}
}

// admit serves raw, now or when its turn comes, or closes it.
func (s *connServer) admit(ctx context.Context, raw net.Conn) {
	now := time.Now()
	c := newConn(raw, now, &s.opt)
	switch delay, ok := s.admitter.enter(&c.seat, raw, c.peer, now, c); {
	case !ok:
	case delay == 0:
		s.serve(ctx, c)
	default:
		s.delay(ctx, c, delay)
	}
}

// delay serves c after a time unless the service stops or c is evicted before.
func (s *connServer) delay(ctx context.Context, c *Conn, by time.Duration) {
	c.postpone(by)
	drop := func() {
		why := RefusedFull // it was evicted
		if ctx.Err() != nil {
			why = RefusedStopping
			s.opt.Metrics.refuse(why)
		}
		s.admitter.refuse(c.raw, c.peer, why)
		c.seat.Leave()
	}
	c.waiting.Store(s.waiting.put(by, func() { s.serve(ctx, c) }, drop))
}

// serve starts serving c.
func (s *connServer) serve(ctx context.Context, c *Conn) {
	s.mu.Lock()
	s.open[c] = struct{}{}
	s.mu.Unlock()
	s.opt.Metrics.Opened()
	c.tell(Opened, nil)
	s.serving.Go(func() {
		defer s.release(c)
		defer s.panics.contain("connection")
		s.handler.ServeConn(ctx, c)
	})
}

// release undoes serve.
func (s *connServer) release(c *Conn) {
	_ = c.Close()
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	c.seat.Leave()
	c.tell(Closed, nil)
	s.opt.Metrics.Closed()
}

// finish drops the waiting connections, waits for the handlers and closes,
// after Grace, the remaining connections.
func (s *connServer) finish() {
	s.waiting.close()
	s.admitter.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serving.Wait()
	}()
	select {
	case <-done:
		return
	case <-time.After(max(s.opt.Grace, 0)):
	}
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	<-done
}
