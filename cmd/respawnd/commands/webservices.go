package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/webservices/auth"
)

func webservicesCommand(con *cli.Console) *cobra.Command {
	explain := false
	cmd := con.Configured("key", "Print the modulus of the service key, 256 hex digits", cobra.NoArgs,
		func(_ context.Context, cfg *services.Config, _ []string) error {
			path := cfg.WebServices.KeyPath(cfg.DataDir)
			key, err := auth.ReadKey(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%s does not exist: the daemon makes it at its first start with web services", path)
			case err != nil:
				return err
			case explain:
				return con.Say("%s", strings.TrimSuffix(key.Explain(), "\n"))
			}
			return con.Say("%s", key.Modulus())
		})
	cmd.Flags().BoolVar(&explain, "explain", false, "print the bytes to patch in a game")
	return cli.Group("webservices", "Show the key and the patches that games need for web services", cmd)
}
