//go:build !manual

package commands

import "github.com/spf13/cobra"

// buildCommands returns the commands that only a build with a tag has: none.
func buildCommands() []*cobra.Command { return nil }
