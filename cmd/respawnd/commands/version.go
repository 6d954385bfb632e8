package commands

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

func versionCommand(con *cli.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return con.Say("respawnd %s (%s, %s/%s)", con.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
