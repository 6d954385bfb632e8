package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/snapshot"
)

// snapshotCommand is about the copy of the list in a folder.
func snapshotCommand(con *cli.Console) *cobra.Command {
	return cli.Group("snapshot", "Show the key that signs the copy of the list", con.Configured("key", "Print the key that mirrors need, 43 characters", cobra.NoArgs,
		func(_ context.Context, cfg *services.Config, _ []string) error {
			key, err := snapshot.ReadKey(cfg.DataDir)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s does not exist: the daemon makes it at its first start with snapshot.dir",
					filepath.Join(cfg.DataDir, snapshot.KeyFile))
			}
			if err != nil {
				return err
			}
			return con.Say("%s", snapshot.Public(key))
		}))
}

// mirror are the flags of mirrorCommand.
type mirror struct {
	key, name  string
	restoreFor time.Duration
}

// mirrorCommand runs the daemon as a mirror.
func mirrorCommand(con *cli.Console) *cobra.Command {
	var m mirror
	cmd := cli.Leaf("mirror FOLDER|URL", "Run a daemon that shows the list of another one", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		if err := m.set(con, args[0]); err != nil {
			return err
		}
		return serve(ctx, con)
	})
	cmd.Long = `Shows the list of another daemon, which writes it with snapshot.dir, on the ports of
the masters and on the pages. The other daemon may be down. Only lists and pages are on:
servers cannot report here, and players cannot sign in. --services names others.

The key is what "respawnd snapshot key" prints on the machine of the other daemon. A
list that another key signed, or that is older than the one before, is refused.`
	cmd.Flags().StringVar(&m.key, "key", "", "key of the list, required")
	cmd.Flags().StringVar(&m.name, "name", "mirror", "name of the other daemon on pages; lan or lan-NAME: its servers may have private addresses")
	cmd.Flags().DurationVar(&m.restoreFor, "restore-for", 24*time.Hour, "how old the list may be")
	return cmd
}

// set sets the keys of the configuration that make the daemon a mirror of what is at an address.
func (m *mirror) set(con *cli.Console, at string) error {
	if !strings.Contains(at, "://") {
		folder, err := filepath.Abs(at)
		if err != nil {
			return err
		}
		at = folder
	}
	if strings.ContainsAny(at, " \t,") {
		return cli.Misused(errors.New("an address with spaces or commas cannot be read"))
	}
	cfg, _, err := con.Load()
	if err != nil {
		return err
	}
	if con.Flags["services"] == "" {
		con.Flags["services"] = strings.Join(shown(cfg), ",")
	}
	entry := fmt.Sprintf("snapshot %s key=%s name=%s restore_for=%s", at, m.key, m.name, m.restoreFor)
	con.Flags["federation.masters"] = entry
	con.Flags["federation.every"], con.Flags["master.mirror"] = "1m", "true"
	return nil
}

// shown returns the services of a mirror: those that show servers, the others that know servers, as
// games ask some of them before they look for servers, and what operators look at.
func shown(cfg *services.Config) (names []string) {
	for _, e := range daemon.List(cfg) {
		if e.On && e.Key != e.Switch && (e.Shows || len(e.Origins) > 0 || e.Name == "admin") {
			names = append(names, e.Name)
		}
	}
	return names
}
