package webservices

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"syscall"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/auth"
)

var _ = verdicts.Speak("webservices", verdicts.Speaker{What: "request of a game", Player: true, Texts: verdicts.SignInTexts})

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Web services of games", Nouns: []noun.Noun{noun.Accounts, noun.Files, noun.News, noun.Stats, noun.WebServices}, Docs: []string{"protocols/webservices", "protocols/dawnofwar", "protocols/nintendo"}, Optional: true, Steps: c.steps(), Plays: plays, Check: c.check,
		Dialogue: dialogue.HTTP("password", "passwd", "passenc", "email", "proof", "challenge", "partnerchallenge", "peerkeyprivate", "loginticket", "npticket",
			"authtoken", "token", "auth", "signature", "serverdata", "secretkey", "cdkey", "cdkeyhash", "userid", "gsbrcd", "csid", "macadr", "bssid", "apinfo"),
		Parts:      map[games.Service]bool{"nas": c.NAS},
		Files:      func(dataDir string) map[string]string { return map[string]string{auth.KeyName: c.KeyPath(dataDir)} },
		SharedKeys: map[string]string{auth.KeyName: "webservices.key_file"},
	}
}

// check reads the service key and checks texts. A missing file in the data folder is made later; one
// that this user cannot read may be readable by the user that runs the daemon.
func (c *Config) check(dataDir string, _ service.Moment) error {
	if err := errors.Join(c.CheckNews(), c.CheckFiles(), c.CheckPages(), c.CheckConsoles()); err != nil {
		return err
	}
	_, err := auth.ReadKey(c.KeyPath(dataDir))
	if err == nil || errors.Is(err, fs.ErrPermission) || c.KeyFile == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("webservices.key_file: %w", err)
}

// openKey reads the service key. In the data folder it is made if it is missing.
func (c *Config) openKey(dataDir string) (k *auth.Key, err error) {
	if c.KeyFile != "" {
		k, err = auth.ReadKey(c.KeyFile)
	} else {
		k, err = auth.OpenKey(c.KeyPath(dataDir))
	}
	if err != nil {
		return nil, &service.KeyError{Key: "webservices.key_file", Err: err}
	}
	return k, nil
}

// Open opens the listener of the service. If the daemon has no right to open it,
// the error matches service.ErrLeftOut. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	ln, err := service.ListenTCP(ctx, "tcp4", c.Listen)
	if err != nil {
		return nil, noRights(err, c.Listen)
	}
	key, err := c.openKey(env.DataDir)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s, err := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Players: env.Players, Key: key, Games: env.Games, Records: env.Store, Tickets: env.Accounts.Grants, SignedIn: env.Hub.SignedInFrom, Cluster: env.Cluster, Served: env.Served,
	})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	if c.ConsoleTickets {
		env.Log.Warn().Msg("tickets of the PS3 are accepted (webservices.console_tickets); their signature cannot be checked: everyone can sign in as a player of that console")
	}
	r := service.OnListener(ln, func(ctx context.Context, ln net.Listener) error {
		var background sync.WaitGroup
		ctx, cancel := context.WithCancel(ctx)
		defer background.Wait()
		defer cancel()
		background.Go(func() { s.Run(ctx) })
		return s.Serve(ctx, ln)
	})
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	if c.TLSListen == "" {
		return r, nil
	}
	if err := s.openSecure(ctx, c.TLSListen, r); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return r, nil
}

// noRights turns the error of a port that the daemon has no right to open into one
// that matches service.ErrLeftOut. That and the error of a port in use get the remedy.
func noRights(err error, address string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w. Another program has the port: give webservices.listen an address where it is free; an empty one turns the service off", err)
	}
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	return fmt.Errorf("%w: %w. %s Or set webservices.listen to a port such as :8880 and redirect port 80 to it; an empty one turns the service off",
		service.ErrLeftOut, err, service.PortRights(port))
}
