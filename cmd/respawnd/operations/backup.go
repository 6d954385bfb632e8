package operations

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/operator"
)

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
