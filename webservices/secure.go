package webservices

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/ssl3"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// certificateName is the name in the certificate. Games do not compare it.
const certificateName = "*.auth.pubsvs.gamespy.com"

func handshakeLimits(c *Config) ssl3.Limits {
	return ssl3.Limits{Rate: c.TLSHandshakes, AddrRate: c.TLSHandshakesPerAddr, Pending: c.TLSPending}
}

// outcomes returns the values of the label of handshakes.
func outcomes() (names []string) {
	for _, o := range ssl3.Outcomes() {
		names = append(names, string(o))
	}
	return names
}

// openSecure opens the listener for games that ask over https, and has r serve it as
// well. Its key and its certificate are made here: games accept any.
func (s *Server) openSecure(ctx context.Context, address string, r *service.Running) error {
	ln, err := service.ListenTCP(ctx, "tcp4", address)
	if err != nil {
		return noSecure(err, address)
	}
	identity, err := ssl3.NewIdentity(rand.Reader, certificateName, time.Now())
	if err != nil {
		_ = ln.Close()
		return &service.KeyError{Key: tlsListen, Err: fmt.Errorf("make its key: %w", err)}
	}
	s.opt.Log.Warn().Stringer("address", ln.Addr()).Msg("SSL 3.0 for old games is on; it is no protection: everyone on the way can read and change the traffic")
	plain, closePlain := r.Serve, r.Close
	r.Serve = func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return plain(ctx) })
		g.Go(func() error { return s.ServeSecure(ctx, ln, identity) })
		return g.Wait()
	}
	r.Close = func() error {
		_ = ln.Close() // it may be closed already
		return closePlain()
	}
	return nil
}

// tlsListen is the key of the address.
const tlsListen = "webservices.tls_listen"

// noSecure names the key in the error of a port, with the remedy where the daemon has no right to
// open it. The daemon does not start then: the key is off by default.
func noSecure(err error, address string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("%w. Another program has the port: give SSL an address where it is free; an empty one turns it off", err)
	case errors.Is(err, fs.ErrPermission):
		_, port, _ := net.SplitHostPort(address)
		err = fmt.Errorf("%w. %s An empty address turns SSL off", err, service.PortRights(port))
	}
	return &service.KeyError{Key: tlsListen, Err: err}
}

// ServeSecure is Serve for games that speak SSL 3.0. It is called at most once.
func (s *Server) ServeSecure(ctx context.Context, ln net.Listener, identity *ssl3.Identity) error {
	secure := ssl3.NewListener(ln, ssl3.Options{
		Identity: identity, Rand: rand.Reader, Limits: handshakeLimits(&s.opt.Config), Exempt: s.opt.Trusted.Has, Ended: s.shook,
	})
	s.secure.Store(secure)
	// A refused connection is closed without a word: a text would need a handshake.
	refused := func(netip.AddrPort, netserve.Refusal) []byte { return nil }
	return s.serveOn(ctx, secure, netserve.ConnOptions{Refused: refused}, true)
}

// handshakes returns the number of handshakes under way.
func (s *Server) handshakes() int {
	if l := s.secure.Load(); l != nil {
		return l.Pending()
	}
	return 0
}

// shook counts the end of a handshake.
func (s *Server) shook(from netip.Addr, how ssl3.Outcome) {
	s.metrics.handshakes.WithLabelValues(string(how)).Inc()
	switch how {
	case ssl3.TooFastAddr, ssl3.TooFast, ssl3.TooMany:
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.Limited)
	case ssl3.Malformed:
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.MalformedRequest)
	case ssl3.Completed, ssl3.Aborted, ssl3.TimedOut:
	}
}
