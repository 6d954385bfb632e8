package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) serverCommand() *cobra.Command {
	return group("server", "Show the server list; add, remove and hide servers",
		p.serverList(), p.serverAdd(), p.serverRemove(), p.serverHide(), p.serverUnhide())
}

func (p *program) serverList() *cobra.Command {
	var game, joinable string
	var kept bool
	cmd := p.listCommand("list", operator.ListServers.What, cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			if kept {
				return p.keptServers(ctx, op)
			}
			ways, bad, ok := master.ParseJoinables(joinable)
			if !ok {
				return usageError{fmt.Errorf("--joinable: %q is not one of: %s", bad, strings.Join(master.JoinableNames(), ", "))}
			}
			servers, err := operator.ListServers.Call(ctx, op, operator.GameQuery{Game: game})
			if err != nil {
				return err
			}
			servers = slices.DeleteFunc(servers, func(s operator.Listed) bool {
				one, _, _ := master.ParseJoinables(s.Joinable)
				return ways != 0 && ways&one == 0
			})
			return showNodes(p, "game…\taddress\tname…\tplayers…\tjoinable…\theard\tfrom…", servers, func(s operator.Listed) ([]string, string) {
				return []string{s.Game, s.Address.String(), dash(s.Name), dash(s.Players) + "/" + dash(s.MaxPlayers), how(s), stamp(s.Last), cmp.Or(printable(s.Via), "here")}, s.Node
			})
		})
	cmd.Flags().StringVar(&game, "game", "", "only servers of this game")
	cmd.Flags().StringVar(&joinable, "joinable", "", "only servers that players join in these ways: "+strings.Join(master.JoinableNames(), ", "))
	cmd.Flags().BoolVar(&kept, "kept", false, "show the servers that were added or hidden instead, listed or not")
	return cmd
}

// how returns how players reach a server.
func how(s operator.Listed) string {
	switch {
	case s.Hidden != "":
		return printable(s.Hidden)
	case s.Restored:
		return "restored"
	default:
		return s.Joinable
	}
}

// keptServers prints the servers that were added or hidden.
func (p *program) keptServers(ctx context.Context, op operator.Conn) error {
	kept, err := operator.ListKept.Call(ctx, op, operator.None{})
	if err != nil {
		return err
	}
	return show(p, "what\taddress…\tprotocol\tgame…\tanswers\tsince\twhy…", listKept(&kept), func(s keptServer) []string {
		answers, since := "-", stamp(s.Since)
		if s.Answers != nil {
			answers = yesNo(*s.Answers)
		}
		if s.Configured {
			since = "servers.static"
		}
		return []string{s.What, s.Address, dash(s.Protocol), dash(s.Game), answers, since, dash(s.Why)}
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

func (p *program) serverAdd() *cobra.Command {
	in := new(operator.NewServer)
	cmd := commandOf(p, &operator.AddServer.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		return p.confirm(operator.AddServer.Exec(ctx, c, *in), "added %s; it is listed as soon as it answers", printable(in.Address))
	})
	cmd.Long = cmd.Short + ".\n\nProtocols: " + protocolWords() + ". The host may be a name; it is looked up again from time to time."
	return cmd
}

func (p *program) serverRemove() *cobra.Command {
	in := new(operator.ServerRef)
	return commandOf(p, &operator.RemoveServer.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		if address, err := configs.ParseServerAddress(in.Address); err == nil { // servers that report by themselves may be anywhere
			in.Address = address
		}
		done, err := operator.RemoveServer.Call(ctx, c, *in)
		if done.Forgotten {
			return p.confirm(err, "removed %s", printable(in.Address))
		}
		return p.confirm(err, "took %s off the list; it comes back when it reports again, unless you hide it", printable(in.Address))
	})
}

func (p *program) serverHide() *cobra.Command {
	return command(p, operator.HideServer, func(in operator.NewHidden, _ operator.Done) error { return p.say("hid %v", in.Address) })
}

func (p *program) serverUnhide() *cobra.Command {
	return command(p, operator.UnhideServer, func(in operator.HiddenRef, _ operator.Removed) error {
		return p.say("shows %v again", in.Address)
	})
}
