package commands

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
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
	cmd := p.listCommand("list", "Show the listed and the hidden servers", cobra.NoArgs,
		func(ctx context.Context, op operator.Operator, _ []string) error {
			if kept {
				return p.keptServers(ctx, op)
			}
			ways, bad, ok := master.ParseJoinables(joinable)
			if !ok {
				return usageError{fmt.Errorf("--joinable: %q is not one of: %s", bad, strings.Join(master.JoinableNames(), ", "))}
			}
			servers, err := op.Servers(ctx, game)
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
func (p *program) keptServers(ctx context.Context, op operator.Operator) error {
	kept, err := op.KeptServers(ctx)
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
	a := storage.AddedServer{By: "cli"}
	const short = "Query a game server regularly, and list it while it answers"
	cmd := p.operatorCommand("add PROTOCOL HOST:PORT", short, cobra.ExactArgs(2),
		func(ctx context.Context, op operator.Operator, args []string) error {
			a.Protocol, a.Address, a.Added = args[0], args[1], time.Now()
			return p.confirm(op.AddServer(ctx, a), "added %s; it is listed as soon as it answers", printable(a.Address))
		})
	cmd.Long = short + ".\n\nProtocols: " + protocolWords() + ". The host may be a name; it is looked up again from time to time."
	cmd.Flags().StringVar(&a.Game, "game", "", "list it under this game, not under the one that it names")
	return cmd
}

func (p *program) serverRemove() *cobra.Command {
	return p.operatorCommand("remove HOST:PORT", "Take a server off the list, and forget it if it was added", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			address, err := configs.ParseServerAddress(args[0])
			if err != nil {
				address = args[0] // servers that report by themselves may be anywhere
			}
			done, err := op.RemoveServer(ctx, address)
			if done.Forgotten {
				return p.confirm(err, "removed %s", printable(address))
			}
			return p.confirm(err, "took %s off the list; it comes back when it reports again, unless you hide it", printable(address))
		})
}

func (p *program) serverHide() *cobra.Command {
	h := storage.HiddenServer{By: "cli"}
	cmd := p.operatorCommand("hide IP:PORT", "Hide a server from every list, no matter which service lists it", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, _ []string) error {
			h.Added = time.Now()
			return p.confirm(op.HideServer(ctx, h), "hid %v", h.Address)
		})
	cmd.Flags().StringVar(&h.Reason, "reason", "", "reason, shown in the list")
	cmd.PreRunE = serverAddress(&h.Address)
	return cmd
}

func (p *program) serverUnhide() *cobra.Command {
	var a netip.AddrPort
	cmd := p.operatorCommand("unhide IP:PORT", "Show a hidden server again", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, _ []string) error {
			return p.confirm(op.UnhideServer(ctx, a), "shows %v again", a)
		})
	cmd.PreRunE = serverAddress(&a)
	return cmd
}

// serverAddress reads the argument of a command: the address of a server as lists
// show it.
func serverAddress(a *netip.AddrPort) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		v, err := netip.ParseAddrPort(args[0])
		if err != nil || v.Port() == 0 {
			return usageError{fmt.Errorf("%q is not the address of a server: write it as the list shows it, such as 192.0.2.1:27015", printable(args[0]))}
		}
		*a = netip.AddrPortFrom(v.Addr().Unmap(), v.Port())
		return nil
	}
}
