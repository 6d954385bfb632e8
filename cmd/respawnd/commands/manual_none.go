//go:build !manual

package commands

import (
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

// buildCommands returns the commands that only a build with a tag has: none.
func buildCommands(*cli.Console) []*cobra.Command { return nil }
