// Package operations holds the commands that carry out operations of package operator, on the
// running daemon or on the closed store, a file per subject. Arguments, flags and help follow from
// the operation, see [cli.Command]; what stands here is how names that players know are looked up,
// and the tables and sentences that people read. It is not for commands without an operation, such as
// those about the process of the daemon or the computers of players.
package operations

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
)

// Commands returns the commands of this package.
func Commands(con *cli.Console) []*cobra.Command {
	return []*cobra.Command{
		gameCommand(con), banCommand(con), serverCommand(con), federationCommand(con), clusterCommand(con),
		doctorCommand(con), recordCommand(con), backupCommand(con), auditCommand(con),
		cli.About(noun.Accounts, accountCommand(con)), cli.About(noun.Chat, chatCommand(con)), cli.About(noun.Keys, cdkeyCommand(con)),
		cli.About(noun.Files, filesCommand(con)), cli.About(noun.News, motdCommand(con)), cli.About(noun.News, patchCommand(con)), playedCommand(con),
		cli.About(noun.Stats, statsCommand(con)), cli.About(noun.Stats, matchesCommand(con)), cli.About(noun.Stats, sakeCommand(con)), cli.About(noun.Stats, clanCommand(con)),
		cli.About(noun.Relays, relayCommand(con)), cli.About(noun.Meetings, meetingsCommand(con)),
	}
}

func backupCommand(con *cli.Console) *cobra.Command {
	return con.OperatorCommand("backup FILE", operator.Backup.What, cobra.ExactArgs(1),
		func(ctx context.Context, c operator.Conn, args []string) error {
			m := con.Meter(0)
			size, err := backup.Replace(args[0], func(w io.Writer) error {
				defer m.End()
				_, err := operator.Backup.Call(ctx, c, operator.None{}, io.MultiWriter(w, m))
				return err
			})
			if err != nil {
				return fmt.Errorf("no backup written: %w", err)
			}
			return con.Say("wrote %s (%d bytes); it holds secrets, keep it safe", args[0], size)
		})
}
