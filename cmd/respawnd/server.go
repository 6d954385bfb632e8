package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// keptServers prints what operators said about single servers.
func (p *program) keptServers(ctx context.Context, op operator.Operator) error {
	kept, err := op.KeptServers(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, s := range kept.Static {
		answers, why := asked(&kept, s.Address)
		rows = append(rows, []string{"asked", s.Address, s.Protocol, dash(s.Game), answers, "servers.static", why})
	}
	for _, s := range kept.Added {
		answers, why := asked(&kept, s.Address)
		rows = append(rows, []string{"asked", s.Address, dash(s.Protocol), dash(s.Game), answers, stamp(s.Added), why})
	}
	for _, h := range kept.Hidden {
		rows = append(rows, []string{"hidden", h.Address.String(), "-", "-", "-", stamp(h.Added), dash(h.Reason)})
	}
	return p.table("what\taddress\tprotocol\tgame\tanswers\tsince\twhy", rows)
}

// asked says whether a server that is asked answers, and why it is not in the
// list.
func asked(kept *operator.Kept, address string) (answers, why string) {
	s, known := kept.Of(address)
	switch {
	case !known:
		return "-", "-"
	case s.Answers:
		return "yes", dash(s.Why)
	default:
		return "no", dash(s.Why)
	}
}

func (p *program) serverAdd() *cobra.Command {
	var game string
	cmd := &cobra.Command{
		Use:   "add PROTOCOL HOST:PORT",
		Short: "Ask a game server from now on, and list it while it answers",
		Long: "Ask a game server from now on, and list it while it answers.\n\nProtocols: " + protocolWords() +
			". The host may be a name; it is looked up again from time to time.",
		Args: usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			a := storage.AddedServer{Protocol: args[0], Address: args[1], Game: game, By: "cli", Added: time.Now()}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.AddServer(ctx, a); err != nil {
					return err
				}
				return p.say("added %s; it is listed as soon as it answers", printable(args[1]))
			})
		},
	}
	cmd.Flags().StringVar(&game, "game", "", "the game it is listed under, whatever it says")
	return cmd
}

func (p *program) serverRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove HOST:PORT",
		Short: "Take a server off the list, and forget it if it was added",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := configs.ParseServerAddress(args[0])
			if err != nil {
				address = args[0] // servers that report by themselves may be anywhere
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				done, err := op.RemoveServer(ctx, address)
				switch {
				case err != nil:
					return err
				case done.Forgotten:
					return p.say("removed %s", printable(address))
				default:
					return p.say("took %s off the list; it comes back when it reports again, unless you hide it", printable(address))
				}
			})
		},
	}
}

func (p *program) serverHide() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "hide IP:PORT",
		Short: "Keep a server out of every list, whoever reports it",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := serverAddress(args[0])
			if err != nil {
				return err
			}
			h := storage.HiddenServer{Address: a, Reason: reason, By: "cli", Added: time.Now()}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.HideServer(ctx, h); err != nil {
					return err
				}
				return p.say("hid %v", a)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who read the list later")
	return cmd
}

func (p *program) serverUnhide() *cobra.Command {
	return &cobra.Command{
		Use:   "unhide IP:PORT",
		Short: "Show a hidden server again",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := serverAddress(args[0])
			if err != nil {
				return err
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.UnhideServer(ctx, a); err != nil {
					return err
				}
				return p.say("shows %v again", a)
			})
		},
	}
}

// serverAddress reads the address of a server as lists show it.
func serverAddress(text string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(text)
	if err != nil || a.Port() == 0 {
		return a, usageError{fmt.Errorf("%q is no address of a server: write it as the list shows it, such as 192.0.2.1:27015", printable(text))}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), nil
}
