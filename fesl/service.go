package fesl

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/ssl3"
	"github.com/respawnd/respawnd/storage"
)

// The keys that errors name.
const (
	extraListen = "fesl.extra_listen"
	tlsCert     = "fesl.tls_cert"
	useSSL3     = "fesl.ssl3"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Sign-in of EA's games", Nouns: []noun.Noun{noun.Accounts, noun.Names, noun.Stats}, Docs: []string{"protocols/fesl", "protocols/battlefield2142"},
		Steps: steps(), Plays: plays, Dialogue: dialogueOf(),
		Check: func(string, service.Moment) error {
			_, _, err := c.openTLS()
			return err
		},
	}
}

// openTLS reads the certificate, for TLS and, if that is on, for SSL 3.0; nil: there is none.
func (c *Config) openTLS() (*tls.Config, *ssl3.Identity, error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		if c.SSL3 {
			return nil, nil, &service.KeyError{Key: useSSL3, Err: errors.New("it needs " + tlsCert + " and fesl.tls_key")}
		}
		return nil, nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, nil, &service.KeyError{Key: tlsCert, Err: err}
	}
	var old *ssl3.Identity
	if c.SSL3 {
		if old, err = ssl3.IdentityOf(pair); err != nil {
			return nil, nil, &service.KeyError{Key: useSSL3, Err: err}
		}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true}, old, nil
}

// Open opens the listeners of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	secure, old, err := c.openTLS()
	if err != nil {
		return nil, err
	}
	ln, err := service.ListenTCP(ctx, "tcp4", c.Listen)
	if err != nil {
		return nil, err
	}
	listeners := []net.Listener{ln}
	var also, clients []string
	for _, address := range c.ExtraListen {
		further, err := service.ListenTCP(ctx, "tcp4", address)
		if err != nil {
			return nil, errors.Join(&service.KeyError{Key: extraListen, Err: err}, closeAll(listeners))
		}
		listeners, also = append(listeners, further), append(also, further.Addr().String())
		clients = append(clients, clientsAt(further.Addr().(*net.TCPAddr).AddrPort().Port())...)
	}
	if len(also) > 0 {
		env.Log.Info().Strs("addresses", also).Strs("games", clients).Msg("further addresses are open")
	}
	s := New(Options{
		Config: *c, Self: env.Counted(DropReasons()...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Store: env.Store, Accounts: env.Accounts, Games: env.Games, Stats: env.Stats, Lobby: env.Lobby, Attach: env.Hub.Attach, Private: env.Private, TLS: secure, SSL3: old,
	})
	return &service.Running{
		Address: ln.Addr(),
		Serve:   func(ctx context.Context) error { return s.Serve(ctx, listeners...) },
		Reload:  func(to service.Service) { s.Reload(to.(*Config)) },
		Close:   func() error { return closeAll(listeners) },
	}, nil
}

// closeAll closes listeners, some of which may be closed already.
func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, ln := range listeners {
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
