package operations

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
)

func meetingsCommand(con *cli.Console) *cobra.Command {
	cmd := con.JSONFlag(cli.Command(con, operator.GetMeetings, func(_ operator.None, m operator.Meetings) error {
		number := func(n uint64) string { return strconv.FormatUint(n, 10) }
		return cli.Show(con, "routers\tdirect\tnegotiated\trelayed\tfailed\tunreported", m.Pairs, func(c operator.MeetingCount) []string {
			return []string{
				c.Routers[0] + " x " + c.Routers[1], number(c.Direct), number(c.Negotiated), number(c.Relayed), number(c.Failed), number(c.Unreported),
			}
		})
	}))
	cmd.Long = cmd.Short + `, by the kinds of their
routers: numbers of pairs, without addresses, kept over restarts. In a cluster each node
counts its own.

open: the public address is the player's own. cone: one port for all partners.
symmetric: another port for each. strict: only answers get in, and whether it has one
port for all partners is not known. unreported: they were introduced, and the game did
not report the result.`
	return cmd
}
