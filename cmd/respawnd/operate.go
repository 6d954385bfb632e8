package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
)

// probeStore is how long a command waits for the store before it takes it that
// the daemon is running.
const probeStore = 100 * time.Millisecond

// operate runs f on the running daemon, or on the store if none runs.
func (p *program) operate(ctx context.Context, f func(context.Context, operator.Operator) error) error {
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
	return errors.Join(err, closeStore())
}

// connect opens the store, or a way to the daemon that holds it.
func (p *program) connect(ctx context.Context, cfg *services.Config) (operator.Operator, func() error, error) {
	if err := p.doubtNewFolder(ctx, cfg); err != nil {
		return nil, nil, err
	}
	store, err := openStore(ctx, cfg, probeStore, zerolog.Nop())
	if errors.Is(err, bolt.ErrInUse) {
		op, err := remote(cfg)
		return op, func() error { return nil }, err
	}
	if err != nil {
		return nil, nil, err
	}
	if err := strayed(ctx, cfg); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	closeStore := func() error { return errors.Join(store.Close(), adopt(storePath(cfg)), adopt(cfg.AccountKeyFile())) }
	op, err := p.local(ctx, cfg, store)
	if err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return op, closeStore, nil
}

// remote returns the running daemon.
func remote(cfg *services.Config) (operator.Operator, error) {
	if cfg.Admin.Listen == "" {
		return nil, errors.New("the daemon is running and its admin API is off: set admin.listen, or stop the daemon first")
	}
	token, err := admin.ReadToken(cfg.AdminTokenFile())
	if err != nil {
		return nil, fmt.Errorf("the daemon is running, but its token cannot be read: admin.token_file: %w", err)
	}
	return admin.NewClient(cfg.Admin.Listen, token)
}

// local returns the operations on the store itself. A mistake in games.file is
// told and passed over: it must not keep anybody from lifting a ban.
func (p *program) local(ctx context.Context, cfg *services.Config, store *bolt.Store) (*operator.Local, error) {
	l := &operator.Local{
		Store: store, Table: bans.New(store), Catalogue: &operator.Catalogue{Embedded: configs.Games, Store: store},
		DataDir: cfg.DataDir, StoreName: storeName, Files: backupFiles(cfg), Version: version(),
		OpenAccounts:  accountsWhenWanted(cfg, store),
		StaticServers: func() []storage.AddedServer { return staticServers(&cfg.Servers) },
	}
	l.CheckAdded = func(a *storage.AddedServer) error { return probe.CheckAdded(l.Catalogue.Catalog(), a) }
	err := l.Catalogue.Load(ctx, cfg.Games.File)
	if err != nil && cfg.Games.File != "" {
		_, _ = fmt.Fprintf(p.err, "warning: going on without games.file: %v\n", err)
		err = l.Catalogue.Load(ctx, "")
	}
	return l, errors.Join(l.Table.Load(ctx), err)
}

// table prints rows in columns.
func (p *program) table(header string, rows [][]string) error {
	w := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, strings.ToUpper(header)); err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// dash stands for an empty cell.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}

// printable keeps what a stranger sent from moving the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == 0x2028, r == 0x2029: // line ends
			return '?'
		case unicode.Is(unicode.Bidi_Control, r): // they change how the rest of the line is shown
			return '?'
		}
		return r
	}, clean.UTF8(s))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

func (p *program) banCommand() *cobra.Command {
	ban := &cobra.Command{
		Use: "ban", Short: "Keep addresses away", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	ban.AddCommand(p.banAdd(), p.banList(), p.banRemove())
	return ban
}

func (p *program) banAdd() *cobra.Command {
	var scope, reason string
	var span time.Duration
	cmd := &cobra.Command{
		Use:   "add CIDR|IP",
		Short: "Ban an address or a network, at once",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix, err := bans.ParsePrefix(args[0])
			if err != nil {
				return usageError{err}
			}
			sc, err := storage.ParseScope(scope)
			if err != nil {
				return usageError{fmt.Errorf("--scope: %w", err)}
			}
			b := storage.Ban{Prefix: prefix, Scope: sc, Reason: reason, By: "cli", Added: time.Now()}
			if cmd.Flags().Changed("for") && span <= 0 {
				return usageError{errBanFor}
			}
			if span > 0 {
				b.Expires = b.Added.Add(span)
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.AddBan(ctx, b); err != nil {
					return err
				}
				return p.say("banned %s from %s until %s", prefix, sc, until(b.Expires))
			})
		},
	}
	cmd.Flags().StringVar(&scope, "scope", storage.ScopeAll.String(), "all, lists, presence or zandronum")
	cmd.Flags().DurationVar(&span, "for", 0, "how long, such as 24h (default: for ever)")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who read the list later")
	return cmd
}

// errBanFor is about a ban that would be over at once.
var errBanFor = errors.New("--for: a ban must last longer than no time; leave it out to ban for good")

func until(t time.Time) string {
	if t.IsZero() {
		return "further notice"
	}
	return stamp(t)
}

// banEnd says when a ban ends. One that is over is listed for a while, because
// the clock may be wrong.
func banEnd(b storage.Ban, now time.Time) string {
	if b.Expired(now) {
		return "over since " + stamp(b.Expires)
	}
	return until(b.Expires)
}

func (p *program) banList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show all bans",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				list, err := op.Bans(ctx)
				if err != nil {
					return err
				}
				var rows [][]string
				for _, b := range list {
					rows = append(rows, []string{b.Prefix.String(), b.Scope.String(), stamp(b.Added), banEnd(b, time.Now()), dash(b.Reason)})
				}
				return p.table("address\tscope\tadded\tuntil\treason", rows)
			})
		},
	}
}

func (p *program) banRemove() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "remove CIDR|IP",
		Short: "Lift a ban",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix, err := bans.ParsePrefix(args[0])
			if err != nil {
				return usageError{err}
			}
			sc := storage.EveryScope
			if scope != "" {
				if sc, err = storage.ParseScope(scope); err != nil {
					return usageError{fmt.Errorf("--scope: %w", err)}
				}
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				n, err := op.RemoveBan(ctx, prefix, sc)
				if err != nil {
					return err
				}
				if n == 0 {
					return notBanned(ctx, op, prefix)
				}
				return p.say("lifted %s of %s", counted(n, "ban"), prefix)
			})
		},
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only the ban of this scope")
	return cmd
}

// notBanned says that there is no ban of a prefix, and which one covers it.
func notBanned(ctx context.Context, op operator.Operator, prefix netip.Prefix) error {
	list, err := op.Bans(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Prefix.Bits() < prefix.Bits() && b.Prefix.Contains(prefix.Addr()) && inForce(b, time.Now()) {
			return fmt.Errorf("%s is not banned by itself: the ban of %s covers it", prefix, b.Prefix)
		}
	}
	return fmt.Errorf("%s is not banned", prefix)
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func (p *program) serverCommand() *cobra.Command {
	server := &cobra.Command{
		Use: "server", Short: "Look at the live server list, add servers and hide them", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var game string
	var kept bool
	list := &cobra.Command{
		Use:   "list",
		Short: "Show the servers that are listed now, and those that are hidden",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kept {
				return p.operate(cmd.Context(), p.keptServers)
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				servers, err := op.Servers(ctx, game)
				if err != nil {
					return err
				}
				var rows [][]string
				for _, s := range servers {
					rows = append(rows, []string{
						s.Game, s.Address.String(), dash(s.Name), dash(s.Players) + "/" + dash(s.MaxPlayers), how(s), stamp(s.Last),
					})
				}
				return p.table("game\taddress\tname\tplayers\treached\theard", rows)
			})
		},
	}
	list.Flags().StringVar(&game, "game", "", "only servers of this game")
	list.Flags().BoolVar(&kept, "kept", false, "only what an operator said: servers that were added or hidden, listed or not")
	server.AddCommand(list, p.serverAdd(), p.serverRemove(), p.serverHide(), p.serverUnhide())
	return server
}

// how says how players get to a server.
func how(s operator.Listed) string {
	switch {
	case s.Hidden != "":
		return printable(s.Hidden)
	case s.Restored:
		return "restored"
	case s.Reached == master.ReachedDirect.String():
		return "directly"
	case s.NATNeg:
		return "natneg"
	case s.Reached == master.ReachedPerhaps.String():
		return "perhaps"
	case s.Reached == master.ReachedNo.String():
		return "not reached"
	default:
		return "not confirmed"
	}
}

func (p *program) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write everything that a new machine needs to go on into one file",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				return p.writeBackup(ctx, op, args[0])
			})
		},
	}
}

func (p *program) writeBackup(ctx context.Context, op operator.Operator, path string) error {
	size, err := replaceFile(path, func(w io.Writer) error { return op.Backup(ctx, w) })
	if err != nil {
		return fmt.Errorf("no backup written: %w", err)
	}
	return p.say("wrote %s (%d bytes); it holds secrets, keep it safe", path, size)
}

// replaceFile writes beside the file first, so that an old one is replaced by a
// whole new one, which only its owner may read, or not at all. What a process
// that was killed left there is removed if possible; it is in nobody's way.
func replaceFile(path string, write func(io.Writer) error) (size int64, err error) {
	_, _ = backup.SweepFiles(path)
	f, err := backup.PartFile(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = write(f)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), path)
}
