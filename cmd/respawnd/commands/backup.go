package commands

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/operator"
)

func (p *program) backupCommand() *cobra.Command {
	return p.operatorCommand("backup FILE", operator.Backup.What, cobra.ExactArgs(1), func(ctx context.Context, c operator.Conn, args []string) error {
		size, err := backup.Replace(args[0], func(w io.Writer) error {
			_, err := operator.Backup.Call(ctx, c, operator.None{}, w)
			return err
		})
		if err != nil {
			return fmt.Errorf("no backup written: %w", err)
		}
		return p.say("wrote %s (%d bytes); it holds secrets, keep it safe", args[0], size)
	})
}
