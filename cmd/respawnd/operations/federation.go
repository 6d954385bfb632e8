package operations

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
)

func federationCommand(con *cli.Console) *cobra.Command {
	return cli.Group("federation", "Show the other masters whose servers are listed", federationStatus(con))
}

func federationStatus(con *cli.Console) *cobra.Command {
	cmd := cli.ListOf(con, operator.ListMasters, "name…\tprotocol\tstate\tnamed\tlisted\trefused\tread\tnext\tproblem…",
		func(m operator.OtherMaster) []string {
			return []string{
				cli.Printable(m.Name), m.Protocol, m.State, fmt.Sprint(m.Told), fmt.Sprint(m.Listed), cli.Dash(refusedWords(m.Refused)),
				cli.Stamp(m.Read), cli.Stamp(m.Next), cli.Dash(m.Error),
			}
		})
	cmd.Long = cmd.Short + `.

named: servers on the list of the master, without the refused ones. listed: those of
them that are in our list because of it; the others do not answer, report here
themselves, or were on the list of another master first. refused: entries of its latest
list that are not used, by reason. problem: the latest error, or the part of the list
that a limit of this daemon kept out.`
	return cmd
}

// refusedWords returns the numbers of refused entries, "" if there are none.
func refusedWords(refused map[string]int) string {
	var words []string
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		words = append(words, fmt.Sprintf("%s:%d", why, refused[why]))
	}
	return strings.Join(words, " ")
}
