package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/user"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
)

// ProbeStore is how long a command waits for the store before it assumes that
// the daemon is running.
const ProbeStore = 100 * time.Millisecond

// OperatorCommand returns a command that runs f on the running daemon, or on the
// store if none runs.
func (con *Console) OperatorCommand(use, short string, args cobra.PositionalArgs,
	f func(ctx context.Context, op operator.Conn, args []string) error,
) *cobra.Command {
	return Leaf(use, short, args, func(ctx context.Context, args []string) error {
		return con.operate(ctx, func(ctx context.Context, op operator.Conn) error { return f(ctx, op, args) })
	})
}

// operate runs f on the running daemon, or on the store if none runs.
func (con *Console) operate(ctx context.Context, f func(context.Context, operator.Conn) error) error {
	cfg, _, err := con.Load()
	if err != nil {
		return con.ListMistakes(err)
	}
	op, closeStore, err := con.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	err = f(operator.WithActor(ctx, Actor()), op)
	if errors.Is(err, operator.ErrNotRunning) {
		err = fmt.Errorf("%w: none answers at %s or has the store in %s open (data_dir): start one with respawnd serve",
			err, cmp.Or(cfg.Admin.Listen, "admin.listen"), wholePath(cfg.DataDir))
	}
	if errors.Is(err, operator.ErrNoChat) {
		err = fmt.Errorf("%w: the daemon runs without peerchat.listen", err)
	}
	return errors.Join(err, closeStore())
}

// connectStore opens the store, or a client of the daemon that holds it.
func (con *Console) connectStore(ctx context.Context, cfg *services.Config) (operator.Conn, func() error, error) {
	if err := con.doubtNewFolder(ctx, cfg); err != nil {
		return nil, nil, err
	}
	store, err := daemon.OpenStore(ctx, cfg, ProbeStore, zerolog.Nop())
	if errors.Is(err, engine.ErrInUse) {
		op, err := Remote(cfg)
		return op, func() error { return nil }, err
	}
	if err != nil {
		return nil, nil, err
	}
	if err := strayed(ctx, cfg); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	closeStore := func() error {
		return errors.Join(store.Close(), adopt(daemon.HeldPath(cfg)), adopt(cfg.Accounts.KeyPath(cfg.DataDir)))
	}
	op, err := con.local(ctx, cfg, store)
	if err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return op, closeStore, nil
}

// Remote returns the running daemon.
func Remote(cfg *services.Config) (operator.Conn, error) {
	if cfg.Admin.Listen == "" {
		return nil, errors.New("the daemon is running and its admin API is off: set admin.listen, or stop the daemon first")
	}
	token, err := admin.ReadToken(cfg.Admin.TokenPath(cfg.DataDir))
	if err != nil {
		return nil, fmt.Errorf("the daemon is running, but its token cannot be read: admin.token_file: %w", err)
	}
	return admin.NewClient(cfg.Admin.Listen, token)
}

// local returns the commands on the store itself. A mistake in games.file is
// only a warning: it must not prevent lifting a ban.
func (con *Console) local(ctx context.Context, cfg *services.Config, store engine.Store) (*operator.Local, error) {
	l := &operator.Local{
		Store: store, Table: bans.New(store), Rules: chatrules.New(store), Keys: cdkeys.New(store), PlayerFiles: files.New(store, cfg.DataDir), News: news.New(store),
		Played:    played.New(store, nil),
		Catalogue: &operator.Catalogue{Embedded: operator.BuiltIn(), Store: store},
		DataDir:   cfg.DataDir, StoreName: daemon.StoreName, Files: daemon.Files(cfg), Version: con.Version(),
		OpenAccounts:  accountsWhenWanted(cfg, store),
		ResetPage:     func() string { return daemon.ResetPage(cfg) },
		BanFiles:      func(a netip.Addr) ([]operator.FileBan, error) { return daemon.FileBans(cfg, a) },
		StaticServers: func() []storage.AddedServer { return daemon.StaticServers(cfg) },
	}
	l.CheckAdded = func(a *storage.AddedServer) error { return probe.CheckAdded(l.Catalogue.Catalog(), a) }
	l.News.SetConfigured(cfg.WebServices.Motd, cfg.WebServices.Records())
	err := l.Catalogue.Load(ctx, cfg.Games.File)
	if err != nil && cfg.Games.File != "" {
		_, _ = fmt.Fprintf(con.Err, "warning: games.file is ignored: %v\n", err)
		err = l.Catalogue.Load(ctx, "")
	}
	return l, errors.Join(l.Table.Load(ctx), l.Rules.Load(ctx), l.Keys.Load(ctx, nil), l.News.Load(ctx), l.Played.Load(ctx), err)
}

// accountsWhenWanted opens the accounts on first use: commands that do not use
// accounts need no key.
func accountsWhenWanted(cfg *services.Config, store accounts.Store) func(context.Context) (*accounts.Service, error) {
	var mu sync.Mutex // guards s
	var s *accounts.Service
	return func(ctx context.Context) (*accounts.Service, error) {
		mu.Lock()
		defer mu.Unlock()
		if s != nil {
			return s, nil
		}
		var err error
		s, err = daemon.OpenAccounts(ctx, cfg, store, nil, zerolog.Nop())
		return s, err
	}
}

// Actor returns the user of the command line, for the audit log.
func Actor() operator.Actor {
	a := operator.Actor{Via: storage.ViaCommand}
	if u, err := user.Current(); err == nil {
		a.By = u.Username
	}
	return a
}
