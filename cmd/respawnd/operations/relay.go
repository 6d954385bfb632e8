package operations

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
)

func relayCommand(con *cli.Console) *cobra.Command {
	cmd := cli.ListOf(con, operator.ListRelayed, "game…\tclient\thost\tsince\tlast packet\tpackets\tbytes",
		func(r operator.RelayedPair) []string {
			return []string{
				cli.Dash(r.Game), relayedAt(r.Client), relayedAt(r.Host), cli.Stamp(r.Since), cli.Stamp(r.Last),
				fmt.Sprintf("%d + %d", r.Client.Packets, r.Host.Packets), fmt.Sprintf("%d + %d", r.Client.Bytes, r.Host.Bytes),
			}
		})
	cmd.Long = cmd.Short + `: pairs whose routers prevent a direct
connection, and whose packets pass through this machine. In a cluster each node shows its own.

packets, bytes: sent by the client, and sent by the host. An address without a port
has not sent anything yet.`
	return cmd
}

// relayedAt returns the address of a relayed player.
func relayedAt(r operator.RelayedPlayer) string {
	if !r.Come {
		return r.Address.Addr().String()
	}
	return r.Address.String()
}
