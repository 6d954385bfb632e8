package operations

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
)

func serverCommand(con *cli.Console) *cobra.Command {
	return cli.Group("server", "Show the server list; add, remove and hide servers",
		serverList(con), serverAdd(con), serverRemove(con),
		cli.Command(con, operator.HideServer, func(in operator.NewHidden, _ operator.Done) error { return con.Say("hid %v", in.Address) }),
		cli.Command(con, operator.UnhideServer, func(in operator.HiddenRef, _ operator.Removed) error {
			return con.Say("shows %v again", in.Address)
		}))
}

func serverList(con *cli.Console) *cobra.Command {
	var joinable string
	var kept bool
	in := new(operator.ServerQuery)
	cmd := cli.Showing(con, &operator.ListServers.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		if kept {
			return keptServers(ctx, con, c)
		}
		ways, bad, ok := master.ParseJoinables(joinable)
		if !ok {
			return cli.Misused(fmt.Errorf("--joinable: %q is not one of: %s", bad, strings.Join(master.JoinableNames(), ", ")))
		}
		servers, err := operator.ListServers.Call(ctx, c, *in)
		if err != nil {
			return err
		}
		servers = slices.DeleteFunc(servers, func(s operator.Listed) bool {
			one, _, _ := master.ParseJoinables(s.Joinable)
			return ways != 0 && ways&one == 0
		})
		return cli.ShowNodes(con, "game…\taddress\tname…\tplayers…\tjoinable…\theard\tfrom…", servers, func(s operator.Listed) ([]string, string) {
			players, from := cli.Dash(s.Players)+"/"+cli.Dash(s.MaxPlayers), cmp.Or(cli.Printable(s.Via), "here")
			return []string{s.Game, s.Address.String(), cli.Dash(s.Name), players, how(s), cli.Stamp(s.Last), from}, s.Node
		})
	})
	cmd.Flags().StringVar(&joinable, "joinable", "", "only servers that players join in these ways: "+strings.Join(master.JoinableNames(), ", "))
	cmd.Flags().BoolVar(&kept, "kept", false, "show the servers that were added or hidden instead, listed or not")
	return cmd
}

// how returns how players reach a server.
func how(s operator.Listed) string {
	switch {
	case s.Hidden != "":
		return cli.Printable(s.Hidden)
	case s.Restored:
		return "restored"
	default:
		return s.Joinable
	}
}

// keptServers prints the servers that were added or hidden.
func keptServers(ctx context.Context, con *cli.Console, op operator.Conn) error {
	kept, err := operator.ListKept.Call(ctx, op, operator.None{})
	if err != nil {
		return err
	}
	return cli.Show(con, "what\taddress…\tprotocol\tgame…\tanswers\tsince\twhy…", listKept(&kept), func(s keptServer) []string {
		answers, since := "-", cli.Stamp(s.Since)
		if s.Answers != nil {
			answers = cli.YesNo(*s.Answers)
		}
		if s.Configured {
			since = "servers.static"
		}
		return []string{s.What, s.Address, cli.Dash(s.Protocol), cli.Dash(s.Game), answers, since, cli.Dash(s.Why)}
	})
}

// keptServer is a server that was added or hidden.
type keptServer struct {
	What       string    `json:"what"` // asked or hidden
	Address    string    `json:"address"`
	Protocol   string    `json:"protocol,omitzero"`
	Game       string    `json:"game,omitzero"`
	Answers    *bool     `json:"answers,omitzero"` // of one that was asked
	Configured bool      `json:"configured,omitzero"`
	Since      time.Time `json:"since,omitzero"`
	By         string    `json:"by,omitzero"`
	Why        string    `json:"why,omitzero"` // it is hidden, or not in the list
}

// listKept returns the servers that were added, with their state, and the hidden
// ones.
func listKept(kept *operator.Kept) (all []keptServer) {
	add := func(a storage.AddedServer, configured bool) {
		k := keptServer{What: "asked", Address: a.Address, Protocol: a.Protocol, Game: a.Game, Configured: configured, Since: a.Added, By: a.By}
		if s, known := kept.Of(a.Address); known {
			k.Answers, k.Why = &s.Answers, s.Why
		}
		all = append(all, k)
	}
	for _, a := range kept.Static {
		add(a, true)
	}
	for _, a := range kept.Added {
		add(a, false)
	}
	for _, h := range kept.Hidden {
		all = append(all, keptServer{What: "hidden", Address: h.Address.String(), Since: h.Added, By: h.By, Why: h.Reason})
	}
	return all
}

func serverAdd(con *cli.Console) *cobra.Command {
	cmd := cli.Command(con, operator.AddServer, func(in operator.NewServer, _ operator.Done) error {
		return con.Say("added %s; it is listed as soon as it answers", cli.Printable(in.Address))
	})
	cmd.Long = cmd.Short + ".\n\nProtocols: " + probe.ProtocolWords() + ". The host may be a name; it is looked up again from time to time."
	return cmd
}

func serverRemove(con *cli.Console) *cobra.Command {
	return cli.Looking(con, operator.RemoveServer, func(_ context.Context, _ operator.Conn, in *operator.ServerRef, _ []string) error {
		if address, err := configs.ParseServerAddress(in.Address); err == nil { // servers that report by themselves may be anywhere
			in.Address = address
		}
		return nil
	}, func(in operator.ServerRef, done operator.Removal) error {
		if done.Forgotten {
			return con.Say("removed %s", cli.Printable(in.Address))
		}
		return con.Say("took %s off the list; it comes back when it reports again, unless you hide it", cli.Printable(in.Address))
	})
}

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
