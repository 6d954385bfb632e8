// Package players holds the commands for the computers of players: they direct a game to a server,
// patch it, test the way there, or ask a game server. None of them needs a daemon on the same
// machine. It is not for what operators do to players, which are operations.
package players

import (
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/noun"
)

// Commands returns the commands of this package.
func Commands(con *cli.Console) []*cobra.Command {
	return []*cobra.Command{
		cli.About(noun.Names, hostsCommand(con)), cli.About(noun.Names, pointCommand(con)), cli.About(noun.Meetings, checkNATCommand(con)), queryCommand(con), reportCommand(con), replayCommand(con),
	}
}
