package commands

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
)

// probeStore is how long a command waits for the store before it assumes that
// the daemon is running.
const probeStore = 100 * time.Millisecond

// operatorCommand returns a command that runs f on the running daemon, or on the
// store if none runs.
func (p *program) operatorCommand(use, short string, args cobra.PositionalArgs,
	f func(ctx context.Context, op operator.Conn, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: usage(args),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Conn) error { return f(ctx, op, args) })
		},
	}
}

// group returns a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	g.AddCommand(commands...)
	return g
}

// operate runs f on the running daemon, or on the store if none runs.
func (p *program) operate(ctx context.Context, f func(context.Context, operator.Conn) error) error {
	cfg, _, err := p.load()
	if err != nil {
		return p.listMistakes(err)
	}
	op, closeStore, err := p.connect(ctx, cfg)
	if err != nil {
		return err
	}
	err = f(operator.WithActor(ctx, actor()), op)
	if errors.Is(err, operator.ErrNotRunning) {
		err = fmt.Errorf("%w: none has the store in %s open (data_dir)", err, wholePath(cfg.DataDir))
	}
	if errors.Is(err, operator.ErrNoChat) {
		err = fmt.Errorf("%w: the daemon runs without peerchat.listen", err)
	}
	return errors.Join(err, closeStore())
}

// connectStore opens the store, or a client of the daemon that holds it.
func (p *program) connectStore(ctx context.Context, cfg *services.Config) (operator.Conn, func() error, error) {
	if err := p.doubtNewFolder(ctx, cfg); err != nil {
		return nil, nil, err
	}
	store, err := daemon.OpenStore(ctx, cfg, probeStore, zerolog.Nop())
	if errors.Is(err, engine.ErrInUse) {
		op, err := remote(cfg)
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
	op, err := p.local(ctx, cfg, store)
	if err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return op, closeStore, nil
}

// remote returns the running daemon.
func remote(cfg *services.Config) (operator.Conn, error) {
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
func (p *program) local(ctx context.Context, cfg *services.Config, store engine.Store) (*operator.Local, error) {
	l := &operator.Local{
		Store: store, Table: bans.New(store), Rules: chatrules.New(store), Keys: cdkeys.New(store), PlayerFiles: files.New(store, cfg.DataDir), News: news.New(store),
		Catalogue: &operator.Catalogue{Embedded: operator.BuiltIn(), Store: store},
		DataDir:   cfg.DataDir, StoreName: daemon.StoreName, Files: daemon.Files(cfg), Version: Version(),
		OpenAccounts:  accountsWhenWanted(cfg, store),
		ResetPage:     func() string { return daemon.ResetPage(cfg) },
		BanFiles:      func(a netip.Addr) ([]operator.FileBan, error) { return daemon.FileBans(cfg, a) },
		StaticServers: func() []storage.AddedServer { return daemon.StaticServers(cfg) },
	}
	l.CheckAdded = func(a *storage.AddedServer) error { return probe.CheckAdded(l.Catalogue.Catalog(), a) }
	l.News.SetConfigured(cfg.WebServices.Motd, cfg.WebServices.Records())
	err := l.Catalogue.Load(ctx, cfg.Games.File)
	if err != nil && cfg.Games.File != "" {
		_, _ = fmt.Fprintf(p.err, "warning: games.file is ignored: %v\n", err)
		err = l.Catalogue.Load(ctx, "")
	}
	return l, errors.Join(l.Table.Load(ctx), l.Rules.Load(ctx), l.Keys.Load(ctx, nil), l.News.Load(ctx), err)
}
